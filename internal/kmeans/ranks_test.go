package kmeans

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// TestRanksClusterAlike clusters the rows of several ranks, some of whose clusters become empty, to the bits of one process.
func TestRanksClusterAlike(t *testing.T) {
	const n, d, k = 12_000, 3, 12
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, n*d)
	for i := range n {
		// Nearly all rows are one of a few; the others are rare.
		for j := range d {
			x[i*d+j] = float64((i % 5) * (j + 1))
			if i%97 == 0 {
				x[i*d+j] += float64(rng.IntN(40))
			}
		}
	}
	source := func(g *ranks.Group, lo, hi int) *Source[float64] {
		s, err := NewSource(g, View[float64]{Rows: rows.NewDense(hi-lo, d, d, x[lo*d:hi*d]), Weight: 1})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	// Half of the centroids are others again, so that their clusters are empty at the first assignment.
	run := func(ctx context.Context, src *Source[float64], seed uint64) (*Result[float64], error) {
		cfg := Config{Clusters: k, Starts: 1, Seed: seed, Workers: 2, MaxIter: 4, Tol: 1e-4}
		part, err := src.sample(ctx, 1, 3000, seed)
		if err != nil {
			return nil, err
		}
		s, err := newSolver(ctx, part, cfg)
		if err != nil {
			return nil, err
		}
		r := newStart(part, k)
		for j := range k {
			r.centroids[j] = make([]float64, d)
			part.copyRow(100*(j/2), r.centroids[j], seed)
		}
		if err := s.onto(ctx, src); err != nil {
			return nil, err
		}
		r.moveTo(src)
		if err := s.lloyd(ctx, []*start[float64]{r}); err != nil {
			return nil, err
		}
		return s.finish(ctx, r)
	}
	repaired := 0
	for seed := range uint64(4) {
		for name, run := range map[string]func(context.Context, *Source[float64]) (*Result[float64], error){
			"empty clusters": func(ctx context.Context, src *Source[float64]) (*Result[float64], error) {
				return run(ctx, src, seed)
			},
			"from labels": func(ctx context.Context, src *Source[float64]) (*Result[float64], error) {
				labels := make([]int, src.Len())
				for i := range labels {
					at := src.group.First() + i
					labels[i] = (at + at/7) / 16 % (k - int(seed%3)) // some clusters have none
				}
				return Run(ctx, src, Config{Clusters: k, Labels: labels, Workers: 2})
			},
			"Run": func(ctx context.Context, src *Source[float64]) (*Result[float64], error) {
				return Run(ctx, src, Config{Clusters: k, Starts: 2, Seed: seed, Workers: 2, Relocate: seed%2 == 1})
			},
			"starts in groups": func(ctx context.Context, src *Source[float64]) (*Result[float64], error) {
				return Run(ctx, src, Config{Clusters: panelColumns / 2, Starts: 5, MaxIter: 2, Seed: seed, Workers: 2})
			},
			"starts in groups, scored": func(ctx context.Context, src *Source[float64]) (*Result[float64], error) {
				return Run(ctx, src, Config{Clusters: panelColumns / 2, Starts: 5, MaxIter: 2, Seed: seed, Workers: 2, Within: 2,
					Score: func(ctx context.Context, labels []int) (float64, error) {
						g, sum := src.group, []int{0}
						for i, l := range labels {
							sum[0] += l * ((g.First() + i) % 7)
						}
						err := g.SumInts("the score", sum)
						return float64(sum[0]), err
					}})
			},
		} {
			splits := [][]int{{0, 2048}, {0, 4 * 1024, 6 * 1024}, {0, 2 * 1024, 6 * 1024, 10 * 1024}}
			if strings.HasPrefix(name, "starts in groups") { // they take longer
				splits = splits[1:2]
				if seed > 0 {
					continue
				}
			}
			want, err := run(t.Context(), source(nil, 0, n))
			if err != nil {
				t.Fatal(err)
			}
			repaired += want.Repaired
			for _, starts := range splits {
				found, errs := make([]*Result[float64], len(starts)), make([]error, len(starts))
				var wg sync.WaitGroup
				for r, c := range comm.Local(len(starts)) {
					lo, hi := starts[r], n
					if r+1 < len(starts) {
						hi = starts[r+1]
					}
					wg.Go(func() {
						ctx, g := ranks.Enter(context.Background(), c)
						src := source(g, lo, hi)
						err := g.Join(hi-lo, nil)
						if err == nil {
							found[r], err = run(ctx, src)
						}
						errs[r] = errors.Join(err, g.Leave(err))
					})
				}
				wg.Wait()
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
				var labels []int
				for r, f := range found {
					labels = append(labels, f.Labels...)
					if !slices.Equal(f.Centroids[0], want.Centroids[0]) || f.Repaired != want.Repaired ||
						f.Inertia != want.Inertia || f.Iterations != want.Iterations {
						t.Errorf("%s, seed %d, rank %d of %v: other centroids, repairs %d and %d, inertia %v and %v",
							name, seed, r, starts, f.Repaired, want.Repaired, f.Inertia, want.Inertia)
					}
				}
				if !slices.Equal(labels, want.Labels) {
					t.Errorf("%s, seed %d, %v: other labels", name, seed, starts)
				}
			}
		}
	}
	if repaired < 8 {
		t.Errorf("%d clusters became empty", repaired)
	}
}
