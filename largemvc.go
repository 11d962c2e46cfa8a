package largemvc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/train"
	"github.com/largemvc/largemvc/internal/view"
)

// Fit trains the network on the views and clusters its representation by k-means: n samples, row i of every view being
// sample i.
//
// It returns an error, and does no work, if the configuration or the views are not usable; the message names the view,
// the row and the value. When ctx is cancelled, Fit stops within an epoch, clusters what there is so far and returns
// it (nil if the first epoch had not ended) with the context's error. A loss that diverges gives the last good state
// with a *DivergedError; where the training was ended at that very step, with what ended it too. An error of Config.Progress
// is returned beside the state at that epoch, ErrStop as no error.
//
// With Config.Restarts, the best run (see there) is kept among those that came to their end, whatever ended the last one; if
// none did, among those that were interrupted, and if all diverged, among those. Only then is a *DivergedError returned.
//
// With neighbours that are searched (up to Neighborhood.Exact samples), the samples are taken in an order of their content and of
// the seed: a permutation of the samples permutes the result and changes no bit of it, unless samples that are equal in all views
// have different labels in Start. With ExtraLoss they stay in the caller's order.
//
// Time and memory grow linearly with n, Σ d_v, L and, once m is large, with m; Config.EstimateMemory tells the memory. Up to
// Neighborhood.Exact samples, finding their neighbours takes time in n².
func Fit(ctx context.Context, views []View, config Config) (*Clustering, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	return fitFrom(ctx, views, config, nil)
}

// fitFrom is Fit, from the state of a checkpoint if there is one.
func fitFrom(ctx context.Context, views []View, config Config, from *resumed) (*Clustering, error) {
	ctx, group := ranks.Enter(ctx, config.Machine.Comm)
	return onRanks(group, func() (*Clustering, error) { return fitAlone(ctx, processes{group, group}, views, config, from) })
}

// onRanks does this rank's part of what a group, if there is one, does together, and tells the others of its error.
func onRanks(group *ranks.Group, work func() (*Clustering, error)) (*Clustering, error) {
	if group == nil {
		return work()
	}
	defer func() {
		if p := recover(); p != nil {
			_ = group.Leave(fmt.Errorf("panic: %v", p))
			panic(p)
		}
	}()
	out, err := work()
	if other := group.Leave(err); other != nil && err == nil {
		return nil, withName(other)
	}
	return out, err
}

// fitAlone is fitFrom for the samples of this process.
func fitAlone(ctx context.Context, with processes, views []View, config Config, from *resumed) (*Clustering, error) {
	out, err := fitViews(ctx, with, views, config, from)
	if err != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	return out, err
}

func fitViews(ctx context.Context, with processes, views []View, config Config, from *resumed) (*Clustering, error) {
	began, group := time.Now(), with.group
	n, c, err := settle(group, views, config)
	if err != nil {
		return nil, err
	}
	if group != nil && c.searched(group.Total(n)) {
		return fitWhole(ctx, group, views, config, from)
	}
	r := &run{processes: with, config: c, state: from, began: began}
	if ctx, err = r.open(ctx, n, views); err != nil {
		return nil, err
	}
	defer r.close()
	out, err := r.checkedFit(ctx)
	return r.result(out, err)
}

// settle returns the number of samples here, and the configuration with its defaults, on which all ranks agree.
func settle(group *ranks.Group, views []View, config Config) (int, *Config, error) {
	check := checkShapes
	if group != nil { // what masks say is known of all samples together
		check = checkSizes
	}
	n, err := check(views)
	if err != nil {
		return 0, nil, err
	}
	c := config.WithDefaults()
	if group != nil {
		if err := joinRanks(&c, group, n, views); err != nil {
			return 0, nil, err
		}
	}
	c.forSamples(group.Total(n))
	return n, &c, nil
}

// checkedFit checks the values of the views and trains on all samples, or on some.
func (r *run) checkedFit(ctx context.Context) (*Clustering, error) {
	if err := r.meter.Enter(meter.Checks, 0); err != nil {
		return nil, err
	}
	if r.config.samples(r.views[0].Rows) {
		return r.fitSamples(ctx)
	}
	if r.storage.Rows {
		inMemory, err := view.Hold(ctx, r.views, r.config.Machine.Workers)
		if err != nil {
			return nil, r.meter.Stopped(withName(err))
		}
		held := *r
		held.views = inMemory
		r = &held
	}
	if err := withName(view.CheckFinite(ctx, r.views, r.config.Machine.Workers)); err != nil {
		return nil, r.meter.Stopped(err)
	}
	return r.fit(ctx)
}

// joinRanks tells the ranks of each other before they do anything else together.
func joinRanks(c *Config, group *ranks.Group, n int, views []View) error {
	same, err := sameOnRanks(c, views)
	if err != nil {
		return err
	}
	if err := withName(group.Join(n, same)); err != nil {
		return err
	}
	sized := *c
	sized.forSamples(group.Total(n))
	return checkRanks(c, views, sized.searched(group.Total(n)))
}

// fitWhole is fitViews for so few samples that their neighbours are searched among all of them: every rank gets all samples, does
// the same with them, and returns what concerns its own.
func fitWhole(ctx context.Context, group *ranks.Group, views []View, config Config, from *resumed) (*Clustering, error) {
	in, whole := placed(group, views), make([]View, len(views))
	if err := withName(view.CheckFinite(ctx, in, config.Machine.Workers)); err != nil {
		return nil, err
	}
	for v, x := range in {
		var err error
		if whole[v].in, err = view.Gather(ctx, group, v, x); err != nil {
			return nil, withName(err)
		}
	}
	out, err := fitViews(ctx, processes{team: group}, whole, config, from)
	if out != nil {
		out.window(group.First(), group.First()+views[0].in.Rows)
	}
	return out, err
}

// window leaves of what there is for each sample that of the samples from lo to hi−1.
func (c *Clustering) window(lo, hi int) {
	c.Labels, c.H = slices.Clone(c.Labels[lo:hi]), c.H.window(lo, hi)
	for v, t := range c.Trust {
		c.Trust[v] = slices.Clone(t[lo:hi])
	}
	if c.StartLabels != nil {
		c.StartLabels = slices.Clone(c.StartLabels[lo:hi])
	}
}

// Resume continues the training whose state Config.Checkpoint left in the file at path, on the same views, and goes on
// writing to it. On the same machine the result has the same bits as that of a Fit that was never interrupted, Timings
// aside; a training that was over gives its result again.
//
// change, if not nil, may set the fields Progress, ExtraLoss, Machine, Checkpoint and EarlyStop of the configuration that the
// training began with, and without restarts Epochs: a higher number trains on, even where the training was over; where EarlyStop
// ended it, only with an EarlyStop that would not have. ExtraLoss must be set if, and only if, the training had one; that it is
// the same one cannot be checked. Any other change is an error, as are views that differ from those of the training, as they
// were before Machine.Overwrite. A file that is truncated, was changed, is no checkpoint or comes from a later version of the
// format gives an error that errors.Is tells apart (package saved).
func Resume(ctx context.Context, views []View, path string, change func(*Config)) (*Clustering, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	saved, err := readResumed(path)
	config := Config{}.WithDefaults() // of no use but to find the other ranks, where there is no state
	if err == nil {
		config = *saved.config
	}
	config.Checkpoint.Path = path
	if change != nil {
		change(&config)
	}
	ctx, group := ranks.Enter(ctx, config.Machine.Comm)
	return onRanks(group, func() (*Clustering, error) {
		if err != nil {
			return nil, fmt.Errorf("largemvc: resuming from %s: %w", path, err)
		}
		return resume(ctx, processes{group, group}, views, path, config, saved)
	})
}

// resume is Resume from a state that was read.
func resume(ctx context.Context, with processes, views []View, path string, config Config, saved *resumed) (*Clustering, error) {
	if err := saved.allows(&config); err != nil {
		return nil, fmt.Errorf("largemvc: resuming from %s: %w", path, err)
	}
	if s := &saved.state; s.Current == nil && s.Best != nil && config.Restarts == 1 && s.Best.Status == train.EpochLimit &&
		saved.config.Epochs < config.Epochs {
		saved.state = train.State{Next: s.Best.Restart, Current: s.Best}
	}
	return fitAlone(ctx, with, views, config, saved)
}

// result completes what a fit returns. Where a row could not be read there is no result, for it may come of rows that were not
// read.
func (r *run) result(out *Clustering, err error) (*Clustering, error) {
	if r.reads != nil {
		if failed := r.reads.Err(); failed != nil {
			return nil, withName(failed)
		}
	}
	if out != nil {
		out.Ran.Storage = r.storage.Why
	}
	return out, err
}
