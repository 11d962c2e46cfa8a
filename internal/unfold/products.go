package unfold

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/parallel"
)

// The products of the network. Data enters in two only, each the other's derivative: X·Pᵀ and AᵀX.

// block is the number of rows that are padded at a time.
const block = 64

// padded hands the rows [lo, hi) of the n×m matrix x to f in blocks, with the stride and the zero columns that the
// kernels want.
func padded[T kernel.Float](x []T, m, lo, hi int, f func(lo, hi int, a []T, lda int)) {
	lda := kernel.Pad(m)
	if lda == m {
		f(lo, hi, x[lo*m:hi*m], m)
		return
	}
	a := make([]T, block*lda)
	for ; lo < hi; lo += block {
		end := min(lo+block, hi)
		for i := lo; i < end; i++ {
			copy(a[(i-lo)*lda:(i-lo)*lda+m], x[i*m:(i+1)*m])
		}
		f(lo, end, a, lda)
	}
}

// unpadded lets f write the rows [lo, hi) of the n×m matrix y in blocks of the kernels' stride. With load, what y holds
// is there before f.
func unpadded[T kernel.Float](y []T, m, lo, hi int, load bool, f func(lo, hi int, b []T, ldb int)) {
	ldb := kernel.Pad(m)
	if ldb == m {
		f(lo, hi, y[lo*m:hi*m], m)
		return
	}
	b := make([]T, block*ldb)
	for ; lo < hi; lo += block {
		end := min(lo+block, hi)
		if load {
			for i := lo; i < end; i++ {
				copy(b[(i-lo)*ldb:(i-lo)*ldb+m], y[i*m:(i+1)*m])
			}
		}
		f(lo, end, b, ldb)
		for i := lo; i < end; i++ {
			copy(y[i*m:(i+1)*m], b[(i-lo)*ldb:])
		}
	}
}

// project returns X·Pᵀ (n×m) for P, m×d.
func project[T kernel.Float](b *Builder[T], v int, p *Node) (*Node, error) {
	w, m := b.views[v], p.Shape()[0]
	o := &op.Operation{
		Label: b.label("X%d·Pᵀ", v),
		Diff:  []bool{!b.fixed(p)},
		Run: op.On(func(x [][]T) (gorgonia.Value, error) {
			return op.Dense(w.project(b.workers, m, x[0]), w.N, m), nil
		}),
		Grad: func(_ int, _ gorgonia.Nodes, _, dy *Node) (*Node, error) {
			return correlate(b, v, dy)
		},
	}
	return op.Apply(o, b.of, tensor.Shape{w.N, m}, p)
}

func (w *View[T]) project(workers, m int, p []T) []T {
	var panel kernel.Panel[T]
	kernel.PackT(&panel, w.D, m, p, w.D)
	y := make([]T, w.N*m)
	// Nothing in this function fails.
	_ = parallel.Spans(workers, w.N, func(lo, hi int) error {
		unpadded(y, m, lo, hi, false, func(lo, hi int, b []T, ldb int) { w.X.Mul(lo, hi, &panel, b, ldb) })
		return nil
	})
	return y
}

// correlate returns AᵀX (m×d) for A, n×m.
func correlate[T kernel.Float](b *Builder[T], v int, a *Node) (*Node, error) {
	w, m := b.views[v], a.Shape()[1]
	o := &op.Operation{
		Label: b.label("Aᵀ·X%d", v),
		Diff:  []bool{!b.fixed(a)},
		Run: op.On(func(x [][]T) (gorgonia.Value, error) {
			c, err := parallel.SumSpans(b.workers, w.N, m*w.D, func(lo, hi int, sum []T) error {
				padded(x[0], m, lo, hi, func(lo, hi int, a []T, lda int) { w.X.TMulAdd(lo, hi, m, a, lda, sum, w.D) })
				return nil
			})
			if err != nil {
				return nil, err
			}
			return op.Dense(c, m, w.D), nil
		}),
		Grad: func(_ int, _ gorgonia.Nodes, _, dc *Node) (*Node, error) {
			return project(b, v, dc)
		},
	}
	return op.Apply(o, b.of, tensor.Shape{m, w.D}, a)
}

// RowMul returns H·B, or H·Bᵀ, plus C if it is not nil, for H and C with n rows and a small B.
func RowMul[T kernel.Float](b *Builder[T], h, small *Node, transposed bool, c *Node) (*Node, error) {
	n, k, m := h.Shape()[0], h.Shape()[1], small.Shape()[1]
	if transposed {
		m = small.Shape()[0]
	}
	if small.Shape()[0]*small.Shape()[1] != k*m {
		return nil, fmt.Errorf("product of %v and %v (transposed: %t)", h.Shape(), small.Shape(), transposed)
	}
	in := gorgonia.Nodes{h, small}
	if c != nil {
		in = append(in, c)
	}
	o := &op.Operation{
		Label: b.label("H·B transposed %t, plus %t", transposed, c != nil),
		Diff:  make([]bool, len(in)),
		Run: op.On(func(x [][]T) (gorgonia.Value, error) {
			var plus []T
			if len(x) == 3 {
				plus = x[2]
			}
			return op.Dense(mulRows(b.workers, n, k, m, x[0], x[1], transposed, plus), n, m), nil
		}),
		Grad: func(i int, in gorgonia.Nodes, _, dy *Node) (*Node, error) {
			switch {
			case i == 0:
				return RowMul(b, dy, in[1], !transposed, nil)
			case i == 2:
				return dy, nil
			case transposed:
				return crossGram(b, dy, in[0])
			}
			return crossGram(b, in[0], dy)
		},
	}
	for i, x := range in {
		o.Diff[i] = !b.fixed(x)
	}
	return op.Apply(o, b.of, tensor.Shape{n, m}, in...)
}

// mulRows returns H·B (B k×m, or m×k if transposed) plus c, n×m.
func mulRows[T kernel.Float](workers, n, k, m int, h, small []T, transposed bool, c []T) []T {
	var panel kernel.Panel[T]
	if transposed {
		kernel.PackT(&panel, k, m, small, k)
	} else {
		kernel.Pack(&panel, k, m, small, m)
	}
	y := make([]T, n*m)
	copy(y, c)
	_ = parallel.Spans(workers, n, func(lo, hi int) error {
		unpadded(y, m, lo, hi, c != nil, func(lo, hi int, b []T, ldb int) {
			kernel.Mul(hi-lo, h[lo*k:], k, &panel, b, ldb, c != nil)
		})
		return nil
	})
	return y
}

// crossGram returns AᵀB for A and B with n rows.
func crossGram[T kernel.Float](b *Builder[T], x, y *Node) (*Node, error) {
	n, k, m := x.Shape()[0], x.Shape()[1], y.Shape()[1]
	o := &op.Operation{
		Label: b.label("Aᵀ·B"),
		Diff:  []bool{!b.fixed(x), !b.fixed(y)},
		Run: op.On(func(x [][]T) (gorgonia.Value, error) {
			c, err := gramRows(b.workers, n, k, m, x[0], x[1])
			if err != nil {
				return nil, err
			}
			return op.Dense(c, k, m), nil
		}),
		Grad: func(i int, in gorgonia.Nodes, _, dc *Node) (*Node, error) {
			return RowMul(b, in[1-i], dc, i == 0, nil)
		},
	}
	return op.Apply(o, b.of, tensor.Shape{k, m}, x, y)
}

// gramRows returns AᵀB, k×m.
func gramRows[T kernel.Float](workers, n, k, m int, x, y []T) ([]T, error) {
	return parallel.SumSpans(workers, n, k*m, func(lo, hi int, sum []T) error {
		padded(x, k, lo, hi, func(lo, hi int, a []T, lda int) {
			kernel.TMulAdd(hi-lo, k, m, a, lda, y[lo*m:], m, sum, m)
		})
		return nil
	})
}

// smallMul returns op(A)·op(B) for matrices without a sample dimension, op being the transposition or nothing.
func smallMul[T kernel.Float](b *Builder[T], x, y *Node, tx, ty bool) (*Node, error) {
	rows, inner := oriented(x, tx)
	other, columns := oriented(y, ty)
	if inner != other {
		return nil, fmt.Errorf("product of %v and %v (transposed: %t, %t)", x.Shape(), y.Shape(), tx, ty)
	}
	o := &op.Operation{
		Label: b.label("A·B transposed %t %t", tx, ty),
		Diff:  []bool{!b.fixed(x), !b.fixed(y)},
		Run: op.On(func(x [][]T) (gorgonia.Value, error) {
			left := x[0]
			if tx {
				left = transpose(left, inner, rows)
			}
			return op.Dense(mulRows(1, rows, inner, columns, left, x[1], ty, nil), rows, columns), nil
		}),
		Grad: func(i int, in gorgonia.Nodes, _, dc *Node) (*Node, error) {
			switch {
			case i == 0 && !tx: // dC·op(B)ᵀ
				return smallMul(b, dc, in[1], false, !ty)
			case i == 0: // its transpose
				return smallMul(b, in[1], dc, ty, true)
			case !ty: // op(A)ᵀ·dC
				return smallMul(b, in[0], dc, !tx, false)
			}
			return smallMul(b, dc, in[0], true, tx)
		},
	}
	return op.Apply(o, b.of, tensor.Shape{rows, columns}, x, y)
}

func oriented(n *Node, transposed bool) (rows, columns int) {
	s := n.Shape()
	if transposed {
		return s[1], s[0]
	}
	return s[0], s[1]
}

// transpose returns the transpose of the r×c matrix x.
func transpose[T kernel.Float](x []T, r, c int) []T {
	y := make([]T, len(x))
	for i := range r {
		for j := range c {
			y[j*r+i] = x[i*c+j]
		}
	}
	return y
}
