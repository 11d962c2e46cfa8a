package unfold

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/op"
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

func (b *Builder[T]) presence(r rowWeight) []bool {
	if r.view < 0 {
		return nil
	}
	return b.views[r.view].Present
}

// weigh returns diag(w)·A for A (n×m) and the weights of t (a vector of n, or nil).
func weigh[T kernel.Float](b *Builder[T], r rowWeight, a, t *Node) (*Node, error) {
	shape := a.Shape().Clone()
	present := b.presence(r)
	in, diff := gorgonia.Nodes{a}, []bool{!b.fixed(a)}
	if t != nil {
		in, diff = append(in, t), append(diff, true)
	}
	o := &op.Operation{
		Label: b.label("weigh %+v, by t %t", r, t != nil),
		Diff:  diff,
		Run: op.ByRow(b.workers, shape, func(x [][]T, y []T, i int) {
			t := 1.0
			if len(x) == 2 {
				t = float64(x[1][i])
			}
			w := T(r.of(present, t, i))
			if w == 0 {
				return
			}
			for j := i * shape[1]; j < (i+1)*shape[1]; j++ {
				y[j] = w * x[0][j]
			}
		}),
		Grad: func(i int, in gorgonia.Nodes, _, dy *Node) (*Node, error) {
			if i == 1 {
				return rowDot(b, r, dy, in[0], nil)
			}
			if len(in) == 2 {
				return weigh(b, r, dy, in[1])
			}
			return weigh(b, r, dy, nil)
		},
	}
	return op.Apply(o, b.of, shape, in...)
}

// rowDot returns the derivative of the weight by t times the inner products of the rows of G and A − B (B may be nil), a
// vector of n. It has no derivative of its own.
func rowDot[T kernel.Float](b *Builder[T], r rowWeight, g, x, y *Node) (*Node, error) {
	n, m := g.Shape()[0], g.Shape()[1]
	present := b.presence(r)
	in := gorgonia.Nodes{g, x}
	if y != nil {
		in = append(in, y)
	}
	o := &op.Operation{
		Label: b.label("row products %+v, difference %t", r, y != nil),
		Run: op.ByRow(b.workers, tensor.Shape{n}, func(x [][]T, dt []T, i int) {
			if present != nil && !present[i] {
				return
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
		}),
	}
	return op.Apply(o, b.of, tensor.Shape{n}, in...)
}

// blend returns diag(t)·Y + diag(1−t)·W, n×m: (X−E)·Pᵀ for Y = X·Pᵀ and W = H·P_old·Pᵀ.
func blend[T kernel.Float](b *Builder[T], t, y, w *Node) (*Node, error) {
	shape := y.Shape().Clone()
	keep, rest := rowWeight{view: -1}, rowWeight{view: -1, complement: true}
	o := &op.Operation{
		Label: b.label("t·Y + (1−t)·W"),
		Diff:  []bool{true, !b.fixed(y), !b.fixed(w)},
		Run: op.ByRow(b.workers, shape, func(x [][]T, z []T, i int) {
			t, y, w := x[0][i], x[1], x[2]
			for j := i * shape[1]; j < (i+1)*shape[1]; j++ {
				z[j] = t*y[j] + (1-t)*w[j]
			}
		}),
		Grad: func(i int, in gorgonia.Nodes, _, dz *Node) (*Node, error) {
			switch i {
			case 0:
				return rowDot(b, keep, dz, in[1], in[2])
			case 1:
				return weigh(b, keep, dz, in[0])
			}
			return weigh(b, rest, dz, in[0])
		},
	}
	return op.Apply(o, b.of, shape, t, y, w)
}

// MeanViews returns the mean of the n×m matrices x, row by row over those with a 1 in the n×V matrix present, which may be nil.
func MeanViews[T kernel.Float](workers int, x []*Node, present *Node) (*Node, error) {
	of := op.Dtype[T]()
	if err := op.Want("the first matrix of a mean", x[0], of, -1, -1); err != nil {
		return nil, err
	}
	n, m, views := x[0].Shape()[0], x[0].Shape()[1], len(x)
	for _, a := range x {
		if err := op.Want("a matrix of a mean", a, of, n, m); err != nil {
			return nil, err
		}
	}
	in, diff := append(gorgonia.Nodes(nil), x...), op.All(views)
	if present != nil {
		if err := op.Want("the presence of views", present, of, n, views); err != nil {
			return nil, err
		}
		in, diff = append(in, present), append(diff, false)
	}
	shape := tensor.Shape{n, m}
	o := &op.Operation{
		Label: "mean over views",
		Diff:  diff,
		Run: op.ByRow(workers, shape, func(x [][]T, y []T, i int) {
			w := rowShare(x[views:], i, views)
			for v, a := range x[:views] {
				if !rowPresent(x[views:], i, v, views) {
					continue
				}
				for j := i * m; j < (i+1)*m; j++ {
					y[j] += w * a[j]
				}
			}
		}),
		Grad: func(v int, in gorgonia.Nodes, _, dy *Node) (*Node, error) {
			return meanViewsGrad[T](workers, v, views, dy, in[views:])
		},
	}
	return op.Apply(o, of, shape, in...)
}

// meanViewsGrad is the derivative of meanViews by matrix v.
func meanViewsGrad[T kernel.Float](workers, v, views int, dy *Node, present gorgonia.Nodes) (*Node, error) {
	shape := dy.Shape().Clone()
	o := &op.Operation{
		Label: fmt.Sprintf("derivative of the mean by view %d of %d", v, views),
		Run: op.ByRow(workers, shape, func(x [][]T, g []T, i int) {
			if !rowPresent(x[1:], i, v, views) {
				return
			}
			w := rowShare(x[1:], i, views)
			for j := i * shape[1]; j < (i+1)*shape[1]; j++ {
				g[j] = w * x[0][j]
			}
		}),
	}
	return op.Apply(o, op.Dtype[T](), shape, append(gorgonia.Nodes{dy}, present...)...)
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
func hold[T kernel.Float](b *Builder[T], what string, x *Node) (*Node, error) {
	shape := x.Shape().Clone()
	o := &op.Operation{
		Label: b.label("copy of %s", what),
		Diff:  []bool{true},
		Run:   op.On(func(x [][]T) (gorgonia.Value, error) { return op.Dense(slices.Clone(x[0]), shape...), nil }),
		Grad:  func(_ int, _ gorgonia.Nodes, _, dy *Node) (*Node, error) { return dy, nil },
	}
	return op.Apply(o, b.of, shape, x)
}

// reach returns the loss, a scalar, as a function of the learnable nodes too, with derivative zero. Gorgonia's Grad
// refuses a node that the loss does not depend on, such as the last layer's ρ behind detached anchors.
func reach[T kernel.Float](b *Builder[T], loss, present *Node, learnables gorgonia.Nodes) (*Node, error) {
	o := &op.Operation{
		Label: b.label("loss"),
		Diff:  op.All(1 + len(learnables)),
		Run: func(in []gorgonia.Value) (gorgonia.Value, error) {
			x, err := op.Elements[T](in[0])
			if err != nil {
				return nil, err
			}
			return op.Scalar[T](float64(x[0])), nil
		},
		Grad: func(i int, in gorgonia.Nodes, _, dloss *Node) (*Node, error) {
			if i == 0 {
				return dloss, nil
			}
			return zeros[T](b, in[i])
		},
	}
	return op.Apply(o, b.of, nil, withPresent(o, append(gorgonia.Nodes{loss}, learnables...), present)...)
}

// withPresent adds the presence of views, if samples lack some, to the inputs of the loss. If no module used it, it would be a
// second root of the graph, and the Lisp machine would refuse it as a cost and write a file.
func withPresent(o *op.Operation, inputs gorgonia.Nodes, present *Node) gorgonia.Nodes {
	if present == nil {
		return inputs
	}
	o.Diff = append(o.Diff, false)
	return append(slices.Clip(inputs), present)
}

// zeros returns zeros of the shape of x.
func zeros[T kernel.Float](b *Builder[T], x *Node) (*Node, error) {
	shape := x.Shape().Clone()
	o := &op.Operation{
		Label: b.label("zero gradient"),
		Run: func([]gorgonia.Value) (gorgonia.Value, error) {
			if shape.IsScalar() {
				return op.Scalar[T](0), nil
			}
			return op.Dense(make([]T, shape.TotalSize()), shape...), nil
		},
	}
	return op.Apply(o, b.of, shape, x)
}
