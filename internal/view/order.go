package view

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// An Order is the numbers of the samples in another order than by their places; nil: by their places.
type Order []int

// orderRows is the number of rows that a goroutine hashes at once.
const orderRows = 256

// ByContent returns the order of the samples by a hash of what they hold in all views, keyed by a seed. So it does not depend on
// their places, except for samples that are equal in all views, which are in the order of their places. Zeros that a sparse view
// leaves out are those of a dense one; among equal samples those that it holds decide.
func ByContent(ctx context.Context, views []View, seed uint64, workers int) (Order, error) {
	hashes, zeros, err := hashes(ctx, views, workers)
	if err != nil {
		return nil, err
	}
	key := mixed(seed)
	order := make(Order, len(hashes))
	for i := range order {
		order[i], hashes[i] = i, mixed(hashes[i]^key)
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(hashes[i], hashes[j]), cmp.Compare(zeros[i], zeros[j]), cmp.Compare(i, j))
	})
	return order, nil
}

// Distinct returns the samples, in the order of their places, without those that are equal to an earlier one in all views.
func Distinct(ctx context.Context, views []View, workers int) ([]int, error) {
	hashes, _, err := hashes(ctx, views, workers)
	if err != nil {
		return nil, err
	}
	seen := make(map[uint64]bool, len(hashes))
	var out []int
	for i, h := range hashes {
		if !seen[h] {
			seen[h] = true
			out = append(out, i)
		}
	}
	return out, nil
}

// hashes are those of what each sample holds in all views, and of the zeros that sparse views hold of it.
func hashes(ctx context.Context, views []View, workers int) (values, zeros []uint64, err error) {
	n := views[0].Rows
	values, zeros = make([]uint64, n), make([]uint64, n)
	for v, x := range views {
		key := mixed(uint64(v) + 1)
		err := parallel.For(ctx, workers, (n+orderRows-1)/orderRows, func(_, c int) error {
			var row []float64
			if x.Sparse == nil { // of a sparse view, the columns without entries cost nothing
				row = make([]float64, x.Cols)
			}
			for i := c * orderRows; i < min((c+1)*orderRows, n); i++ {
				if x.Has(i) {
					h, z := x.hash(i, key, row)
					values[i], zeros[i] = values[i]+h, zeros[i]+z
				}
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return values, zeros, nil
}

// hash is that of row i, which is there: of its values, and of the zeros that it holds. A sum has the same bits in any order.
func (v *View) hash(i int, key uint64, row []float64) (values, zeros uint64) {
	values = mixed(key) // differs between a row of zeros and an absent row
	if s := v.Sparse; s != nil {
		for k := s.Ptr[i]; k < s.Ptr[i+1]; k++ {
			if at, x := key*uint64(s.Cols[k]+1), s.Value(k); x != 0 {
				values += mixed(math.Float64bits(x) + at)
			} else {
				zeros += mixed(at)
			}
		}
		return values, zeros
	}
	v.Row(i, row)
	for j, x := range row {
		if x != 0 {
			values += mixed(math.Float64bits(x) + key*uint64(j+1))
		}
	}
	return values, 0
}

// mixed is a bijection of 64 bits in which each bit of x changes about half of them: D. Stafford's 13th, as in SplitMix64.
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Along returns what each sample has of x, in the order; x itself where that is nil.
func Along[E any](o Order, x []E) []E {
	if o == nil || x == nil {
		return x
	}
	out := make([]E, len(x))
	for k, i := range o {
		out[k] = x[i]
	}
	return out
}

// Back is the inverse of Along, of stride values a sample.
func Back[E any](o Order, x []E, stride int) []E {
	if o == nil || x == nil {
		return x
	}
	out := make([]E, len(x))
	for k, i := range o {
		copy(out[i*stride:(i+1)*stride], x[k*stride:(k+1)*stride])
	}
	return out
}

// Along returns the view of the samples in the order. Dense rows stay where they are, unless Settled moves them; sparse ones are
// copied.
func (v View) Along(o Order, workers int) View {
	if o == nil {
		return v
	}
	out := v
	out.Present, out.numbers = Along(o, v.Present), o
	switch {
	case v.Sparse != nil:
		out.Sparse = v.Sparse.take(o)
	case v.Matrix != nil:
		out.Matrix = someRows{v.Matrix, o}
	default:
		out.order = o
	}
	if b, ok := v.Source.(*bound); ok {
		blocks := rows.NewBlocks(b.reads, v.Rows, v.Cols, workers, func(ctx context.Context, lo, hi int, dst []float32) error {
			return out.read(ctx, b.index, lo, dst[:(hi-lo)*v.Cols])
		})
		out.Source = &bound{b.Source, b.reads, b.resident, b.index, blocks, b.steady}
	}
	return out
}

// OrderedBytes is the memory that Along takes.
func (v View) OrderedBytes() int64 {
	s := v.Sparse
	if s == nil {
		return 0
	}
	return 8*int64(len(s.Ptr)) + int64(len(s.Cols))*4 + int64(len(s.F32))*4 + int64(len(s.F64))*8
}

// Settled returns the view with its rows moved, in the caller's memory, to the order that it is in, where they are a slice of T
// that the caller gave; else the view as it is.
func Settled[T kernel.Float](v View) View {
	as := v
	as.order = nil
	if x := Own[T](as); x != nil && v.order != nil {
		arrange(v.order, x, v.Cols)
		return as
	}
	return v
}

// arrange moves rows of cols values each to an order.
func arrange[T kernel.Float](o Order, x []T, cols int) {
	moved, held := make([]bool, len(o)), make([]T, cols)
	for first := range o {
		if moved[first] {
			continue
		}
		copy(held, x[first*cols:(first+1)*cols])
		for to := first; ; { // the cycle of places that begins here
			moved[to] = true
			from := o[to]
			if from == first {
				copy(x[to*cols:(to+1)*cols], held)
				break
			}
			copy(x[to*cols:(to+1)*cols], x[from*cols:(from+1)*cols])
			to = from
		}
	}
}
