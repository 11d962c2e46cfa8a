package largemvc

import (
	"context"
	"fmt"
	"time"

	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/machine"
)

// Fit trains the network on the views and clusters the representation by k-means. Row i of every view is sample i.
//
// Fit checks the configuration and the views before any work. The error names the view, the row and the value. When ctx is
// cancelled, Fit stops within an epoch and returns the clustering at that point (nil if no epoch is done) and the error of
// ctx. If the loss diverges, Fit returns the last good state and a *DivergedError, joined with the error that ended the
// training in the same step, if any. An error of Config.Progress comes with the state at that epoch; ErrStop gives no error.
//
// With Config.Restarts, Fit keeps the best restart that finished. If none did, it keeps the best one that was interrupted,
// else the best one that diverged. Only then does it return a *DivergedError.
//
// Fit then judges whether the samples have clusters, in comparison with noise: see Clustering.Structure. If its callback or ctx
// ends the judgement, the result has none.
//
// If neighbours are searched (up to Neighborhood.Exact samples), Fit orders the samples by content and seed. A permutation of
// the samples then permutes the result and changes no bit, unless samples that are equal in all views have different StartLabels
// or, with KnownWeight, different Known. Structure is excepted: its halves are drawn by the places of the samples. With ExtraLoss
// the samples keep their order.
//
// Time and memory grow linearly with n, Σ d_v, L and, for large m, with m. See Config.EstimateMemory. Up to
// Neighborhood.Exact samples, the search of neighbours takes time in n².
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
	s, some, err := r.samples(inside)
	if err != nil {
		return r.result(ctx, nil, r.meter.Stopped(err))
	}
	out, err := s.fit(inside)
	if out != nil {
		out, err = s.extend(context.WithoutCancel(inside), out, err)
	}
	if out != nil && err == nil { // on all ranks alike
		err = r.appraise(inside, some, out)
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

// Resume continues the training whose state Config.Checkpoint left in the file at path. It needs the same views, and updates
// the file. On the same machine the result has the bits of a Fit that was not interrupted, except Timings. A training that is
// finished returns its result again.
//
// change, if not nil, may set the fields Known, Progress, ExtraLoss, Machine, Checkpoint, Tolerance and Patience, and without
// restarts Epochs. The file lacks Known, Start.H, Start.E, ExtraLoss and custom modules. If the training had them, set them again
// in change. An ExtraLoss that the training did not have is an error; Resume cannot check that an ExtraLoss is the same. Fields
// that change sets to 0 get their defaults. Any other change is an error. So are views that differ from the views of the training
// (before Machine.Overwrite).
//
// More Epochs continue a finished training without restarts. After an early stop, a Tolerance and Patience that would not have
// stopped it continue it; with those that would, more Epochs are an error. A finished training with restarts stays finished.
//
// If the file is truncated, changed, not a checkpoint or of a later version, Resume returns an error of package saved, for
// errors.Is.
func Resume(ctx context.Context, views []View, path string, change func(*Config)) (*Clustering, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	saved, err := readResumed(path)
	config := Config{}.WithDefaults() // finds the other ranks alone, where there is no state
	if err == nil {
		config = saved.copied()
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
	full, err := saved.allows(&config)
	if err == nil {
		err = saved.extend(full)
	}
	if err != nil {
		return nil, fmt.Errorf("largemvc: resuming from %s: %w", path, err)
	}
	return fit(ctx, with, views, config, saved)
}
