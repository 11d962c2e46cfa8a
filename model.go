package largemvc

import (
	"errors"
	"fmt"
	"reflect"

	"gorgonia.org/gorgonia"
)

// Node is a node of a Gorgonia graph.
type Node = gorgonia.Node

// Model is a network on a Gorgonia graph, made of a module of each kind:
//
//	var m largemvc.LargeMvCNet
//	err := m.Build(largemvc.Env{G: gorgonia.NewGraph()}, data, start)
//	grads, err := gorgonia.Grad(m.Loss(), m.Learnables()...)
//	machine := gorgonia.NewTapeMachine(m.Loss().Graph(), gorgonia.BindDualValues(m.Learnables()...))
//
// and for each step: RunAll, the solver's Step, Project, Reset. Stock modules that are nil are made by Build. The Lisp
// machine cannot run the network, the tape machine can.
//
// The layers l = 1 … L update H, then the trust t of every view, then its anchors P:
//
//	H_l  = Represent(H_{l−1}, Z)         Z_v = (X_v − E_v)·P_vᵀ
//	t_lv = Noise(‖X_v − H_l·P_v‖ by rows)  X_v − E_v = diag(t)·X_v + diag(1−t)·H_l·P_v
//	P_lv = Anchor(H_lᵀ(X_v − E_v), P_v)
//
// Apart from X_v no n×d_v array exists in a step.
type Model[R Represent, N Noise, A Anchor] struct {
	Represent R
	Noise     N
	Anchor    A

	// Reduction of the loss Σ_v w_v ‖X_v − H_L·P_Lv‖²: Mean, Sum or Relative.
	Reduction Reduction
	// PerModule makes Build use one op per step of each module where it would use the fused passes. Results agree up to
	// rounding; the fused passes are faster.
	PerModule bool

	env  Env
	data *Data
	net  network
}

type (
	// LargeMvCNet is the network of the paper.
	LargeMvCNet = Model[*SoftThreshold, *RowShrink, *Procrustes]
	// AMvCNet is its ablation without noise.
	AMvCNet = Model[*SoftThreshold, *NoNoise, *Procrustes]
	// RMvCNet is its ablation without noise and with fixed anchors.
	RMvCNet = Model[*SoftThreshold, *NoNoise, *FixedAnchors]
)

// network is what Build makes, by either path. Layers run from 1 to L, views from 0; for H and P, layer 0 is the start.
// The caller has checked the ranges.
type network interface {
	loss() *Node
	h(l int) (*Node, error)
	p(l, v int) (*Node, error)
	t(l, v int) (*Node, error) // nil where E = 0
	// eRows sets dst to the rows [lo, hi) of E_v of layer l, from the values of the last run. Absent rows may hold anything.
	eRows(l, v, lo, hi int, dst []float64) error
}

// Build makes the network in e.G, with fresh learnable nodes. See Env for what e may leave zero.
func (m *Model[R, N, A]) Build(e Env, data *Data, start StartPoint) error {
	m.net = nil
	e, err := e.complete(data, start)
	if err != nil {
		return err
	}
	if err := errors.Join(m.fillModules(), m.Reduction.check()); err != nil {
		return err
	}
	if data.present != nil {
		e.Present = presenceNode(e, data.present)
	}
	for _, module := range m.modules() {
		if err := module.Init(e); err != nil {
			return err
		}
	}
	net, err := prefixed(m.buildNetwork(e, data, start))
	if err != nil {
		return err
	}
	m.env, m.data, m.net = e, data, net
	return nil
}

// buildModules makes the network from the ops of each module.
func (m *Model[R, N, A]) buildModules(e Env, data *Data, start StartPoint) (network, error) {
	if data.single != nil {
		return buildPerModule[float32](e, data, start, m.Represent, m.Noise, m.Anchor, m.Reduction)
	}
	return buildPerModule[float64](e, data, start, m.Represent, m.Noise, m.Anchor, m.Reduction)
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
	errNotRun   = errors.New("largemvc: the network has not been run yet")
)

// prefixed begins the error of an internal package, if there is one, with the name of this one.
func prefixed[X any](x X, err error) (X, error) {
	if err != nil {
		err = fmt.Errorf("largemvc: %w", err)
	}
	return x, err
}

// Env returns the Env of the last Build with all that it left zero.
func (m *Model[R, N, A]) Env() Env { return m.env }

// Learnables returns the nodes to train, module by module: with stock modules θ_1 … θ_L, R, U, then ρ̃_lv layer by layer.
// It is empty before Build.
func (m *Model[R, N, A]) Learnables() gorgonia.Nodes {
	if m.net == nil {
		return nil
	}
	return learnables(m.modules())
}

func learnables(modules [3]Module) gorgonia.Nodes {
	var nodes gorgonia.Nodes
	for _, module := range modules {
		nodes = append(nodes, module.Learnables()...)
	}
	return nodes
}

// Project puts the values of the learnable nodes back into their range (θ, ρ ≥ 0); call it after each step of a solver.
func (m *Model[R, N, A]) Project() error {
	if m.net == nil {
		return errNotBuilt
	}
	for _, module := range m.modules() {
		if err := module.Project(); err != nil {
			return err
		}
	}
	return nil
}

// Loss returns the scalar Σ_v w_v Σ_i ‖x_iv − h_i·P_v‖² with H and P of the last layer, over the rows that have the view;
// w_v is 1/(n_v·d_v), 1 with Sum, and 1/(V·Σ_i ‖x_iv‖²) with Relative. It is nil before Build.
func (m *Model[R, N, A]) Loss() *Node {
	if m.net == nil {
		return nil
	}
	return m.net.loss()
}

// H returns a node with the representation of layer l (n×m), 0 being the start. It has a gradient: it can be part of a
// loss. Like P and T it must be asked for before the tape machine is made.
func (m *Model[R, N, A]) H(l int) (*Node, error) {
	if err := m.inRange(l, 0, 0); err != nil {
		return nil, err
	}
	return m.net.h(l)
}

// P returns a node with the anchors of view v after layer l (m×d_v), 0 being the start.
func (m *Model[R, N, A]) P(l, v int) (*Node, error) {
	if err := m.inRange(l, 0, v); err != nil {
		return nil, err
	}
	return m.net.p(l, v)
}

// T returns a node with the trust of layer l ≥ 1 in each row of view v (a vector of n): 1 where E is 0. Rows without the
// view have a value without meaning. It is an error where the Noise module has E = 0 throughout.
func (m *Model[R, N, A]) T(l, v int) (*Node, error) {
	if err := m.inRange(l, 1, v); err != nil {
		return nil, err
	}
	t, err := m.net.t(l, v)
	if err == nil && t == nil {
		err = fmt.Errorf("largemvc: layer %d has no trust for view %d: E is 0", l, v)
	}
	return t, err
}

// ERows sets dst to the rows [lo, hi) of E_v = diag(1−t)(X_v − H·P_v) after layer l, row-major (hi−lo)×d_v, from the
// values of the last run; P_v is that of layer l−1. Rows without the view are zero, as is layer 0.
func (m *Model[R, N, A]) ERows(l, v, lo, hi int, dst []float64) error {
	if err := m.inRange(l, 0, v); err != nil {
		return err
	}
	if lo < 0 || hi < lo || hi > m.env.Samples {
		return fmt.Errorf("largemvc: rows %d to %d of %d", lo, hi, m.env.Samples)
	}
	if want := (hi - lo) * m.env.Dims[v]; len(dst) != want {
		return fmt.Errorf("largemvc: room for %d values of E, want %d", len(dst), want)
	}
	if l == 0 {
		clear(dst)
		return nil
	}
	if err := m.net.eRows(l, v, lo, hi, dst); err != nil {
		return err
	}
	for i, d := lo, m.env.Dims[v]; i < hi; i++ {
		if !m.data.Present(i, v) {
			clear(dst[(i-lo)*d : (i-lo+1)*d])
		}
	}
	return nil
}

func (m *Model[R, N, A]) inRange(l, lowest, v int) error {
	switch {
	case m.net == nil:
		return errNotBuilt
	case l < lowest || l > m.env.Layers:
		return fmt.Errorf("largemvc: layer %d, want %d to %d", l, lowest, m.env.Layers)
	case v < 0 || v >= m.env.Views:
		return fmt.Errorf("largemvc: view %d, want 0 to %d", v, m.env.Views-1)
	}
	return nil
}
