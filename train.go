package largemvc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/inputs"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/train"
	"github.com/largemvc/largemvc/internal/unfold"
	"github.com/largemvc/largemvc/internal/view"
)

// problem makes the networks of a fit from its inputs.
type problem[T kernel.Float] struct {
	in     *prepared[T]
	config *Config
}

// trainRuns trains every restart that is left and returns the best run with its network.
func trainRuns[T kernel.Float](
	ctx context.Context, in *prepared[T], c *Config, saver *saver, from *resumed,
) (*train.Outcome[*lossNetwork[T]], error) {
	p := &problem[T]{in, c}
	if err := from.relabel(in.meter, c, func(restart int) ([]int, error) {
		begin, err := p.start(ctx, restart)
		if err != nil {
			return nil, withName(err)
		}
		return begin.Labels, nil
	}); err != nil {
		return nil, err
	}
	out, err := train.Restarts(ctx, p, trainOptions(c, in.meter, saver), from.training())
	if f, ok := err.(*train.Failure); ok {
		return nil, (*DivergedError)(f)
	}
	if err == nil && out.Run.Failure != nil {
		out.Ended = joined((*DivergedError)(out.Run.Failure), out.Ended)
	}
	return out, err
}

// trainOptions are the settings of the training, with its reports and checkpoints.
func trainOptions(c *Config, m *meter.Meter, saver *saver) train.Options {
	out := train.Options{
		Epochs: c.Epochs, Restarts: c.Restarts, Tolerance: c.Tolerance, Patience: c.Patience,
		SaveEvery: c.Checkpoint.Every, Stop: ErrStop,
		Enter: func(restart int) { _ = m.Enter(meter.Training, restart) }, // which reports nothing
	}
	if saver != nil {
		out.Save, out.Keep = saver.write, saver.keep
	}
	if c.Progress != nil {
		out.Progress = func(r *train.Run, l train.Loss, elapsed time.Duration) error {
			return c.Progress(Progress{
				Phase: meter.Training.String(), Done: r.Epochs, Total: c.Epochs, Left: m.Epoch(r.Epochs, c.Epochs),
				Restart: r.Restart, Restarts: c.Restarts, Epoch: r.Epochs, Epochs: c.Epochs,
				Loss: l.Total, NullLoss: r.NullLoss, ViewLoss: l.Views, Elapsed: elapsed,
			})
		}
	}
	return out
}

// start finds the anchors with which a restart begins.
func (p *problem[T]) start(ctx context.Context, restart int) (*cluster.Point, error) {
	in := p.in
	start := startOf(p.config, in.data.group, in, p.config.Seed+uint64(restart))
	start.Device, start.Labels = in.device.Rows(), view.Along(in.Order, start.Labels)
	return cluster.FirstAnchors(ctx, in.X, in.StartRows, in.Sources, start)
}

// Begin finds where a run begins, unless it has begun, and returns its network.
func (p *problem[T]) Begin(ctx context.Context, r *train.Run) (*lossNetwork[T], error) {
	began, c, in := time.Now(), p.config, p.in
	fresh := r.Values == nil
	if r.Begin == nil {
		if err := in.meter.Enter(meter.Anchors, r.Restart); err != nil {
			return nil, err
		}
		var err error
		if r.Begin, err = p.start(ctx, r.Restart); err != nil {
			return nil, withName(err)
		}
	}
	var encoder []learned
	if _, ok := c.Represent.(Encoder); ok && fresh {
		var err error
		if encoder, err = encodeStart(ctx, in, c, r); err != nil {
			return nil, err
		}
	}
	inputs.Collect(in.Sources)
	r.StartFor = time.Since(began)
	t, err := newNetwork(in, c, r, c.Epochs != None)
	if err != nil {
		return nil, err
	}
	switch {
	case encoder != nil:
		err = withName(learn(defaultPrefix, 0, t.model.Represent.Learnables(), encoder))
	case !fresh:
		r.Loss, r.ViewLoss = r.Loss[:r.Epochs], r.ViewLoss[:r.Epochs]
		t.adam.Schedule(r.Loss...)
		err = errors.Join(t.goOn(r), t.adam.SetState(r.Adam))
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Restore returns the network at the end of a run that is over.
func (p *problem[T]) Restore(r *train.Run) (*lossNetwork[T], error) {
	t, err := newNetwork(p.in, p.config, r, false)
	if err != nil {
		return nil, err
	}
	if err := t.goOn(r); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// encodeStart replaces the first anchors of a run by anchors of the first codes of an encoder, for the same labels. It returns
// the initial values of the learnable nodes, which can be random.
func encodeStart[T kernel.Float](ctx context.Context, in *prepared[T], c *Config, r *train.Run) ([]learned, error) {
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
		for v, x := range in.X {
			var err error
			if codes[v], err = unfold.Codes(unfold.Site(e), v, x, encoder); err != nil {
				return err
			}
		}
		values = learnedBy(e.Prefix, module.Learnables())
		machine, err := op.NewMachine(e.G, nil)
		if err != nil {
			return err
		}
		defer machine.Close()
		return unfold.Run(machine)
	})
	if err != nil {
		return nil, fmt.Errorf("largemvc: the first codes: %w", err)
	}
	if r.Begin.Labels == nil { // the anchors were given, for the codes
		return values, nil
	}
	x := make([]rows.Matrix[T], e.Views)
	for v := range x {
		if x[v] = in.X[v]; codes[v] == nil {
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
	o := startOf[T](c, data.group, nil, c.Seed+uint64(r.Restart))
	o.Labels = r.Begin.Labels
	begin, err := cluster.FirstAnchors(ctx, x, nil, in.Sources, o)
	if err != nil {
		return nil, withName(err)
	}
	r.Begin = begin
	return values, nil
}
