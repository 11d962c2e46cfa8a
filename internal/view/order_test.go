package view

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// held returns n samples of a few values, in two views: some samples lack the second, some are equal.
func held(n int) (x, y []float64, present []bool) {
	rng := rand.New(rand.NewPCG(3, 4))
	x, y, present = make([]float64, n*3), make([]float64, n*5), make([]bool, n)
	for i := range x {
		x[i] = float64(rng.IntN(40))
	}
	for i := range y {
		y[i] = float64(rng.IntN(2)) * rng.Float64()
	}
	for i := range present {
		present[i] = rng.IntN(4) > 0
	}
	return x, y, present
}

func orderOf(t *testing.T, seed uint64, workers int, views ...View) Order {
	t.Helper()
	o, err := ByContent(context.Background(), views, seed, workers)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// The order is of what the samples hold: not of their places, of what holds them, of values that are absent, or of the number of
// goroutines.
func TestByContent(t *testing.T) {
	const n = 700
	x, y, present := held(n)
	views := func(x, y []float64, present []bool) []View {
		return []View{{Rows: n, Cols: 3, F64: x}, {Rows: n, Cols: 5, F64: y, Present: present}}
	}
	want := orderOf(t, 1, 1, views(x, y, present)...)
	if sorted := slices.Sorted(slices.Values(want)); sorted[0] != 0 || sorted[n-1] != n-1 || len(slices.Compact(sorted)) != n {
		t.Fatal("it is no permutation")
	}
	if !slices.Equal(want, orderOf(t, 1, 7, views(x, y, present)...)) {
		t.Error("it depends on the number of goroutines")
	}
	if slices.Equal(want, orderOf(t, 2, 1, views(x, y, present)...)) {
		t.Error("it is the same for another seed")
	}

	places := rand.New(rand.NewPCG(5, 6)).Perm(n)
	moved := orderOf(t, 1, 1, views(takeRows(x, 3, places, nil), takeRows(y, 5, places, nil), Along(places, present))...)
	for k, i := range moved {
		if places[i] != want[k] {
			t.Fatalf("sample %d is at %d, and in other places sample %d", want[k], k, places[i])
		}
	}

	ptr, cols, values := testutil.Compressed[float64](n, 5, y)
	sparse := View{Rows: n, Cols: 5, Sparse: &CSR{Ptr: ptr, Cols: cols, F64: values}, Present: present}
	absent := slices.Clone(y)
	for i := range n {
		if !present[i] {
			absent[i*5] = math.NaN()
		}
	}
	single := make([]float32, len(x))
	for i := range x {
		single[i] = float32(x[i])
	}
	for name, views := range map[string][]View{
		"sparse":        {{Rows: n, Cols: 3, F64: x}, sparse},
		"a matrix":      {{Rows: n, Cols: 3, Matrix: mat.NewDense(n, 3, x)}, {Rows: n, Cols: 5, F64: y, Present: present}},
		"absent values": {{Rows: n, Cols: 3, F64: x}, {Rows: n, Cols: 5, F64: absent, Present: present}},
		"float32":       {{Rows: n, Cols: 3, F32: single}, {Rows: n, Cols: 5, F64: y, Present: present}},
	} {
		if !slices.Equal(want, orderOf(t, 1, 2, views...)) {
			t.Errorf("%s: another order", name)
		}
	}
}

// Samples whose views have the same values in other columns, in another view, or in none, have other hashes.
func TestByContentTellsApart(t *testing.T) {
	const n = 64
	for name, change := range map[string]func(x, y []float64, present []bool){
		"columns":  func(x, _ []float64, _ []bool) { x[0], x[1] = x[1], x[0] },
		"views":    func(x, y []float64, _ []bool) { x[0], y[0] = y[0], x[0] },
		"sign":     func(x, _ []float64, _ []bool) { x[2] = -x[2] },
		"a zero":   func(x, _ []float64, _ []bool) { x[2] = 0 },
		"presence": func(_, y []float64, present []bool) { clear(y[:5]); present[0] = false },
	} {
		x, y, present := held(n)
		for i := range present {
			present[i] = true
		}
		x[0], x[1], x[2], y[0] = 1, 2, 3, 4
		if name == "presence" {
			clear(y[:5])
		}
		views := []View{{Rows: n, Cols: 3, F64: x}, {Rows: n, Cols: 5, F64: y, Present: present}}
		before := orderOf(t, 1, 1, views...)
		change(x, y, present)
		if slices.Equal(before, orderOf(t, 1, 1, views...)) {
			t.Errorf("%s: the same order", name)
		}
	}
}

// Of samples that hold the same in all views, however that is held, the first is left.
func TestDistinct(t *testing.T) {
	x := []float64{1, 2, 0, 5, 1, 2, 1, 2, 0, 5, 1, 2}
	y := []float64{3, 3, 4, 9, 3, 8}
	present := []bool{true, true, true, false, true, false}
	ptr, cols, values := testutil.Compressed[float64](6, 2, x)
	for name, first := range map[string]View{
		"dense": {Rows: 6, Cols: 2, F64: x}, "sparse": {Rows: 6, Cols: 2, Sparse: &CSR{Ptr: ptr, Cols: cols, F64: values}},
	} {
		got, err := Distinct(context.Background(), []View{first, {Rows: 6, Cols: 1, F64: y, Present: present}}, 2)
		// 2 is 0 but for the second view, 5 is 3 without it, 4 is 1.
		if want := []int{0, 1, 2, 3}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	y[2] = 3
	got, err := Distinct(context.Background(), []View{{Rows: 6, Cols: 2, F64: x}, {Rows: 6, Cols: 1, F64: y}}, 1)
	if err != nil || !slices.Equal(got, []int{0, 1, 3, 5}) {
		t.Errorf("%v, %v", got, err)
	}
}

// A view along an order has its rows, their presence and their numbers in every way to read them, and so have parts of it.
func TestAlong(t *testing.T) {
	const n, d = 60, 5
	_, y, present := held(n)
	o := Order(rand.New(rand.NewPCG(7, 8)).Perm(n))
	single := make([]float32, len(y))
	for i := range y {
		single[i], y[i] = float32(y[i]), float64(float32(y[i]))
	}
	ptr, cols, values := testutil.Compressed[float32](n, d, y)
	for name, x := range map[string]View{
		"float64":  {F64: slices.Clone(y), Given: true},
		"float32":  {F32: single},
		"a matrix": {Matrix: mat.NewDense(n, d, y)},
		"sparse":   {Sparse: &CSR{Ptr: ptr, Cols: cols, F32: values}},
	} {
		x.Rows, x.Cols, x.Present, x.Offset = n, d, present, 1000
		got := x.Along(o, 1)
		if name == "float64" && Own[float64](got) != nil {
			t.Error("rows that are in another order may be overwritten")
		}
		samples := rand.New(rand.NewPCG(9, 9)).Perm(n)[:20]
		check := func(what string, v View, number func(i int) int, numbered bool) {
			row := make([]float64, d)
			for i := range v.Rows {
				from := o[number(i)]
				v.Row(i, row)
				if !slices.Equal(row, y[from*d:(from+1)*d]) || v.Has(i) != present[from] {
					t.Fatalf("%s, %s: row %d is %v, %v, want %v", name, what, i, row, v.Has(i), y[from*d:(from+1)*d])
				}
				if numbered && v.Number(i) != 1000+from {
					t.Fatalf("%s, %s: row %d has the number %d, want %d", name, what, i, v.Number(i), 1000+from)
				}
			}
		}
		check("all", got, func(i int) int { return i }, true)
		check("a window", got.Window(7, 40), func(i int) int { return 7 + i }, true)
		check("a window of one", got.Window(7, 40).Window(3, 9), func(i int) int { return 10 + i }, true)
		check("some", got.Take(samples), func(i int) int { return samples[i] }, false)
		check("settled", Settled[float64](got), func(i int) int { return i }, true)
		if name == "float64" && Own[float64](Settled[float64](x.Along(o, 1))) == nil {
			t.Error("settled rows may not be overwritten")
		}
	}
	back := Back(o, Along(o, present), 1)
	if !slices.Equal(back, present) || !slices.Equal(Back(o, takeRows(y, d, o, nil), d), y) {
		t.Error("Back does not come back")
	}
	if x := []int{1, 2}; !slices.Equal(Along(nil, x), x) || !slices.Equal(Back(nil, x, 1), x) {
		t.Error("no order changes something")
	}
}
