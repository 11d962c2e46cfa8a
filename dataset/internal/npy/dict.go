package npy

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// dict is the content of the header's Python dictionary.
type dict struct {
	descr   string
	fortran bool
	shape   []int
}

var errDict = errors.New("has a broken NumPy header")

// parseDict reads the three keys of the header, in any order. It understands what NumPy writes and nothing more.
func parseDict(text string) (dict, error) {
	var (
		d    dict
		seen int
	)
	p := scanner{strings.TrimSpace(text)}
	if !p.take("{") {
		return d, errDict
	}
	for !p.take("}") {
		key, ok := p.quoted()
		if !ok || !p.take(":") {
			return d, errDict
		}
		bit, err := p.value(key, &d)
		if err != nil {
			return d, err
		}
		seen |= bit
		if !p.take(",") && !strings.HasPrefix(p.rest(), "}") {
			return d, errDict
		}
	}
	if seen != 7 || p.rest() != "" {
		return d, errDict
	}
	return d, nil
}

// value reads the value of a key into d. It returns a bit that stands for the key.
func (p *scanner) value(key string, d *dict) (bit int, err error) {
	var ok bool
	switch key {
	case "descr":
		if strings.HasPrefix(p.rest(), "[") {
			return 0, errors.New("holds records (a structured type); plain numbers are read")
		}
		if d.descr, ok = p.quoted(); !ok {
			return 0, errDict
		}
		return 1, nil
	case "fortran_order":
		if d.fortran = p.take("True"); !d.fortran && !p.take("False") {
			return 0, errDict
		}
		return 2, nil
	case "shape":
		d.shape, err = p.shape()
		return 4, err
	}
	return 0, fmt.Errorf("has the unknown key %q in its NumPy header", key)
}

type scanner struct{ s string }

// rest returns the remaining text, without leading spaces.
func (p *scanner) rest() string {
	p.s = strings.TrimLeft(p.s, " \n\t")
	return p.s
}

func (p *scanner) take(token string) bool {
	if !strings.HasPrefix(p.rest(), token) {
		return false
	}
	p.s = p.s[len(token):]
	return true
}

func (p *scanner) quoted() (string, bool) {
	s := p.rest()
	if s == "" || (s[0] != '\'' && s[0] != '"') {
		return "", false
	}
	end := strings.IndexByte(s[1:], s[0])
	if end < 0 {
		return "", false
	}
	p.s = s[end+2:]
	return s[1 : end+1], true
}

// shape reads a tuple of sizes. Python 2 wrote long integers with an L after them.
func (p *scanner) shape() ([]int, error) {
	if !p.take("(") {
		return nil, errDict
	}
	shape := []int{}
	for !p.take(")") {
		s := p.rest()
		end := 0
		for end < len(s) && s[end] >= '0' && s[end] <= '9' {
			end++
		}
		v, err := strconv.Atoi(s[:end])
		if err != nil || v > math.MaxInt/16 || len(shape) == 32 {
			return nil, errDict
		}
		p.s = s[end:]
		p.take("L")
		shape = append(shape, v)
		if !p.take(",") && !strings.HasPrefix(p.rest(), ")") {
			return nil, errDict
		}
	}
	return shape, nil
}
