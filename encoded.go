package largemvc

import (
	"context"
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/unfold"
)

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
		Samples: data.samples, Dims: data.Dims(), Of: data.of, Workers: c.Workers, Seed: c.Seed + uint64(r.Restart),
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
		machine := gorgonia.NewTapeMachine(e.G)
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
