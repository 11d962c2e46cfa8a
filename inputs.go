package largemvc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/predict"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// inputViews returns the views that the inputs come from, one an input, for messages and presence.
func inputViews(views []view.View, inputs []Input) []view.View {
	out := make([]view.View, len(inputs))
	for k, in := range inputs {
		out[k] = views[in.View]
		out[k].Cols = in.Columns
	}
	return out
}

// startOf returns what internal/cluster reads of the configuration to find the first anchors of inputs; nil: of rows that have no
// neighbours.
func startOf[T kernel.Float](c *Config, in *prepared[T], seed uint64) cluster.Start {
	out := cluster.Start{
		Scaled: c.Neighborhood.Neighbors != None, Labels: c.Start.Labels, Count: c.Anchors, Starts: c.KMeansStarts,
		Score: scoreOf(c, in, c.Anchors), Seed: seed, Workers: c.Machine.Workers,
	}
	for _, p := range c.Start.Anchors { // Given anchors forbid a rotation.
		out.Anchors = append(out.Anchors, linalg.Values(p))
	}
	return out
}

// scoreOf returns the information of neighbours about clusters, by which the starts of a k-means are chosen; nil, for inertia
// alone, without the neighbours' term in the loss.
func scoreOf[T kernel.Float](c *Config, in *prepared[T], clusters int) cluster.Score {
	if in == nil || in.graph == nil || !c.hasNeighborLoss() {
		return nil
	}
	var score cluster.Score // with memory for n rows, made when it is first needed
	return func(ctx context.Context, labels []int) (float64, error) {
		if score == nil {
			collect(in.sources) // what the starts took
			score = information.NewNeighbors[T](c.Machine.Workers, clusters, in.graph, 0).LabelScore()
		}
		return score(ctx, labels)
	}
}

// prepared is what the network is trained on, and what else came of the views on the way.
type prepared[T kernel.Float] struct {
	list    []Input
	x       []rows.Matrix[T]
	sources []view.View // of every input, the view that it comes from
	order   view.Order  // of the samples here, by their numbers among the caller's; nil: the same
	views   []view.View // in that order
	data    *Data
	device  *device.Session // that the fit runs on; nil: the CPU
	meter   *meter          // nil: there is no Progress callback
	idle    []view.View     // whose memory is free for the state of the samples
	again   bool            // nothing of that state is kept

	// of x, for the search of the start, where samples lack views and have neighbours; else nil
	startRows func(context.Context) ([]rows.Matrix[T], error)

	graph   neighbor.Operator           // of the samples' neighbours; nil without
	heldOut *information.LeaveOneOut[T] // nil without that term of the loss
	rotated []*prepare.Rotated          // per input; nil: none is rotated

	standard *prepare.Standardiser // what new samples go through, without neighbours
	smooth   *smooth.Transform[T]  // with them
	unlike   []float64             // with them: how far some training samples are from the others
}

// prepareInputs makes the network's inputs of views that were checked.
func prepareInputs[T kernel.Float](ctx context.Context, r *run) (*prepared[T], error) {
	c, views := r.config, r.views
	var out *prepared[T]
	var lossDims []int
	var order view.Order
	var err error
	if takenByContent(c, ranks.Of(ctx).Total(views[0].Rows)) {
		if order, err = view.ByContent(ctx, views, c.Seed, c.Machine.Workers); err != nil {
			return nil, withName(err)
		}
		views = slices.Clone(views)
		for v, x := range views {
			views[v] = x.Along(order, c.Machine.Workers)
		}
	}
	if c.Neighborhood.Neighbors != None {
		out, err = smoothInputs[T](ctx, r, views)
	} else {
		out, lossDims, err = standardInputs[T](ctx, r, views)
	}
	if err != nil {
		return nil, withName(err)
	}
	out.order, out.views, out.device, out.meter, out.again = order, views, r.device, r.meter, r.storage.again
	out.sources = inputViews(views, out.list)
	out.data, err = newData(ctx, out.x, view.Mask(out.sources, ranks.Of(ctx) != nil), lossDims)
	return out, err
}

// takenByContent reports whether a fit of n samples takes them in an order of their content. Nothing then depends on the caller's
// order: not which of equally near samples are neighbours, nor what a seed draws, nor rounding. An ExtraLoss may count on the
// caller's. Landmarks are for numbers of samples that are not worth it: equal distances to means are rare.
func takenByContent(c *Config, n int) bool {
	return c.searched(n) && c.ExtraLoss == nil
}

// smoothInputs makes the inputs of a network that knows of neighbours.
func smoothInputs[T kernel.Float](ctx context.Context, r *run, views []view.View) (*prepared[T], error) {
	c, m := r.config, r.meter
	n, o := views[0].Rows, smoothOptions(c)
	o.Device = r.device.Rows()
	if err := m.enter(phasePreparation, 0); err != nil {
		return nil, err
	}
	collect(views) // what reading them has left
	in, err := smooth.Find[T](ctx, views, o)
	if err != nil {
		return nil, err
	}
	collect(views)
	blocks, idle, err := in.Fill(ctx, views, o)
	if err != nil {
		return nil, err
	}
	collect(views)
	filled, err := in.Filled(ctx, blocks, n, o)
	if err != nil {
		return nil, err
	}
	out := &prepared[T]{list: inputsOf(in.Inputs), x: smooth.Matrices(blocks, n), idle: idle}
	if c.hasHeldOutLoss() {
		if err := m.enter(phaseRegression, 0); err != nil {
			return nil, err
		}
		// Its search for directions starts from the same seed in every fit: runs of a Restarts share it, each with a
		// seed of its own.
		seen := smooth.Matrices(filled, n)
		regression := information.Regression{Workers: c.Machine.Workers, Device: o.Device}
		out.heldOut, err = information.NewLeaveOneOut(ctx, seen, regression)
		if err != nil {
			return nil, err
		}
		collect(views)
	}
	if err := m.enter(phaseNeighbors, 0); err != nil {
		return nil, err
	}
	graph, err := in.Join(ctx, blocks, filled, n, o)
	if err != nil {
		return nil, err
	}
	collect(views)
	if err := m.enter(phaseSmoothing, 0); err != nil {
		return nil, err
	}
	out.graph = graph.Operator()
	some := smooth.SomeOf(ctx, blocks, n, o)
	if smooth.Incomplete(ctx, blocks) {
		out.startRows = func(ctx context.Context) ([]rows.Matrix[T], error) { return graph.StartRows(ctx, blocks, n, o) }
	}
	if out.smooth, err = graph.Smooth(ctx, in, blocks, n, o); err != nil {
		if grown := (*neighbor.GrowthError)(nil); errors.As(err, &grown) {
			return nil, fmt.Errorf("%s: some samples lack it, and in %d steps of smoothing the rows of the others grow beyond "+
				"what floats can hold: want fewer Neighborhood.Steps", views[grown.View].Label(grown.View), grown.Steps)
		}
		return nil, err
	}
	collect(views)
	out.unlike, err = out.smooth.UnlikeSome(ctx, some, n, o)
	collect(views)
	return out, err
}

// collect gives memory that a stage of a fit of the views has used back.
func collect(views []view.View) {
	values := 0
	for _, x := range views {
		values += x.Rows * x.Cols
	}
	rows.ReturnMemory(values)
}

// rotates reports whether the views of the fit may be rotated. The search takes the rows in order, which neither ranks that share
// the samples nor rows outside memory permit. A training that goes on rotates if it did before.
func (r *run) rotates(ctx context.Context) bool {
	return mayRotate(r.config) && ranks.Of(ctx) == nil && !slices.ContainsFunc(r.views, view.View.Streams) &&
		(r.state == nil || r.state.rotated())
}

// standardInputs makes the inputs of a network without neighbours: the views as Config.Preprocess leaves them, rotated where
// that pays. It returns the d_v of the loss, nil if they are those of the inputs.
func standardInputs[T kernel.Float](
	ctx context.Context, r *run, views []view.View,
) (out *prepared[T], lossDims []int, err error) {
	c := r.config
	if err := r.meter.enter(phasePreparation, 0); err != nil {
		return nil, nil, err
	}
	out = &prepared[T]{}
	for v, x := range views {
		out.list = append(out.list, Input{View: v, Preprocess: c.Preprocess, Columns: x.Cols})
	}
	if out.standard, err = prepare.Measure(ctx, prepare.Kind(c.Preprocess), views, c.Machine.Workers); err != nil {
		return nil, nil, err
	}
	if out.x, err = prepare.Standardise[T](ctx, views, out.standard, c.Machine.Workers, c.Machine.Overwrite); err != nil {
		return nil, nil, err
	}
	if r.rotates(ctx) {
		out.rotated, lossDims, err = prepare.RotateViews(ctx, out.x, rotateOptions(c))
	}
	return out, lossDims, err
}

// terms returns the terms of the loss for a configuration.
func (p *prepared[T]) terms(c *Config) *lossTerms[T] {
	out := &lossTerms[T]{
		graph: p.graph, held: p.heldOut, extra: c.ExtraLoss, samples: p.data.group.Total(p.data.samples),
		workers: c.Machine.Workers,
	}
	if c.hasNeighborLoss() {
		out.neighbors = c.Neighborhood.Weight
	}
	if c.hasHeldOutLoss() {
		out.heldOut = c.Neighborhood.HeldOutWeight
	}
	return out
}

// intake returns what new samples go through.
func (p *prepared[T]) intake(ctx context.Context, dims []int, workers int) (predict.Intake[T], error) {
	if p.smooth != nil {
		return p.smooth.Alone(ctx, workers)
	}
	return prepare.NewRows[T](p.standard, dims), nil
}
