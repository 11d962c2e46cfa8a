package known

import (
	"math"
	"math/rand/v2"
	"testing"
)

// solved returns the ridge of rows with labels, with the rows added in two blocks, and their leave-one-out scores.
func solved(t *testing.T, features, classes int, labels []int, phi []float64) (*Ridge, []float64) {
	t.Helper()
	r := NewRidge(features, classes, labels)
	half := len(labels) / 2
	for _, block := range [][2]int{{0, half}, {half, len(labels)}} {
		if err := r.Add(t.Context(), 2, block[0], phi[block[0]*features:block[1]*features]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Solve(); err != nil {
		t.Fatal(err)
	}
	rows := phi
	if !r.NeedsRows() {
		rows = nil
	}
	return r, r.LeaveOut(0, len(labels), rows)
}

// Both forms of the system give the scores that a ridge without the sample gives, and equal weights.
func TestLeaveOut(t *testing.T) {
	for _, size := range [][2]int{{12, 30}, {30, 7}} {
		n, d := size[0], size[1]
		r := rand.New(rand.NewPCG(1, 2))
		labels, phi := make([]int, n), make([]float64, n*d)
		for i := range phi {
			phi[i] = r.NormFloat64() / math.Sqrt(float64(d))
		}
		for i := range labels {
			labels[i] = i % 3
		}
		_, left := solved(t, d, 3, labels, phi)
		for _, i := range []int{0, 5, n - 1} {
			others := append(append([]float64{}, phi[:i*d]...), phi[(i+1)*d:]...)
			without, _ := solved(t, d, 3, append(append([]int{}, labels[:i]...), labels[i+1:]...), others)
			for k := range 3 {
				want := 0.0
				for j := range d {
					want += phi[i*d+j] * without.weights.At(j, k)
				}
				if got := left[i*3+k]; math.Abs(got-want) > 1e-9 {
					t.Errorf("%d×%d, sample %d, class %d: %v, a ridge without it gives %v", n, d, i, k, got, want)
				}
			}
		}
	}
}

// The best of equal scores is the first, and its margin is the distance to the next.
func TestBest(t *testing.T) {
	for _, c := range []struct {
		scores []float64
		class  int
		margin float64
	}{{[]float64{1, 3, 2.5}, 1, 0.5}, {[]float64{2, 2, 1}, 0, 0}, {[]float64{-1, -3}, 0, 2}} {
		if class, margin := Best(c.scores); class != c.class || margin != c.margin {
			t.Errorf("%v: class %d, margin %v", c.scores, class, margin)
		}
	}
}

// Calibrate finds the probability that margins were drawn with, and stays finite and flat where they say nothing.
func TestCalibrate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	true0 := Chance{Offset: -1, Slope: 4}
	var margins []float64
	var right []bool
	for range 20000 {
		m := r.Float64()
		margins, right = append(margins, m), append(right, r.Float64() < true0.Of(m))
	}
	got := Calibrate(margins, right)
	for _, m := range []float64{0, 0.3, 0.9} {
		if math.Abs(got.Of(m)-true0.Of(m)) > 0.02 {
			t.Errorf("at the margin %v the probability is %v, want %v", m, got.Of(m), true0.Of(m))
		}
	}
	all := make([]bool, 30)
	for i := range all {
		all[i] = true
	}
	if c := Calibrate(margins[:30], all); !(c.Of(0) > 0.9 && c.Of(1) < 1) {
		t.Errorf("all right: %+v", c)
	}
	for i := range all { // the larger the margin, the more often wrong
		all[i] = margins[i] < 0.5
	}
	if c := Calibrate(margins[:30], all); c.Slope != 0 {
		t.Errorf("a larger margin makes a class less sure: %+v", c)
	}
}
