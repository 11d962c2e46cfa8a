package largemvc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/largemvc/largemvc/internal/kernel"
	vw "github.com/largemvc/largemvc/internal/view"
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
	in := inner(views)
	if err := withName(vw.CheckFinite(ctx, in, c.Workers)); err != nil {
		return nil, err
	}
	if c.Float == Float64 {
		return fit[float64](ctx, in, &c, from, begin)
	}
	return fit[float32](ctx, in, &c, from, begin)
}

// job is a fit: the prepared views, and what its runs have led to so far.
type job[T kernel.Float] struct {
	*prepared[T]
	config     *Config
	views      []vw.View
	prepareFor time.Duration
	saver      *saver    // nil without checkpoints
	best       *runState // of the runs that are over
}

// fit prepares the views, trains every restart and keeps the best.
func fit[T kernel.Float](ctx context.Context, views []vw.View, c *Config, from *checkpoint, begin time.Time) (*Clustering, error) {
	j := &job[T]{config: c, views: views}
	var err error
	if j.saver, err = newSaver(ctx, views, c, from); err != nil {
		return nil, err
	}
	if j.prepared, err = prepareInputs[T](ctx, views, c); err != nil {
		return nil, err
	}
	if j.saver != nil {
		j.saver.inputs = len(j.list)
	}
	if from != nil && from.inputs != len(j.list) {
		return nil, fmt.Errorf("largemvc: resuming: the views make %d inputs, in the training they made %d", len(j.list), from.inputs)
	}
	j.prepareFor = time.Since(begin)
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

// withName puts the library's name before an error of an internal package. The context's own stays as it is.
func withName(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || strings.HasPrefix(err.Error(), "largemvc: ") {
		return err
	}
	return fmt.Errorf("largemvc: %w", err)
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
