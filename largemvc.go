package largemvc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Clustering is what Fit found: the trained network and what it says of the training samples. Its fields and what they
// refer to must not be changed; then it is safe for concurrent use.
type Clustering struct {
	// Predictor is the trained network, which answers for new samples and can be saved. Whoever keeps it alone lets go of
	// all that grows with n but for the neighbours of up to Config.ExactNeighbors samples, which new ones are joined to.
	*Predictor

	Labels []int       // n, from 0 to Clusters−1; cluster 0 is the largest, equal sizes in the order of their first sample
	H      *Matrix     // n×m: the representation of the last layer
	Trust  [][]float64 // per input (Predictor.Inputs) and sample, in [0, 1] for ρ ≥ 0: E_v = (1−t)(X_v − H P_v); nil without noise module

	StartLabels []int // labels of the samples that the first anchors came from, 0 to m−1; nil for given anchors
	Timings     Timings
	Repaired    int // clusters that k-means on H found empty and repaired
}

// Fit trains the network on the views and clusters its representation by k-means: n samples, row i of every view being
// sample i.
//
// It returns an error, and does no work, if the configuration or the views are not usable; the message names the view,
// the row and the value. When ctx is cancelled, Fit stops within an epoch, clusters what there is so far and returns it (nil if the
// first epoch had not ended) with the context's error. A loss that diverges gives the last good state with a
// *DivergedError. An error of Config.Progress is returned beside the state at that epoch, ErrStop as no error.
//
// With Config.Restarts, the run of the lowest loss is kept among those that came to their end, whatever ended the last
// one; if none did, among those that were interrupted, and if all diverged, among those. Only then is a *DivergedError
// returned.
//
// Time and memory grow linearly with n, Σ d_v, L and, once m is large, with m; EstimateMemory tells the memory. Up to
// Config.ExactNeighbors samples, finding their neighbours takes time in n².
func Fit(ctx context.Context, views []View, config Config) (*Clustering, error) {
	return fitFrom(ctx, views, config, nil)
}

// FitPredict is Fit for those who want the labels alone.
func FitPredict(ctx context.Context, views []View, config Config) ([]int, error) {
	c, err := Fit(ctx, views, config)
	if err != nil {
		return nil, err
	}
	return c.Labels, nil
}

// fitFrom is Fit, from the state of a checkpoint if there is one.
func fitFrom(ctx context.Context, views []View, config Config, from *checkpoint) (*Clustering, error) {
	out, err := fitViews(ctx, views, config, from)
	if err != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	return out, err
}

func fitViews(ctx context.Context, views []View, config Config, from *checkpoint) (*Clustering, error) {
	begin := time.Now()
	n, err := checkShapes(views)
	if err != nil {
		return nil, err
	}
	c := config.withDefaults()
	c.forSamples(n)
	if err := c.check(n, views); err != nil {
		return nil, err
	}
	if err := checkFinite(ctx, views, c.Workers); err != nil {
		return nil, err
	}
	if c.Float == Float64 {
		return fit[float64](ctx, views, &c, from, begin)
	}
	return fit[float32](ctx, views, &c, from, begin)
}

// job is a fit: the prepared views, and what its runs have led to so far.
type job[T kernel.Float] struct {
	config    *Config
	views     []View
	inputs    []Input
	sources   []View // of every input, the view that it comes from
	data      *Data
	x         []rows.Matrix[T]            // the inputs
	rotations []*rotation                 // of the inputs; nil: none is rotated
	prepare   *standardiser               // without neighbours
	smooth    *smoothing[T]               // with them
	heldOut   *information.LeaveOneOut[T] // nil without that term of the loss
	prepared  time.Duration
	saver     *saver    // nil without checkpoints
	best      *runState // of the runs that are over
}

// fit prepares the views, trains every restart and keeps the best.
func fit[T kernel.Float](ctx context.Context, views []View, c *Config, from *checkpoint, begin time.Time) (*Clustering, error) {
	j := &job[T]{config: c, views: views}
	var err error
	if j.saver, err = newSaver(ctx, views, c, from); err != nil {
		return nil, err
	}
	if err := j.prepareViews(ctx); err != nil {
		return nil, err
	}
	if j.saver != nil {
		j.saver.inputs = len(j.inputs)
	}
	if from != nil && from.inputs != len(j.inputs) {
		return nil, fmt.Errorf("largemvc: resuming: the views make %d inputs, in the training they made %d", len(j.inputs), from.inputs)
	}
	j.prepared = time.Since(begin)
	first := 0
	var current *runState
	if from != nil {
		j.best, current, first = from.best, from.current, from.next
	}
	var kept *training[T]      // the training of j.best, if that is the last one
	var failure *DivergedError // of the last run that diverged
	var ended error            // what ended the last run before its end
	for r := first; r < c.Restarts && ended == nil; r++ {
		t := &training[T]{job: j, run: &runState{restart: r}}
		if current != nil && current.restart == r {
			t.run = current
		}
		kept = nil // Its memory is free for this run.
		ended = t.train(ctx)
		if t.done && t.run.better(j.best) {
			j.best, kept = t.run, t
		}
		if errors.As(ended, &failure) {
			t.run.failure, ended = failure, nil
		}
		ended = joined(ended, j.saver.afterRun(t.run, j.best))
		if t.run.status.interrupted() {
			break
		}
	}
	switch {
	case j.best == nil && ended == nil:
		return nil, failure
	case j.best == nil:
		return nil, ended
	case j.best.failure != nil:
		ended = joined(j.best.failure, ended)
	}
	ctx = context.WithoutCancel(ctx)
	if kept == nil {
		kept = &training[T]{job: j, run: j.best}
		if err := kept.restore(ctx); err != nil {
			return nil, joined(ended, err)
		}
	}
	out, err := kept.finish(ctx)
	if err != nil {
		return nil, joined(ended, err)
	}
	out.Timings.Total = time.Since(begin)
	return out, ended
}

// prepareViews makes the network's inputs of the views.
func (j *job[T]) prepareViews(ctx context.Context) error {
	var err error
	var lossDims []int
	if j.config.Neighbors != None {
		if j.smooth, j.x, err = newSmoothing[T](ctx, j.views, j.config); err != nil {
			return err
		}
		j.inputs = j.smooth.list()
		j.heldOut, j.smooth.heldOut = j.smooth.heldOut, nil
	} else if lossDims, err = j.standardiseViews(ctx); err != nil {
		return err
	}
	j.sources = inputViews(j.views, j.inputs)
	j.data, err = newData(j.x, presenceRows(j.sources), lossDims)
	return err
}

// standardiseViews measures the preprocessing on the views and applies it. It returns the d_v of the loss, nil if they are
// those of the inputs.
func (j *job[T]) standardiseViews(ctx context.Context) (lossDims []int, err error) {
	j.prepare, j.inputs = &standardiser{kind: j.config.Preprocess}, inputsOf(j.views, j.config.Preprocess)
	if err := j.prepare.fit(ctx, j.views, j.config.Workers); err != nil {
		return nil, err
	}
	if j.x, err = standardise[T](ctx, j.views, j.prepare, j.config.Workers, j.config.Overwrite); err != nil {
		return nil, err
	}
	j.rotations, lossDims, err = rotate(ctx, j.x, j.config)
	return lossDims, err
}

// joined is errors.Join that leaves a single error, or one that comes twice, as it is.
func joined(a, b error) error {
	if a == nil {
		return b
	}
	if b == nil || b.Error() == a.Error() {
		return a
	}
	return errors.Join(a, b)
}

// presenceRows returns the n×V mask of the views, nil where all samples have all views.
func presenceRows(views []View) [][]bool {
	complete := true
	for _, x := range views {
		complete = complete && (x.present == nil || allTrue(x.present))
	}
	if complete {
		return nil
	}
	out := make([][]bool, views[0].rows)
	for i := range out {
		out[i] = make([]bool, len(views))
		for v, x := range views {
			out[i][v] = x.Has(i)
		}
	}
	return out
}

func allTrue(b []bool) bool {
	for _, x := range b {
		if !x {
			return false
		}
	}
	return true
}
