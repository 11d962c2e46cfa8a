package device

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
)

// withCondition returns an m×d matrix whose singular values fall from 3 by the condition number, or to 0 for infinity.
func withCondition(t *testing.T, rng *rand.Rand, m, d int, condition float64) []float64 {
	t.Helper()
	k := min(m, d)
	vectors := func(n int) []float64 {
		x := make([]float64, k*n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		var p linalg.Polar
		if err := p.Factor(k, n, x, x); err != nil {
			t.Fatal(err)
		}
		return x
	}
	left, right, out := vectors(m), vectors(d), make([]float64, m*d)
	for r := range k {
		value := 3 * math.Pow(min(condition, 100), -float64(r)/float64(max(k-1, 1)))
		if r == k-1 {
			value = 3 / condition
		}
		for i := range m {
			for j := range d {
				out[i*d+j] += value * left[r*m+i] * right[r*d+j]
			}
		}
	}
	return out
}

func largestDifference(a, b []float64) (most float64) {
	for i := range a {
		most = max(most, math.Abs(a[i]-b[i]))
	}
	return most
}

// TestPolar compares polar factors and their gradients with the CPU's, for all views of a layer at once and one after another. A
// device leaves ill-conditioned matrices to the CPU, and the bits do not depend on the order of blocks.
func TestPolar(t *testing.T) {
	const m = 12
	spec := shape(20, m, 2, 12, 37, 5, 70) // where d < m, the step is on the transpose
	spec.Noise = false
	conditions := []float64{1, 60, 1e3, 1e4, 1e7, math.Inf(1)}
	run := func(condition float64, order uint64, together bool) (all [][]float64, direct []bool) {
		drv, tune := &simdevice.Sim{Order: order}, tuning{tensorRows: fewRows}
		s, err := emptyShard[float32](drv, &spec, make([]bool, 4), false, true, tune)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(5, 1))
		polars, matrices := make([]linalg.Polar, 4), make([][]float64, 4)
		for v, d := range spec.Dims {
			polars[v].Wide = s.Wide(2, v)
			matrices[v] = withCondition(t, rng, m, d, condition)
			if err := polars[v].Begin(m, d, matrices[v]); err != nil {
				t.Fatal(err)
			}
		}
		if together {
			if err := s.Factor(2); err != nil {
				t.Fatal(err)
			}
		}
		for v, d := range spec.Dims {
			g := make([]float64, m*d)
			for i := range g {
				g[i] = rng.NormFloat64()
			}
			p, dm := make([]float64, m*d), make([]float64, m*d)
			if err := polars[v].Finish(p); err != nil {
				t.Fatal(err)
			}
			polars[v].Prepare()
			if err := polars[v].Grad(g, dm); err != nil {
				t.Fatal(err)
			}
			var host linalg.Polar
			want, wantDM := make([]float64, m*d), make([]float64, m*d)
			if err := host.Factor(m, d, matrices[v], want); err != nil {
				t.Fatal(err)
			}
			if err := host.Grad(g, wantDM); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("condition %.0e, view %d, together %v", condition, v, together)
			allowP, allowDM := 1e-14*(10+condition), 1e-13*(10+condition)
			if condition > 1e6 { // the CPU's
				allowP, allowDM = 0, 1e-6
			}
			if e := largestDifference(p, want); e > allowP {
				t.Errorf("%s: P differs by %.1e", what, e)
			}
			if e := largestDifference(dm, wantDM); e > allowDM*largestDifference(wantDM, make([]float64, m*d)) {
				t.Errorf("%s: dM differs by %.1e", what, e)
			}
			all, direct = append(all, p, dm), append(direct, s.Wide(2, v).(*wide).ok)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return all, direct
	}
	for _, condition := range conditions {
		want, direct := run(condition, 0, true)
		for v, ok := range direct {
			if ok != (condition < 1e6) {
				t.Errorf("condition %.0e, view %d: computed on the device %v", condition, v, ok)
			}
		}
		run(condition, 0, false)
		if got, _ := run(condition, 7, true); !slices.EqualFunc(got, want, slices.Equal[[]float64]) {
			t.Errorf("condition %.0e: another order of blocks has other bits", condition)
		}
	}
}

// TestKept compares the polar factors of kept views and the cotangents of their M, both computed on the device alone, with the
// CPU's. Singular values that the device cannot take to 1, and scales beyond its steps, are left to the CPU.
func TestKept(t *testing.T) {
	const m, layers = 12, 2
	spec := shape(20, m, layers, 12, 37, 70)
	spec.Noise = false
	for name, c := range map[string]struct {
		condition, scale float64
		direct           bool
	}{
		"well conditioned": {60, 1, true}, "to 10,000": {1e4, 1, true}, "ill conditioned": {1e7, 1, false},
		"rank deficient": {math.Inf(1), 1, false}, "zero": {1, 0, false}, "tiny": {60, 1e-170, false}, "small": {60, 1e-60, true},
		"huge": {60, 1e170, false}, "large": {60, 1e60, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := emptyShard[float32](&simdevice.Sim{}, &spec, make([]bool, 3), false, true, tuning{tensorRows: fewRows})
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(5, 1))
			polars, given := make([]linalg.Polar, 3), make([]engine.Cotangent, 3)
			matrices, cotangents := make([][]float64, 3), make([][]float64, 3)
			for v, d := range spec.Dims {
				matrices[v], cotangents[v] = withCondition(t, rng, m, d, c.condition), make([]float64, m*d)
				for i := range m * d {
					matrices[v][i] *= c.scale
					cotangents[v][i] = rng.NormFloat64()
				}
				w := s.polar.of(layers, v)
				polars[v].Wide, given[v] = w, engine.Cotangent{Polar: &polars[v], Scale: 2}
				if err := w.Put(linalg.SlotA, matrices[v], 1); err != nil {
					t.Fatal(err)
				}
				if err := polars[v].Begin(m, d, nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Factor(layers); err != nil {
				t.Fatal(err)
			}
			for v := range spec.Dims {
				if direct := s.polar.of(layers, v).ok; direct != c.direct {
					t.Errorf("view %d: computed on the device %v", v, direct)
				}
				if err := polars[v].Finish(nil); err != nil {
					t.Fatal(err)
				}
				polars[v].Prepare()
				if err := s.polar.of(layers, v).Put(linalg.SlotG, cotangents[v], 0.5); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Cotangents(layers, given); err != nil {
				t.Fatal(err)
			}
			for v, d := range spec.Dims {
				var host linalg.Polar
				want, wantDM := make([]float64, m*d), make([]float64, m*d)
				p, dm := make([]float64, m*d), make([]float64, m*d)
				err := errors.Join(host.Factor(m, d, matrices[v], want), host.Grad(cotangents[v], wantDM),
					s.Anchors(layers, v, p), s.polar.of(layers, v).Get(dm, linalg.SlotGrad, 1))
				if err != nil {
					t.Fatal(err)
				}
				if bound := s.polar.largest[v][layers]; largest(p) > bound*(1+1e-6) {
					t.Errorf("view %d: the largest entry of P is %g, and tensor cores scale for %g", v, largest(p), bound)
				}
				allowP, allowDM := 1e-14*(10+c.condition), 1e-13*(10+c.condition)
				if c.condition > 1e6 {
					allowP, allowDM = 1e-15, 1e-6
				}
				if e := largestDifference(p, want); e > allowP {
					t.Errorf("view %d: P differs by %.1e", v, e)
				}
				if e := largestDifference(dm, wantDM); !(e <= allowDM*largestDifference(wantDM, make([]float64, m*d))) {
					t.Errorf("view %d: dM differs by %.1e", v, e)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
