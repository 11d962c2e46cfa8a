package confidence

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

func TestMargin(t *testing.T) {
	for _, c := range []struct{ near, next, want float64 }{
		{0, 1, 1}, {1, 1, 0}, {1, 4, 0.5}, {2, 1, 0}, {1, math.Inf(1), 1}, {0, 0, 0}, {0, 4, 1}, {4.1, 4, 0},
	} {
		if got := Margin(c.near, c.next); got != c.want {
			t.Errorf("Margin(%g, %g) is %g, want %g", c.near, c.next, got, c.want)
		}
	}
}

// Shares that are drawn from a curve give it back.
func TestFit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, want := range []Curve{{0.2, -1, 5, 1}, {0.5, 0.3, 0, 1}, {0.1, 4, 3, 1}} {
		const n = 20000
		margin, share := make([]float64, n), make([]float64, n)
		for i := range margin {
			margin[i] = r.Float64()
			for range 4 {
				if r.Float64() < want.share(margin[i]) {
					share[i] += 0.25
				}
			}
		}
		got := Fit(margin, share, want.Chance, n)
		for m := range 11 {
			if d := got.share(float64(m)/10) - want.share(float64(m)/10); math.Abs(d) > 0.02 {
				t.Errorf("%+v: %+v differs by %g at %g", want, *got, d, float64(m)/10)
			}
		}
	}
}

func TestFitOfExtremes(t *testing.T) {
	margin := []float64{0, 0.2, 0.5, 0.9, 1, 1}
	sure := Fit(margin, []float64{1, 1, 1, 1, 1, 1}, 0.3, 6)
	if x := sure.At(1, 1); !(x > 0.9) {
		t.Errorf("shares of 1 make a confidence of %g", x)
	}
	chance := Fit(margin, []float64{0.25, 0.25, 0.25, 0.25, 0.25, 0.25}, 0.3, 6)
	if x := chance.At(0, 1); x != 0 {
		t.Errorf("shares below chance make a confidence of %g", x)
	}
	falling := Fit(margin, []float64{1, 1, 1, 0, 0, 0}, 0.3, 6)
	if falling.Slope != 0 {
		t.Errorf("the curve of falling shares has the slope %g", falling.Slope)
	}
	if c := Fit(nil, nil, 0.3, 6); c != nil {
		t.Errorf("no samples make a curve %+v", *c)
	}
	if c := Fit(margin, margin, 1, 6); c != nil {
		t.Errorf("one cluster makes a curve %+v", *c)
	}
}

// More samples raise the confidence, but not beyond the limits.
func TestGain(t *testing.T) {
	margin, share := []float64{0.1, 0.5, 0.6, 0.8}, []float64{0.25, 0.5, 0.75, 0.75}
	few := Fit(margin, share, 0.3, 4)
	if few.Gain != 1 {
		t.Errorf("the gain of the samples themselves is %g", few.Gain)
	}
	last := few.At(0.3, 1)
	for _, n := range []int{8, 12, 16} {
		if x := Fit(margin, share, 0.3, n).At(0.3, 1); !(x > last && x < 1) {
			t.Errorf("%d samples have a confidence of %g, fewer %g", n, x, last)
		} else {
			last = x
		}
	}
	if x := Fit(margin, share, 0.3, 1000000).At(0.3, 1); x != last {
		t.Errorf("a million samples have a confidence of %g, 16 have %g", x, last)
	}
	for _, c := range []struct{ margin, want float64 }{{0, 0}, {1, 1}} {
		q := Curve{Chance: 0.5, Intercept: -1000, Slope: 2000, Gain: 5}
		if x := q.At((1-c.margin)*(1-c.margin), 1); x != c.want {
			t.Errorf("confidence %g at the margin %g", x, c.margin)
		}
	}
}

func TestMembers(t *testing.T) {
	c := &Curve{Chance: 0.3, Intercept: -0.5, Slope: 6, Gain: 2}
	for _, squares := range [][]float64{
		{1, 2, 3}, {5, 0.1, 4, 4, 4, 9}, {1, 1.0001}, {0, 1}, {3, 0, 1e-9, 1e9}, {0.5, 0.5, 0.5}, {2}, {1, 1, 7},
	} {
		out := make([]float64, len(squares))
		c.Members(out, squares)
		if s := floats.Sum(out); math.Abs(s-1) > 1e-12 {
			t.Errorf("%v: the memberships %v sum to %g", squares, out, s)
		}
		for i := range out {
			for j := range out {
				if squares[i] < squares[j] && out[i] < out[j] {
					t.Errorf("%v: %v", squares, out)
				}
			}
		}
		own := floats.MinIdx(squares)
		next := math.Inf(1)
		for k, q := range squares {
			if k != own {
				next = min(next, q)
			}
		}
		want := max(0.3+0.7*c.At(squares[own], next), 1/float64(len(squares)))
		tie := next == squares[own]
		if !tie && len(squares) > 1 && math.Abs(out[own]-want) > 1e-6 || tie && math.Abs(out[own]-out[1-own]) > 1e-12 {
			t.Errorf("%v: the largest of %v is not %g", squares, out, want)
		}
	}
}
