package rows

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestFromMatrix(t *testing.T) {
	whole := mat.NewDense(3, 4, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	part := whole.Slice(1, 3, 1, 3)
	for name, x := range map[string]mat.Matrix{"in place": part, "copied": mat.DenseCopyOf(part.T()).T()} {
		r, err := FromMatrix(x)
		if err != nil {
			t.Fatal(err)
		}
		if n, d := r.Dims(); n != 2 || d != 2 || !slices.Equal(r.View(0), []float64{5, 6}) ||
			!slices.Equal(r.View(1), []float64{9, 10}) {
			t.Errorf("%s: %d×%d, %v and %v", name, n, d, r.View(0), r.View(1))
		}
	}
	whole.Set(2, 2, math.Inf(1))
	for want, x := range map[string]mat.Matrix{
		"no matrix": nil, "a 0×0 matrix has nothing to cluster": &mat.Dense{}, "+Inf in row 1, column 1": part,
	} {
		if _, err := FromMatrix(x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestSample draws 3 of 6 often enough to see that every number is as likely as the others.
func TestSample(t *testing.T) {
	rng, counts := rand.New(rand.NewPCG(1, 1)), make([]int, 6)
	for range 6000 {
		chosen := Sample(rng, 6, 3)
		if len(chosen) != 3 || !slices.IsSorted(chosen) || len(slices.Compact(slices.Clone(chosen))) != 3 {
			t.Fatal(chosen)
		}
		for _, i := range chosen {
			counts[i]++
		}
	}
	for i, k := range counts {
		if k < 2800 || k > 3200 {
			t.Errorf("%d is drawn %d times in 6000, want about 3000", i, k)
		}
	}
	if all := Sample(rng, 4, 4); !slices.Equal(all, []int{0, 1, 2, 3}) {
		t.Error(all)
	}
}
