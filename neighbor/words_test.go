package neighbor

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
)

// TestWordsFindTheSame: the links of samples that are compared in words are those of the same samples in float32, bit by bit.
func TestWordsFindTheSame(t *testing.T) {
	if !kernel.Words[float32]() {
		t.Skip("products of words are not fast on this processor")
	}
	ctx := context.Background()
	const n, fresh = 700, 150
	spaces := []Space{{Views: []int{0}, Weight: 1}, {Views: []int{1}, Weight: 2}, {Views: []int{0, 1}, Weight: 1}}
	for _, c := range []struct {
		name  string
		words bool
		make  func(x []float64, row, column int)
	}{
		{"as drawn", true, func([]float64, int, int) {}},
		{"far from zero", true, func(x []float64, _, _ int) { x[0] += 40 }},
		{"new samples far away", true, func(x []float64, row, _ int) {
			if row >= n && row%7 == 0 {
				x[0] *= 30
			}
		}},
		{"some equal", true, func(x []float64, row, column int) {
			if row >= n && row%5 == 0 {
				x[0] = float64(column % 3)
			}
		}},
		{"one sample far away from all others", false, func(x []float64, row, _ int) {
			if row == 3 {
				x[0] += 1e4
			}
		}},
	} {
		d := randomData(61, n+fresh, false, 33, 8)
		for v, k := range d.dims {
			for i := range d.x[v] {
				c.make(d.x[v][i:i+1], i/k, i%k)
				d.x[v][i] = float64(float32(d.x[v][i]))
			}
		}
		base, queries := d.rows(upTo(n)...), d.rows(upTo(n + fresh)[n:]...)
		x := must(Build(ctx, viewsOf[float32](t, base), spaces, Config{Neighbors: 6}))
		all := must(x.Attach(ctx, viewsOf[float32](t, queries), 2))
		if used := x.exact.words != nil; used != c.words {
			t.Errorf("%s: words are used: %t, want %t", c.name, used, c.words)
		}
		for lo := 0; lo < fresh; lo += fewQueries {
			hi := min(lo+fewQueries, fresh)
			some := must(x.Attach(ctx, viewsOf[float32](t, queries.rows(upTo(hi)[lo:]...)), 1))
			for i := lo; i < hi; i++ {
				atoms, weights := all.Row(i)
				other, their := some.Row(i - lo)
				if !slices.Equal(atoms, other) || !slices.Equal(weights, their) {
					t.Fatalf("%s: new sample %d has the links %v, %v in words, %v, %v in float32",
						c.name, i, atoms, weights, other, their)
				}
			}
		}
	}
}

// TestRoundedScores: scores in words differ from those in float64 by no more than the error that is allowed for.
func TestRoundedScores(t *testing.T) {
	ctx := context.Background()
	const n = 90
	d := randomData(62, n, false, 21, 6)
	src := must(newSource(ctx, nil, viewsOf[float64](t, d), 1))
	places := newPlaces(src, must(src.rowHashes(ctx, 1)), []Space{{Views: []int{0, 1}, Weight: 1}}, 5)
	s := newSearch(src, src, places, 5)
	p := s.spaces[0]
	exact := s.noise(p, 0)
	s.inWords(must(newWordBase(ctx, s, 1)))
	if s.noise(p, 0) < 1e3*exact {
		t.Fatalf("the error in words is %g, that of float64 %g", s.noise(p, 0), exact)
	}
	w := s.takeSpace(s.multiplied())
	largest := 0.0
	for lo := 0; lo < n; lo += blockRows {
		hi := min(lo+blockRows, n)
		s.multiplyWords(lo, hi, 0, w)
		for i := lo; i < hi; i++ {
			for j := range n {
				at := (i-lo)*w.ld + j
				got := w.y[0][at] + w.y[1][at] + p.bias[j] + s.own(p, i)
				want, _ := src.distance(src, p.views, i, j, src.rowBuffers())
				off := math.Abs(got-want) / s.noise(p, i)
				if largest = max(largest, off); off > 1 {
					t.Fatalf("samples %d and %d: squared distance %g in words, want %g; error %g", i, j, got, want, s.noise(p, i))
				}
			}
		}
	}
	if largest < 0.01 {
		t.Errorf("errors are at most %.2g of what is allowed for", largest)
	}
}
