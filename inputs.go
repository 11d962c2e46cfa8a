package largemvc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/predict"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// Input is what the network sees of a view. Without neighbours input v is view v in its own columns. With it, a view
// is an input for each of its standardisations, unless that leaves nothing of it.
type Input struct {
	View       int        // the number of the view
	Preprocess Preprocess // its standardisation
	// d_v, or the number of directions of the view that are kept, of few features with one more that keeps their
	// length
	Columns int
	Length  float64 // that column's value, before rows are taken to norm 1; 0: there is none
}

// String returns the view, its standardisation and the columns.
func (i Input) String() string {
	return fmt.Sprintf("view %d, preprocessing %v, %d columns", i.View, i.Preprocess, i.Columns)
}

// inputsOf returns the public form of inputs.
func inputsOf(inputs []prepare.Input) []Input {
	out := make([]Input, len(inputs))
	for k, in := range inputs {
		out[k] = Input{View: in.View, Preprocess: Preprocess(in.Kind), Columns: in.Columns, Length: in.Length}
	}
	return out
}

// preparedInputs is the inverse of inputsOf.
func preparedInputs(inputs []Input) []prepare.Input {
	out := make([]prepare.Input, len(inputs))
	for k, in := range inputs {
		out[k] = prepare.Input{View: in.View, Kind: prepare.Kind(in.Preprocess), Columns: in.Columns, Length: in.Length}
	}
	return out
}

// inputCounts returns how many inputs the network has for some views, at least and at most: with neighbours it takes their values
// to tell. Without views there are none.
func (c *Config) inputCounts(views []View) (least, most int) {
	if c.Neighborhood.Neighbors == None {
		return len(views), len(views)
	}
	return smooth.InputCounts(inner(views), c.Preprocess.kind())
}

// inputViews returns the views that the inputs come from, one an input, for messages and presence.
func inputViews(views []view.View, inputs []Input) []view.View {
	out := make([]view.View, len(inputs))
	for k, in := range inputs {
		out[k] = views[in.View]
		out[k].Cols = in.Columns
	}
	return out
}

// smoothing returns what internal/smooth reads of the configuration.
func (c *Config) smoothing() smooth.Options {
	h := &c.Neighborhood
	return smooth.Options{
		Kind: c.Preprocess.kind(), Neighbors: h.Neighbors, Directions: max(h.Directions, 0), Steps: max(h.Steps, 0),
		Exact: h.Exact, Landmarks: h.Landmarks, Seed: c.Seed, Workers: c.Machine.Workers, Overwrite: c.Machine.Overwrite,
	}
}

// rotation returns what internal/prepare reads of the configuration to rotate views. Given anchors need not lie in the span of
// the rows, and an untrained network is not worth the search.
func (c *Config) rotation() prepare.Rotate {
	out := prepare.Rotate{
		Choice: prepare.Rotation(c.Rotate), Runs: c.Restarts, Layers: c.Layers, Anchors: c.Anchors,
		Workers: c.Machine.Workers,
	}
	if c.Start.Anchors != nil || !c.stock() || c.Rotate == Auto && (c.ExtraLoss != nil || c.Epochs == None) {
		out.Choice = prepare.RotateNever
	}
	return out
}

// startOf returns what internal/cluster reads of the configuration to find the first anchors of inputs; nil: of rows that have no
// neighbours.
func startOf[T kernel.Float](c *Config, in *prepared[T], seed uint64) cluster.Start {
	out := cluster.Start{
		Method: cluster.Method(c.Start.Method), Labels: c.Start.Labels, Count: c.Anchors, Starts: c.KMeansStarts,
		Score: scoreOf(c, in, c.Anchors), Seed: seed, Workers: c.Machine.Workers,
	}
	if shrink, ok := c.Noise.(*RowShrink); ok {
		out.Measure = shrink.DataScale && shrink.Scale == nil
	}
	for _, p := range c.Start.Anchors { // Given anchors forbid a rotation.
		out.Anchors = append(out.Anchors, linalg.Values(p))
	}
	return out
}

// scoreOf returns the information of neighbours about clusters, by which the starts of a k-means are chosen; nil, for inertia
// alone, without the neighbours' term in the loss or with LowestInertia.
func scoreOf[T kernel.Float](c *Config, in *prepared[T], clusters int) cluster.Score {
	if in == nil || in.graph == nil || !c.hasNeighborLoss() || c.Neighborhood.LowestInertia {
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

// streamSamples keeps the draws of FitSamples apart from what else is drawn with the same seed.
const streamSamples = 0x73616d70

// Of so many draws of FitSamples one is trained on; their starts label at most so many samples to be compared.
const draws, comparedSamples = 3, 5000

// drawMargin is more than what rounding makes of equal sums of NMI.
const drawMargin = 1e-9

// drawn returns the samples of a draw of FitSamples.
func (c *Config) drawn(n, draw int) []int {
	return rows.Sample(rand.New(rand.NewPCG(c.Seed, streamSamples+uint64(draw))), n, c.FitSamples)
}

// take returns some samples. Those outside memory are checked, all others when they are labelled.
func (c *Config) take(ctx context.Context, all []view.View, chosen []int) ([]view.View, error) {
	some := make([]view.View, len(all))
	for v, x := range all {
		some[v] = x.Take(chosen)
	}
	if !view.Outside(all) {
		return some, nil
	}
	err := view.CheckFinite(ctx, some, c.Machine.Workers)
	if err != nil { // with the number that the sample has among all
		err = cmp.Or(view.FirstNotFinite(ctx, all, chosen), err)
	}
	return some, withName(err)
}

// checkDrawn checks the configuration for samples that were drawn, and that these have all views.
func (c *Config) checkDrawn(some []view.View) error {
	n, public := some[0].Rows, make([]View, len(some))
	for v, x := range some {
		public[v].in = x
	}
	if err := checkPresence(public, n); err != nil {
		return fmt.Errorf("%w among the %d samples that are trained on", err, n)
	}
	return c.check(n, public)
}

// chooseDraw returns the draw of FitSamples that is trained on: of a training that goes on its own, else the one whose start is
// most like those of the others, by the mean NMI of the labels that start gives to the same samples (nil: the draw has no sample
// with some view). A draw can have a start that hardly any other has, and that training does not leave; nothing that is measured
// in it without labels was found to tell.
func (c *Config) chooseDraw(
	ctx context.Context, all []view.View, from *resumed,
	start func(ctx context.Context, drawn, compared []int) ([]int, error),
) (int, error) {
	n := all[0].Rows
	if !c.comparesDraws(n) {
		return 0, nil
	}
	if from != nil {
		for d := range draws {
			some, err := c.take(ctx, all, c.drawn(n, d))
			if err != nil {
				return 0, err
			}
			sum, err := view.Fingerprint(ctx, some, c.Machine.Workers)
			if err != nil {
				return 0, err
			}
			if from.fit.Matches(some, sum) == nil {
				return d, nil
			}
		}
		return 0, nil // which says what does not match
	}
	m := meterOf(ctx)
	if err := m.enter(phaseDraws, 0); err != nil {
		return 0, err
	}
	compared := rows.Sample(rand.New(rand.NewPCG(c.Seed, streamSamples+draws)), n, min(c.FitSamples, comparedSamples))
	var labels [draws][]int
	for d := range labels {
		parallel.Tell(ctx, d, draws)
		var err error
		if labels[d], err = start(m.within(ctx), c.drawn(n, d), compared); err != nil {
			return 0, err
		}
	}
	var like [draws]float64
	for d := range draws {
		for e := range d {
			if labels[d] == nil || labels[e] == nil {
				continue
			}
			nmi, err := NMI(labels[d], labels[e])
			if err != nil {
				return 0, err
			}
			like[d], like[e] = like[d]+nmi, like[e]+nmi
		}
	}
	best := 0
	for d, x := range like {
		if x > like[best]+drawMargin {
			best = d
		}
	}
	return best, nil
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
func prepareInputs[T kernel.Float](ctx context.Context, views []view.View, c *Config) (*prepared[T], error) {
	var out *prepared[T]
	var lossDims []int
	var order view.Order
	var err error
	if c.byContent(ranks.Of(ctx).Total(views[0].Rows)) {
		if order, err = view.ByContent(ctx, views, c.Seed, c.Machine.Workers); err != nil {
			return nil, withName(err)
		}
		views = slices.Clone(views)
		for v, x := range views {
			views[v] = x.Along(order, c.Machine.Workers)
		}
	}
	if c.Neighborhood.Neighbors != None {
		out, err = smoothInputs[T](ctx, views, c)
	} else {
		out, lossDims, err = standardInputs[T](ctx, views, c)
	}
	if err != nil {
		return nil, withName(err)
	}
	out.order, out.views, out.device, out.again = order, views, deviceOf(ctx), againOf(ctx)
	out.sources = inputViews(views, out.list)
	out.data, err = newData(ctx, out.x, view.Mask(out.sources, ranks.Of(ctx) != nil), lossDims)
	return out, err
}

// byContent says whether a fit of n samples takes them in an order of their content, so that nothing depends on the caller's:
// not which of equally near samples are neighbours, nor what a seed draws, nor rounding. An ExtraLoss may count on the caller's.
// Landmarks are for numbers of samples that are not worth it: equal distances to means are rare.
func (c *Config) byContent(n int) bool {
	return c.searched(n) && c.ExtraLoss == nil
}

// smoothInputs makes the inputs of a network that knows of neighbours.
func smoothInputs[T kernel.Float](ctx context.Context, views []view.View, c *Config) (*prepared[T], error) {
	n, o := views[0].Rows, c.smoothing()
	o.Device = deviceOf(ctx).Rows()
	m := meterOf(ctx)
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

// standardInputs makes the inputs of a network without neighbours: the views as Config.Preprocess leaves them, rotated where
// that pays. It returns the d_v of the loss, nil if they are those of the inputs.
func standardInputs[T kernel.Float](
	ctx context.Context, views []view.View, c *Config,
) (out *prepared[T], lossDims []int, err error) {
	if err := meterOf(ctx).enter(phasePreparation, 0); err != nil {
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
	rotation := c.rotation()
	if slices.ContainsFunc(views, view.View.Streams) {
		rotation.Choice = prepare.RotateNever
	}
	out.rotated, lossDims, err = prepare.RotateViews(ctx, out.x, rotation)
	return out, lossDims, err
}

// intake returns what new samples go through.
func (p *prepared[T]) intake(ctx context.Context, dims []int, workers int) (predict.Intake[T], error) {
	if p.smooth != nil {
		return p.smooth.Alone(ctx, workers)
	}
	return prepare.NewRows[T](p.standard, dims), nil
}
