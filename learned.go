package largemvc

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/op"
)

// learned is the value of a learnable node of a module, by which modules that are not from this package are saved.
type learned struct {
	name   string // of the node, without the prefix of the network
	shape  []int
	values []float64
}

// learnedName returns the name of a node without the prefix of its network.
func (e Env) learnedName(n *gorgonia.Node) string { return strings.TrimPrefix(n.Name(), e.Prefix+".") }

// checkLearnables refuses learnable nodes that a network cannot be trained or saved with.
func (e Env) checkLearnables(modules [3]Module) error {
	names := map[string]bool{}
	for i, m := range modules {
		for k, n := range m.Learnables() {
			what := fmt.Sprintf("learnable node %d of %s (%T)", k, moduleNames[i], m)
			switch {
			case n == nil:
				return fmt.Errorf("largemvc: %s is nil", what)
			case n.Graph() != e.G:
				return fmt.Errorf("largemvc: %s is not in the network's graph", what)
			case n.Dtype() != e.Of:
				return fmt.Errorf("largemvc: %s is %v, want %v (Env.Of)", what, n.Dtype(), e.Of)
			case n.Value() == nil || op.EntriesOf(n.Value()) == nil:
				return fmt.Errorf("largemvc: %s has no value", what)
			case e.learnedName(n) == "":
				return fmt.Errorf("largemvc: %s has no name", what)
			case names[n.Name()]:
				return fmt.Errorf("largemvc: %s has the name of another, %q: Env.Name makes names", what, n.Name())
			}
			names[n.Name()] = true
		}
	}
	return nil
}

// learnedBy returns the values of the learnable nodes of a module.
func (e Env) learnedBy(m Module) []learned {
	var out []learned
	for _, n := range m.Learnables() {
		x := op.EntriesOf(n.Value())
		l := learned{name: e.learnedName(n), shape: slices.Clone([]int(n.Shape())), values: make([]float64, x.Len())}
		for j := range l.values {
			l.values[j] = x.At(j)
		}
		out = append(out, l)
	}
	return out
}

// learn gives the learnable nodes of a module, which has been initialised, the values that learnedBy returned.
func (e Env) learn(place int, m Module, values []learned) error {
	nodes := m.Learnables()
	if len(nodes) != len(values) {
		return fmt.Errorf("the module %s (%T) makes %d learnable nodes, the trained one has %d",
			moduleNames[place], m, len(nodes), len(values))
	}
	for _, n := range nodes {
		k := slices.IndexFunc(values, func(l learned) bool { return l.name == e.learnedName(n) })
		if k < 0 {
			return fmt.Errorf("the module %s (%T) makes a learnable node %q, which the trained one does not have",
				moduleNames[place], m, e.learnedName(n))
		}
		if !slices.Equal([]int(n.Shape()), values[k].shape) {
			return fmt.Errorf("the learnable node %q of the module %s (%T) has the shape %v, in the trained one it has %v",
				values[k].name, moduleNames[place], m, []int(n.Shape()), values[k].shape)
		}
		x := op.EntriesOf(n.Value())
		for j, value := range values[k].values {
			x.Set(j, value)
		}
	}
	return nil
}

// site returns the Env of a network over some samples for the inputs of a predictor, in a graph of its own.
func (p *Predictor) site(samples, workers int) Env {
	e := Env{
		G: gorgonia.NewGraph(), Prefix: defaultPrefix, Layers: p.config.Layers, Views: len(p.inputs), Anchors: p.config.Anchors,
		Samples: samples, Of: tensor.Float32, Workers: workers, Seed: p.config.Seed,
	}
	if p.config.Float64 {
		e.Of = tensor.Float64
	}
	for _, in := range p.inputs {
		e.Dims = append(e.Dims, in.Columns)
	}
	return e
}

// fill initialises modules in a graph of their own and gives their learnable nodes the trained values.
func (p *Predictor) fill(modules [3]Module) error {
	e := p.site(1, 1)
	return guarded(func() error {
		for i, m := range modules {
			if err := m.Init(e); err != nil {
				return err
			}
			if err := e.learn(i, m, p.learned[i]); err != nil {
				return err
			}
		}
		return e.checkLearnables(modules)
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

// errNoModule says that a module is missing which a file needs.
var errNoModule = errors.New("give Load a pointer to one")

// take puts the modules that are given to Load, or to Resume, in their places of a configuration that was read: each must be
// of a type that the file names.
func (t foreign) take(c *Config, given []Module) error {
	used := make([]bool, len(given))
	for i, want := range t {
		if want == "" {
			continue
		}
		found := false
		for k, m := range given {
			if used[k] || m == nil || moduleType(m) != want {
				continue
			}
			if !c.setModule(i, m) {
				return fmt.Errorf("%s cannot be a %T", moduleNames[i], m)
			}
			used[k], found = true, true
			break
		}
		if !found {
			return fmt.Errorf("its module %s is a %s: %w", moduleNames[i], want, errNoModule)
		}
	}
	for k, m := range given {
		if !used[k] {
			return fmt.Errorf("a module of type %T is given, which it does not have", m)
		}
	}
	return nil
}

// given refuses a configuration that lacks a module of a type that a file names, or has another.
func (t foreign) given(c *Config) error {
	for i, want := range t {
		if want == "" {
			continue
		}
		switch m := c.modules()[i]; {
		case m == nil:
			return fmt.Errorf("its %s is a %s, which is not from this package: set it in the function that "+
				"changes the configuration",
				moduleNames[i], want)
		case moduleType(m) != want:
			return fmt.Errorf("%s was %s and is %s now", moduleNames[i], want, moduleType(m))
		}
	}
	return nil
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
