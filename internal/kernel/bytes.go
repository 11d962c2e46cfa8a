package kernel

import (
	"math"
	"unsafe"
)

// What follows is products of rows in bytes, which bound products of rows in float32 at a quarter of the time.

// ByteUnit is the unit of the lengths that ByteRow takes.
const ByteUnit = 16

const (
	// byteZero is the byte that stands for zero in rows.
	byteZero = 128
	// mostByte is the largest size of an element in steps.
	mostByte = 127
	// together is the number of bytes of a column that are multiplied in one step.
	together = 4
)

// Bytes reports whether products of bytes are fast: elsewhere plain Go takes them.
func Bytes[T Float]() bool { return Is32[T]() && active == pathAVX512 && multipliesBytes() }

// ByteRow writes x, whose length is a multiple of ByteUnit, as bytes: 128 plus a number of steps of 1/127 of the largest size
// in x. It returns the step, and the sums of the squares of x and of the differences from the steps, each but for rounding.
func ByteRow[T Float](x []T, dst []uint8) (step T, square, lost float64) {
	dst = dst[:len(x)]
	if Bytes[T]() && len(x) > 0 {
		args := byteRowArgs{x: at(x), dst: at(dst), units: len(x) / ByteUnit}
		callByteRow(firstByteRow[active][0], &args)
		return T(args.step), float64(args.square), float64(args.lost)
	}
	most := T(0)
	for _, v := range x {
		most = max(most, v, -v)
		square += float64(v) * float64(v)
	}
	inverse := T(0)
	if most > 0 {
		step, inverse = most/mostByte, mostByte/most
	}
	for i, v := range x {
		q := math.RoundToEven(float64(v * inverse))
		dst[i] = uint8(int(q) + byteZero)
		r := float64(v) - float64(step)*q
		lost += r * r
	}
	return step, square, lost
}

// BytePanel is columns of bytes for MulBytes. Its zero value has none.
type BytePanel[T Float] struct {
	k, m  int
	data  []int8 // in strips of whole vectors of columns: four bytes of each column in turn
	start []int32
	bias  []T
}

// PackBytes sets p to m columns, the rows of b as ByteRow writes them with the stride ldb. The first k bytes count, with
// a bias each.
func PackBytes[T Float](p *BytePanel[T], k, m int, b []uint8, ldb int, bias []T) {
	steps, wide := (k+together-1)/together, Pad(m)
	*p = BytePanel[T]{
		k: steps * together, m: m, data: make([]int8, steps*together*wide), start: make([]int32, wide), bias: make([]T, wide),
	}
	copy(p.bias, bias[:m])
	for j := range m {
		first, width := stripOf(p.m, j)
		for i, v := range b[j*ldb : j*ldb+k] {
			x := int8(int(v) - byteZero)
			p.data[first*p.k+i/together*together*width+(j-first)*together+i%together] = x
			p.start[j] -= byteZero * int32(x)
		}
	}
}

// stripOf returns the first column of the strip of column j of m, and the number of its columns.
func stripOf(m, j int) (first, width int) {
	for vectors := Pad(m) / Lanes; ; {
		w := stripVectors(pathAVX512, vectors)
		if j < first+w*Lanes {
			return first, w * Lanes
		}
		first, vectors = first+w*Lanes, vectors-w
	}
}

// Columns returns k, rounded up to what rows must have room for.
func (p *BytePanel[T]) Columns() int { return p.k }

// MulBytes sets row i of Y, of n rows with the stride ldy ≥ Pad(m), to bias + step[i]·X·B, with rows of X as ByteRow writes them,
// with the stride ldx ≥ k, whose bytes from k on are 128. Columns from m to Pad(m) become zero. The sums of bytes are exact.
func MulBytes[T Float](n int, x []uint8, ldx int, p *BytePanel[T], step []T, y []T, ldy int) {
	if n < 1 || p.m == 0 {
		return
	}
	_, _, _ = x[(n-1)*ldx+p.k-1], y[(n-1)*ldy+Pad(p.m)-1], step[n-1]
	if !Bytes[T]() {
		mulBytesPortable(n, x, ldx, p, step, y, ldy)
		return
	}
	var t T
	size := int(unsafe.Sizeof(t))
	first := firstMulBytes[active][0] - 1
	args := byteArgs{n: n, k: p.k / together, x: at(x), ldx: ldx, step: at(step), ldy: ldy * size}
	for j := 0; j < Pad(p.m); {
		_, width := stripOf(p.m, j)
		args.b, args.start, args.bias = at(p.data[j*p.k:]), at(p.start[j:]), at(p.bias[j:])
		args.y = at(y[j:])
		callMulBytes(first+width/Lanes, &args)
		j += width
	}
}

func mulBytesPortable[T Float](n int, x []uint8, ldx int, p *BytePanel[T], step []T, y []T, ldy int) {
	for j := range Pad(p.m) {
		first, width := stripOf(p.m, j)
		for i := range n {
			sum := p.start[j]
			for q, v := range x[i*ldx : i*ldx+p.k] {
				sum += int32(v) * int32(p.data[first*p.k+q/together*together*width+(j-first)*together+q%together])
			}
			y[i*ldy+j] = p.bias[j] + step[i]*T(sum)
		}
	}
}
