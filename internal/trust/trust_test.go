package trust

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// correlated returns n samples whose rows of every view are other mixtures of the same two values and of noise.
func correlated(n int, seed uint64, dims ...int) Rows[float64] {
	rng := rand.New(rand.NewPCG(seed, 1))
	mix := rand.New(rand.NewPCG(2, 3))
	var weights [][2]float64
	for range dims {
		for range slices.Max(dims) {
			weights = append(weights, [2]float64{mix.NormFloat64(), mix.NormFloat64()})
		}
	}
	out := Rows[float64]{Dims: dims, Present: make([][]bool, len(dims)), Odd: make([][]float64, len(dims))}
	for v, d := range dims {
		out.Views, out.Odd[v] = append(out.Views, make([]float64, n*d)), make([]float64, n)
	}
	for i := range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		for v, d := range dims {
			for c := range d {
				w := weights[v*slices.Max(dims)+c]
				out.Views[v][i*d+c] = w[0]*a + w[1]*b + 0.1*rng.NormFloat64()
			}
		}
	}
	return out
}

// A row of another sample is the least trusted of its sample, of samples that the judge knows and of new ones; the same rows
// give the same bits on any number of workers.
func TestRowsOfOthersAreNamed(t *testing.T) {
	const n, bad = 250, 25
	ctx := context.Background()
	known := correlated(n, 1, 8, 6, 7)
	j, err := New(ctx, known, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(ctx, known, 5, 3)
	if err != nil {
		t.Fatal(err)
	}
	fresh := correlated(n, 9, 8, 6, 7)
	for i := range bad { // of view 1, the row of the next
		copy(fresh.Views[1][i*6:(i+1)*6], fresh.Views[1][(i+bad)*6:(i+bad+1)*6])
	}
	fresh.Present[2] = make([]bool, n)
	for i := range n {
		fresh.Present[2][i] = i != n-1
	}
	trust, err := j.Of(ctx, fresh, 1)
	if err != nil {
		t.Fatal(err)
	}
	again, err := other.Of(ctx, fresh, 2)
	if err != nil {
		t.Fatal(err)
	}
	named, suspected := 0, 0
	for i := range n {
		for v := range trust {
			if trust[v][i] != again[v][i] {
				t.Fatalf("view %d of sample %d: %v and %v", v, i, trust[v][i], again[v][i])
			}
		}
		least := min(trust[0][i], trust[1][i], trust[2][i])
		if i < bad && trust[1][i] == least {
			named++
		} else if i >= bad && least < 0.5 {
			suspected++
		}
	}
	if named < 20 || suspected > n/20 {
		t.Errorf("%d of %d named, %d others suspected", named, bad, suspected)
	}
	if trust[2][n-1] != 1 {
		t.Errorf("an absent view has the trust %v", trust[2][n-1])
	}
	// What is odd to look at is trusted less than the same row that is not.
	odd := fresh
	odd.Odd = [][]float64{slices.Repeat([]float64{5}, n), fresh.Odd[1], fresh.Odd[2]}
	less, err := j.Of(ctx, odd, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if !(less[0][i] < trust[0][i]) && trust[0][i] > 0 {
			t.Fatalf("sample %d: %v, odd %v", i, trust[0][i], less[0][i])
		}
	}
}

func TestJudgeRefuses(t *testing.T) {
	ctx := context.Background()
	known := correlated(40, 1, 3, 4)
	one := Rows[float64]{Views: known.Views[:1], Dims: known.Dims[:1], Present: known.Present[:1]}
	if _, err := New(ctx, one, 1, 1); !errors.Is(err, ErrOneView) {
		t.Error(err)
	}
	j, err := New(ctx, known, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Of(ctx, one, 1); err == nil || !strings.Contains(err.Error(), "1 views") {
		t.Error(err)
	}
	if _, err := j.Of(ctx, correlated(4, 1, 4, 4), 1); err == nil || !strings.Contains(err.Error(), "view 0 has 4 columns") {
		t.Error(err)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	if _, err := New(stopped, known, 1, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A view that no known sample has says nothing: its rows are trusted, and the other views are judged as ever.
func TestViewWithoutRows(t *testing.T) {
	known := correlated(200, 1, 6, 5, 4)
	known.Present = [][]bool{nil, nil, make([]bool, 200)}
	j, err := New(t.Context(), known, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := j.Of(t.Context(), correlated(200, 1, 6, 5, 4), 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range got[2] {
		if x != 1 || !(got[0][i] >= 0 && got[0][i] <= 1) || got[0][i] == 1 && got[1][i] == 1 {
			t.Fatalf("sample %d has the trust %v, %v, %v", i, got[0][i], got[1][i], x)
		}
	}
}

func TestSamples(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2000: 2000, 2001: 2000, 10_000: 2000, 10_001: 1000} {
		if m := SampleCount(n); m != want {
			t.Errorf("%d samples of %d, want %d", m, n, want)
		}
	}
	for _, n := range []int{1, 7, mostSamples, mostSamples + 1, manyFrom + 1} {
		some := Samples(n, 3)
		distinct := len(slices.Compact(slices.Clone(some)))
		if len(some) != SampleCount(n) || some[0] < 0 || some[len(some)-1] >= n || distinct != len(some) {
			t.Errorf("%d of %d samples", len(some), n)
		}
		if !slices.Equal(some, Samples(n, 3)) {
			t.Errorf("another choice of %d samples", n)
		}
	}
}

// Noise is told from rows although a fifth of these are noise themselves, and what was learned can be stored.
func TestNoiseAmongRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	mark := func(centre float64) []float64 { return []float64{centre + rng.NormFloat64(), rng.NormFloat64()} }
	var rows, noise [][]float64
	for i := range 200 {
		if i < 40 {
			rows = append(rows, mark(10))
		} else {
			rows = append(rows, mark(0))
		}
		noise = append(noise, mark(10))
	}
	n := NewNoise(rows, noise)
	if k := len(n.Values()); k != NoiseValues(2) {
		t.Fatalf("%d values, want %d", k, NoiseValues(2))
	}
	same := NoiseOf(n.Values(), 2)
	for i, m := range rows {
		if o := n.Oddness(m); (o > 1) != (i < 40) || math.IsNaN(o) {
			t.Errorf("row %d at %v is odd by %v", i, m, o)
		}
		if n.Oddness(m) != same.Oddness(m) {
			t.Fatal("what was stored says something else")
		}
	}
}
