package hdf5

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// TypeClass is the class of a datatype.
type TypeClass uint8

// The classes of datatypes that are read.
const (
	Integer   TypeClass = 0
	Floating  TypeClass = 1
	String    TypeClass = 3
	Compound  TypeClass = 6
	Reference TypeClass = 7
	Enum      TypeClass = 8

	VariableLength TypeClass = 9
)

var classNames = [...]string{"integer", "float", "time", "string", "bit field", "opaque", "compound", "reference", "enumeration",
	"variable-length", "array"}

// Datatype is the type of the elements of a dataset or attribute.
type Datatype struct {
	Class TypeClass
	Size  int       // bytes of an element
	Elem  elem.Type // of integers, floats and enumerations; Kind is Invalid for others
	text  bool      // of variable length: a text

	Fields []Field // of a compound; nil where they cannot be read

	Members int  // of an enumeration
	padded  bool // a text that may hold zeros, but not at its end
	blanks  bool // a text that ends before blanks
}

// String is the usual name of the type, for example float64.
func (t Datatype) String() string {
	switch {
	case t.Elem.Kind != elem.Invalid:
		return t.Elem.Kind.String()
	case t.IsText():
		return "string"
	case int(t.Class) < len(classNames):
		return classNames[t.Class]
	}
	return "unknown"
}

var (
	unsignedKinds = map[uint32]elem.Kind{1: elem.Uint8, 2: elem.Uint16, 4: elem.Uint32, 8: elem.Uint64}
	signedKinds   = map[uint32]elem.Kind{1: elem.Int8, 2: elem.Int16, 4: elem.Int32, 8: elem.Int64}
)

// datatype reads a datatype message. Types that are no numbers, strings or references have an invalid Elem.
func datatype(b *block, depth int) (Datatype, error) {
	first := b.u8()
	bits := uint32(b.uint(3))
	size := b.u32()
	t := Datatype{Class: TypeClass(first & 15), Size: int(size)}
	if b.err != nil {
		return t, b.err
	}
	if size == 0 || size > 1<<20 {
		return t, fmt.Errorf("has elements of %d bytes", size)
	}
	t.Elem.Big = bits&1 != 0
	switch t.Class {
	case Integer:
		t.integer(b, bits)
	case Floating:
		t.floating(b, bits)
	case Reference:
		if bits&15 != 0 {
			return t, fmt.Errorf("holds references to regions, which are not read")
		}
	case VariableLength:
		t.text = bits&15 == 1
		if t.Size != 8+b.f.offSize {
			return t, fmt.Errorf("has elements of variable length of %d bytes", t.Size)
		}
	case String:
		t.padded, t.blanks = bits&15 != 0, bits&15 == 2
	case Compound:
		if depth == 0 {
			t.Fields = fields(b, int(bits&0xffff), first>>4, t.Size)
		}
		return t, nil
	case Enum:
		err := t.enum(b, bits&0xffff, first>>4, depth)
		return t, err
	}
	return t, b.err
}

// enum reads the integer type of an enumeration and, of a member of a compound, passes over its n names and values.
func (t *Datatype) enum(b *block, n uint32, version uint8, depth int) error {
	if depth > 1 {
		return fmt.Errorf("has a type of many levels")
	}
	base, err := datatype(b, depth+1)
	if err != nil {
		return err
	}
	if depth > 0 {
		for range n {
			b.name(version)
		}
		b.skip(int(n) * base.Size)
	}
	if t.Members = int(n); base.Size == t.Size {
		t.Elem = base.Elem
	}
	return b.err
}

// Field is a member of a compound.
type Field struct {
	Name   string
	Offset int
	Type   Datatype
}

// fields reads the members of a compound of size bytes; nil if one of them cannot be read.
func fields(b *block, n int, version uint8, size int) []Field {
	var out []Field
	for range n {
		x := Field{Name: b.name(version)}
		width := 4
		if version == 3 {
			width = (bits.Len(uint(size)) + 7) / 8
		}
		x.Offset = int(b.uint(width))
		if version == 1 {
			b.skip(28) // axes
		}
		var err error
		x.Type, err = datatype(b, 1)
		if x.Type.Class == VariableLength && err == nil {
			_, err = datatype(b, 1) // of the characters
		}
		known := []TypeClass{Integer, Floating, String, Reference, Enum, VariableLength}
		if err != nil || b.err != nil || x.Offset > size-x.Type.Size || !slices.Contains(known, x.Type.Class) {
			return nil
		}
		out = append(out, x)
	}
	return out
}

// name takes the name of a member, which versions before 3 pad to 8 bytes.
func (b *block) name(version uint8) string {
	name := cString(b.b)
	n := len(name) + 1
	if version < 3 {
		n = (n + 7) &^ 7
	}
	b.skip(n)
	return name
}

// integer recognises the integers that use all of their bits.
func (t *Datatype) integer(b *block, bits uint32) {
	offset, precision := b.u16(), b.u16()
	kinds := unsignedKinds
	if bits&8 != 0 {
		kinds = signedKinds
	}
	if offset == 0 && int(precision) == 8*t.Size {
		t.Elem.Kind = kinds[uint32(t.Size)]
	}
}

type floatFormat struct {
	size                             int
	expAt, expBits, fracAt, fracBits uint8
	bias                             uint32
}

var floatKinds = map[floatFormat]elem.Kind{
	{2, 10, 5, 0, 10, 15}:    elem.Float16,
	{4, 23, 8, 0, 23, 127}:   elem.Float32,
	{8, 52, 11, 0, 52, 1023}: elem.Float64,
}

// floating recognises the IEEE 754 formats by the widths of their fields.
func (t *Datatype) floating(b *block, bits uint32) {
	offset, precision := b.u16(), b.u16()
	expAt, expBits, fracAt, fracBits := b.u8(), b.u8(), b.u8(), b.u8()
	bias := b.u32()
	kind, ok := floatKinds[floatFormat{t.Size, expAt, expBits, fracAt, fracBits, bias}]
	const vax = 0x40
	if ok && offset == 0 && int(precision) == 8*t.Size && bits&vax == 0 {
		t.Elem.Kind = kind
	}
}
