package largemvc

import (
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/engine"
)

// Network is a built network whatever its modules: what a loss term of one's own needs.
type Network interface {
	Env() Env
	Learnables() gorgonia.Nodes
	Loss() *Node
	H(l int) (*Node, error)
	P(l, v int) (*Node, error)
	T(l, v int) (*Node, error)
	ERows(l, v, lo, hi int, dst []float64) error
	Project() error
}

var (
	_ Network = (*LargeMvCNet)(nil)
	_ Network = (*AMvCNet)(nil)
	_ Network = (*RMvCNet)(nil)
)

// builtModel is a model of stock modules, as Fit trains it.
type builtModel interface {
	Network
	Build(e Env, data *Data, start StartPoint) error
	fused() fusedNetwork
}

// fused returns the network of the fused passes, nil if the model has per-module ops.
func (m *Model[R, N, A]) fused() fusedNetwork {
	f, _ := m.net.(fusedNetwork)
	return f
}

// buildNetwork makes the network of the fused passes where all modules are stock, else that of the modules' ops.
func (m *Model[R, N, A]) buildNetwork(e Env, data *Data, start StartPoint) (network, error) {
	if m.PerModule {
		return m.buildModules(e, data, start)
	}
	soft, ok := any(m.Represent).(*SoftThreshold)
	if !ok {
		return m.buildModules(e, data, start)
	}
	spec := engine.Spec{
		Samples: e.Samples, Dims: e.Dims, Anchors: e.Anchors, Layers: e.Layers, Workers: e.Workers,
		Represent: engine.Activation(soft.Activation), OneSided: soft.OneSided,
	}
	nodes := append(gorgonia.Nodes(nil), soft.theta...)
	var scale []float64
	switch noise := any(m.Noise).(type) {
	case *RowShrink:
		spec.Noise, spec.Shrink = true, engine.Activation(noise.Activation)
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
		if spec.Floor = anchor.Floor; spec.Floor == 0 && data.single != nil {
			spec.Floor = floatFloor
		}
	case *FixedAnchors:
	default:
		return m.buildModules(e, data, start)
	}
	nodes = append(nodes, soft.r, soft.u)
	if data.single != nil {
		spec.LossWeights = lossWeights(m.Reduction, data.single.views)
		return newFused[float32](e, data, spec, start, scale, nodes)
	}
	spec.LossWeights = lossWeights(m.Reduction, data.double.views)
	return newFused[float64](e, data, spec, start, scale, nodes)
}

// network returns the model that the configuration describes, not built yet.
func (c *Config) network(rhoScale []float64) builtModel {
	free := c.Signs == Unconstrained
	soft := &SoftThreshold{Theta0: c.Theta0, Lipschitz: c.Lipschitz, Activation: c.Activation, OneSided: c.OneSided, Unconstrained: free}
	switch c.Variant {
	case AMvC:
		return &AMvCNet{Represent: soft, Anchor: &Procrustes{Detach: c.DetachAnchors}, Reduction: c.Reduction}
	case RMvC:
		return &RMvCNet{Represent: soft, Reduction: c.Reduction}
	}
	return &LargeMvCNet{
		Represent: soft, Noise: &RowShrink{Rho0: c.Rho0, Scale: rhoScale, Activation: c.Activation, Unconstrained: free},
		Anchor: &Procrustes{Detach: c.DetachAnchors}, Reduction: c.Reduction,
	}
}
