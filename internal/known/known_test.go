package known

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// solved returns the ridge of rows with labels, with the rows added in two blocks, and their leave-one-out scores. Features 2 and
// 3 belong to the input before smoothing.
func solved(t *testing.T, features, classes int, labels []int, phi []float64) *Ridge {
	t.Helper()
	r := NewRidge([]int{2}, features-4, classes, labels)
	half := len(labels) / 2
	for _, block := range [][2]int{{0, half}, {half, len(labels)}} {
		if err := r.Add(t.Context(), 2, block[0], phi[block[0]*features:block[1]*features]); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Solve(); err != nil {
		t.Fatal(err)
	}
	rows := phi
	if !r.NeedsRows() {
		rows = nil
	}
	r.LeaveOut(0, len(labels), rows)
	return r
}

// Both forms of the system give the scores that a ridge without the sample gives, for both weights of the inputs before
// smoothing. The heavy weight has the effect of features times its root.
func TestLeaveOut(t *testing.T) {
	for _, size := range [][2]int{{13, 30}, {30, 7}} {
		n, d := size[0], size[1]
		r := rand.New(rand.NewPCG(1, 2))
		labels, phi := make([]int, n), make([]float64, n*d)
		for i := range phi {
			phi[i] = r.NormFloat64() / math.Sqrt(float64(d))
		}
		for i := range labels {
			labels[i] = i % 3
		}
		heavy := slices.Clone(phi)
		for i := range n {
			heavy[i*d+2], heavy[i*d+3] = math.Sqrt(Heavy)*heavy[i*d+2], math.Sqrt(Heavy)*heavy[i*d+3]
		}
		all := solved(t, d, 3, labels, phi)
		if scaled := solved(t, d, 3, labels, heavy); !floats.EqualApprox(all.solved[1].left, scaled.solved[0].left, 1e-9) {
			t.Errorf("%d×%d: the scores are %v, of scaled features %v", n, d, all.solved[1].left, scaled.solved[0].left)
		}
		for _, i := range []int{0, 5, n - 1} {
			others := append(append([]float64{}, phi[:i*d]...), phi[(i+1)*d:]...)
			without := solved(t, d, 3, append(append([]int{}, labels[:i]...), labels[i+1:]...), others)
			for f, with := range all.solved {
				for k := range 3 {
					want := 0.0
					for j := range d {
						want += phi[i*d+j] * without.solved[f].weights.At(j, k)
					}
					if got := with.left[i*3+k]; math.Abs(got-want) > 1e-9 {
						t.Errorf("%d×%d, sample %d, class %d: %v, a ridge without it gives %v", n, d, i, k, got, want)
					}
				}
			}
		}
	}
}

// The inputs before smoothing are heavy where they have the classes and the smoothed ones do not, in either form of the system,
// and never with few known samples.
func TestChoose(t *testing.T) {
	for _, d := range []int{8, 60} {
		for _, informative := range []int{0, 2} {
			r := rand.New(rand.NewPCG(5, 6))
			labels, phi := make([]int, 40), make([]float64, 40*d)
			for i := range labels {
				labels[i] = i % 2
				for j := range 4 {
					phi[i*d+j] = r.NormFloat64() / 2
				}
				phi[i*d+informative] = float64(labels[i]) - 0.5 + 0.2*r.NormFloat64()
			}
			ridge := solved(t, d, 2, labels, phi)
			weights, _ := ridge.Choose()
			if heavy := weights == ridge.solved[1].weights; heavy != (informative == 2) {
				t.Errorf("%d features, the classes are in feature %d: heavy is %v", d, informative, heavy)
			}
			if few := solved(t, d, 2, labels[:6], phi[:6*d]); len(few.solved) != 1 {
				t.Error("a weight is chosen by six known samples")
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
