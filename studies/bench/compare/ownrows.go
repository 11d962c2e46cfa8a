package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

const mnistClusters, msrcClusters = 10, 7

// wholeFit is a default fit of mnist3v between epochs of the paper preset.
func (r *ownRun) wholeFit() error {
	s, err := r.shuffled("mnist3v")
	if err != nil {
		return err
	}
	var c *largemvc.Clustering
	took, unit, err := s.between(func() error {
		c, err = largemvc.Fit(context.Background(), s.all(), largemvc.Config{Clusters: mnistClusters, Epochs: r.epochs})
		return err
	})
	if err != nil {
		return err
	}
	if err := r.print("epoch of the paper preset on mnist3v, s", "%v", unit); err != nil {
		return err
	}
	if err := r.print(fmt.Sprintf("whole fit, %d epochs, s", c.Epochs), "%v", took); err != nil {
		return err
	}
	if err := r.print("the same in epochs of the paper preset", "%v", took.over(unit)); err != nil {
		return err
	}
	return r.print("preparation and start, s", "%.1f", (c.Timings.Prepare + c.Timings.Start).Seconds())
}

// between times f between epochs of the paper preset, whose mean is the unit.
func (s *samples) between(f func() error) (took, unit spent, err error) {
	before, err := paperEpoch(s.all(), mnistClusters)
	if err != nil {
		return took, unit, err
	}
	if took, err = timed(f); err != nil {
		return took, unit, err
	}
	after, err := paperEpoch(s.all(), mnistClusters)
	return took, spent{(before.clock + after.clock) / 2, (before.processor + after.processor) / 2}, err
}

// trained fits the default preset for a few epochs, which is as good as many for what new samples cost.
func trained(views []largemvc.View, clusters int) (*largemvc.Predictor, error) {
	c, err := largemvc.Fit(context.Background(), views, largemvc.Config{Clusters: clusters, Epochs: 2})
	if err != nil {
		return nil, err
	}
	return c.Predictor, nil
}

const labelRuns = 3

// landmarkLabels is labels of 60,000 new samples.
func (r *ownRun) landmarkLabels() error {
	s, err := r.shuffled("mnist3v")
	if err != nil {
		return err
	}
	p, err := trained(s.all(), mnistClusters)
	if err != nil {
		return err
	}
	var clock, processor, ratios []float64
	for range labelRuns {
		took, unit, err := s.between(func() error { _, err := p.Predict(context.Background(), s.all()); return err })
		if err != nil {
			return err
		}
		in := took.over(unit)
		clock, processor = append(clock, in.clock), append(processor, in.processor)
		all, err := timed(func() error { _, err := p.Assign(context.Background(), s.all()); return err })
		if err != nil {
			return err
		}
		ratios = append(ratios, all.over(took).processor)
	}
	err = r.print("labels of 60,000 new samples, in epochs of the paper preset", "%v", spent{median(clock), median(processor)})
	if err != nil {
		return err
	}
	return r.print("with confidence and novelty, as predict has them, processor time over labels alone", "%.2f", median(ratios))
}

func (r *ownRun) oneWithLandmarks() error {
	return r.one("mnist3v", mnistClusters, 3000, "with landmarks")
}
func (r *ownRun) oneExact() error { return r.one("msrcv1", msrcClusters, 4000, "exact") }

// one is labels of samples one by one, and the memory that each of them takes.
func (r *ownRun) one(set string, clusters, calls int, how string) error {
	s, err := r.shuffled(set)
	if err != nil {
		return err
	}
	p, err := trained(s.all(), clusters)
	if err != nil {
		return err
	}
	// As a new sample, not as one of the training that is found again.
	rng := rand.New(rand.NewPCG(2, 2))
	for _, x := range s.x {
		for i := range x {
			x[i] *= 1 + 1e-3*rng.Float32()
		}
	}
	const least = 20 // calls before those that count
	times := make([]float64, 0, calls)
	bytes := uint64(0)
	for q := range calls + least {
		one := s.part(q%s.n, q%s.n+1)
		began := time.Now()
		if _, err := p.Predict(context.Background(), one); err != nil {
			return err
		}
		if q >= least {
			times = append(times, 1e3*time.Since(began).Seconds())
		}
	}
	bytes = testutil.Allocated(func() {
		for q := range calls {
			_, err = p.Predict(context.Background(), s.part(q%s.n, q%s.n+1))
		}
	})
	if err != nil {
		return err
	}
	return r.print(fmt.Sprintf("one new sample of %s, %s: least and median of %d, ms; allocated, KB", set, how, calls),
		"%.3f, %.3f; %.1f", slices.Min(times), median(times), float64(bytes)/float64(calls)/1e3)
}

func (r *ownRun) memory() error          { return r.fitMemory(false) }
func (r *ownRun) memoryOverwrite() error { return r.fitMemory(true) }

// fitMemory is the largest memory of a process that reads mnist3v and does a default fit of a few epochs.
func (r *ownRun) fitMemory(overwrite bool) error {
	// In the order of the file: shuffling would take memory itself.
	s, err := read(r.data, "mnist3v")
	if err != nil {
		return err
	}
	config := largemvc.Config{Clusters: mnistClusters, Epochs: 4}
	config.Machine.Overwrite = overwrite
	if _, err := largemvc.Fit(context.Background(), s.all(), config); err != nil {
		return err
	}
	what := "largest memory of a default fit of mnist3v"
	if overwrite {
		what += " with Overwrite"
	}
	return r.print(what, "%s", s.peak())
}

// made returns samples of ten clusters: normal centres and uniform noise.
func made(n int, dims ...int) *samples {
	rng := rand.New(rand.NewPCG(1, 1))
	s := &samples{n: n, dims: dims}
	const clusters = 10
	for _, d := range dims {
		centre, x := make([]float32, clusters*d), make([]float32, n*d)
		for j := range centre {
			centre[j] = float32(rng.NormFloat64())
		}
		for i := range n {
			from := centre[i%clusters*d : (i%clusters+1)*d]
			for j, c := range from {
				x[i*d+j] = c + 4*rng.Float32() - 2
			}
		}
		s.x = append(s.x, x)
	}
	return s
}
