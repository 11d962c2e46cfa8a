package inputs

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
)

// random returns views of n samples with normal entries.
func random(n int, dims ...int) []view.View {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]view.View, len(dims))
	for v, d := range dims {
		x := make([]float64, n*d)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		out[v] = view.View{Rows: n, Cols: d, F64: x}
	}
	return out
}

// Without neighbours an input is its view, standardised, and wide views are rotated to the span of their rows.
func TestMakeWithoutNeighbors(t *testing.T) {
	views := random(12, 5, 400)
	o := Options{Kind: prepare.ZScore, Rotate: &prepare.Rotate{Runs: 1, Layers: 2, Anchors: 3}}
	in, err := Make[float64](t.Context(), views, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(in.List) != 2 || in.Standard == nil || in.Smooth != nil || in.Graph != nil || in.Order != nil {
		t.Errorf("%+v", in)
	}
	row, sum := make([]float64, 5), 0.0
	for i := range 12 {
		in.X[0].Row(i, row)
		sum += row[0] * row[0]
	}
	if sum < 12-1e-9 || sum > 12+1e-9 {
		t.Errorf("the squares of a column add up to %v", sum)
	}
	if _, d := in.X[1].Dims(); d > 12 || in.LossDims[1] != 400 {
		t.Errorf("%d columns of a view with 12 rows, loss of %v", d, in.LossDims)
	}
}

// With neighbours there are two inputs of a view, in an order of content that does not depend on that of the caller's samples.
func TestMakeWithNeighbors(t *testing.T) {
	views := random(40, 20, 30)
	var phases []meter.Phase
	ctx, m := meter.New(t.Context(), func(r meter.Report) error {
		if r.Done == 0 {
			phases = append(phases, r.Phase)
		}
		return nil
	}, meter.Options{Restarts: 1})
	o := Options{
		ByContent: true, Seed: 3, HeldOut: true, Meter: m,
		Smooth: &smooth.Options{Kind: prepare.Both, Neighbors: 5, Directions: 10, Steps: 2, Exact: 1000},
	}
	in, err := Make[float64](ctx, views, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(in.List) != 4 || in.HeldOut == nil || in.StartRows != nil || in.Sources[3].Cols != in.List[3].Columns {
		t.Errorf("%+v", in.List)
	}
	if want := []meter.Phase{meter.Preparation, meter.Regression, meter.Neighbors, meter.Smoothing}; !slices.Equal(phases, want) {
		t.Errorf("phases %v, want %v", phases, want)
	}
	shuffled := make([]view.View, len(views))
	order := rand.New(rand.NewPCG(5, 6)).Perm(40)
	for v, x := range views {
		shuffled[v] = x.Take(order)
	}
	o.Meter = nil
	again, err := Make[float64](context.Background(), shuffled, o)
	if err != nil {
		t.Fatal(err)
	}
	_, d := in.X[0].Dims()
	a, b := make([]float64, d), make([]float64, d)
	for i := range 40 {
		in.X[0].Row(i, a)
		again.X[0].Row(i, b)
		if !slices.Equal(a, b) {
			t.Fatalf("row %d differs once the samples are shuffled", i)
		}
		if in.Order[i] != order[again.Order[i]] {
			t.Fatalf("row %d is sample %d, and sample %d once they are shuffled", i, in.Order[i], order[again.Order[i]])
		}
	}
}
