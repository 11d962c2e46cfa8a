package largemvc

import (
	"context"
	"slices"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/inputs"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/known"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/view"
)

// startOf returns what internal/cluster reads of the configuration to find the first anchors of inputs; nil: of rows that have no
// neighbours. The ranks of the group have the rows together; nil: these are all.
func startOf[T kernel.Float](c *Config, group *ranks.Group, in *prepared[T], seed uint64) cluster.Start {
	out := cluster.Start{
		Scaled: c.Neighborhood.Neighbors != None, Labels: c.StartLabels, Count: c.Anchors, Starts: c.KMeansStarts,
		Score: scoreOf(c, in, c.Anchors), Seed: seed, Workers: c.Machine.Workers,
		Group: group,
	}
	for _, p := range c.Start.Anchors { // Given anchors forbid a rotation.
		out.Anchors = append(out.Anchors, linalg.Values(p))
	}
	return out
}

// scoreOf returns the information of neighbours about clusters, by which the starts of a k-means are chosen; nil, for inertia
// alone, without the neighbours' term in the loss.
func scoreOf[T kernel.Float](c *Config, in *prepared[T], clusters int) cluster.Score {
	if in == nil || in.Graph == nil || !c.hasNeighborLoss() {
		return nil
	}
	var score cluster.Score // with memory for n rows, made when it is first needed
	return func(ctx context.Context, labels []int) (float64, error) {
		if score == nil {
			inputs.Collect(in.Sources) // what the starts took
			score = information.NewNeighbors[T](in.data.group, c.Machine.Workers, clusters, in.Graph, 0).LabelScore()
		}
		return score(ctx, labels)
	}
}

// prepared holds the inputs of the training.
type prepared[T kernel.Float] struct {
	*inputs.Inputs[T]
	data   *Data
	device *device.Session // that the fit runs on; nil: the CPU
	meter  *meter.Meter    // nil: there is no Progress callback
	again  bool            // nothing of the state of the samples is kept
}

// prepareInputs makes the network's inputs of views that were checked.
func prepareInputs[T kernel.Float](ctx context.Context, r *run) (*prepared[T], error) {
	in, err := inputs.Make[T](ctx, r.views, inputOptions(r))
	if err != nil {
		return nil, withName(err)
	}
	out := &prepared[T]{Inputs: in, device: r.device, meter: r.meter, again: r.storage.Again}
	out.data, err = newData(ctx, r.processes, in.X, view.Mask(in.Sources, r.group != nil), in.LossDims)
	return out, err
}

// inputOptions returns what internal/inputs reads of the configuration.
func inputOptions(r *run) inputs.Options {
	c := r.config
	out := inputs.Options{
		ByContent: takenByContent(c, r.group.Total(r.views[0].Rows)), Seed: c.Seed, HeldOut: c.hasHeldOutLoss(),
		Kind: prepare.Kind(c.Preprocess), Overwrite: c.Machine.Overwrite, Workers: c.Machine.Workers, Group: r.group,
		Meter: r.meter,
	}
	switch {
	case c.Neighborhood.Neighbors != None:
		o := smoothOptions(c, r.group)
		o.Device, o.Keeper = r.device.Rows(), r.keeper
		out.Smooth = &o
	case rotates(r):
		o := rotateOptions(c)
		out.Rotate = &o
	}
	return out
}

// rotates reports whether the views of the fit may be rotated. The search takes the rows in order, which neither ranks that share
// the samples nor rows outside memory permit. A training that goes on rotates if it did before.
func rotates(r *run) bool {
	return mayRotate(r.config) && r.group == nil && !slices.ContainsFunc(r.views, view.View.Streams) &&
		(!r.state.begun() || r.state.rotated())
}

// takenByContent reports whether a fit of n samples takes them in an order of their content. Nothing then depends on the caller's
// order: not which of equally near samples are neighbours, nor what a seed draws, nor rounding. An ExtraLoss may count on the
// caller's. Landmarks are for numbers of samples that are not worth it: equal distances to means are rare.
func takenByContent(c *Config, n int) bool {
	return c.searched(n) && c.ExtraLoss == nil
}

// terms returns the terms of the loss for a configuration.
func (p *prepared[T]) terms(c *Config) *lossTerms[T] {
	out := &lossTerms[T]{
		graph: p.Graph, held: p.HeldOut, extra: c.ExtraLoss,
		samples: p.data.group.Total(p.data.samples), workers: c.Machine.Workers,
	}
	if c.hasNeighborLoss() {
		out.neighbors = c.Neighborhood.Weight
	}
	if c.hasHeldOutLoss() {
		out.heldOut = c.Neighborhood.HeldOutWeight
	}
	if c.Neighborhood.KnownWeight > 0 {
		out.known, out.columns = c.Neighborhood.KnownWeight, view.Along(p.Order, known.Columns(c.Known, known.Seen(c.Known)))
	}
	return out
}
