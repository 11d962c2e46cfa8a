package unfold

import (
	"math"

	"github.com/largemvc/largemvc/internal/op"

	"github.com/largemvc/largemvc/internal/parallel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
)

// The squared row norms q_i = ‖x_i − h_i P‖² without the matrix X − HP: with y = xPᵀ and K = PPᵀ
//
//	q = ‖x‖² − 2⟨h, y⟩ + hKhᵀ
//
// That is a difference of large numbers. Rows with q below engine.DirectShare of ‖x‖² are computed as x − hP, and their
// derivative by h from the same residual.

// residual says what is made of the q_i.
type residual struct {
	view int
	// Loss: the scalar weight·Σ q_i over the present rows; otherwise the vector √q_i, with 1 for absent rows, where
	// quotients and logarithms are harmless.
	loss   bool
	weight float64
}

// coefficient is the derivative of the result by q_i for the cotangent g: all of it for a scalar, else of row i.
func (r residual) coefficient(g, norm float64) float64 {
	switch {
	case r.loss:
		return r.weight * g
	case norm == 0: // √q has no derivative there; 0 is a subgradient of the norm
		return 0
	}
	return g / (2 * norm)
}

// residualInput is an input by which to differentiate.
type residualInput int

const (
	byH residualInput = iota
	byY
	byP
)

// residualNode returns the op on H (n×m), Y = X·Pᵀ (n×m) and P (m×d).
func residualNode[T kernel.Float](b *Builder[T], r residual, h, y, p *Node) (*Node, error) {
	w := b.views[r.view]
	var shape tensor.Shape
	if !r.loss {
		shape = tensor.Shape{w.N}
	}
	o := &op.Operation{
		Label: b.label("‖X−HP‖ %+v", r),
		Diff:  []bool{!b.fixed(h), !b.fixed(y), !b.fixed(p)},
		Run: op.On(func(x [][]T) (gorgonia.Value, error) {
			return residualValue(b, r, newResidualCalc(w, x[0], x[1], x[2]).rows)
		}),
		Grad: func(i int, in gorgonia.Nodes, out, g *Node) (*Node, error) {
			return residualGrad(b, r, residualInput(i), in[0], in[1], in[2], out, g)
		},
	}
	return op.Apply(o, b.of, shape, h, y, p)
}

// residualValue returns the weighted sum of the q_i over the present rows, or their square roots, 1 for absent rows. rows calls f
// with q_i of the rows [lo, hi).
func residualValue[T kernel.Float](
	b *Builder[T], r residual, rows func(lo, hi int, f func(i int, q float64, half []float64)),
) (gorgonia.Value, error) {
	w := b.views[r.view]
	if r.loss {
		sum, err := parallel.SumSpans(b.workers, w.N, 1, func(lo, hi int, sum []float64) error {
			rows(lo, hi, func(i int, q float64, _ []float64) {
				if w.Has(i) {
					sum[0] += q
				}
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
		return op.Scalar[T](r.weight * sum[0]), nil
	}
	norm := make([]T, w.N)
	err := parallel.Spans(b.workers, w.N, func(lo, hi int) error {
		rows(lo, hi, func(i int, q float64, _ []float64) {
			if norm[i] = 1; w.Has(i) {
				norm[i] = T(math.Sqrt(q))
			}
		})
		return nil
	})
	return op.Dense(norm, w.N), err
}

// residualSlopes returns the derivatives by the q_i, 0 for absent rows, of the norms of residualValue or of its sum. g is the
// cotangent.
func residualSlopes[T kernel.Float](b *Builder[T], r residual, norm, g []T) []T {
	w := b.views[r.view]
	c := make([]T, w.N)
	for i := range c {
		switch {
		case !w.Has(i):
		case r.loss:
			c[i] = T(r.coefficient(float64(g[0]), 0))
		default:
			c[i] = T(r.coefficient(float64(g[i]), float64(norm[i])))
		}
	}
	return c
}

// residualGrad is the derivative of residualNode. With c_i the derivative by q_i,
//
//	dH = 2 diag(c)(HK − Y)      dY = −2 diag(c) H      dP = 2 Hᵀdiag(c)H·P (through K)
func residualGrad[T kernel.Float](b *Builder[T], r residual, by residualInput, h, y, p, out, g *Node) (*Node, error) {
	w, m := b.views[r.view], h.Shape()[1]
	shape := tensor.Shape{w.N, m}
	if by == byP {
		shape = tensor.Shape{m, w.D}
	}
	o := &op.Operation{
		Label: b.label("‖X−HP‖ %+v by %d", r, by),
		Run: op.On(func(x [][]T) (gorgonia.Value, error) {
			h, y, p, coefficients := x[0], x[1], x[2], residualSlopes(b, r, x[3], x[4])
			switch by {
			case byH:
				dh := make([]T, w.N*m)
				c := newResidualCalc(w, h, y, p)
				err := parallel.Spans(b.workers, w.N, func(lo, hi int) error {
					c.rows(lo, hi, func(i int, _ float64, half []float64) {
						for j, v := range half {
							dh[i*m+j] = T(2 * float64(coefficients[i]) * v)
						}
					})
					return nil
				})
				return op.Dense(dh, w.N, m), err
			case byY:
				return op.Dense(scaleRows(b.workers, w.N, m, h, coefficients, -2), w.N, m), nil
			}
			k, err := gramRows(b.workers, w.N, m, m, h, scaleRows(b.workers, w.N, m, h, coefficients, 2))
			if err != nil {
				return nil, err
			}
			return op.Dense(mulRows(1, m, m, w.D, k, p, false, nil), m, w.D), nil
		}),
	}
	return op.Apply(o, b.of, shape, h, y, p, out, g)
}

// scaleRows returns row i of the n×m matrix x times factor·c_i.
func scaleRows[T kernel.Float](workers, n, m int, x, c []T, factor T) []T {
	y := make([]T, n*m)
	_ = parallel.Spans(workers, n, func(lo, hi int) error {
		for i := lo; i < hi; i++ {
			w := factor * c[i]
			for j := i * m; j < (i+1)*m; j++ {
				y[j] = w * x[j]
			}
		}
		return nil
	})
	return y
}

// residualCalc computes rows of X − HP, or what is needed of them.
type residualCalc[T kernel.Float] struct {
	w       *View[T]
	m       int
	h, y, p []T
	k       kernel.Panel[T] // K = P·Pᵀ
}

func newResidualCalc[T kernel.Float](w *View[T], h, y, p []T) *residualCalc[T] {
	c := &residualCalc[T]{w: w, m: len(p) / w.D, h: h, y: y, p: p}
	k := make([]float64, c.m*c.m)
	for i := range c.m {
		for j := range i + 1 {
			sum := 0.0
			for q := range w.D {
				sum += float64(p[i*w.D+q]) * float64(p[j*w.D+q])
			}
			k[i*c.m+j], k[j*c.m+i] = sum, sum
		}
	}
	kernel.Pack(&c.k, c.m, c.m, k, c.m)
	return c
}

// rows calls f for the rows [lo, hi) with q_i = ‖x_i − h_i P‖² and with half its gradient by h_i, h_i K − y_i.
func (c *residualCalc[T]) rows(lo, hi int, f func(i int, q float64, half []float64)) {
	m, d := c.m, c.w.D
	ld := kernel.Pad(m)
	hk, half := make([]T, block*ld), make([]float64, m)
	var x []T // room for a row computed directly, when there is one
	var r []float64
	for ; lo < hi; lo += block {
		end := min(lo+block, hi)
		kernel.Mul(end-lo, c.h[lo*m:], m, &c.k, hk, ld, false)
		for i := lo; i < end; i++ {
			h, y, k := c.h[i*m:(i+1)*m], c.y[i*m:(i+1)*m], hk[(i-lo)*ld:]
			q := c.w.Norms[i]
			for j, v := range h {
				q += float64(v) * (float64(k[j]) - 2*float64(y[j]))
				half[j] = float64(k[j]) - float64(y[j])
			}
			if q < engine.DirectShare[T]()*c.w.Norms[i] {
				if x == nil {
					x, r = make([]T, d), make([]float64, d)
				}
				c.w.X.Row(i, x)
				q = c.direct(x, h, r, half)
			}
			f(i, max(q, 0), half)
		}
	}
}

// direct sets r to x − hP and half to −rPᵀ, and returns ‖r‖².
func (c *residualCalc[T]) direct(x, h []T, r, half []float64) float64 {
	d := c.w.D
	for q, v := range x {
		r[q] = float64(v)
	}
	for j, v := range h {
		for q, p := range c.p[j*d : (j+1)*d] {
			r[q] -= float64(v) * float64(p)
		}
	}
	for j := range h {
		sum := 0.0
		for q, p := range c.p[j*d : (j+1)*d] {
			sum -= r[q] * float64(p)
		}
		half[j] = sum
	}
	return kernel.SumSquares(r, 0)
}
