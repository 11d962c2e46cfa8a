// Package npy reads and writes the array format of NumPy, versions 1.0 to 3.0: a magic string, a Python dictionary with
// the element type, the order and the shape, then the elements. (NEP 1, numpy.lib.format.)
package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// Magic begins every .npy file.
const Magic = "\x93NUMPY"

// maxHeader bounds the dictionary. NumPy itself refuses more than 10,000 bytes.
const maxHeader = 1 << 16

// maxDescr bounds the name of an element type.
const maxDescr = 32

// Header describes one array.
type Header struct {
	Descr   string    // as stored, for example "<f4"
	Type    elem.Type // Kind is Invalid where the elements are no numbers
	Width   int       // bytes of one element
	Fortran bool      // first axis fastest
	Shape   []int
	Len     int // bytes before the first element
}

// Elements is the number of elements.
func (h Header) Elements() int {
	n := 1
	for _, s := range h.Shape {
		n *= s
	}
	return n
}

// Bytes is the number of bytes of the elements.
func (h Header) Bytes() int64 { return int64(h.Elements()) * int64(h.Width) }

// ReadHeader reads up to the first element. The number of elements times their size is known to fit an int64 when it
// returns; whether the source really holds them is for the caller to find out.
func ReadHeader(r io.Reader) (Header, error) {
	var pre [12]byte
	if _, err := io.ReadFull(r, pre[:10]); err != nil {
		return Header{}, short(err)
	}
	if string(pre[:6]) != Magic {
		return Header{}, errors.New("is not a NumPy array")
	}
	n, at := int(binary.LittleEndian.Uint16(pre[8:])), 10
	switch pre[6] {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, pre[10:12]); err != nil {
			return Header{}, short(err)
		}
		n, at = int(min(binary.LittleEndian.Uint32(pre[8:]), math.MaxInt32)), 12
	default:
		return Header{}, fmt.Errorf("has NumPy format version %d.%d; 1.0 to 3.0 are read", pre[6], pre[7])
	}
	if n > maxHeader {
		return Header{}, fmt.Errorf("has a NumPy header of %d bytes; at most %d are read", n, maxHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return Header{}, short(err)
	}
	h, err := parse(string(text))
	h.Len = at + n
	return h, err
}

func short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("ends inside its NumPy header")
	}
	return err
}

func parse(text string) (Header, error) {
	d, err := parseDict(text)
	if err != nil {
		return Header{}, err
	}
	if len(d.descr) > maxDescr {
		return Header{}, fmt.Errorf("has an element type of %d characters", len(d.descr))
	}
	h := Header{Descr: strings.Clone(d.descr), Fortran: d.fortran, Shape: d.shape}
	if h.Type, h.Width, err = descrType(d.descr); err != nil {
		return Header{}, err
	}
	dims := make([]int64, 0, len(h.Shape)+1)
	for _, s := range h.Shape {
		dims = append(dims, int64(s))
	}
	// A zero among the sizes must not hide an overflow of the others.
	for i, s := range dims {
		dims[i] = max(s, 1)
	}
	if _, ok := elem.Product(math.MaxInt/16, append(dims, int64(max(h.Width, 1)))...); !ok {
		return Header{}, fmt.Errorf("has the impossible shape %v", h.Shape)
	}
	return h, nil
}

// descrType translates a type string such as "<f4", "|u1" or "<U5".
func descrType(s string) (t elem.Type, width int, err error) {
	if len(s) < 2 {
		return t, 0, fmt.Errorf("has the unknown element type %q", s)
	}
	order, rest := s[0], s[1:]
	switch order {
	case '<', '|', '=':
	case '>':
		t.Big = true
	default:
		rest = s
	}
	if _, err := fmt.Sscanf(rest[1:], "%d", &width); err != nil || width < 0 || width > 1<<20 {
		if rest[0] == 'O' {
			return t, 8, nil
		}
		return t, 0, fmt.Errorf("has the unknown element type %q", s)
	}
	kinds := map[string]elem.Kind{
		"b1": elem.Bool, "?1": elem.Bool, "i1": elem.Int8, "u1": elem.Uint8, "i2": elem.Int16, "u2": elem.Uint16,
		"i4": elem.Int32, "u4": elem.Uint32, "i8": elem.Int64, "u8": elem.Uint64,
		"f2": elem.Float16, "f4": elem.Float32, "f8": elem.Float64,
	}
	t.Kind = kinds[rest]
	if rest[0] == 'U' {
		width *= 4 // UCS-4
	}
	return t, width, nil
}

// Put writes the header of a C-ordered little endian array, padded as NumPy pads it.
func Put(w io.Writer, descr string, shape []int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr)
	for i, s := range shape {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, s)
	}
	if len(shape) == 1 {
		b.WriteByte(',')
	}
	b.WriteString("), }")
	// The header with its newline ends at a multiple of 64 bytes.
	for (10+b.Len()+1)%64 != 0 {
		b.WriteByte(' ')
	}
	b.WriteByte('\n')
	pre := []byte(Magic + "\x01\x00\x00\x00")
	binary.LittleEndian.PutUint16(pre[8:], uint16(b.Len()))
	if _, err := w.Write(pre); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}
