package largemvc

import (
	"sync"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/predict"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/unfold"
)

// batchEntries bounds the entries of a batch of rows that goes through the graph of a trained network.
const batchEntries = 1 << 22

// batches takes rows through the graph of a trained network whose modules are not all from this package.
type batches[T kernel.Float] struct {
	net     *unfold.Frozen[T]
	present [][]bool
	turn    *sync.Mutex
}

// newBatches makes graphs of copies of a predictor's modules. One of them is built, or run, at a time: the copies may share
// what their pointers point to.
func newBatches[T kernel.Float](p *Predictor) predict.NewRunner[T] {
	turn := new(sync.Mutex)
	return func(room int, present [][]bool) (predict.Runner[T], error) {
		turn.Lock()
		defer turn.Unlock()
		e := Env(unfold.FrozenSite(unfold.Site(p.site(room, p.config.Workers)), room))
		soft, noise := copied(p.config.Represent), copied(p.config.Noise)
		out := &batches[T]{present: present, turn: turn}
		err := guarded(func() error {
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
