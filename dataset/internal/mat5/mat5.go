// Package mat5 reads the arrays of MATLAB v5 to v7 files ("MAT-File Format", The MathWorks, chapter 1): numbers, sparse
// matrices and cells, compressed or not, in either byte order. Everything else is listed and skipped.
//
// [List] looks at the head of every variable, and walks through those that are cells; [File.Read] then hands over the elements
// of one part. The size that a compressed variable gives may exceed the file, but is in proportion to its compressed bytes.
package mat5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/largemvc/largemvc/dataset/internal/budget"
	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// Class is a MATLAB array class.
type Class uint8

// The classes that matter here.
const (
	Cell   Class = 1
	Struct Class = 2
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

// IsNumeric reports whether the class holds plain numbers.
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

	maxDeflate   = 1040 // more than that no compression gives
	plainDeflate = 32   // of common numbers; a larger one is read once before memory is taken for it
)

// Part is the place of one data element in the bytes of its variable.
type Part struct {
	Type  elem.Type
	Count int
	at    int64
	next  int64 // place of the element behind it
	last  bool  // nothing that is read follows in the array
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
	Fields  []string // names, of a structure
	Data    Part     // numbers; of a sparse matrix, the row of each value
	Proven  bool     // its elements are in the file, or in proportion to its compressed bytes
	top     int      // index of the variable it belongs to
	end     int64    // in the bytes of its variable
	whole   bool     // it is the variable
}

// arrayBytes is the memory of an array that is listed, beside its name and sizes.
const arrayBytes = 512

// File is a list of arrays and the place where their elements are.
type File struct {
	Arrays []*Array
	r      io.ReaderAt
	big    bool
	tops   []top
	lim    *budget.Budget
	inflater
	cur    *stream // last position in a compressed variable
	curTop int
	count  int
}

// top is one top-level data element.
type top struct {
	at, size   int64
	compressed bool
}

// List finds the variables of a file of size bytes.
func List(r io.ReaderAt, size int64, lim *budget.Budget) (*File, error) {
	var head [128]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, truncated(err)
	}
	f := &File{r: r, curTop: -1, lim: lim}
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
			return nil, fmt.Errorf("is truncated: the variable at byte %d should have %d bytes, and %d follow", at, n, size-at-8)
		}
		if kind != miMatrix && kind != miCompressed {
			return nil, fmt.Errorf("has an unknown element of type %d at byte %d", kind, at)
		}
		f.tops = append(f.tops, top{at + 8, n, kind == miCompressed})
		if err := f.listTop(len(f.tops) - 1); err != nil {
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
func (f *File) listTop(k int) error {
	s, err := f.open(k)
	if err != nil {
		return err
	}
	t := f.tops[k]
	size := t.size
	if t.compressed {
		kind, n, _, err := s.tag(math.MaxInt64)
		if err != nil {
			return err
		}
		if kind != miMatrix {
			return fmt.Errorf("has a compressed element of type %d, not an array", kind)
		}
		if n/maxDeflate > t.size {
			return fmt.Errorf("is damaged (a variable should have %d bytes from %d compressed bytes, more than any "+
				"compression gives)", n, t.size)
		}
		size = n
	}
	if size == 0 {
		return nil
	}
	p := parser{f: f, s: s, top: k, proven: !t.compressed || size/plainDeflate <= t.size}
	a, err := p.matrix(size, 0)
	if err != nil {
		if a != nil && a.Name != "" {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		return err
	}
	if a.Class == Cell && a.Skipped == "" && t.compressed {
		if err := s.finish(); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	f.Arrays = append(f.Arrays, a)
	return nil
}

// at brings the stream of an array to a place in it.
func (f *File) at(a *Array, place int64) (*stream, error) {
	s := f.cur
	if s == nil || f.curTop != a.top || s.pos > place || !f.tops[a.top].compressed {
		var err error
		if s, err = f.open(a.top); err != nil {
			return nil, err
		}
		f.cur, f.curTop = s, a.top
	}
	return s, s.skip(place - s.pos)
}

// Read hands over the elements of one part of an array, in storage order.
func (f *File) Read(a *Array, p Part, run func(off int, raw []byte) error) error {
	s, err := f.at(a, p.at)
	if err != nil {
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
	if !a.whole || !p.last || s.z == nil {
		return nil
	}
	if err := s.skip(a.end - s.pos); err != nil {
		return err
	}
	f.cur = nil
	return s.finish() // compares the checksum
}

// Starts finds the first value of each column of a sparse matrix, with the number of all values behind them. They lie behind
// the rows of the values, which [Array.Data] is.
func (f *File) Starts(a *Array) (Part, error) {
	p, err := f.following(a, a.Data, 0)
	if err == nil && (p.Count != a.Dims[1]+1 || p.Type.Kind.IsFloat()) {
		err = fmt.Errorf("is damaged (%d column pointers for %d columns)", p.Count, a.Dims[1])
	}
	return p, err
}

// Values finds the values of a sparse matrix, which lie behind what Starts found.
func (f *File) Values(a *Array, starts Part) (Part, error) {
	logical := 0
	if a.Logical {
		logical = a.Data.Count
	}
	p, err := f.following(a, starts, logical)
	p.last = true
	return p, err
}

// following finds the part behind another one.
func (f *File) following(a *Array, p Part, logical int) (Part, error) {
	s, err := f.at(a, p.next)
	if err != nil {
		return Part{}, err
	}
	return s.numbers(a.end, logical)
}
