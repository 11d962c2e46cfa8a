package main

import (
	"bytes"
	"context"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/ranks"
)

// world joins the processes of a job.
type world interface {
	ranks.Exchanger
	String() string
	Close() error
}

// A process sends at most pieceBytes, or the lines of pieceRows samples, at once.
const (
	pieceBytes = 4 << 20
	pieceRows  = 1 << 16
)

// gatheredColumns returns on process 0 the columns of all processes.
func gatheredColumns(w world, own []dataset.Column) (all []dataset.Column, err error) {
	const between = "\x00"
	for _, c := range own {
		switch x := c.Data.(type) {
		case []int:
			c.Data, err = ranks.ToFirst(w, x)
		case []float64:
			c.Data, err = ranks.ToFirst(w, x)
		case []string:
			var text []byte
			text, err = ranks.ToFirst(w, []byte(strings.Join(x, between)+between))
			c.Data = strings.Split(strings.TrimSuffix(string(text), between), between)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// writeTables writes the columns of all processes, for n samples, to one file, as writeTable does. Parquet alone needs the memory
// for them in process 0.
func writeTables(o *output, w world, n int, own []dataset.Column) error {
	if ending(o.path) == ".parquet" {
		all, err := gatheredColumns(w, own)
		if err != nil || w.Rank() > 0 {
			return err
		}
		return o.writeTable(nil, all...)
	}
	if w.Rank() > 0 {
		return ranks.WriteFirst(w, linesOf(own, o.path, 0), nil)
	}
	return o.save(nil, func(to io.Writer) error { return ranks.WriteFirst(w, linesOf(own, o.path, n), to) })
}

// linesOf returns a function that returns the lines of a table piece by piece; of an array the labels, or without labels the
// numbers that are not whole. The file has head rows if it begins with these, else head is 0.
func linesOf(columns []dataset.Column, path string, head int) func() ([]byte, error) {
	at, n, part := 0, reflect.ValueOf(columns[0].Data).Len(), slices.Clone(columns)
	return func() ([]byte, error) {
		var labels, values []dataset.Column
		from := at
		at = min(from+pieceRows, n)
		for k, c := range columns {
			part[k].Data = reflect.ValueOf(c.Data).Slice(from, at).Interface()
			if _, ok := c.Data.([]float64); ok {
				values = append(values, part[k])
			} else if c.Name == "label" {
				labels = append(labels, part[k])
			}
		}
		if labels != nil {
			values = labels
		}
		var b bytes.Buffer
		err := writeBlock(&b, path, head, part, values)
		head = 0
		return b.Bytes(), err
	}
}

// summed returns the sums of numbers of all processes.
func summed(w world, own []int) ([]int, error) {
	all := make([]int, len(own)*w.Size())
	sizes := slices.Repeat([]int{8 * len(own)}, w.Size())
	if err := w.AllGather(context.Background(), ranks.Bytes(own), sizes, ranks.Bytes(all)); err != nil {
		return nil, err
	}
	out := make([]int, len(own))
	for k, x := range all {
		out[k%len(own)] += x
	}
	return out, nil
}
