package largemvc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/predict"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/unfold"
)

// moduleNames are the fields of Config that hold modules, in that order.
var moduleNames = [3]string{"Represent", "Noise", "Anchor"}

// learned is the value of a learnable node of a module, by which modules that are not from this package are saved.
type learned struct {
	name   string // of the node, without the prefix of the network
	shape  []int
	values []float64
}

// learnedName returns the name of a node without the prefix of its network.
func learnedName(prefix string, n *gorgonia.Node) string {
	return strings.TrimPrefix(n.Name(), prefix+".")
}

// checkLearnables refuses learnable nodes of modules that a network of an element type cannot be trained or saved with.
func checkLearnables(g *gorgonia.ExprGraph, prefix string, of tensor.Dtype, modules [3]gorgonia.Nodes) error {
	names := map[string]bool{}
	for i, nodes := range modules {
		for k, n := range nodes {
			what := fmt.Sprintf("learnable node %d of %s", k, moduleNames[i])
			switch {
			case n == nil:
				return fmt.Errorf("largemvc: %s is nil", what)
			case n.Graph() != g:
				return fmt.Errorf("largemvc: %s is not in the network's graph", what)
			case n.Dtype() != of:
				return fmt.Errorf("largemvc: %s is %v, want %v (Env.Of)", what, n.Dtype(), of)
			case n.Value() == nil || op.EntriesOf(n.Value()) == nil:
				return fmt.Errorf("largemvc: %s has no value", what)
			case learnedName(prefix, n) == "":
				return fmt.Errorf("largemvc: %s has no name", what)
			case names[n.Name()]:
				return fmt.Errorf("largemvc: %s has the name of another, %q: Env.Name makes names", what, n.Name())
			}
			names[n.Name()] = true
		}
	}
	return nil
}

// learnedBy returns the values of learnable nodes.
func learnedBy(prefix string, nodes gorgonia.Nodes) []learned {
	var out []learned
	for _, n := range nodes {
		out = append(out, learned{learnedName(prefix, n), slices.Clone([]int(n.Shape())), float64s(n)})
	}
	return out
}

// float64s returns the entries of the value of a node.
func float64s(n *gorgonia.Node) []float64 {
	x := op.EntriesOf(n.Value())
	out := make([]float64, x.Len())
	for j := range out {
		out[j] = x.At(j)
	}
	return out
}

// learn gives the learnable nodes of the module in a place the values that learnedBy returned.
func learn(prefix string, place int, nodes gorgonia.Nodes, values []learned) error {
	module := moduleNames[place]
	if len(nodes) != len(values) {
		return fmt.Errorf("the module %s makes %d learnable nodes, the trained one has %d", module, len(nodes), len(values))
	}
	for _, n := range nodes {
		name := learnedName(prefix, n)
		k := slices.IndexFunc(values, func(l learned) bool { return l.name == name })
		if k < 0 {
			return fmt.Errorf("the module %s makes a learnable node %q, which the trained one does not have", module, name)
		}
		if !slices.Equal([]int(n.Shape()), values[k].shape) {
			return fmt.Errorf("the learnable node %q of the module %s has the shape %v, in the trained one it has %v",
				name, module, []int(n.Shape()), values[k].shape)
		}
		x := op.EntriesOf(n.Value())
		for j, value := range values[k].values {
			x.Set(j, value)
		}
	}
	return nil
}

// batchEntries bounds the entries of a batch of rows that goes through the graph of a trained network.
const batchEntries = 1 << 22

// batches takes rows through the graph of a trained network whose modules are not all from this package.
type batches[T kernel.Float] struct {
	net     *unfold.Frozen[T]
	present [][]bool
	turn    *sync.Mutex
}

// newBatches makes graphs of copies of a predictor's modules, whose operations have so many goroutines. Of all that have the same
// turn, one is built, or run, at a time: the copies may share what their pointers point to.
func newBatches[T kernel.Float](p *Predictor, workers int, turn *sync.Mutex) predict.NewRunner[T] {
	return func(room int, present [][]bool) (predict.Runner[T], error) {
		turn.Lock()
		defer turn.Unlock()
		e := Env(unfold.FrozenSite(unfold.Site(p.site(room, workers)), room))
		soft, noise := copied(p.config.Represent), copied(p.config.Noise)
		out := &batches[T]{present: present, turn: turn}
		err := guarded(func() error {
			noise = p.withUnit(noise).(Noise) // of the same type
			for i, m := range []Module{soft, noise} {
				if err := m.Init(e); err != nil {
					return err
				}
				if err := learn(e.Prefix, i, m.Learnables(), p.learned[i]); err != nil {
					return err
				}
			}
			modules := unfold.Modules{
				Represent: soft, Noise: noise, CopyForRepresent: !stock(soft), CopyForNoise: !stock(noise),
			}
			modules.Encoder, _ = soft.(Encoder)
			if _, ok := noise.(*NoNoise); ok {
				modules.Noise = nil
			}
			var err error
			out.net, err = unfold.NewFrozen[T](unfold.Site(e), p.anchors, modules)
			return err
		})
		if err != nil {
			return nil, withName(err)
		}
		return out, nil
	}
}

func (b *batches[T]) Use(k, n int, x rows.Matrix[T]) { b.net.Use(k, n, x, b.present[k]) }

func (b *batches[T]) Run(int) error {
	b.turn.Lock()
	defer b.turn.Unlock()
	return b.net.Run()
}

func (b *batches[T]) H() []T          { return b.net.H() }
func (b *batches[T]) Trust(k int) []T { return b.net.Trust(k) }

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

// encodeStart replaces the first anchors of a run by those of the codes that an encoder makes at its start, for the same labels
// of the samples. It returns the first values of the learnable nodes, which may be random.
func encodeStart[T kernel.Float](ctx context.Context, in *prepared[T], c *Config, r *runState) ([]learned, error) {
	module := copied(c.Represent)
	encoder, ok := module.(Encoder)
	if !ok {
		return nil, fmt.Errorf("largemvc: %T is not an Encoder", module)
	}
	data := in.data
	e := Env{
		G: gorgonia.NewGraph(), Prefix: defaultPrefix, Layers: c.Layers, Views: data.Views(), Anchors: c.Anchors,
		Samples: data.samples, Dims: data.Dims(), Of: data.of, Workers: c.Machine.Workers, Seed: c.Seed + uint64(r.Restart),
	}
	if data.present != nil {
		e.Present = unfold.PresenceNode(unfold.Site(e), data.present)
	}
	codes := make([]*gorgonia.Node, e.Views)
	var values []learned
	err := guarded(func() error {
		if err := module.Init(e); err != nil {
			return err
		}
		for v, x := range in.x {
			var err error
			if codes[v], err = unfold.Codes(unfold.Site(e), v, x, encoder); err != nil {
				return err
			}
		}
		values = learnedBy(e.Prefix, module.Learnables())
		machine, err := op.NewMachine(e.G)
		if err != nil {
			return err
		}
		defer machine.Close()
		return unfold.Run(machine)
	})
	if err != nil {
		return nil, fmt.Errorf("largemvc: the first codes: %w", err)
	}
	if r.Begin.Labels == nil { // given anchors, which are of the codes
		return values, nil
	}
	x := make([]rows.Matrix[T], e.Views)
	for v := range x {
		if x[v] = in.x[v]; codes[v] == nil {
			continue
		}
		z, err := op.Elements[T](codes[v].Value())
		if err != nil {
			return nil, err
		}
		d := codes[v].Shape()[1]
		for i := range e.Samples {
			if !data.Present(i, v) {
				clear(z[i*d : (i+1)*d])
			}
		}
		x[v] = rows.NewDense(e.Samples, d, d, z)
	}
	o := startOf[T](c, nil, c.Seed+uint64(r.Restart))
	o.Labels = r.Begin.Labels
	begin, err := cluster.FirstAnchors(ctx, x, nil, in.sources, o)
	if err != nil {
		return nil, withName(err)
	}
	begin.Scale = r.Begin.Scale
	r.Begin = begin
	return values, nil
}
