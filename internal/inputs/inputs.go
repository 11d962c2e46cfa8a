// Package inputs makes the inputs of a network from the views of the samples: it sorts the samples, standardises the views and
// smooths them along a graph of neighbours, or rotates them.
package inputs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/predict"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// Options are the settings of Make.
type Options struct {
	ByContent bool   // sort the samples by content and Seed
	Seed      uint64 // of the order

	Smooth  *smooth.Options // nil: without neighbours
	HeldOut bool            // with neighbours: prepare the held-out term of the loss

	Kind      prepare.Kind    // without neighbours: the standardisation
	Rotate    *prepare.Rotate // without neighbours; nil: views are not rotated
	Overwrite bool            // the memory of the views may be overwritten

	Workers int          // goroutines; 0: GOMAXPROCS
	Group   *ranks.Group // processes that hold the other rows; nil: there are none
	Meter   *meter.Meter // nil: none
}

// Inputs holds the inputs of a network, and other results of the preparation of the views.
type Inputs[T kernel.Float] struct {
	List     []prepare.Input
	X        []rows.Matrix[T] // of each input
	Sources  []view.View      // of each input, the view that it comes from, with the columns of the input
	Order    view.Order       // of the samples of this process, by their numbers in the caller's views; nil: the same
	Views    []view.View      // in that order
	Idle     []view.View      // views whose memory is free for the state of the samples
	LossDims []int            // the d_v of the loss; nil: the columns of the inputs
	LeftOut  []int            // of each view, how many columns are left out because they are constant

	// rows for the initial clustering if samples lack views and have neighbours; else nil
	StartRows func(context.Context) ([]rows.Matrix[T], error)

	Graph   neighbor.Operator           // of the samples' neighbours; nil without
	HeldOut *information.LeaveOneOut[T] // nil without that term of the loss
	Rotated []*prepare.Rotated          // of each input; nil: none is rotated

	Standard *prepare.Standardiser // standardisation of new samples, without neighbours
	Smooth   *smooth.Transform[T]  // preparation of new samples, with neighbours
	Unlike   []float64             // with neighbours: distance of some training samples from the others
}

// Make makes the inputs of views that were checked.
func Make[T kernel.Float](ctx context.Context, views []view.View, o Options) (*Inputs[T], error) {
	var order view.Order
	if o.ByContent {
		var err error
		if order, err = view.ByContent(ctx, views, o.Seed, o.Workers); err != nil {
			return nil, err
		}
		views = slices.Clone(views)
		for v, x := range views {
			views[v] = x.Along(order, o.Workers)
		}
	}
	var out *Inputs[T]
	var err error
	if o.Smooth != nil {
		out, err = smoothed[T](ctx, views, o)
	} else {
		out, err = standardised[T](ctx, views, o)
	}
	if err != nil {
		return nil, err
	}
	out.Order, out.Views = order, views
	out.leaveOut()
	for _, in := range out.List {
		x := views[in.View]
		x.Cols = in.Columns
		out.Sources = append(out.Sources, x)
	}
	return out, nil
}

// leaveOut subtracts the constant columns from the d_v of the loss. Inputs in directions of their view have none.
func (in *Inputs[T]) leaveOut() {
	dims := in.LossDims
	if dims == nil {
		for _, x := range in.List {
			dims = append(dims, x.Columns)
		}
	}
	for k, x := range in.List {
		if d := in.Views[x.View].Cols; in.LeftOut[x.View] > 0 && in.LeftOut[x.View] < d && dims[k] >= d {
			dims[k] -= in.LeftOut[x.View]
			in.LossDims = dims
		}
	}
}

// smoothed makes the inputs of a network with neighbours.
func smoothed[T kernel.Float](ctx context.Context, views []view.View, o Options) (*Inputs[T], error) {
	n := views[0].Rows
	if err := o.Meter.Enter(meter.Preparation, 0); err != nil {
		return nil, err
	}
	Collect(views) // releases memory of reading them
	in, err := smooth.Find[T](ctx, views, *o.Smooth)
	if err != nil {
		return nil, err
	}
	Collect(views)
	blocks, idle, err := in.Fill(ctx, views, *o.Smooth)
	if err != nil {
		return nil, err
	}
	Collect(views)
	filled, err := in.Filled(ctx, blocks, n, *o.Smooth)
	if err != nil {
		return nil, err
	}
	out := &Inputs[T]{List: in.Inputs, X: smooth.Matrices(blocks, n), Idle: idle}
	for v := range views {
		out.LeftOut = append(out.LeftOut, in.LeftOut(v))
	}
	if o.HeldOut {
		if err := out.regress(ctx, views, filled, o); err != nil {
			return nil, err
		}
	}
	if o.Group != nil || !o.Smooth.Keeper.Graph() {
		if err := o.Meter.Enter(meter.Neighbors, 0); err != nil {
			return nil, err
		}
	}
	graph, err := in.Join(ctx, blocks, filled, n, *o.Smooth)
	if err != nil {
		return nil, err
	}
	o.Smooth.Keeper.Release()
	Collect(views)
	if err := o.Meter.Enter(meter.Smoothing, 0); err != nil {
		return nil, err
	}
	out.Graph = graph.Operator()
	return out, out.smooth(ctx, views, in, blocks, graph, *o.Smooth)
}

// regress makes the regression for the held-out term, from filled rows. Its search for directions has the same seed in every fit,
// because restarts with different seeds share it.
func (in *Inputs[T]) regress(ctx context.Context, views []view.View, filled []neighbor.Block[T], o Options) (err error) {
	if err := o.Meter.Enter(meter.Regression, 0); err != nil {
		return err
	}
	settings := information.Regression{Workers: o.Workers, Device: o.Smooth.Device, Group: o.Group}
	in.HeldOut, err = information.NewLeaveOneOut(ctx, smooth.Matrices(filled, views[0].Rows), settings)
	Collect(views)
	return err
}

// smooth replaces the rows of the inputs by smoothed ones.
func (in *Inputs[T]) smooth(
	ctx context.Context, views []view.View, found *smooth.Inputs[T], blocks []neighbor.Block[T], graph *smooth.Graph[T],
	o smooth.Options,
) (err error) {
	n := views[0].Rows
	some := smooth.SomeOf(blocks, n, o)
	if smooth.Incomplete(o.Group, blocks) {
		in.StartRows = func(ctx context.Context) ([]rows.Matrix[T], error) { return graph.StartRows(ctx, blocks, n, o) }
	}
	if in.Smooth, err = graph.Smooth(ctx, found, blocks, n, o); err != nil {
		if grown := (*neighbor.GrowthError)(nil); errors.As(err, &grown) {
			return fmt.Errorf("%s: some samples lack it, and in %d steps of smoothing the rows of the others overflow: "+
				"set fewer Neighborhood.Steps", views[grown.View].Label(grown.View), grown.Steps)
		}
		return err
	}
	Collect(views)
	in.Unlike, err = in.Smooth.UnlikeSome(ctx, some, n, o)
	Collect(views)
	return err
}

// standardised makes the inputs of a network without neighbours: the standardised views, rotated if this saves time.
func standardised[T kernel.Float](ctx context.Context, views []view.View, o Options) (*Inputs[T], error) {
	if err := o.Meter.Enter(meter.Preparation, 0); err != nil {
		return nil, err
	}
	out := &Inputs[T]{}
	for v, x := range views {
		out.List = append(out.List, prepare.Input{View: v, Kind: o.Kind, Columns: x.Cols})
	}
	var err error
	if out.Standard, err = prepare.Measure(ctx, o.Group, o.Kind, views, o.Workers); err != nil {
		return nil, err
	}
	for v := range views {
		out.LeftOut = append(out.LeftOut, out.Standard.LeftOut(v))
	}
	if out.X, err = prepare.Standardise[T](ctx, o.Group, views, out.Standard, o.Workers, o.Overwrite); err != nil {
		return nil, err
	}
	if o.Rotate != nil {
		rotate := *o.Rotate
		rotate.Kept = out.Standard.KeptColumns
		out.Rotated, out.LossDims, err = prepare.RotateViews(ctx, out.X, rotate)
	}
	return out, err
}

// Collect releases memory that a stage of a fit of the views has used.
func Collect(views []view.View) {
	values := 0
	for _, x := range views {
		values += x.Rows * x.Cols
	}
	rows.CollectGarbage(values)
}

// Intake returns the preparation of new samples with dims[v] features.
func (in *Inputs[T]) Intake(ctx context.Context, dims []int, workers int) (predict.Intake[T], error) {
	if in.Smooth != nil {
		return in.Smooth.Alone(ctx, workers)
	}
	return prepare.NewRows[T](in.Standard, dims), nil
}
