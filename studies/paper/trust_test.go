package main

import (
	"math"
	"testing"

	"github.com/largemvc/largemvc/studies/internal/sets"
)

// Of bad rows with the trusts 0.1, 0.5 and 0.9 and good rows with 0.5 and 0.8, the pairs are in order 1, 0.5, 0, 1, 1 and 0 times. Two
// bad rows have the least trust of their sample.
func TestJudged(t *testing.T) {
	trust := [][]float64{{0.1, 0.5, 0.5, 0.8, 0.9}, {1, 0.6, 1, 1, 0.2}, {1, 0.7, 1, 1, 0.95}}
	area, named := judged(trust, []bool{true, true, false, false, true}, 0)
	if want := 3.5 / 6; math.Abs(area-want) > 1e-12 || math.Abs(named-2./3) > 1e-12 {
		t.Errorf("area %v, want %v; named %v, want 2/3", area, want, named)
	}
}

// Noise replaces the bad rows alone, and has about the mean and the deviation of the matrix.
func TestNoisy(t *testing.T) {
	m, bad := sets.Matrix{N: 400, D: 5}, make([]bool, 400)
	for k := range 2000 {
		m.X = append(m.X, float32(10+k%3))
	}
	for i := range bad {
		bad[i] = i%2 == 0
	}
	sum := 0.
	for k, x := range noisy(m, bad, 0).X {
		if !bad[k/5] && x != m.X[k] {
			t.Fatalf("entry %d of a good row is %v", k, x)
		} else if bad[k/5] {
			sum += float64(x) / 1000
		}
	}
	if math.Abs(sum-11) > 0.1 {
		t.Errorf("the noise has the mean %v, the matrix 11", sum)
	}
}

// Clusters get their classes by the samples of the fit. A new sample counts if its cluster has its class.
func TestMatched(t *testing.T) {
	got, err := matched([]int{1, 1, 0, 0}, []int{0, 0, 1, 1}, []int{0, 1, 1, 0}, []int{1, 0, 1, 0}, 2)
	if err != nil || got != 50 {
		t.Errorf("%v %%, %v, want 50", got, err)
	}
}
