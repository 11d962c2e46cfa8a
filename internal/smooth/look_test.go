package smooth

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/view"
)

// sparseViews are views of n rows with two entries each.
func sparseViews(n int, cols ...int) []view.View {
	rng := rand.New(rand.NewPCG(3, 4))
	out := make([]view.View, len(cols))
	for v, d := range cols {
		s := &view.CSR{Ptr: make([]int, 1, n+1)}
		for i := range n {
			s.Cols = append(s.Cols, int32(i%3), int32(3+rng.IntN(d-3)))
			s.F64 = append(s.F64, 1+rng.Float64(), rng.Float64())
			s.Ptr = append(s.Ptr, len(s.Cols))
		}
		out[v] = view.View{Rows: n, Cols: d, Sparse: s}
	}
	return out
}

// The number of rows of a round is no part of what is learned, and nothing is learned of a view alone.
func TestLooksInRounds(t *testing.T) {
	ctx, views := context.Background(), sparseViews(40, 30, 50)
	views[1].Present = make([]bool, 40)
	for i := range views[1].Present {
		views[1].Present[i] = i%4 != 0
	}
	l := newLooks(views, Options{Seed: 5, Workers: 1})
	if l.round < l.rows() {
		t.Fatalf("narrow views take more than a round, of %d rows", l.round)
	}
	want, err := l.learn(ctx, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, round := range []int{1, 7, 64} {
		l := newLooks(views, Options{Seed: 5, Workers: 2})
		l.round = round
		got, err := l.learn(ctx, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		for v := range want {
			if !slices.Equal(got[v].mean, want[v].mean) || !slices.Equal(got[v].noise.Values(), want[v].noise.Values()) {
				t.Errorf("rounds of %d rows: view %d looks otherwise", round, v)
			}
		}
	}
	if got, err := newLooks(views[:1], Options{}).learn(ctx, 0, 1); got != nil || err != nil {
		t.Errorf("one view: %v, %v", got, err)
	}
}

// Views of very many columns are looked at in steps that are told, between which the work can be called off, and so are new rows.
func TestLooksAtWideViewsEnd(t *testing.T) {
	views := sparseViews(20, 1<<20, 1<<20)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var told []int
	ctx = parallel.WithWatch(ctx, func(done, _ int, tell bool) {
		if tell {
			told = append(told, done)
		}
		if done > 9 {
			cancel()
		}
	})
	_, err := Find[float64](ctx, views, Options{Kind: prepare.Both, Directions: 8, Workers: 1})
	if !errors.Is(err, context.Canceled) || len(told) < 5 || slices.Max(told) != 10 || !slices.IsSorted(told) {
		t.Errorf("%v after steps %v", err, told)
	}
	j := &judging[float64]{look: make([]appearance, 2)}
	if _, err := j.odd(ctx, views, 0, 20); !errors.Is(err, context.Canceled) {
		t.Errorf("new rows: %v", err)
	}
}
