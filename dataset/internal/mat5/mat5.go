// Package mat5 reads the arrays of MATLAB v5 to v7 files ("MAT-File Format", The MathWorks, chapter 1): numbers, sparse
// matrices and cells, compressed or not, in either byte order. Everything else is listed and skipped.
//
// [List] walks through the whole file once, so that every size it reports is known to be in the file; [File.Read] then
// hands over the elements of one part.
package mat5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// Class is a MATLAB array class.
type Class uint8

// The classes that matter here.
const (
	Cell   Class = 1
	Char   Class = 4
	Sparse Class = 5
	Double Class = 6
	Uint64 Class = 15
	Opaque Class = 17
)

var classNames = [...]string{"unknown", "cell", "struct", "object", "char", "sparse", "double", "single", "int8", "uint8",
	"int16", "uint16", "int32", "uint32", "int64", "uint64", "function", "opaque"}

// String is the name MATLAB gives the class.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return classNames[0]
}

// IsNumeric tells whether the class holds plain numbers.
func (c Class) IsNumeric() bool { return c >= Double && c <= Uint64 }

// Types of data elements.
const (
	miMatrix     = 14
	miCompressed = 15
)

var kinds = [...]elem.Kind{0, elem.Int8, elem.Uint8, elem.Int16, elem.Uint16, elem.Int32, elem.Uint32, elem.Float32, 0,
	elem.Float64, 0, 0, elem.Int64, elem.Uint64}

const (
	maxDepth  = 8       // cells in cells
	maxCells  = 4096    // elements of a cell that are looked at; larger cells are texts, not views
	maxArrays = 1 << 16 // arrays of a file
	maxName   = 1 << 10
	maxDims   = 32
)

// Part is the place of one data element in the bytes of its variable.
type Part struct {
	Type  elem.Type
	Count int
	at    int64
}

// Array is one array. Its elements are read with [File.Read].
type Array struct {
	Name    string
	Class   Class
	Logical bool
	Complex bool
	Dims    []int
	Skipped string   // why the contents were not looked at, or empty
	Cells   []*Array // of a cell, in column-major order
	Data    Part     // numbers, or the values of a sparse matrix
	Rows    Part     // sparse: row of each value
	Starts  Part     // sparse: first value of each column, and their number
	top     int      // index of the variable it belongs to
}

// File is a list of arrays and the place where their elements are.
type File struct {
	Arrays []*Array
	r      io.ReaderAt
	big    bool
	tops   []top
	cur    *stream // last position in a compressed variable
	curTop int
	count  int
}

// top is one top-level data element.
type top struct {
	at, size   int64
	compressed bool
}

// List finds the variables of a file of size bytes. A variable whose elements take more than limit bytes is listed as
// skipped.
func List(r io.ReaderAt, size, limit int64) (*File, error) {
	var head [128]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, truncated(err)
	}
	f := &File{r: r, curTop: -1}
	switch string(head[126:]) {
	case "IM":
	case "MI":
		f.big = true
	default:
		return nil, errors.New("is not a MATLAB v5 file")
	}
	if version := f.order().Uint16(head[124:]); version != 0x0100 {
		return nil, fmt.Errorf("has MATLAB file version %#04x; 0x0100 (v5 to v7) is read", version)
	}
	for at := int64(128); at < size; {
		if size-at < 8 {
			return nil, errors.New("is truncated, or has bytes after its end")
		}
		var tag [8]byte
		if _, err := r.ReadAt(tag[:], at); err != nil {
			return nil, truncated(err)
		}
		kind, n := f.order().Uint32(tag[:]), int64(f.order().Uint32(tag[4:]))
		if n > size-at-8 {
			return nil, fmt.Errorf("is truncated: a variable at byte %d promises %d bytes and %d follow", at, n, size-at-8)
		}
		if kind != miMatrix && kind != miCompressed {
			return nil, fmt.Errorf("has an unknown element of type %d at byte %d", kind, at)
		}
		f.tops = append(f.tops, top{at + 8, n, kind == miCompressed})
		if err := f.listTop(len(f.tops)-1, limit); err != nil {
			return nil, err
		}
		at += 8 + n
	}
	return f, nil
}

func (f *File) order() binary.ByteOrder {
	if f.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("is truncated")
	}
	return err
}

// listTop parses one variable.
func (f *File) listTop(k int, limit int64) error {
	s, err := f.open(k)
	if err != nil {
		return err
	}
	size := f.tops[k].size
	if f.tops[k].compressed {
		kind, n, _, err := s.tag(math.MaxInt64)
		if err != nil {
			return err
		}
		if kind != miMatrix {
			return fmt.Errorf("has a compressed element of type %d, not an array", kind)
		}
		size = n
	}
	if size == 0 {
		return nil
	}
	p := parser{f: f, s: s, top: k, limit: limit}
	a, err := p.matrix(size, 0)
	if err != nil {
		if a != nil && a.Name != "" {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		return err
	}
	if a.Skipped == "" && f.tops[k].compressed {
		if err := s.finish(); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	f.Arrays = append(f.Arrays, a)
	return nil
}

// Read hands over the elements of one part of an array, in storage order.
func (f *File) Read(a *Array, p Part, run func(off int, raw []byte) error) error {
	s := f.cur
	if s == nil || f.curTop != a.top || s.pos > p.at || !f.tops[a.top].compressed {
		var err error
		if s, err = f.open(a.top); err != nil {
			return err
		}
		f.cur, f.curTop = s, a.top
	}
	if err := s.skip(p.at - s.pos); err != nil {
		return err
	}
	width := p.Type.Size()
	buf := make([]byte, min(p.Count, 1<<13)*width)
	for off := 0; off < p.Count; {
		part := buf[:min(p.Count-off, 1<<13)*width]
		if err := s.read(part); err != nil {
			return err
		}
		if err := run(off, part); err != nil {
			return err
		}
		off += len(part) / width
	}
	return nil
}
