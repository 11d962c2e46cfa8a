package ptx

import (
	"math/bits"
	"sync"
)

// An operation is an instruction that computes each lane by itself from values: what it does to one lane, and where that pays a
// loop over all 32.
type operation struct {
	dst  typ
	src  []typ
	one  func(a uint64) uint64
	two  func(a, b uint64) uint64
	tri  func(a, b, c uint64) uint64
	all1 func(d, a *lanes)
	all2 func(d, a, b *lanes)
	all3 func(d, a, b, c *lanes)
	work work
}

// work is the count of an operation in the statistics.
type work byte

const (
	noWork work = iota
	float32Op
	float32FMA
	float64Op
	float64FMA
)

// table has the operations by their full names.
var table = sync.OnceValue(func() map[string]*operation {
	t := make(map[string]*operation)
	integers(t)
	bitwise(t)
	floats(t)
	halves(t)
	conversions(t)
	loops(t)
	return t
})

func (w *warp) worked(k work, m uint32) {
	n := int64(bits.OnesCount32(m))
	s := &w.worker.stats
	switch k {
	case float32Op:
		s.Float32 += n
	case float32FMA:
		s.Float32 += 2 * n
	case float64Op:
		s.Float64 += n
	case float64FMA:
		s.Float64 += 2 * n
	}
}

// code returns what runs the operation from source to destination slots.
func (o *operation) code(d int, s []int) func(w *warp, m uint32) {
	switch {
	case o.one != nil:
		return o.unary(d, s[0])
	case o.two != nil:
		return o.binary(d, s[0], s[1])
	}
	return o.ternary(d, s[0], s[1], s[2])
}

func (o *operation) unary(d, a int) func(w *warp, m uint32) {
	kind, one, all := o.work, o.one, o.all1
	return func(w *warp, m uint32) {
		if kind != noWork {
			w.worked(kind, m)
		}
		d, a := &w.r[d], &w.r[a]
		switch {
		case m != full:
			for ; m != 0; m &= m - 1 {
				l := bits.TrailingZeros32(m)
				d[l] = one(a[l])
			}
		case all != nil:
			all(d, a)
		default:
			for l := range d {
				d[l] = one(a[l])
			}
		}
	}
}

func (o *operation) binary(d, a, b int) func(w *warp, m uint32) {
	kind, two, all := o.work, o.two, o.all2
	return func(w *warp, m uint32) {
		if kind != noWork {
			w.worked(kind, m)
		}
		d, a, b := &w.r[d], &w.r[a], &w.r[b]
		switch {
		case m != full:
			for ; m != 0; m &= m - 1 {
				l := bits.TrailingZeros32(m)
				d[l] = two(a[l], b[l])
			}
		case all != nil:
			all(d, a, b)
		default:
			for l := range d {
				d[l] = two(a[l], b[l])
			}
		}
	}
}

func (o *operation) ternary(d, a, b, c int) func(w *warp, m uint32) {
	kind, tri, all := o.work, o.tri, o.all3
	return func(w *warp, m uint32) {
		if kind != noWork {
			w.worked(kind, m)
		}
		d, a, b, c := &w.r[d], &w.r[a], &w.r[b], &w.r[c]
		switch {
		case m != full:
			for ; m != 0; m &= m - 1 {
				l := bits.TrailingZeros32(m)
				d[l] = tri(a[l], b[l], c[l])
			}
		case all != nil:
			all(d, a, b, c)
		default:
			for l := range d {
				d[l] = tri(a[l], b[l], c[l])
			}
		}
	}
}

func cut(v uint64, bits int) uint64 {
	if bits >= 64 {
		return v
	}
	return v & (1<<bits - 1)
}

func signed(v uint64, bits int) int64 { return int64(v<<(64-bits)) >> (64 - bits) }
