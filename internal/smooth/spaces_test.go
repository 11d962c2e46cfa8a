package smooth

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// denseViews are random views of n rows.
func denseViews(n int, cols ...int) []view.View {
	rng := rand.New(rand.NewPCG(5, 6))
	out := make([]view.View, len(cols))
	for v, d := range cols {
		x := make([]float64, n*d)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		out[v] = view.View{Rows: n, Cols: d, F64: x}
	}
	return out
}

// Neighbours are sought by each standardisation's inputs side by side, where a view of few features takes part with its only
// input, and by single inputs, of which that one counts twice.
func TestSpaces(t *testing.T) {
	find := func(cols ...int) *Inputs[float64] {
		t.Helper()
		s, err := Find[float64](context.Background(), denseViews(40, cols...), Options{Kind: prepare.Both, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	few := prepare.FewFeatures - 1
	for name, test := range map[string]struct {
		inputs *Inputs[float64]
		want   []neighbor.Space
	}{
		"wide and narrow": {find(30, few), []neighbor.Space{ // inputs: view 0, then both views
			{Views: []int{0, 2}, Weight: 0.25, Filled: true}, {Views: []int{1, 2}, Weight: 0.25, Filled: true},
			{Views: []int{0}, Weight: 0.125}, {Views: []int{2}, Weight: 0.25}, {Views: []int{1}, Weight: 0.125},
		}},
		"narrow": {find(few), []neighbor.Space{ // no side twice
			{Views: []int{0}, Weight: 0.5, Filled: true}, {Views: []int{0}, Weight: 0.5},
		}},
	} {
		got := test.inputs.spaces(true)
		same := len(got) == len(test.want)
		for i := range got {
			same = same && reflect.DeepEqual(got[i].Views, test.want[i].Views) && got[i].Filled == test.want[i].Filled &&
				math.Abs(got[i].Weight-test.want[i].Weight) < 1e-12
		}
		if !same {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// A view keeps its columns where there are no more of them than directions, to the bit.
func TestColumnsAreKept(t *testing.T) {
	ctx, views := context.Background(), denseViews(40, 20)
	for directions, want := range map[int]int{0: 20, 19: 19, 20: 20, 21: 20} {
		s, err := Find[float64](ctx, views, Options{Kind: prepare.ZScore, Directions: directions, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		unit, err := UnitRows[float64](ctx, s.Standardised, 0, views[0], 1)
		if err != nil {
			t.Fatal(err)
		}
		if s.Inputs[0].Columns != want {
			t.Errorf("%d directions: %d columns", directions, s.Inputs[0].Columns)
		}
		rows, ld, row := s.rows(0, unit, 0, 40, nil), neighbor.Stride(want), make([]float64, 20)
		unit.Row(7, row)
		if same := slices.Equal(rows[7*ld:7*ld+want], row[:want]); same != (want == 20) {
			t.Errorf("%d directions: the same rows: %v", directions, same)
		}
	}
}

func TestStepsAndNearest(t *testing.T) {
	o := Options{Steps: 7, Exact: 4}
	for n, want := range map[int]int{1: 0, 2: 0, 3: 7} {
		if got := o.steps(n); got != want || o.Filters(n) != (want > 0) {
			t.Errorf("%d steps for %d samples", got, n)
		}
	}
	for landmarks, want := range map[int]int{1: 1, 2: 1, 3: 2, 5: 4, 6: 5, 100: 5} {
		if got := nearestOf(landmarks); got != want {
			t.Errorf("%d nearest of %d landmarks", got, landmarks)
		}
	}
	if !o.Searched(4) || o.Searched(5) || !(Options{Exact: -1}).Searched(1) || (Options{Exact: -1}).Searched(2) {
		t.Error("the number of samples up to which neighbours are searched")
	}
}

// The samples that novelty is measured by have their own rows and masks.
func TestSomeOf(t *testing.T) {
	const n = 3 * unlikeSamples
	present := make([]bool, n)
	blocks := []neighbor.Block[float64]{{Ld: 16, Cols: 2, X: make([]float64, 16*n)}, {Ld: 16, Cols: 3, X: make([]float64, 16*n)}}
	for i := range n {
		present[i] = i%3 > 0
		for k, b := range blocks {
			for j := range b.Cols {
				b.X[16*i+j] = float64(100*i + 10*k + j)
			}
		}
	}
	blocks[1].Present = present
	some := SomeOf(blocks, n, Options{Seed: 3})
	if len(some.samples) != unlikeSamples || !slices.IsSorted(some.samples) {
		t.Fatalf("%d samples", len(some.samples))
	}
	for r, i := range some.samples {
		for k, b := range some.blocks {
			for j := range b.Cols {
				if x := b.X[r*b.Ld+j]; x != float64(100*i+10*k+j) {
					t.Fatalf("sample %d: value %d of input %d is %v", i, j, k, x)
				}
			}
		}
		if some.blocks[1].Present[r] != present[i] {
			t.Fatalf("sample %d: its second view is there: %v", i, !present[i])
		}
	}
	if some.blocks[0].Present != nil {
		t.Error("a mask of a view that all samples have")
	}
}

func TestUnlike(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{0.6, 0.8}, []float64{3, 4}, 0}, {[]float64{1, 0}, []float64{0, 2}, 1}, {[]float64{1, 0}, []float64{-1, 0}, 1},
		{[]float64{1, 0}, []float64{3, 4}, 0.4}, {[]float64{1, 0}, []float64{0, 0}, 1},
	} {
		if got := unlike(c.x, c.y); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v smoothed to %v: %v, want %v", c.x, c.y, got, c.want)
		}
	}
	none := math.NaN()
	if a, b := meanOf([]float64{0.2, none, 0.4}), meanOf([]float64{none}); math.Abs(a-0.3) > 1e-12 || b != 1 {
		t.Errorf("the means are %v and %v", a, b)
	}
}

// Directions of small views are found beside each other, and are the same for any number of goroutines.
func TestDirectionsBesideEachOther(t *testing.T) {
	views := denseViews(90, 70, 40, 50)
	of := func(workers int) (out []spectral.Basis) {
		s, err := Find[float64](context.Background(), views, Options{
			Kind: prepare.Both, Directions: 12, Exact: math.MaxInt, Workers: workers,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range s.directions {
			out = append(out, *d.basis)
		}
		return out
	}
	want := of(1)
	for _, workers := range []int{2, 5, 9} {
		if got := of(workers); !reflect.DeepEqual(got, want) {
			t.Errorf("%d goroutines find other directions", workers)
		}
	}
	wide := views[0]
	wide.Cols = besideNumbers
	for views, want := range map[*view.View]int{&views[0]: 2, &wide: 1} {
		s := &Inputs[float64]{Standardised: &Standardised{Inputs: make([]prepare.Input, 2)}}
		if got := s.beside([]view.View{*views}, []int{0, 1}, Options{Workers: 5}); got != want {
			t.Errorf("%d columns: %d inputs at once, want %d", views.Cols, got, want)
		}
	}
}
