package kmeans

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// shareOfFirst is a score that has nothing to do with inertia: how many samples are with the first one.
func shareOfFirst(labels []int) float64 {
	n := 0
	for _, l := range labels {
		if l == labels[0] {
			n++
		}
	}
	return float64(n)
}

func TestScore(t *testing.T) { eachType(t, testScore[float32], testScore[float64]) }

func testScore[T kernel.Float](t *testing.T) {
	for _, n := range []int{400, 11000} { // all rows, a sample
		if n > allRows && !testutil.Slow {
			continue
		}
		views, _ := blobs[T](n, 9, []int{3, 2}, 0, 1.2, 17)
		src := source(t, views, nil)
		var seen [][]int
		cfg := Config{Clusters: 9, Starts: 15, Within: math.Inf(1), Seed: 3,
			Score: func(_ context.Context, labels []int) (float64, error) {
				seen = append(seen, slices.Clone(labels))
				return shareOfFirst(labels), nil
			}}
		got := run(t, src, cfg)
		check(t, src, got, cfg)
		if len(seen) != 15 {
			t.Fatalf("n %d: %d labellings scored, want 15", n, len(seen))
		}
		best := seen[0]
		for _, labels := range seen {
			if len(labels) != n || slices.Min(labels) < 0 || slices.Max(labels) > 8 {
				t.Fatalf("n %d: %d labels from %d to %d", n, len(labels), slices.Min(labels), slices.Max(labels))
			}
			if shareOfFirst(labels) > shareOfFirst(best) {
				best = labels
			}
		}
		if shareOfFirst(best) == shareOfFirst(seen[0]) {
			t.Errorf("n %d: the first start has the highest score: the test shows nothing", n)
		}
		want, others := run(t, src, Config{Clusters: 9, Labels: best, MaxIter: defaultPasses}), 0
		for i, l := range got.Labels {
			if l != want.Labels[i] {
				others++
			}
		}
		if others > n/50 {
			t.Errorf("n %d: not the start of the highest score: %d labels differ", n, others)
		}
		cfg.Workers = 3
		if again := run(t, src, cfg); !slices.Equal(again.Labels, got.Labels) || again.Inertia != got.Inertia {
			t.Errorf("n %d: other clusters by three workers", n)
		}
		cfg.Within = 1
		lowest, plain := run(t, src, cfg), run(t, src, Config{Clusters: 9, Starts: 15, Seed: 3})
		if n <= allRows && (!slices.Equal(lowest.Labels, plain.Labels) || lowest.Inertia != plain.Inertia) {
			t.Errorf("n %d: within the lowest inertia, other clusters than of the lowest inertia", n)
		}
		seen = nil
		cfg.Within = 1.05
		run(t, src, cfg)
		if len(seen) == 0 || len(seen) == 15 {
			t.Errorf("n %d: %d of 15 starts are within 1.05 of the lowest inertia: the test shows nothing", n, len(seen))
		}
	}
}

func TestScoreFails(t *testing.T) {
	views, _ := blobs[float64](60, 3, []int{2}, 0, 1, 18)
	src := source(t, views, nil)
	broken := errors.New("broken")
	score := func(context.Context, []int) (float64, error) { return 0, broken }
	if _, err := Run(context.Background(), src, Config{Clusters: 3, Score: score, Within: 2}); !errors.Is(err, broken) {
		t.Errorf("error %v, want the score's", err)
	}
	for _, within := range []float64{0, 0.99, math.NaN()} {
		cfg := Config{Clusters: 3, Score: score, Within: within}
		if _, err := Run(context.Background(), src, cfg); err == nil || errors.Is(err, broken) {
			t.Errorf("within %v: error %v", within, err)
		}
	}
}
