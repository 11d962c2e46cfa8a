package kmeans

import (
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// spoilt returns 12,000 samples of 12 classes, 30 of them far away, each in its own column.
func spoilt[T kernel.Float](t *testing.T) *Source[T] {
	t.Helper()
	views, _ := blobs[T](12000, 12, []int{30, 4}, 0, 1, 5)
	_, d := views[0].Dims()
	x := make([]T, 12000*d)
	for i := range 12000 {
		views[0].Row(i, x[i*d:(i+1)*d])
		if i%400 == 7 {
			x[i*d+i/400] += T(200)
		}
	}
	views[0] = rows.NewDense(12000, d, d, x)
	return source(t, views, nil)
}

func TestRelocate(t *testing.T) { eachType(t, testRelocate[float32], testRelocate[float64]) }

func testRelocate[T kernel.Float](t *testing.T) {
	src := spoilt[T](t)
	for seed := range uint64(3) {
		cfg := Config{Clusters: 12, Starts: 3, Seed: seed}
		left := run(t, src, cfg)
		cfg.Relocate = true
		got := run(t, src, cfg)
		check(t, src, got, cfg)
		full := run(t, src, Config{Clusters: 12, Starts: 3, Seed: seed, Full: true})
		if got.Inertia > 1.003*full.Inertia {
			t.Errorf("seed %d: inertia %g, %g of starts on all rows", seed, got.Inertia, full.Inertia)
		}
		if left.Inertia < 1.003*full.Inertia {
			t.Errorf("seed %d: inertia %g without relocation, %g by starts on all: no test", seed, left.Inertia, full.Inertia)
		}
		cfg.Workers = 3
		if again := run(t, src, cfg); !slices.Equal(again.Labels, got.Labels) || again.Inertia != got.Inertia {
			t.Errorf("seed %d: other clusters by three workers", seed)
		}
	}
}

// MaxIter bounds the iterations over all rows, after as many on the sample.
func TestRelocateIterations(t *testing.T) {
	src := spoilt[float64](t)
	for _, most := range []int{1, 3, 12, 40} {
		if got := run(t, src, Config{Clusters: 12, Starts: 2, MaxIter: most, Relocate: true}); got.Iterations > 2*most {
			t.Errorf("%d iterations, at most %d on the sample and on all rows", got.Iterations, most)
		}
	}
}

// A round that does not lower the inertia is taken back: more clusters than classes can be divided in many ways that are as good.
func TestRelocateNeverLoses(t *testing.T) {
	views, _ := blobs[float64](6000, 4, []int{6}, 0, 1, 9)
	src := source(t, views, nil)
	for seed := range uint64(12) {
		cfg := Config{Clusters: 9, Starts: 4, Seed: seed}
		left := run(t, src, cfg)
		cfg.Relocate = true
		if got := run(t, src, cfg); got.Inertia > left.Inertia {
			t.Errorf("seed %d: inertia %g, %g without relocation", seed, got.Inertia, left.Inertia)
		}
	}
}
