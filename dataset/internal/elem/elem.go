// Package elem turns the stored elements of a data file (integers of any width, half (of either kind), single and double floats,
// either byte order) into float32 or float64.
package elem

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// Kind is the kind of one stored element.
type Kind uint8

// The kinds of stored elements.
const (
	Invalid Kind = iota
	Bool
	Int8
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Int64
	Uint64
	Float16
	Float32
	Float64
	BFloat16 // the upper half of a Float32
)

var (
	sizes = [...]int{0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 2}
	names = [...]string{"invalid", "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
		"float16", "float32", "float64", "bfloat16"}
)

// Size is the number of bytes of one element.
func (k Kind) Size() int { return sizes[k] }

// String is the usual name, for example "uint8".
func (k Kind) String() string { return names[k] }

// IsFloat reports whether the kind can hold NaN and infinity.
func (k Kind) IsFloat() bool { return k >= Float16 }

// Rounds reports whether float32 does not hold all values of the kind.
func (k Kind) Rounds() bool { return k >= Int32 && k <= Uint64 || k == Float64 }

// Type is a kind with its byte order.
type Type struct {
	Kind Kind
	Big  bool // big endian
}

// Size is the number of bytes of one element.
func (t Type) Size() int { return t.Kind.Size() }

// Float is a type that elements are turned into.
type Float interface{ float32 | float64 }

// Decode sets dst to the elements of src, which holds len(dst) of them. It may change the byte order of src in place.
func Decode[T Float](dst []T, src []byte, t Type) {
	src = src[:len(dst)*t.Size()]
	if t.Big {
		swap(src, t.Size())
	}
	switch t.Kind {
	case Bool:
		fromBools(dst, src)
	case Int8:
		from8Bits[int8](dst, src)
	case Uint8:
		from8Bits[uint8](dst, src)
	case Int16:
		from16Bits[int16](dst, src)
	case Uint16:
		from16Bits[uint16](dst, src)
	case Int32:
		from32Bits[int32](dst, src)
	case Uint32:
		from32Bits[uint32](dst, src)
	case Int64:
		from64Bits[int64](dst, src)
	case Uint64:
		from64Bits[uint64](dst, src)
	case Float16:
		fromHalves(dst, src)
	case Float32:
		fromSingles(dst, src)
	case BFloat16:
		fromBFloats(dst, src)
	case Float64:
		fromDoubles(dst, src)
	}
}

func fromBools[T Float](dst []T, src []byte) {
	for i, b := range src {
		dst[i] = 0
		if b != 0 {
			dst[i] = 1
		}
	}
}

func from8Bits[I int8 | uint8, T Float](dst []T, src []byte) {
	for i, b := range src {
		dst[i] = T(I(b))
	}
}

func from16Bits[I int16 | uint16, T Float](dst []T, src []byte) {
	for i := range dst {
		dst[i] = T(I(binary.LittleEndian.Uint16(src[2*i:])))
	}
}

func from32Bits[I int32 | uint32, T Float](dst []T, src []byte) {
	for i := range dst {
		dst[i] = T(I(binary.LittleEndian.Uint32(src[4*i:])))
	}
}

func from64Bits[I int64 | uint64, T Float](dst []T, src []byte) {
	for i := range dst {
		dst[i] = T(I(binary.LittleEndian.Uint64(src[8*i:])))
	}
}

func fromHalves[T Float](dst []T, src []byte) {
	for i := range dst {
		dst[i] = T(half(binary.LittleEndian.Uint16(src[2*i:])))
	}
}

func fromSingles[T Float](dst []T, src []byte) {
	for i := range dst {
		dst[i] = T(math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:])))
	}
}

func fromBFloats[T Float](dst []T, src []byte) {
	for i := range dst {
		dst[i] = T(math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16))
	}
}

func fromDoubles[T Float](dst []T, src []byte) {
	for i := range dst {
		dst[i] = T(math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:])))
	}
}

// At is element k of src, in full, where the kind is one that float32 rounds. Its bytes are in little-endian order, as [Decode]
// leaves them.
func At(src []byte, k int, kind Kind) float64 {
	switch kind {
	case Int32:
		return float64(int32(binary.LittleEndian.Uint32(src[4*k:])))
	case Uint32:
		return float64(binary.LittleEndian.Uint32(src[4*k:]))
	case Int64:
		return float64(int64(binary.LittleEndian.Uint64(src[8*k:])))
	case Uint64:
		return float64(binary.LittleEndian.Uint64(src[8*k:]))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(src[8*k:]))
}

// Huge finds the first whole number of more than 53 bits, which floating-point numbers do not hold exactly: its place and its
// digits.
func Huge(src []byte, t Type) (at int, digits string, found bool) {
	if t.Kind != Int64 && t.Kind != Uint64 {
		return 0, "", false
	}
	const most = 1 << 53
	for i := 0; i+8 <= len(src); i += 8 {
		u := binary.LittleEndian.Uint64(src[i:])
		if t.Big {
			u = binary.BigEndian.Uint64(src[i:])
		}
		switch x := int64(u); {
		case t.Kind == Uint64 && u > most:
			return i / 8, strconv.FormatUint(u, 10), true
		case t.Kind == Int64 && (x > most || x < -most):
			return i / 8, strconv.FormatInt(x, 10), true
		}
	}
	return 0, "", false
}

// swap reverses the bytes of every element.
func swap(b []byte, size int) {
	switch size {
	case 2:
		for i := 0; i+2 <= len(b); i += 2 {
			b[i], b[i+1] = b[i+1], b[i]
		}
	case 4:
		for i := 0; i+4 <= len(b); i += 4 {
			binary.LittleEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
		}
	case 8:
		for i := 0; i+8 <= len(b); i += 8 {
			binary.LittleEndian.PutUint64(b[i:], binary.BigEndian.Uint64(b[i:]))
		}
	}
}

// half is the value of an IEEE 754 binary16 number.
func half(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exp, frac := uint32(h>>10)&31, uint32(h)&1023
	switch {
	case exp == 31: // infinity or NaN
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	case exp == 0 && frac == 0:
		return math.Float32frombits(sign)
	case exp == 0: // subnormal: shift the leading one to bit 10
		shift := uint32(bits.LeadingZeros16(uint16(frac))) - 5
		return math.Float32frombits(sign | (113-shift)<<23 | (frac<<shift&1023)<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// Product multiplies the sizes of an array. It reports false where one is negative or the result passes limit.
func Product(limit int64, sizes ...int64) (int64, bool) {
	p := int64(1)
	for _, s := range sizes {
		if s < 0 || limit < 0 {
			return 0, false
		}
		hi, lo := bits.Mul64(uint64(p), uint64(s))
		if hi != 0 || lo > uint64(math.MaxInt64) {
			return 0, false
		}
		p = int64(lo)
	}
	return p, p <= limit
}
