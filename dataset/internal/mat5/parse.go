package mat5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// parser lists the arrays of one variable.
type parser struct {
	f      *File
	s      *stream
	top    int
	proven bool
}

// element is one data element: its bytes where they are few and wanted, else their place.
type element struct {
	kind uint32
	size int64
	at   int64
	data []byte
}

// next reads a data element that ends at end. Up to keep bytes of data are returned; more than that is skipped, or an
// error where keep is the largest sensible size.
func (p *parser) next(end, keep int64, must bool) (element, error) {
	kind, size, small, err := p.s.tag(end - p.s.pos)
	if err != nil {
		return element{}, err
	}
	e := element{kind: kind, size: size, at: p.s.pos, data: small}
	if small != nil {
		e.at = p.s.pos - 4
		return e, nil
	}
	if size > keep {
		if must {
			return e, fmt.Errorf("is damaged (a header element of %d bytes)", size)
		}
		if err := p.s.skip(size); err != nil {
			return e, err
		}
	} else if size > 0 {
		e.data = make([]byte, size)
		if err := p.s.read(e.data); err != nil {
			return e, err
		}
	}
	// Elements are padded to 8 bytes; the last one of an array may go without.
	return e, p.s.skip(min((8-size%8)%8, end-p.s.pos))
}

// matrix parses an array of size bytes. The array comes with the error where its name is known already.
func (p *parser) matrix(size int64, depth int) (*Array, error) {
	if p.f.count++; p.f.count > maxArrays {
		return nil, fmt.Errorf("holds more than %d arrays", maxArrays)
	}
	a := &Array{top: p.top, end: p.s.pos + size, whole: depth == 0, Proven: p.proven || depth > 0}
	if err := p.f.lim.Take("the list of its arrays", arrayBytes); err != nil {
		return a, err
	}
	if size == 0 { // an empty element of a cell
		a.Class, a.Dims = Double, []int{0, 0}
		return a, nil
	}
	end := a.end
	if err := p.header(a, end); err != nil {
		return a, err
	}
	if err := p.f.lim.Take("the list of its arrays", int64(len(a.Name)+8*len(a.Dims))); err != nil {
		return a, err
	}
	if a.Skipped == "" {
		if err := p.contents(a, end, depth); err != nil {
			return a, err
		}
	}
	if depth == 0 && a.Class != Cell {
		return a, nil // the rest of the variable is not needed now
	}
	return a, p.s.skip(end - p.s.pos)
}

// header reads flags, dimensions and name.
func (p *parser) header(a *Array, end int64) error {
	flags, err := p.next(end, 16, true)
	if err != nil {
		return err
	}
	if flags.kind != 6 || flags.size != 8 {
		return errors.New("is damaged (array flags)")
	}
	word := p.f.order().Uint32(flags.data)
	a.Class, a.Logical, a.Complex = Class(word), word&0x200 != 0, word&0x800 != 0
	if a.Class == Opaque { // has a name where others have dimensions
		name, err := p.next(end, maxName, true)
		a.Name, a.Skipped = string(name.data), "objects (table, string, categorical, datetime) are not read: save T.Variables, "+
			"double(labels) or grp2idx(labels)"
		return err
	}
	dims, err := p.next(end, 4*maxDims, true)
	if err != nil {
		return err
	}
	if dims.kind != 5 || dims.size%4 != 0 || dims.size < 8 {
		return errors.New("is damaged (dimensions)")
	}
	product := []int64{}
	for i := 0; i < len(dims.data); i += 4 {
		d := int32(p.f.order().Uint32(dims.data[i:]))
		a.Dims = append(a.Dims, int(d))
		product = append(product, int64(d))
	}
	if _, ok := elem.Product(math.MaxInt/16, product...); !ok {
		return fmt.Errorf("has the impossible size %v", a.Dims)
	}
	name, err := p.next(end, maxName, true)
	a.Name = string(name.data)
	return err
}

// contents lists the elements of an array.
func (p *parser) contents(a *Array, end int64, depth int) error {
	n := 1
	for _, d := range a.Dims {
		n *= d
	}
	switch {
	case a.Class == Cell:
		return p.cells(a, n, end, depth)
	case a.Class == Struct:
		a.Skipped = notRead(a.Class)
		return p.fields(a, end)
	case a.Class != Sparse && !a.Class.IsNumeric():
		a.Skipped = notRead(a.Class)
		return nil
	case a.Complex:
		a.Skipped = "complex numbers are not read: save abs(X), or real(X) and imag(X) as two views"
		return nil
	case a.Class == Sparse && len(a.Dims) != 2:
		return fmt.Errorf("is a sparse array of %d dimensions", len(a.Dims))
	case a.Class == Sparse:
		var err error
		if a.Data, err = p.s.numbers(end, 0); err == nil && a.Data.Type.Kind.IsFloat() {
			err = errors.New("is damaged (rows of a sparse matrix that are no whole numbers)")
		}
		return err
	}
	if n == 0 {
		return nil
	}
	var err error
	if a.Data, err = p.s.numbers(end, 0); err == nil && a.Data.Count != n {
		err = fmt.Errorf("has the size %v but holds %d values", a.Dims, a.Data.Count)
	}
	a.Data.last = true
	return err
}

// fields reads the names of the fields of a structure.
func (p *parser) fields(a *Array, end int64) error {
	length, err := p.next(end, 16, true)
	if err != nil || len(length.data) < 4 {
		return err
	}
	names, err := p.next(end, 1<<16, false)
	step := int(p.f.order().Uint32(length.data))
	if err != nil || step < 1 || step > maxName {
		return err
	}
	for k := 0; k+step <= len(names.data); k += step {
		name, _, _ := bytes.Cut(names.data[k:k+step], []byte{0})
		a.Fields = append(a.Fields, string(name))
	}
	return nil
}

// notRead says what an array of a class is, and what to do with it.
func notRead(c Class) string {
	switch s := c.String() + " arrays are not read"; c {
	case Struct:
		return s + ": save the fields as variables, save(FILE, '-struct', NAME)"
	case Char:
		return s + ": save numbers"
	default:
		return s
	}
}

func (p *parser) cells(a *Array, n int, end int64, depth int) error {
	switch {
	case n > maxCells:
		a.Skipped = fmt.Sprintf("cells of more than %d elements are not read", maxCells)
		return nil
	case depth == maxDepth:
		a.Skipped = "cells are nested too deeply"
		return nil
	}
	for range n {
		kind, size, small, err := p.s.tag(end - p.s.pos)
		if err != nil {
			return err
		}
		if kind != miMatrix || small != nil {
			return fmt.Errorf("is damaged (a cell holds an element of type %d)", kind)
		}
		c, err := p.matrix(size, depth+1)
		if err != nil {
			return err
		}
		a.Cells = append(a.Cells, c)
	}
	return nil
}

// numbers reads the tag of a data element of numbers and notes its place. They may be stored in a narrower type than the class.
// MATLAB writes the entries of a sparse logical matrix as bytes, and calls them double: logical is their number, 0 for others.
func (s *stream) numbers(end int64, logical int) (Part, error) {
	kind, size, small, err := s.tag(end - s.pos)
	if err != nil {
		return Part{}, err
	}
	p := Part{Type: elem.Type{Big: s.order == binary.BigEndian}, at: s.pos}
	if small != nil {
		p.at, p.next = s.pos-4, s.pos
	} else {
		p.next = min(p.at+size+(8-size%8)%8, end) // the last element of an array may go without its padding
	}
	if int(kind) < len(kinds) {
		p.Type.Kind = kinds[kind]
	}
	if p.Type.Kind == elem.Float64 && size < 8*int64(logical) {
		p.Type.Kind = elem.Uint8
	}
	if p.Type.Kind == elem.Invalid || size%int64(p.Type.Size()) != 0 {
		return Part{}, fmt.Errorf("is damaged (%d bytes of numbers of type %d)", size, kind)
	}
	p.Count = int(size) / p.Type.Size()
	return p, nil
}
