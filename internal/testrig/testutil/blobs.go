package testutil

import (
	"fmt"
	"math/rand/v2"
)

// Blobs returns n samples of c clusters, sample i of class i%c: in every view a class has a random centre, from which its
// samples deviate by noise.
func Blobs(n, c int, noise float64, seed uint64, dims ...int) (x [][]float64, classes []int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	classes = make([]int, n)
	for i := range classes {
		classes[i] = i % c
	}
	for _, d := range dims {
		centres := make([]float64, c*d)
		for j := range centres {
			centres[j] = rng.NormFloat64()
		}
		view := make([]float64, n*d)
		for i := range view {
			view[i] = centres[classes[i/d]*d+i%d] + noise*rng.NormFloat64()
		}
		x = append(x, view)
	}
	return x, classes
}

// Masked returns the views with a presence mask: present[i][v] says whether sample i has view v. A nil mask means that all
// samples have all views. A row of the mask must have an entry for every view.
func Masked[V interface{ WithPresent(present []bool) V }](views []V, present [][]bool) ([]V, error) {
	out := make([]V, len(views))
	for v := range out {
		var of []bool
		for i, row := range present {
			if len(row) != len(views) {
				return nil, fmt.Errorf("the mask has %d views for sample %d, want %d", len(row), i, len(views))
			}
			of = append(of, row[v])
		}
		out[v] = views[v].WithPresent(of)
	}
	return out, nil
}

// Absent returns an n×V mask at the rate, in which every sample keeps a view.
func Absent(n, views int, rate float64, seed uint64) [][]bool {
	rng := rand.New(rand.NewPCG(seed, 2))
	mask := make([][]bool, n)
	for i := range mask {
		mask[i] = make([]bool, views)
		for v := range mask[i] {
			mask[i][v] = rng.Float64() >= rate
		}
		mask[i][rng.IntN(views)] = true
	}
	return mask
}
