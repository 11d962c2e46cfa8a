package unfold

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/rows"
)

// Frozen is a trained network of per-module ops over a few rows at a time: the anchors of every layer are constants, and
// there is neither a loss nor a gradient. One goroutine uses it at once.
type Frozen[T kernel.Float] struct {
	net     *perModule[T]
	present []T // n×V, of the presence node
	h       *Node
	trust   []*Node // nil where E = 0
	machine gorgonia.VM
	out     []T // H with the kernels' stride
	t       [][]T
}

// FrozenSite returns the site of a network over room rows, whose presence node modules may use.
func FrozenSite(e Site, room int) Site {
	e.Samples = room
	ones := make([][]bool, room)
	for i := range ones {
		ones[i] = make([]bool, e.Views)
		for v := range ones[i] {
			ones[i][v] = true
		}
	}
	e.Present = PresenceNode(e, ones)
	return e
}

// NewFrozen makes the network on a site that FrozenSite returned. The modules have been initialised there, and have the
// values of the training; anchors are P_l of every view, l from 0 to L.
func NewFrozen[T kernel.Float](e Site, anchors [][]*mat.Dense, modules Modules) (*Frozen[T], error) {
	views := make([]*View[T], e.Views)
	for v, d := range e.Dims {
		views[v] = &View[T]{
			X: rows.NewDense(e.Samples, d, d, make([]T, e.Samples*d)), N: e.Samples, D: d, Norms: make([]float64, e.Samples),
			Present: make([]bool, e.Samples),
		}
	}
	n := newPerModule(e, views, modules)
	start := Start{Anchors: make([]mat.Matrix, e.Views)}
	for v, p := range anchors[0] {
		start.Anchors[v] = p
	}
	n.begin(e, start)
	n.frozen = make([][]*Node, len(anchors))
	for l, layer := range anchors {
		n.frozen[l] = make([]*Node, e.Views)
		for v, p := range layer {
			if n.frozen[l][v] = n.ps[0][v]; l > 0 {
				n.frozen[l][v] = op.NewMatrix(e.G, e.Of, e.Name("P%d_%d", l, v), p)
				n.b.inputs[n.frozen[l][v]] = true
			}
		}
	}
	if _, err := n.layers(e, start); err != nil {
		return nil, err
	}
	f := &Frozen[T]{net: n, trust: make([]*Node, e.Views), t: make([][]T, e.Views)}
	var err error
	if f.h, err = n.H(e.Layers); err != nil {
		return nil, err
	}
	for v := range f.trust {
		if f.trust[v], err = n.T(e.Layers, v); err != nil {
			return nil, err
		}
		f.t[v] = make([]T, e.Samples)
	}
	f.present = make([]T, e.Samples*e.Views)
	f.out = make([]T, e.Samples*kernel.Pad(e.Anchors))
	if err := gorgonia.Let(e.Present, op.Dense(f.present, e.Samples, e.Views)); err != nil {
		return nil, fmt.Errorf("presence: %w", err)
	}
	f.machine, err = op.NewMachine(e.G, nil)
	return f, err
}

// Use sets the first n rows of view v from x, and which of them have it. The rest is zero.
func (f *Frozen[T]) Use(v, n int, x rows.Matrix[T], present []bool) {
	w := f.net.b.views[v]
	views := len(f.net.b.views)
	dst := make([]T, w.N*w.D)
	for i := range w.N {
		has := i < n && present[i]
		if has {
			x.Row(i, dst[i*w.D:(i+1)*w.D])
		}
		w.Present[i] = has
		f.present[i*views+v] = 0
		if has || i >= n { // a row beyond the last has all views, so that no mean is over none
			f.present[i*views+v] = 1
		}
	}
	w.X = rows.NewDense(w.N, w.D, w.D, dst)
	w.X.SquaredNorms(0, w.N, w.Norms)
}

// Run computes H_L and the trust of the rows.
func (f *Frozen[T]) Run() error {
	for v, x := range f.net.raw {
		if x == nil {
			continue
		}
		w := f.net.b.views[v]
		if err := gorgonia.Let(x, op.Dense(w.dense(), w.N, w.D)); err != nil {
			return err
		}
	}
	f.machine.Reset()
	if err := Run(f.machine); err != nil {
		return err
	}
	h, err := op.Elements[T](f.h.Value())
	if err != nil {
		return err
	}
	m := f.h.Shape()[1]
	for i, ld := 0, kernel.Pad(m); i < len(h)/m; i++ {
		copy(f.out[i*ld:i*ld+m], h[i*m:(i+1)*m])
	}
	for v, node := range f.trust {
		if node == nil {
			for i := range f.t[v] {
				f.t[v][i] = 1
			}
			continue
		}
		t, err := op.Elements[T](node.Value())
		if err != nil {
			return err
		}
		copy(f.t[v], t)
	}
	return nil
}

// H returns H_L row-major with the stride kernel.Pad(m); it is overwritten by the next Run.
func (f *Frozen[T]) H() []T { return f.out }

// Trust returns t_Lv per row, ones where E = 0; it is overwritten by the next Run.
func (f *Frozen[T]) Trust(v int) []T { return f.t[v] }

// Run runs a machine and returns what an op of it returned as the error: Gorgonia's says where, not why.
func Run(machine gorgonia.VM) error {
	err := machine.RunAll()
	if at, ok := err.(interface{ Err() error }); ok {
		return at.Err()
	}
	return err
}
