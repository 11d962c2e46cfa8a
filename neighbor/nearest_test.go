package neighbor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

var testSpaces = []Space{{Views: []int{0}, Weight: 1}, {Views: []int{1}, Weight: 1}, {Views: []int{1, 0}, Weight: 2}}

// compareLists checks lists against those of brute force: the same neighbours, distances equal but for rounding.
func compareLists(t *testing.T, got, want *Lists) {
	t.Helper()
	if got.N != want.N || got.K != want.K {
		t.Fatalf("%d neighbours of %d samples, want %d of %d", got.K, got.N, want.K, want.N)
	}
	for e, j := range want.Index {
		d, w := got.Square[e], want.Square[e]
		if got.Index[e] != j || math.IsInf(w, 1) != math.IsInf(d, 1) || !math.IsInf(w, 1) && math.Abs(d-w) > 1e-12*w {
			t.Fatalf("neighbour %d of sample %d is %d at %.17g, want %d at %.17g", e%got.K, e/got.K, got.Index[e], d, j, w)
		}
	}
}

func checkNearest(t *testing.T, d *dataset, k int) {
	t.Helper()
	t.Run("float32", func(t *testing.T) { checkNearestIn[float32](t, d, k) })
	t.Run("float64", func(t *testing.T) { checkNearestIn[float64](t, d, k) })
}

func checkNearestIn[T Float](t *testing.T, d *dataset, k int) {
	t.Helper()
	lists, err := Nearest(context.Background(), viewsOf[T](t, d), testSpaces, k, 2)
	if err != nil {
		t.Fatal(err)
	}
	for q, s := range testSpaces {
		compareLists(t, lists[q], d.bruteForce(s.Views, k))
	}
}

func TestNearestEqualsBruteForce(t *testing.T) {
	for _, masks := range []bool{false, true} {
		for _, n := range []int{1, 2, 9, 64, 65, 170} {
			for _, k := range []int{1, 7, 40, n - 1, n, n + 5} {
				if k > 0 {
					t.Run(fmt.Sprintf("n %d k %d masks %t", n, k, masks), func(t *testing.T) {
						checkNearest(t, randomData(uint64(n), n, masks, 4, 11), k)
					})
				}
			}
		}
	}
}

// Distances of points of a small grid are small integers, so that most are tied.
func TestNearestPrefersLowIndexAmongTies(t *testing.T) {
	for _, masks := range []bool{false, true} {
		d := randomData(3, 300, masks, 2, 3)
		for _, x := range d.x {
			for i := range x {
				x[i] = math.Round(x[i])
			}
		}
		checkNearest(t, d, 10)
	}
}

// More equal samples than candidates are kept, zeros and others.
func TestNearestOfDuplicates(t *testing.T) {
	for _, masks := range []bool{false, true} {
		d := randomData(4, 260, masks, 3, 4)
		for v, x := range d.x {
			k := d.dims[v]
			for i := range d.n {
				switch {
				case i%2 == 0:
					clear(x[i*k : (i+1)*k])
				case i%3 == 0:
					copy(x[i*k:(i+1)*k], x[k:2*k])
				}
			}
		}
		checkNearest(t, d, 6)
	}
	all := randomData(5, 90, false, 3, 4)
	for _, x := range all.x {
		for i := range x {
			x[i] = 0.1
		}
	}
	checkNearest(t, all, 6)
}

// Rows far from the origin, where products in float32 say nothing about their distances.
func TestNearestFarFromTheOrigin(t *testing.T) {
	d := randomData(6, 200, false, 5, 8)
	for _, x := range d.x {
		for i := range x {
			x[i] = float64(float32(x[i] + 5e4))
		}
	}
	checkNearest(t, d, 8)
}

func TestNearestDoesNotDependOnWorkers(t *testing.T) {
	views := viewsOf[float32](t, randomData(8, 400, true, 6, 20))
	one := must(Nearest(context.Background(), views, testSpaces, 9, 1))
	five := must(Nearest(context.Background(), views, testSpaces, 9, 5))
	for q := range one {
		if !slices.Equal(one[q].Index, five[q].Index) || !slices.Equal(one[q].Square, five[q].Square) {
			t.Errorf("space %d differs", q)
		}
	}
}

func TestNearestRefuses(t *testing.T) {
	ctx := context.Background()
	d := randomData(9, 20, false, 3, 2)
	good := viewsOf[float64](t, d)
	d.x[1][7*2+1] = math.NaN()
	nan := viewsOf[float64](t, d)
	d.x[1][7*2+1] = 1e160
	long := viewsOf[float64](t, d)
	other := viewsOf[float64](t, randomData(9, 19, false, 3, 2))
	for name, c := range map[string]struct {
		views  []View[float64]
		spaces []Space
		k      int
		want   string
	}{
		"no views":     {nil, testSpaces, 3, "space 0 has view 0, and there are 0 views"},
		"no spaces":    {good, nil, 3, "there are no spaces"},
		"empty space":  {good, []Space{{}}, 3, "space 0 has no views"},
		"view twice":   {good, []Space{{Views: []int{1, 1}}}, 3, "space 0 has view 1 twice"},
		"no such view": {good, []Space{{Views: []int{2}}}, 3, "space 0 has view 2, and there are 2 views"},
		"neighbours":   {good, testSpaces, 0, "0 neighbours"},
		"NaN":          {nan, testSpaces, 3, "view 1 has NaN at row 7, column 1"},
		"long":         {long, testSpaces, 3, "row 7 of view 1 is so long"},
		"rows":         {[]View[float64]{good[0], other[1]}, testSpaces, 3, "view 1 has 19 rows, view 0 has 20"},
		"mask": {[]View[float64]{good[0], {Rows: good[1].Rows, Present: make([]bool, 3)}}, testSpaces, 3,
			"view 1 has 20 rows and a mask of 3"},
		"nothing": {[]View[float64]{good[0], {}}, testSpaces, 3, "view 1 has no rows"},
	} {
		if _, err := Nearest(ctx, c.views, c.spaces, c.k, 1); err == nil || !strings.Contains(err.Error(), "neighbor: "+c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
	if _, err := Dense(3, 2, 2, make([]float32, 5), nil); err == nil {
		t.Error("Dense takes 5 values for 3×2 rows")
	}
	if _, err := Dense(3, 2, 2, make([]float32, 6), make([]bool, 2)); err == nil {
		t.Error("Dense takes a mask of 2 for 3 rows")
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Nearest(canceled, good, testSpaces, 3, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
