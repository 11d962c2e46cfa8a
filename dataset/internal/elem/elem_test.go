package elem

import (
	"encoding/binary"
	"math"
	"testing"
)

// TestHalf decodes all 65,536 half floats and compares them with the definition of binary16.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		var got [1]float64
		Decode(got[:], binary.LittleEndian.AppendUint16(nil, uint16(h)), Type{Kind: Float16})
		sign, exp, frac := 1-2*float64(h>>15), h>>10&31, float64(h&1023)
		want := sign * math.Ldexp(1+frac/1024, exp-15)
		switch {
		case exp == 31 && frac > 0:
			want = math.NaN()
		case exp == 31:
			want = math.Inf(int(sign))
		case exp == 0:
			want = sign * math.Ldexp(frac, -24)
		}
		if math.IsNaN(want) != math.IsNaN(got[0]) || (!math.IsNaN(want) && math.Float64bits(want) != math.Float64bits(got[0])) {
			t.Fatalf("%#04x is %g, want %g", h, got[0], want)
		}
	}
}

// TestByteOrder decodes every kind in both byte orders.
func TestByteOrder(t *testing.T) {
	for k := Bool; k <= Float64; k++ {
		little := make([]byte, 3*k.Size())
		for i := range little {
			little[i] = byte(37*i + 1)
		}
		big := make([]byte, 0, len(little))
		for i := 0; i < len(little); i += k.Size() {
			for j := k.Size() - 1; j >= 0; j-- {
				big = append(big, little[i+j])
			}
		}
		var a, b [3]float64
		var c [3]float32
		Decode(a[:], little, Type{Kind: k})
		Decode(b[:], big, Type{Kind: k, Big: true})
		Decode(c[:], little, Type{Kind: k})
		for i := range a {
			if a[i] != b[i] || float32(a[i]) != c[i] {
				t.Errorf("%s: %v, %v big endian, %v as float32", k, a, b, c)
			}
		}
	}
}

func TestProduct(t *testing.T) {
	for _, c := range []struct {
		limit int64
		sizes []int64
		want  int64
		ok    bool
	}{
		{100, nil, 1, true},
		{100, []int64{4, 25}, 100, true},
		{99, []int64{4, 25}, 100, false},
		{100, []int64{-1}, 0, false},
		{100, []int64{-1, -1}, 0, false},
		{100, []int64{0, 1 << 62}, 0, true},
		{math.MaxInt64, []int64{1 << 32, 1 << 31}, 0, false},
		{math.MaxInt64, []int64{1 << 31, 1 << 31}, 1 << 62, true},
	} {
		got, ok := Product(c.limit, c.sizes...)
		if ok != c.ok || (ok && got != c.want) {
			t.Errorf("Product(%d, %v) = %d, %t", c.limit, c.sizes, got, ok)
		}
	}
}
