package largemvc

import (
	"context"
	"fmt"
	"time"

	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/train"
	"github.com/largemvc/largemvc/machine"
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
	return together(ctx, config.Machine.Comm, func(ctx context.Context, with processes) (*Clustering, error) {
		return fit(ctx, with, views, config, nil)
	})
}

// fit trains on the samples of this process, from the state of a checkpoint if there is one.
func fit(ctx context.Context, with processes, views []View, config Config, from *resumed) (*Clustering, error) {
	r := &run{processes: with, state: from, began: time.Now()}
	inside, err := r.open(ctx, views, config)
	if err != nil {
		return r.result(ctx, nil, err)
	}
	defer r.close()
	s, err := r.selectSamples(inside)
	if err != nil {
		return r.result(ctx, nil, r.meter.Stopped(err))
	}
	out, err := s.fit(inside)
	if out != nil {
		out, err = s.extend(context.WithoutCancel(inside), out, err)
	}
	return r.result(ctx, out, err)
}

// together does this process's part of what the ranks of a communicator do together; nil: it is alone. All get the error of one.
func together(
	ctx context.Context, comm machine.Comm, work func(context.Context, processes) (*Clustering, error),
) (*Clustering, error) {
	ctx, group := ranks.Enter(ctx, comm)
	if group == nil {
		return work(ctx, processes{})
	}
	defer func() {
		if p := recover(); p != nil {
			_ = group.Leave(fmt.Errorf("panic: %v", p))
			panic(p)
		}
	}()
	out, err := work(ctx, processes{group, group})
	if other := group.Leave(err); other != nil && err == nil {
		return nil, withName(other)
	}
	return out, err
}

// Resume continues the training whose state Config.Checkpoint left in the file at path, on the same views, and goes on
// writing to it. On the same machine the result has the same bits as that of a Fit that was never interrupted, Timings
// aside; a training that was over gives its result again.
//
// change, if not nil, may set the fields Progress, ExtraLoss, Machine, Checkpoint, Tolerance and Patience of the configuration
// that the training began with, and without restarts Epochs: a higher number trains on, even where the training was over;
// where an early stop ended it, only with a Tolerance and Patience that would not have. ExtraLoss must be set if, and only if,
// the training had one; that it is the same one cannot be checked. Any other change is an error, as are views that differ from
// those of the training, as they were before Machine.Overwrite. A file that is truncated, was changed, is no checkpoint or
// comes from a later version of the format gives an error that errors.Is tells apart (package saved).
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
	return together(ctx, config.Machine.Comm, func(ctx context.Context, with processes) (*Clustering, error) {
		if err != nil {
			return nil, fmt.Errorf("largemvc: resuming from %s: %w", path, err)
		}
		return resume(ctx, with, views, path, config, saved)
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
	return fit(ctx, with, views, config, saved)
}
