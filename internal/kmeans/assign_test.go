package kmeans

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/largemvc/largemvc/internal/rows"
)

func TestAssignerFromCentroids(t *testing.T) {
	views, _ := blobs[float32](500, 5, []int{9, 4}, 2, 2, 3)
	src := source(t, views, nil)
	r := run(t, src, Config{Clusters: 5})
	a, err := NewAssigner(r.Found, r.Centroids, []float64{1, 1.25})
	if err != nil {
		t.Fatal(err)
	}
	labels := make([]int, 500)
	if err := a.Assign(src, 0, 500, labels, nil, nil); err != nil || !reflect.DeepEqual(labels, r.Labels) {
		t.Errorf("an assigner made of the centroids gives other labels, error %v", err)
	}
	allocs := testing.AllocsPerRun(100, func() {
		if err := a.Assign(src, 7, 8, labels[:1], nil, nil); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 2 {
		t.Errorf("%v allocations for one sample", allocs)
	}
}

func TestCancel(t *testing.T) {
	views, _ := blobs[float64](20000, 3, []int{40}, 0, 5, 1)
	src := source(t, views, nil)
	for _, full := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Run(ctx, src, Config{Clusters: 3, Full: full}); err != context.Canceled {
			t.Errorf("cancelled before: %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		begin := time.Now()
		_, err := Run(ctx, src, Config{Clusters: 50, Starts: 40, Full: true, Tol: -1})
		if err != context.DeadlineExceeded || time.Since(begin) > 10*time.Second {
			t.Errorf("cancelled in between: %v after %v", err, time.Since(begin))
		}
		cancel()
	}
}

func TestErrors(t *testing.T) {
	x := rows.NewDense(4, 2, 2, []float64{1, 2, 3, 4, 5, 6, 7, 8})
	good := View[float64]{Rows: x, Weight: 1}
	for _, test := range []struct {
		name  string
		views []View[float64]
		want  string
	}{
		{"none", nil, "no views"},
		{"rows", []View[float64]{good, {Rows: rows.NewDense(3, 2, 2, make([]float64, 6)), Weight: 1}}, "view 1 has 3 rows"},
		{"weight", []View[float64]{good, {Rows: x}}, "weight 0 of view 1"},
		{"weight NaN", []View[float64]{{Rows: x, Weight: math.NaN()}}, "weight NaN"},
		{"mask", []View[float64]{{Rows: x, Weight: 1, Present: make([]bool, 3)}}, "a mask of 3"},
		{"no view", []View[float64]{{Rows: x, Weight: 1, Present: []bool{true, true, false, true}}}, "sample 2 has no view"},
	} {
		if _, err := NewSource(nil, test.views...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	src, err := NewSource(nil, good)
	if err != nil {
		t.Fatal(err)
	}
	for want, cfg := range map[string]Config{
		"0 clusters for 4":               {},
		"5 clusters for 4":               {Clusters: 5},
		"-1 starts":                      {Clusters: 2, Starts: -1},
		"MaxIter is -1":                  {Clusters: 2, MaxIter: -1},
		"Tol is NaN":                     {Clusters: 2, Tol: math.NaN()},
		"-2 workers":                     {Clusters: 2, Workers: -2},
		"3 initial labels":               {Clusters: 2, Labels: make([]int, 3)},
		"initial label of sample 1 is 2": {Clusters: 2, Labels: []int{0, 2, 1, 1}},
	} {
		if _, err := Run(t.Context(), src, cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	huge := dense(t, 3, 1, []float64{1, 1e200, -1e200})
	if _, err := Run(t.Context(), huge, Config{Clusters: 2}); err == nil || !strings.Contains(err.Error(), "sample 1") {
		t.Errorf("overflow: %v", err)
	}
	r := run(t, src, Config{Clusters: 2})
	if err := r.Assign(huge, 0, 1, make([]int, 1), nil, nil); err == nil {
		t.Error("Assign takes another number of columns")
	}
	if err := r.Assign(src, 0, 2, make([]int, 1), nil, nil); err == nil {
		t.Error("Assign takes too few labels")
	}
	if err := r.Assign(src, 3, 5, make([]int, 2), nil, nil); err == nil {
		t.Error("Assign takes rows that are not there")
	}
	other, err := NewSource(nil, View[float64]{Rows: x, Weight: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Assign(other, 0, 1, make([]int, 1), nil, nil); err == nil {
		t.Error("Assign takes another weight")
	}
	if _, err := NewAssigner(2, [][]float64{{1, 2, 3}}, []float64{1}); err == nil {
		t.Error("NewAssigner takes 3 values for 2 centroids")
	}
	if _, err := NewAssigner(1, [][]float64{{1e200}}, []float64{1}); err == nil {
		t.Error("NewAssigner takes a centroid whose square overflows")
	}
}

func BenchmarkRun(b *testing.B) {
	for _, size := range []struct {
		n, c int
		dims []int
	}{
		{210, 7, []int{24, 576, 512, 256, 254, 1302}}, {2000, 10, []int{240, 76, 216}},
		{10000, 10, []int{10}}, {20000, 10, []int{784, 392, 160}},
	} {
		b.Run(fmt.Sprintf("n=%d/c=%d/V=%d", size.n, size.c, len(size.dims)), func(b *testing.B) {
			views, _ := blobs[float32](size.n, size.c, size.dims, 0, 9, 1)
			src := source(b, views, nil)
			iterations := 0
			for b.Loop() {
				iterations = run(b, src, Config{Clusters: size.c}).Iterations
			}
			b.ReportMetric(float64(iterations), "iterations")
		})
	}
}

func BenchmarkAssignOne(b *testing.B) {
	views, _ := blobs[float32](1000, 10, []int{10}, 0, 1, 1)
	src := source(b, views, nil)
	r := run(b, src, Config{Clusters: 10})
	label, near, next := make([]int, 1), make([]float64, 1), make([]float64, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Assign(src, 7, 8, label, near, next); err != nil {
			b.Fatal(err)
		}
	}
}

// The guess decides nothing but the time: near centroids, equal ones and a missing one included.
func TestGuess(t *testing.T) {
	const c = 7
	x, _ := blobs[float32](600, 5, []int{6, 9}, 4, 1, 3)
	for _, src := range []*Source[float32]{source(t, x[:1], nil), source(t, x, nil)} {
		s, err := newSolver(context.Background(), src, Config{Clusters: c, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		centroids := make([][]float32, c)
		for k := range centroids {
			centroids[k] = make([]float32, src.width())
			src.copyRow(10*k, centroids[k], 0)
		}
		centroids[3], centroids[5] = centroids[1], nil
		if err := s.panel.set(context.Background(), src, 1, s.frame.centre, centroids); err != nil {
			t.Fatal(err)
		}
		lo, hi := src.block(0)
		s.panel.multiply(src, lo, hi, s.spaces[0])
		for i := lo; i < hi; i++ {
			want, _ := s.panel.nearest(src, i, lo, 0, c, s.norm[i], s.spaces[0])
			for guess := range c {
				if got := s.nearest(i, lo, 0, guess, s.spaces[0]); got != want {
					t.Fatalf("by the guess %d sample %d is nearest to %d, want %d", guess, i, got, want)
				}
			}
		}
	}
}
