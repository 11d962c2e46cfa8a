package largemvc

import (
	"fmt"
	"math"
	"slices"
)

// fill initialises modules in a graph of their own and gives their learnable nodes the trained values.
func (p *Predictor) fill(modules [3]Module) error {
	e := p.site(1, 1)
	return guarded(func() error {
		for i, m := range modules {
			if err := m.Init(e); err != nil {
				return err
			}
			if err := learn(e.Prefix, i, m.Learnables(), p.learned[i]); err != nil {
				return err
			}
		}
		return checkLearnables(e.G, e.Prefix, e.Of, nodesOf(modules))
	})
}

// Parameters returns the names of the learnable nodes of all modules, in their order. Those of the stock modules are
// theta_1 … theta_L, R, U and rho_1_0 … rho_L_k of layers and inputs.
func (p *Predictor) Parameters() []string {
	var out []string
	for _, list := range p.learned {
		for _, l := range list {
			out = append(out, l.name)
		}
	}
	return out
}

// Parameter returns a copy of the value of a learnable node by its name, row-major, and its shape, which is empty for a
// scalar. Thresholds ρ are in their learned unit, as Rho is not. It returns an error if there is no node of that name.
func (p *Predictor) Parameter(name string) (values []float64, shape []int, err error) {
	for _, list := range p.learned {
		for _, l := range list {
			if l.name == name {
				return slices.Clone(l.values), slices.Clone(l.shape), nil
			}
		}
	}
	return nil, nil, fmt.Errorf("largemvc: no learnable node %q; there are %q", name, p.Parameters())
}

// setLearned takes over the learned values, and those of stock modules under their own names too.
func (p *Predictor) setLearned(values [3][]learned) {
	p.learned = values
	find := func(i int, format string, args ...any) []float64 {
		name := fmt.Sprintf(format, args...)
		for _, l := range values[i] {
			if l.name == name {
				return l.values
			}
		}
		return nil
	}
	scalar := func(x []float64) float64 {
		if len(x) != 1 {
			return math.NaN()
		}
		return x[0]
	}
	if _, ok := p.config.Represent.(*SoftThreshold); ok {
		p.r, p.u = find(0, "R"), find(0, "U")
		for l := range p.config.Layers {
			p.Theta = append(p.Theta, scalar(find(0, "theta_%d", l+1)))
		}
	}
	if _, ok := p.config.Noise.(*RowShrink); ok {
		for l := range p.config.Layers {
			rho := make([]float64, len(p.inputs))
			for v := range rho {
				rho[v] = p.scale[v] * scalar(find(1, "rho_%d_%d", l+1, v))
			}
			p.Rho = append(p.Rho, rho)
		}
	}
}

// nameLearned sets the learned values of stock modules by their names, from the parameters that a file has.
func (p *Predictor) nameLearned() {
	m := p.config.Anchors
	var soft, shrink []learned
	for l, theta := range p.Theta {
		soft = append(soft, learned{fmt.Sprintf("theta_%d", l+1), nil, []float64{theta}})
	}
	soft = append(soft, learned{"R", []int{m, m}, p.r}, learned{"U", []int{m, m}, p.u})
	for l, layer := range p.Rho {
		for v, rho := range layer {
			if v < len(p.scale) {
				shrink = append(shrink, learned{fmt.Sprintf("rho_%d_%d", l+1, v), nil, []float64{rho / p.scale[v]}})
			}
		}
	}
	p.learned = [3][]learned{soft, shrink, nil}
}
