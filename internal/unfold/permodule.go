package unfold

import (
	"fmt"

	"github.com/largemvc/largemvc/internal/op"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Builder makes the ops of one network.
type Builder[T kernel.Float] struct {
	of      tensor.Dtype
	workers int
	prefix  string
	scope   string // with the prefix and the number, what makes a label unique in the graph
	number  int
	views   []*View[T]
	inputs  map[*Node]bool // those without a gradient
}

// NewBuilder makes a builder. scope tells its ops from those of other builders of the site; views may be nil for ops that
// need none.
func NewBuilder[T kernel.Float](e Site, scope string, views []*View[T]) *Builder[T] {
	return &Builder[T]{
		of: op.Dtype[T](), workers: e.Workers, prefix: e.Prefix, scope: scope, views: views, inputs: map[*Node]bool{},
	}
}

// label names an operation of the network. Every one gets a number: nodes whose hashes collide are compared by the hash of
// their op alone, so two ops should have one hash only if they are the same function of the same inputs.
func (b *Builder[T]) label(format string, args ...any) string {
	b.number++
	return fmt.Sprintf("%q %s.%d: ", b.prefix, b.scope, b.number) + fmt.Sprintf(format, args...)
}

// fixed reports whether no learnable node is behind n, so that no gradient by n is wanted.
func (b *Builder[T]) fixed(n *Node) bool { return b.inputs[n] }

// perModule is the network made of one op per step of each module.
type perModule[T kernel.Float] struct {
	b       *Builder[T]
	modules Modules
	total   *Node
	raw     []*Node   // [v], the input nodes of the views where an encoder is before them
	x       []*Node   // [v], what the network sees of the view, nil where that is the view itself
	frozen  [][]*Node // [l][v], the anchors of a trained network in place of those of the module; nil: there are none
	hs      []*Node   // [l], l from 0
	ps      [][]*Node // [l][v]
	ts      [][]*Node // [l][v], nil where E = 0
	reads   map[string]*Node
	apart   string // what the labels of these begin with

	viewLoss []float64 // of the last run
}

// PerModule is a network of one op per step of each module whatever its element type.
type PerModule interface {
	Network
	// ViewLoss returns the loss of every view in the last run, in the network's own memory.
	ViewLoss() []float64
	// Codes returns the node of what the network sees of view v, nil where that is the view itself.
	Codes(v int) *Node
	// ReadApart has H, P and T give other copies from now on than they have given: who has those may overwrite them.
	ReadApart()
}

func (n *perModule[T]) ViewLoss() []float64 { return n.viewLoss }
func (n *perModule[T]) Codes(v int) *Node   { return n.x[v] }

// NewPerModule makes the network in the graph of e. The modules have been initialised. weights are the w_v of the loss.
func NewPerModule[T kernel.Float](e Site, views []*View[T], start Start, modules Modules, weights []float64) (Network, error) {
	n := newPerModule(e, views, modules)
	n.begin(e, start)
	y, err := n.layers(e, start)
	if err != nil {
		return nil, err
	}
	total, err := n.loss(weights, n.hs[e.Layers], y, n.ps[e.Layers])
	if err != nil {
		return nil, err
	}
	if total, err = reach(n.b, total, e.Present, modules.Learnables); err != nil {
		return nil, err
	}
	n.total, err = op.Anchored(total)
	return n, err
}

func newPerModule[T kernel.Float](e Site, views []*View[T], modules Modules) *perModule[T] {
	return &perModule[T]{
		b: NewBuilder(e, "", views), modules: modules, raw: make([]*Node, e.Views), x: make([]*Node, e.Views),
		reads: map[string]*Node{}, viewLoss: make([]float64, e.Views),
	}
}

// layers makes the ops of all layers and returns X·Pᵀ of every view for the last P.
func (n *perModule[T]) layers(e Site, start Start) (y []*Node, err error) {
	y = make([]*Node, e.Views) // X·Pᵀ for the current P
	for v := range y {
		if y[v], err = n.firstProduct(e, v); err != nil {
			return nil, err
		}
	}
	z, err := n.firstClean(e, start, y)
	if err != nil {
		return nil, err
	}
	for l := 1; l <= e.Layers; l++ {
		h, err := n.represent(l, z)
		if err != nil {
			return nil, err
		}
		// Operations of modules that are not this package's may leave their values on a device.
		if h, err = landed(h, nil); err != nil {
			return nil, err
		}
		n.hs = append(n.hs, h)
		n.ps, n.ts = append(n.ps, make([]*Node, e.Views)), append(n.ts, make([]*Node, e.Views))
		for v := range e.Views {
			old := n.ps[l-1][v]
			if n.ts[l][v], err = landed(n.trust(l, v, y[v])); err != nil {
				return nil, err
			}
			if n.ps[l][v], err = landed(n.anchor(l, v)); err != nil {
				return nil, err
			}
			if n.ps[l][v] != old {
				if y[v], err = n.project(v, n.ps[l][v]); err != nil {
					return nil, err
				}
			}
			if z[v] = y[v]; l < e.Layers && n.ts[l][v] != nil {
				if z[v], err = n.clean(l, v, y[v]); err != nil {
					return nil, err
				}
			}
		}
	}
	return y, nil
}

// firstProduct returns X·Pᵀ of view v for the first anchors, with the code of an encoder in place of X if there is one.
func (n *perModule[T]) firstProduct(e Site, v int) (y *Node, err error) {
	if n.x[v], err = n.codes(e, v); err != nil {
		return nil, fmt.Errorf("Encoder, view %d: %w", v, err)
	}
	if x, p := n.x[v], n.ps[0][v]; x != nil && x.Shape()[1] != p.Shape()[1] {
		return nil, fmt.Errorf("the code of view %d has %d columns, its first anchors have %d", v, x.Shape()[1], p.Shape()[1])
	}
	if y, err = n.project(v, n.ps[0][v]); err != nil {
		return nil, err
	}
	n.b.inputs[y] = n.x[v] == nil
	return y, nil
}

// firstClean returns (X − E)·Pᵀ of every view for the initial E and P, from y = X·Pᵀ.
func (n *perModule[T]) firstClean(e Site, start Start, y []*Node) ([]*Node, error) {
	z := append([]*Node(nil), y...)
	for v := range start.E {
		s := y[v].Shape().Clone()
		noise := op.NewMatrix(e.G, e.Of, e.Name("E0P_%d", v), mat.NewDense(s[0], s[1], start.noise(e.Workers, v)))
		o := &op.Operation{Label: n.b.label("Y−E·Pᵀ"), Run: op.On(func(x [][]T) (gorgonia.Value, error) {
			z := make([]T, len(x[0]))
			for i, a := range x[0] {
				z[i] = a - x[1][i]
			}
			return op.Dense(z, s...), nil
		})}
		var err error
		if z[v], err = op.Apply(o, n.b.of, s, y[v], noise); err != nil {
			return nil, err
		}
		n.b.inputs[z[v]] = true
	}
	return z, nil
}

// begin makes the nodes of layer 0.
func (n *perModule[T]) begin(e Site, start Start) {
	h := start.H
	if h == nil {
		h = zeroMatrix{e.Samples, e.Anchors}
	}
	n.hs = []*Node{op.NewMatrix(e.G, e.Of, e.Name("H0"), h)}
	n.ps, n.ts = [][]*Node{make([]*Node, e.Views)}, [][]*Node{make([]*Node, e.Views)}
	for v, p := range start.Anchors {
		n.ps[0][v] = op.NewMatrix(e.G, e.Of, e.Name("P0_%d", v), p)
		n.b.inputs[n.ps[0][v]] = true
	}
	n.b.inputs[n.hs[0]] = true
}

// represent returns H of layer l.
func (n *perModule[T]) represent(l int, z []*Node) (*Node, error) {
	h, given := n.hs[l-1], append([]*Node(nil), z...)
	if n.modules.CopyForRepresent {
		var err error
		if h, err = hold(n.b, "H", h); err != nil {
			return nil, err
		}
		for v := range given {
			if given[v], err = hold(n.b, "Z", given[v]); err != nil {
				return nil, err
			}
		}
	}
	out, err := n.modules.Represent.Update(l, h, given)
	if err != nil {
		return nil, fmt.Errorf("Represent, layer %d: %w", l, err)
	}
	s := n.hs[0].Shape()
	return out, op.Want(fmt.Sprintf("H of Represent, layer %d,", l), out, n.b.of, s[0], s[1])
}

// trust returns t of layer l and view v, or nil.
func (n *perModule[T]) trust(l, v int, y *Node) (*Node, error) {
	if n.modules.Noise == nil {
		return nil, nil
	}
	norm, err := n.residual(residual{view: v}, n.hs[l], y, n.ps[l-1][v])
	if err == nil && n.modules.CopyForNoise {
		norm, err = hold(n.b, "r", norm)
	}
	if err != nil {
		return nil, err
	}
	t, err := n.modules.Noise.Trust(l, v, norm)
	if err != nil {
		return nil, fmt.Errorf("Noise, layer %d, view %d: %w", l, v, err)
	}
	if t == nil {
		return nil, nil
	}
	return t, op.Want(fmt.Sprintf("the trust of Noise, layer %d, view %d,", l, v), t, n.b.of, n.b.views[v].N)
}

// anchor returns P of layer l and view v.
func (n *perModule[T]) anchor(l, v int) (*Node, error) {
	old := n.ps[l-1][v]
	switch {
	case n.frozen != nil:
		return n.frozen[l][v], nil
	case n.modules.Anchor == nil:
		return old, nil
	}
	corr, err := n.correlation(l, v)
	if err != nil {
		return nil, err
	}
	prev := old
	if n.modules.CopyForAnchor {
		corr, err = hold(n.b, "HᵀX", corr)
		if err == nil {
			prev, err = hold(n.b, "P", old)
		}
		if err != nil {
			return nil, err
		}
	}
	p, err := n.modules.Anchor.Update(l, v, corr, prev)
	if err != nil {
		return nil, fmt.Errorf("Anchor, layer %d, view %d: %w", l, v, err)
	}
	s := old.Shape()
	return p, op.Want(fmt.Sprintf("P of Anchor, layer %d, view %d,", l, v), p, n.b.of, s[0], s[1])
}

// correlation returns M = Hᵀ(X − E) = (diag(b·t)H)ᵀX + (Hᵀdiag(b(1−t))H)·P over the rows that have the view.
func (n *perModule[T]) correlation(l, v int) (*Node, error) {
	b, h, t := n.b, n.hs[l], n.ts[l][v]
	keep, rest := rowWeight{view: v}, rowWeight{view: v, complement: true}
	if t == nil {
		if b.views[v].Present == nil {
			return n.correlate(v, h)
		}
		a, err := weigh(b, keep, h, nil)
		if err != nil {
			return nil, err
		}
		return n.correlate(v, a)
	}
	a, err := weigh(b, keep, h, t)
	if err != nil {
		return nil, err
	}
	data, err := n.correlate(v, a)
	if err != nil {
		return nil, err
	}
	if a, err = weigh(b, rest, h, t); err != nil {
		return nil, err
	}
	w, err := crossGram(b, h, a)
	if err != nil {
		return nil, err
	}
	return RowMul(b, w, n.ps[l-1][v], false, data)
}

// clean returns Z = (X − E)·Pᵀ = diag(t)·Y + diag(1−t)·H·C, C = P_old·Pᵀ.
func (n *perModule[T]) clean(l, v int, y *Node) (*Node, error) {
	c, err := smallMul(n.b, n.ps[l-1][v], n.ps[l][v], false, true)
	if err != nil {
		return nil, err
	}
	hc, err := RowMul(n.b, n.hs[l], c, false, nil)
	if err != nil {
		return nil, err
	}
	return blend(n.b, n.ts[l][v], y, hc)
}

// loss returns the scalar Σ_v w_v Σ_i ‖x_iv − h_i P_v‖² over the rows present. The sums over samples are taken in float64. Its
// op keeps the losses of the views.
func (n *perModule[T]) loss(weights []float64, h *Node, y, p []*Node) (*Node, error) {
	parts := make(gorgonia.Nodes, len(weights))
	for v, weight := range weights {
		var err error
		if parts[v], err = n.residual(residual{view: v, loss: true, weight: weight}, h, y[v], p[v]); err != nil {
			return nil, err
		}
	}
	o := &op.Operation{
		Label: n.b.label("sum over views"),
		Diff:  op.All(len(parts)),
		Run: op.On(func(x [][]T) (gorgonia.Value, error) {
			var total T
			for v, part := range x {
				n.viewLoss[v] = float64(part[0])
				total += part[0]
			}
			return op.Scalar[T](float64(total)), nil
		}),
		Grad: func(_ int, _ gorgonia.Nodes, _, dy *Node) (*Node, error) { return dy, nil },
	}
	return op.Apply(o, n.b.of, nil, parts...)
}

func (n *perModule[T]) Loss() *Node { return n.total }

// landed is op.Landed of a node that there may be.
func landed(n *Node, err error) (*Node, error) {
	if n == nil || err != nil {
		return nil, err
	}
	return op.Landed(n)
}

// read returns a copy of a node, the same one each time, so that what the caller does with it spoils nothing.
func (n *perModule[T]) read(what string, node *Node) (*Node, error) {
	if c, ok := n.reads[what]; ok {
		return c, nil
	}
	c, err := hold(n.b, n.apart+what, node)
	if err == nil {
		n.reads[what] = c
	}
	return c, err
}

func (n *perModule[T]) ReadApart() { // nodes of one label and input would be one node again
	clear(n.reads)
	n.apart += "another "
}

func (n *perModule[T]) H(l int) (*Node, error) {
	return n.read(fmt.Sprintf("H%d", l), n.hs[l])
}

func (n *perModule[T]) P(l, v int) (*Node, error) {
	return n.read(fmt.Sprintf("P%d_%d", l, v), n.ps[l][v])
}

func (n *perModule[T]) T(l, v int) (*Node, error) {
	if n.ts[l][v] == nil {
		return nil, nil
	}
	return n.read(fmt.Sprintf("t%d_%d", l, v), n.ts[l][v])
}

func (n *perModule[T]) ERows(l, v, lo, hi int, dst []float64) error {
	if n.ts[l][v] == nil {
		clear(dst)
		return nil
	}
	var values [3][]T
	for i, node := range []*Node{n.hs[l], n.ps[l-1][v], n.ts[l][v]} {
		if node.Value() == nil {
			return ErrNotRun
		}
		x, err := op.Elements[T](node.Value())
		if err != nil {
			return err
		}
		values[i] = x
	}
	h, p, t, w := values[0], values[1], values[2], n.b.views[v]
	if n.x[v] != nil {
		codes, err := op.Elements[T](n.x[v].Value())
		if err != nil {
			return err
		}
		d := n.x[v].Shape()[1]
		w = &View[T]{X: rows.NewDense(w.N, d, d, codes), N: w.N, D: d}
	}
	m := len(p) / w.D
	c := &residualCalc[T]{w: w, m: m, p: p}
	x, half := make([]T, w.D), make([]float64, m)
	for i := lo; i < hi; i++ {
		row := dst[(i-lo)*w.D : (i-lo+1)*w.D]
		w.X.Row(i, x)
		c.direct(x, h[i*m:(i+1)*m], row, half)
		for j := range row {
			row[j] *= 1 - float64(t[i])
		}
	}
	return nil
}

// PresenceNode makes the n×V input of zeros and ones.
func PresenceNode(e Site, present [][]bool) *Node {
	return op.NewMatrix(e.G, e.Of, e.Name("present"), presence(present))
}

// presence is a mask as a matrix.
type presence [][]bool

func (p presence) Dims() (int, int) { return len(p), len(p[0]) }
func (p presence) At(i, j int) float64 {
	if p[i][j] {
		return 1
	}
	return 0
}
func (p presence) T() mat.Matrix { return mat.Transpose{Matrix: p} }

// zeroMatrix is r×c zeros.
type zeroMatrix struct{ r, c int }

func (z zeroMatrix) Dims() (int, int)    { return z.r, z.c }
func (z zeroMatrix) At(int, int) float64 { return 0 }
func (z zeroMatrix) T() mat.Matrix       { return zeroMatrix{z.c, z.r} }
