package unfold

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/rows"
)

// codes returns the node of what the network sees of view v in place of the view, nil where that is the view itself.
func (n *perModule[T]) codes(e Site, v int) (*Node, error) {
	if n.modules.Encoder == nil {
		return nil, nil
	}
	w := n.b.views[v]
	x := op.NewInput(e.G, e.Name("X%d", v), op.Dense(w.dense(), w.N, w.D), w.N, w.D)
	n.raw[v] = x
	n.b.inputs[x] = true
	given, err := hold(n.b, "X", x)
	if err != nil {
		return nil, err
	}
	out, err := n.modules.Encoder.Encode(v, given)
	if err != nil || out == nil {
		return nil, err
	}
	return out, op.Want("the code of a view", out, n.b.of, w.N, -1)
}

// Codes returns a node with a copy of what an encoder makes of the rows x of view v, nil where it leaves them as they are.
func Codes[T kernel.Float](e Site, v int, x rows.Matrix[T], encoder Encoder) (*Node, error) {
	rows, d := x.Dims()
	b := NewBuilder[T](e, fmt.Sprintf("code %d", v), nil)
	w := &View[T]{X: x, N: rows, D: d}
	node := op.NewInput(e.G, e.Name("X%d", v), op.Dense(w.dense(), rows, d), rows, d)
	given, err := hold(b, "X", node)
	if err != nil {
		return nil, err
	}
	out, err := encoder.Encode(v, given)
	if err != nil || out == nil {
		return nil, err
	}
	if err := op.Want("the code of a view", out, b.of, rows, -1); err != nil {
		return nil, err
	}
	return hold(b, "code", out)
}

// dense returns all rows of a view in one slice.
func (w *View[T]) dense() []T {
	x := make([]T, w.N*w.D)
	for i := range w.N {
		w.X.Row(i, x[i*w.D:(i+1)*w.D])
	}
	return x
}

// project returns X·Pᵀ of a view for P, m×d, whether the view is constant or a node.
func (n *perModule[T]) project(v int, p *Node) (*Node, error) {
	if n.x[v] == nil {
		return project(n.b, v, p)
	}
	return RowMul(n.b, n.x[v], p, true, nil)
}

// correlate returns AᵀX of a view for A, n×m.
func (n *perModule[T]) correlate(v int, a *Node) (*Node, error) {
	if n.x[v] == nil {
		return correlate(n.b, v, a)
	}
	return crossGram(n.b, a, n.x[v])
}

// residual returns what is made of the q_i of a view.
func (n *perModule[T]) residual(r residual, h, y, p *Node) (*Node, error) {
	if n.x[r.view] == nil {
		return residualNode(n.b, r, h, y, p)
	}
	return codeResidual(n.b, r, h, n.x[r.view], p)
}

// codeResidual is residualNode for a view that is a node X itself: q_i = ‖x_i − h_i P‖² of H (n×m), X (n×d) and P (m×d), with
// a gradient by each. The residuals are computed as they stand, for there is no ‖x_i‖² that stays.
func codeResidual[T kernel.Float](b *Builder[T], r residual, h, x, p *Node) (*Node, error) {
	w, d := b.views[r.view], x.Shape()[1]
	var shape tensor.Shape
	if !r.loss {
		shape = tensor.Shape{w.N}
	}
	o := &op.Operation{
		Label: b.label("‖X−HP‖ of codes %+v", r),
		Diff:  []bool{!b.fixed(h), true, !b.fixed(p)},
		Run: op.On(func(z [][]T) (gorgonia.Value, error) {
			e := differences(b.workers, w.N, d, z[0], z[1], z[2])
			return residualValue(b, r, func(lo, hi int, f func(i int, q float64, half []float64)) {
				for i := lo; i < hi; i++ {
					f(i, kernel.SumSquares(e[i*d:(i+1)*d], 0), nil)
				}
			})
		}),
		Grad: func(i int, in gorgonia.Nodes, out, g *Node) (*Node, error) {
			return codeResidualGrad(b, r, i, in[0], in[1], in[2], out, g)
		},
	}
	return op.Apply(o, b.of, shape, h, x, p)
}

// differences returns X − H·P, n×d.
func differences[T kernel.Float](workers, n, d int, h, x, p []T) []T {
	m := len(p) / d
	e := mulRows(workers, n, m, d, h, p, false, nil)
	for i, v := range x {
		e[i] = v - e[i]
	}
	return e
}

// codeResidualGrad is the derivative of codeResidual by input k. With c_i the derivative by q_i and E = X − HP,
//
//	dH = −2 diag(c) E Pᵀ      dX = 2 diag(c) E      dP = −2 Hᵀ diag(c) E
func codeResidualGrad[T kernel.Float](b *Builder[T], r residual, k int, h, x, p, out, g *Node) (*Node, error) {
	w, d, m := b.views[r.view], x.Shape()[1], h.Shape()[1]
	shape := []tensor.Shape{{w.N, m}, {w.N, d}, {m, d}}[k]
	o := &op.Operation{
		Label: b.label("‖X−HP‖ of codes %+v by %d", r, k),
		Run: op.On(func(z [][]T) (gorgonia.Value, error) {
			h, p, c := z[0], z[2], residualSlopes(b, r, z[3], z[4])
			e := differences(b.workers, w.N, d, h, z[1], p)
			switch k {
			case 0:
				e = scaleRows(b.workers, w.N, d, e, c, -2)
				return op.Dense(mulRows(b.workers, w.N, d, m, e, p, true, nil), w.N, m), nil
			case 1:
				return op.Dense(scaleRows(b.workers, w.N, d, e, c, 2), w.N, d), nil
			}
			dp, err := gramRows(b.workers, w.N, m, d, h, scaleRows(b.workers, w.N, d, e, c, -2))
			return op.Dense(dp, m, d), err
		}),
	}
	return op.Apply(o, b.of, shape, h, x, p, out, g)
}
