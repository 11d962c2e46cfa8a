package largemvc

import (
	"github.com/largemvc/largemvc/internal/kernel"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// The ops of the lazy form X − E = diag(t)·X + diag(1−t)·H·P that work row by row.

// rowWeight is the weight of a row in a sum: b·t, b·(1−t) or, without t, b, where b is 1 for a present row and 0 else.
type rowWeight struct {
	view       int // whose presence counts; −1: every row is present
	complement bool
}

// of returns the weight of row i; absent rows weigh nothing whatever t is there, NaN too.
func (r rowWeight) of(present []bool, t float64, i int) float64 {
	if present != nil && !present[i] {
		return 0
	}
	if r.complement {
		return 1 - t
	}
	return t
}

func (b *builder[T]) presence(r rowWeight) []bool {
	if r.view < 0 {
		return nil
	}
	return b.views[r.view].present
}

// weigh returns diag(w)·A for A (n×m) and the weights of t (a vector of n, or nil).
func weigh[T kernel.Float](b *builder[T], r rowWeight, a, t *gorgonia.Node) (*gorgonia.Node, error) {
	n, m := a.Shape()[0], a.Shape()[1]
	present := b.presence(r)
	in, diff := gorgonia.Nodes{a}, []bool{!b.fixed(a)}
	if t != nil {
		in, diff = append(in, t), append(diff, true)
	}
	op := &operation{
		label: b.label("weigh %+v, by t %t", r, t != nil),
		diff:  diff,
		do: func(in []gorgonia.Value) (gorgonia.Value, error) {
			x, err := inputs[T](in)
			if err != nil {
				return nil, err
			}
			y := make([]T, n*m)
			err = eachSpan(b.workers, n, func(lo, hi int) error {
				for i := lo; i < hi; i++ {
					t := 1.0
					if len(x) == 2 {
						t = float64(x[1][i])
					}
					w := T(r.of(present, t, i))
					if w == 0 {
						continue
					}
					for j := i * m; j < (i+1)*m; j++ {
						y[j] = w * x[0][j]
					}
				}
				return nil
			})
			return dense(y, n, m), err
		},
		grad: func(i int, in gorgonia.Nodes, _, dy *gorgonia.Node) (*gorgonia.Node, error) {
			if i == 1 {
				return rowDot(b, r, dy, in[0], nil)
			}
			if len(in) == 2 {
				return weigh(b, r, dy, in[1])
			}
			return weigh(b, r, dy, nil)
		},
	}
	return apply(op, b.of, tensor.Shape{n, m}, in...)
}

// rowDot returns the derivative of the weight by t times the inner products of the rows of G and A − B (B may be nil), a
// vector of n. It has no derivative of its own.
func rowDot[T kernel.Float](b *builder[T], r rowWeight, g, x, y *gorgonia.Node) (*gorgonia.Node, error) {
	n, m := g.Shape()[0], g.Shape()[1]
	present := b.presence(r)
	in := gorgonia.Nodes{g, x}
	if y != nil {
		in = append(in, y)
	}
	op := &operation{
		label: b.label("row products %+v, difference %t", r, y != nil),
		do: func(in []gorgonia.Value) (gorgonia.Value, error) {
			x, err := inputs[T](in)
			if err != nil {
				return nil, err
			}
			dt := make([]T, n)
			err = eachSpan(b.workers, n, func(lo, hi int) error {
				for i := lo; i < hi; i++ {
					if present != nil && !present[i] {
						continue
					}
					sum := 0.0
					for j := i * m; j < (i+1)*m; j++ {
						a := float64(x[1][j])
						if len(x) == 3 {
							a -= float64(x[2][j])
						}
						sum += float64(x[0][j]) * a
					}
					if r.complement {
						sum = -sum
					}
					dt[i] = T(sum)
				}
				return nil
			})
			return dense(dt, n), err
		},
	}
	return apply(op, b.of, tensor.Shape{n}, in...)
}

// blend returns diag(t)·Y + diag(1−t)·W, n×m: (X−E)·Pᵀ for Y = X·Pᵀ and W = H·P_old·Pᵀ.
func blend[T kernel.Float](b *builder[T], t, y, w *gorgonia.Node) (*gorgonia.Node, error) {
	n, m := y.Shape()[0], y.Shape()[1]
	keep, rest := rowWeight{view: -1}, rowWeight{view: -1, complement: true}
	op := &operation{
		label: b.label("t·Y + (1−t)·W"),
		diff:  []bool{true, !b.fixed(y), !b.fixed(w)},
		do: func(in []gorgonia.Value) (gorgonia.Value, error) {
			x, err := inputs[T](in)
			if err != nil {
				return nil, err
			}
			t, y, w, z := x[0], x[1], x[2], make([]T, n*m)
			err = eachSpan(b.workers, n, func(lo, hi int) error {
				for i := lo; i < hi; i++ {
					for j := i * m; j < (i+1)*m; j++ {
						z[j] = t[i]*y[j] + (1-t[i])*w[j]
					}
				}
				return nil
			})
			return dense(z, n, m), err
		},
		grad: func(i int, in gorgonia.Nodes, _, dz *gorgonia.Node) (*gorgonia.Node, error) {
			switch i {
			case 0:
				return rowDot(b, keep, dz, in[1], in[2])
			case 1:
				return weigh(b, keep, dz, in[0])
			}
			return weigh(b, rest, dz, in[0])
		},
	}
	return apply(op, b.of, tensor.Shape{n, m}, t, y, w)
}

// meanViews returns the mean of the n×m matrices x, row by row over those with a 1 in the n×V matrix present, which may
// be nil.
func meanViews[T kernel.Float](workers int, x []*gorgonia.Node, present *gorgonia.Node) (*gorgonia.Node, error) {
	of := dtypeFor[T]()
	if err := want("the first matrix of a mean", x[0], of, -1, -1); err != nil {
		return nil, err
	}
	n, m, views := x[0].Shape()[0], x[0].Shape()[1], len(x)
	for _, a := range x {
		if err := want("a matrix of a mean", a, of, n, m); err != nil {
			return nil, err
		}
	}
	in, diff := append(gorgonia.Nodes(nil), x...), all(views)
	if present != nil {
		if err := want("the presence of views", present, of, n, views); err != nil {
			return nil, err
		}
		in, diff = append(in, present), append(diff, false)
	}
	op := &operation{
		label: "mean over views",
		diff:  diff,
		do: func(in []gorgonia.Value) (gorgonia.Value, error) {
			x, err := inputs[T](in)
			if err != nil {
				return nil, err
			}
			y := make([]T, n*m)
			err = eachSpan(workers, n, func(lo, hi int) error {
				for i := lo; i < hi; i++ {
					w := rowShare(x[views:], i, views)
					for v, a := range x[:views] {
						if !rowPresent(x[views:], i, v, views) {
							continue
						}
						for j := i * m; j < (i+1)*m; j++ {
							y[j] += w * a[j]
						}
					}
				}
				return nil
			})
			return dense(y, n, m), err
		},
		grad: func(v int, in gorgonia.Nodes, _, dy *gorgonia.Node) (*gorgonia.Node, error) {
			return meanViewsGrad[T](workers, v, views, dy, in[views:])
		},
	}
	return apply(op, of, tensor.Shape{n, m}, in...)
}

// meanViewsGrad is the derivative of meanViews by matrix v.
func meanViewsGrad[T kernel.Float](workers, v, views int, dy *gorgonia.Node, present gorgonia.Nodes) (*gorgonia.Node, error) {
	n, m := dy.Shape()[0], dy.Shape()[1]
	op := &operation{
		label: label("derivative of the mean by view %d of %d", v, views),
		do: func(in []gorgonia.Value) (gorgonia.Value, error) {
			x, err := inputs[T](in)
			if err != nil {
				return nil, err
			}
			g := make([]T, n*m)
			err = eachSpan(workers, n, func(lo, hi int) error {
				for i := lo; i < hi; i++ {
					if !rowPresent(x[1:], i, v, views) {
						continue
					}
					w := rowShare(x[1:], i, views)
					for j := i * m; j < (i+1)*m; j++ {
						g[j] = w * x[0][j]
					}
				}
				return nil
			})
			return dense(g, n, m), err
		},
	}
	return apply(op, dtypeFor[T](), tensor.Shape{n, m}, append(gorgonia.Nodes{dy}, present...)...)
}

// rowPresent reports whether row i has view v, present being empty or one n×V matrix.
func rowPresent[T kernel.Float](present [][]T, i, v, views int) bool {
	return len(present) == 0 || present[0][i*views+v] != 0
}

// rowShare is the weight of each view that row i has.
func rowShare[T kernel.Float](present [][]T, i, views int) T {
	count := 0
	for v := range views {
		if rowPresent(present, i, v, views) {
			count++
		}
	}
	return 1 / T(count)
}

// hold returns a copy of a node, so that an op that overwrites its input spoils the copy alone.
func hold[T kernel.Float](b *builder[T], what string, x *gorgonia.Node) (*gorgonia.Node, error) {
	shape := x.Shape().Clone()
	op := &operation{
		label: b.label("copy of %s", what),
		diff:  []bool{true},
		do: func(in []gorgonia.Value) (gorgonia.Value, error) {
			x, err := elements[T](in[0])
			if err != nil {
				return nil, err
			}
			return dense(append([]T(nil), x...), shape...), nil
		},
		grad: func(_ int, _ gorgonia.Nodes, _, dy *gorgonia.Node) (*gorgonia.Node, error) { return dy, nil },
	}
	return apply(op, b.of, shape, x)
}

// reach returns the loss, a scalar, as a function of the learnable nodes too, with derivative zero. Gorgonia's Grad
// refuses a node that the loss does not depend on, such as the last layer's ρ behind detached anchors.
func reach[T kernel.Float](b *builder[T], loss *gorgonia.Node, learnables gorgonia.Nodes) (*gorgonia.Node, error) {
	op := &operation{
		label: b.label("loss"),
		diff:  all(1 + len(learnables)),
		do: func(in []gorgonia.Value) (gorgonia.Value, error) {
			x, err := elements[T](in[0])
			if err != nil {
				return nil, err
			}
			return scalar[T](float64(x[0])), nil
		},
		grad: func(i int, in gorgonia.Nodes, _, dloss *gorgonia.Node) (*gorgonia.Node, error) {
			if i == 0 {
				return dloss, nil
			}
			return zeros[T](b, in[i])
		},
	}
	return apply(op, b.of, nil, append(gorgonia.Nodes{loss}, learnables...)...)
}

// zeros returns zeros of the shape of x.
func zeros[T kernel.Float](b *builder[T], x *gorgonia.Node) (*gorgonia.Node, error) {
	shape := x.Shape().Clone()
	op := &operation{
		label: b.label("zero gradient"),
		do: func([]gorgonia.Value) (gorgonia.Value, error) {
			if shape.IsScalar() {
				return scalar[T](0), nil
			}
			return dense(make([]T, shape.TotalSize()), shape...), nil
		},
	}
	return apply(op, b.of, shape, x)
}
