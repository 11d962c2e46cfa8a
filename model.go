package largemvc

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/unfold"
	"github.com/largemvc/largemvc/internal/view"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
)

// Model is a network on a Gorgonia graph, with one module of each kind:
//
//	var m largemvc.LargeMvCNet
//	err := m.Build(largemvc.Env{G: gorgonia.NewGraph()}, data, start)
//	grads, err := gorgonia.Grad(m.Loss(), m.Learnables()...)
//	machine := gorgonia.NewTapeMachine(m.Loss().Graph(), gorgonia.BindDualValues(m.Learnables()...))
//
// Each training step then calls RunAll, Step of the solver, Project and Reset. Build makes nil modules of this package. The
// network needs the tape machine; the Lisp machine cannot run it.
//
// Layer l = 1 … L updates H, then the trust t of every view, then its anchors P:
//
//	H_l  = Represent(H_{l−1}, Z)         Z_v = (X_v − E_v)·P_vᵀ
//	t_lv = Noise(‖X_v − H_l·P_v‖ by rows)  X_v − E_v = diag(t)·X_v + diag(1−t)·H_l·P_v
//	P_lv = Anchor(H_lᵀ(X_v − E_v), P_v)
//
// A step holds no n×d_v array except X_v.
type Model[R Represent, N Noise, A Anchor] struct {
	Represent R
	Noise     N
	Anchor    A

	// Reduction selects the weights w_v of the loss Σ_v w_v ‖X_v − H_L·P_Lv‖²; default ReductionMean.
	Reduction Reduction
	// PerModule makes Build use one op per step of each module instead of the fused passes, which are faster. Both give the
	// same results up to rounding.
	PerModule bool

	env    Env
	data   *Data
	device *device.Session // that has the rows of the fused passes; nil: memory
	idle   []view.View     // whose memory their state may lie in
	again  bool            // nothing of it is kept from pass to pass
	net    unfold.Network
	learn  gorgonia.Nodes
	noise  []mat.Matrix // the initial E; nil: 0
}

// LargeMvCNet is the network of the paper. AMvC-Net is Model[*SoftThreshold, *NoNoise, *Procrustes], and RMvC-Net is
// Model[*SoftThreshold, *NoNoise, *FixedAnchors].
type LargeMvCNet = Model[*SoftThreshold, *RowShrink, *Procrustes]

// Build makes the network in e.G, with new learnable nodes. Env states which fields of e may be zero.
func (m *Model[R, N, A]) Build(e Env, data *Data, start StartPoint) error {
	m.net, m.learn = nil, nil
	if err := errors.Join(m.fillModules(), m.Reduction.check()); err != nil {
		return err
	}
	_, encoded := any(m.Represent).(Encoder)
	e, err := e.complete(data, start, encoded)
	if err != nil {
		return err
	}
	if data.present != nil {
		e.Present = unfold.PresenceNode(unfold.Site(e), data.present)
	}
	panicked := guarded(func() error { err = m.initialise(e, data, start); return nil })
	if panicked != nil {
		return fmt.Errorf("largemvc: building the network: %w", panicked)
	}
	return err
}

// initialise makes the learnable nodes and the ops of the modules.
func (m *Model[R, N, A]) initialise(e Env, data *Data, start StartPoint) error {
	for i, module := range m.modules() {
		if err := module.Init(e); err != nil {
			if stock(module) {
				return err
			}
			return fmt.Errorf("largemvc: %s (%T): %w", moduleNames[i], module, err)
		}
	}
	if err := checkLearnables(e.G, e.Prefix, e.Of, nodesOf(m.modules())); err != nil {
		return err
	}
	m.learn = learnables(m.modules())
	net, err := prefixed(m.buildNetwork(e, data, start))
	if err != nil {
		return err
	}
	m.env, m.data, m.net, m.noise = e, data, net, start.E
	return nil
}

// buildModules makes the network from the ops of each module.
func (m *Model[R, N, A]) buildModules(e Env, data *Data, start StartPoint) (unfold.Network, error) {
	modules := unfold.Modules{
		Represent: m.Represent, Noise: m.Noise, Anchor: m.Anchor,
		CopyForRepresent: !stock(m.Represent), CopyForNoise: !stock(m.Noise), CopyForAnchor: !stock(m.Anchor),
		Learnables: m.learn,
	}
	modules.Encoder, _ = any(m.Represent).(Encoder)
	if _, ok := any(m.Noise).(*NoNoise); ok {
		modules.Noise = nil
	}
	if _, ok := any(m.Anchor).(*FixedAnchors); ok {
		modules.Anchor = nil
	}
	weights := m.Reduction.weights(data)
	if data.single != nil {
		return unfold.NewPerModule(unfold.Site(e), data.single, unfold.Start(start), modules, weights)
	}
	return unfold.NewPerModule(unfold.Site(e), data.double, unfold.Start(start), modules, weights)
}

func (m *Model[R, N, A]) modules() [3]Module { return [3]Module{m.Represent, m.Noise, m.Anchor} }

// fillModules makes the stock modules that are nil; others that are nil are an error.
func (m *Model[R, N, A]) fillModules() error {
	for _, field := range []any{&m.Represent, &m.Noise, &m.Anchor} {
		switch p := field.(type) {
		case **SoftThreshold:
			makeIfNil(p)
		case **RowShrink:
			makeIfNil(p)
		case **NoNoise:
			makeIfNil(p)
		case **Procrustes:
			makeIfNil(p)
		case **FixedAnchors:
			makeIfNil(p)
		default:
			v := reflect.ValueOf(field).Elem()
			if v.Kind() == reflect.Interface && !v.IsNil() {
				v = v.Elem() // which may be a nil pointer
			}
			if (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
				return fmt.Errorf("largemvc: the module of type %v is nil", v.Type())
			}
		}
	}
	return nil
}

func makeIfNil[M any](p **M) {
	if *p == nil {
		*p = new(M)
	}
}

// stock reports whether a module is from this package.
func stock(m Module) bool {
	switch m.(type) {
	case *SoftThreshold, *RowShrink, *NoNoise, *Procrustes, *FixedAnchors:
		return true
	}
	return false
}

var (
	errNotBuilt = errors.New("largemvc: the model has no network yet; call Build first")
)

// Env returns the Env of the last Build, with its zero fields filled.
func (m *Model[R, N, A]) Env() Env { return m.env }

// Learnables returns the nodes to train, module by module: with the modules of this package θ_1 … θ_L, R, U, then ρ̃ of every
// view, layer by layer. It is empty before Build.
func (m *Model[R, N, A]) Learnables() gorgonia.Nodes {
	if m.net == nil {
		return nil
	}
	return slices.Clone(m.learn)
}

// nodesOf returns the learnable nodes of each module.
func nodesOf(modules [3]Module) (nodes [3]gorgonia.Nodes) {
	for i, m := range modules {
		nodes[i] = m.Learnables()
	}
	return nodes
}

func learnables(modules [3]Module) gorgonia.Nodes {
	var nodes gorgonia.Nodes
	for _, module := range modules {
		nodes = append(nodes, module.Learnables()...)
	}
	return nodes
}

// Project puts the values of the learnable nodes back into their range (θ, ρ ≥ 0). Call it after each step of a solver.
func (m *Model[R, N, A]) Project() error {
	if m.net == nil {
		return errNotBuilt
	}
	panicked := guarded(func() error {
		for _, module := range m.modules() {
			if err := module.Project(); err != nil {
				return withName(err)
			}
		}
		return nil
	})
	return withName(panicked)
}

// Modules returns the modules of the network. In Config.ExtraLoss they are the copies that Fit trains.
func (m *Model[R, N, A]) Modules() (Represent, Noise, Anchor) { return m.Represent, m.Noise, m.Anchor }

// Loss returns the scalar node Σ_v w_v Σ_i ‖x_iv − h_i·P_v‖² with H and P of the last layer, over the rows that have the
// view. w_v is 1/(n_v·d_v) with ReductionMean and 1/(V·Σ_i ‖x_iv‖²) with ReductionRelative. Loss returns nil before Build.
func (m *Model[R, N, A]) Loss() *gorgonia.Node {
	if m.net == nil {
		return nil
	}
	return m.net.Loss()
}

// H returns a node with the representation of layer l (n×m); layer 0 is the start. The node has a gradient and may be part of
// a loss. Call H, P and T before you make the tape machine.
func (m *Model[R, N, A]) H(l int) (*gorgonia.Node, error) {
	if err := m.inRange(l, 0, 0); err != nil {
		return nil, err
	}
	return prefixed(m.net.H(l))
}

// P returns a node with the anchors of view v after layer l (m×d_v); layer 0 is the start.
func (m *Model[R, N, A]) P(l, v int) (*gorgonia.Node, error) {
	if err := m.inRange(l, 0, v); err != nil {
		return nil, err
	}
	return prefixed(m.net.P(l, v))
}

// T returns a node with the trust of layer l ≥ 1 in each row of view v (a vector of n); it is 1 where E is 0. The values of
// absent rows are undefined. T returns an error if the Noise module has E = 0 throughout.
func (m *Model[R, N, A]) T(l, v int) (*gorgonia.Node, error) {
	if err := m.inRange(l, 1, v); err != nil {
		return nil, err
	}
	t, err := prefixed(m.net.T(l, v))
	if err == nil && t == nil {
		err = fmt.Errorf("largemvc: layer %d has no trust for view %d: E is 0", l, v)
	}
	return t, err
}

// Dot returns the graph of the network in DOT, the language of Graphviz. A box has the name of a node, or its operation, and its
// shape; arrows go to what is made from it. After gorgonia.Grad the graph has the gradients too. Dot returns "" before Build.
func (m *Model[R, N, A]) Dot() string {
	if m.net == nil {
		return ""
	}
	out := []byte("digraph {\n\tnode [shape=box]\n")
	for _, n := range m.env.G.AllNodes() {
		name := n.Name()
		if n.Op() != nil {
			text := strings.SplitAfterN(fmt.Sprint(n.Op()), ": ", 2) // the first part is the prefix with a number
			name = text[len(text)-1]
		}
		out = fmt.Appendf(out, "\t%d [label=%q]\n", n.ID(), fmt.Sprintf("%s %v", name, n.Shape()))
		for from := m.env.G.From(n.ID()); from.Next(); {
			out = fmt.Appendf(out, "\t%d -> %d\n", from.Node().ID(), n.ID())
		}
	}
	return string(append(out, "}\n"...))
}

// ERows sets dst to the rows [lo, hi) of E_v = diag(1−t)(X_v − H·P_v) of layer l (row-major, (hi−lo)×d_v), from the values of
// the last run and the P_v of layer l−1. Layer 0 is the start. Absent rows are zero.
func (m *Model[R, N, A]) ERows(l, v, lo, hi int, dst []float64) error {
	if err := m.inRange(l, 0, v); err != nil {
		return err
	}
	if lo < 0 || hi < lo || hi > m.env.Samples {
		return fmt.Errorf("largemvc: lo is %d and hi is %d, want 0 ≤ lo ≤ hi ≤ %d", lo, hi, m.env.Samples)
	}
	columns := m.columns(v)
	if want := (hi - lo) * columns; len(dst) != want {
		return fmt.Errorf("largemvc: dst has %d values, want %d: %d rows of %d", len(dst), want, hi-lo, columns)
	}
	switch {
	case l == 0 && m.noise == nil:
		clear(dst)
	case l == 0:
		for i := lo; i < hi; i++ {
			mat.Row(dst[(i-lo)*columns:(i-lo+1)*columns], i, m.noise[v])
		}
	default:
		if err := m.net.ERows(l, v, lo, hi, dst); err != nil {
			return fmt.Errorf("largemvc: %w", err)
		}
	}
	for i := lo; i < hi; i++ {
		if !m.data.Present(i, v) {
			clear(dst[(i-lo)*columns : (i-lo+1)*columns])
		}
	}
	return nil
}

// columns is d_v, or the number of columns of the view's code.
func (m *Model[R, N, A]) columns(v int) int {
	if net, ok := m.net.(unfold.PerModule); ok && net.Codes(v) != nil {
		return net.Codes(v).Shape()[1]
	}
	return m.env.Dims[v]
}

func (m *Model[R, N, A]) inRange(l, lowest, v int) error {
	switch {
	case m.net == nil:
		return errNotBuilt
	case l < lowest || l > m.env.Layers:
		return fmt.Errorf("largemvc: the layer is %d, want %d to %d", l, lowest, m.env.Layers)
	case v < 0 || v >= m.env.Views:
		return fmt.Errorf("largemvc: the view is %d, want 0 to %d", v, m.env.Views-1)
	}
	return nil
}

// Network is a built network with any modules. Model documents the methods. Config.ExtraLoss gets a Network.
type Network interface {
	Env() Env
	Learnables() gorgonia.Nodes
	Modules() (Represent, Noise, Anchor)
	Loss() *gorgonia.Node
	H(l int) (*gorgonia.Node, error)
	P(l, v int) (*gorgonia.Node, error)
	T(l, v int) (*gorgonia.Node, error)
	ERows(l, v, lo, hi int, dst []float64) error
	Project() error
}

var _ Network = (*LargeMvCNet)(nil)

// fused returns the network of the fused passes, nil if the model has per-module ops.
func (m *Model[R, N, A]) fused() unfold.Fused {
	f, _ := m.net.(unfold.Fused)
	return f
}

// buildNetwork makes a network of fused passes if all modules are stock, otherwise one of the modules' ops.
func (m *Model[R, N, A]) buildNetwork(e Env, data *Data, start StartPoint) (unfold.Network, error) {
	if m.PerModule {
		return m.buildModules(e, data, start)
	}
	soft, ok := any(m.Represent).(*SoftThreshold)
	if !ok {
		return m.buildModules(e, data, start)
	}
	spec := engine.Spec{
		Samples: data.group.Total(e.Samples), Dims: e.Dims, Anchors: e.Anchors, Layers: e.Layers, Workers: e.Workers,
		Represent: soft.Activation.sigma(), OneSided: soft.OneSided,
	}
	nodes := append(gorgonia.Nodes(nil), soft.theta...)
	var scale []float64
	switch noise := any(m.Noise).(type) {
	case *RowShrink:
		spec.Noise, spec.Shrink = true, noise.Activation.sigma()
		nodes = append(nodes, noise.Learnables()...)
		for v := range e.Dims {
			scale = append(scale, noise.scale(v))
		}
	case *NoNoise:
	default:
		return m.buildModules(e, data, start)
	}
	switch anchor := any(m.Anchor).(type) {
	case *Procrustes:
		spec.Anchored, spec.Detach = true, anchor.Detach
		if data.single != nil {
			spec.Floor = floatFloor
		}
	case *FixedAnchors:
	default:
		return m.buildModules(e, data, start)
	}
	nodes = append(nodes, soft.r, soft.u)
	spec.LossWeights = m.Reduction.weights(data)
	var reduce engine.Reducer = engine.InOrder{}
	if data.group != nil {
		reduce = engine.OverRanks{Group: data.group}
	}
	if data.single != nil {
		return unfold.NewFused(unfold.Site(e), data.single, spec, unfold.Start(start), scale, nodes,
			shardsOf[float32](m.device, data, m.idle, m.again), reduce)
	}
	return unfold.NewFused(unfold.Site(e), data.double, spec, unfold.Start(start), scale, nodes,
		shardsOf[float64](m.device, data, m.idle, m.again), reduce)
}

// shardsOf makes the shards of the fused passes: on a device if there is one, and of the samples of this rank. again says that
// they keep no state; else some of it lies in the memory of idle views.
func shardsOf[T kernel.Float](on *device.Session, data *Data, idle []view.View, again bool) engine.Factory[T] {
	switch {
	case again && on == nil:
		return engine.RecomputedFrom[T](data.group.First())
	case data.group == nil && on != nil:
		return device.Factory[T](on)
	}
	var spare [][]T
	for _, x := range idle {
		spare = append(spare, view.Own[T](x))
	}
	return engine.InMemoryFrom(data.group.First(), spare...)
}
