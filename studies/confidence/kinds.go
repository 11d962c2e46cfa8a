package main

import (
	"math"
	"math/rand/v2"

	"github.com/largemvc/largemvc/studies/internal/sets"
)

// kind makes one value of a sample in a view.
type kind struct {
	name     string
	distance float64 // of planted clusters, in standard deviations; 0: noise
	value    func(r *rand.Rand) float64
	factors  bool // the views are linear in four normal factors, beside little noise
}

var kinds = []kind{
	{name: "normal", value: (*rand.Rand).NormFloat64},
	{name: "uniform", value: (*rand.Rand).Float64},
	{name: "student2", value: func(r *rand.Rand) float64 { return r.NormFloat64() / math.Sqrt(r.ExpFloat64()) }},
	{name: "lowrank", value: func(r *rand.Rand) float64 { return 0.3 * r.NormFloat64() }, factors: true},
	{name: "planted4", value: (*rand.Rand).NormFloat64, distance: 4},
	{name: "planted6", value: (*rand.Rand).NormFloat64, distance: 6},
}

// draw makes a set of two views. The classes of noise are drawn, too, and mean nothing.
func (f kind) draw(r *rand.Rand, n, k int) *sets.Set {
	const factors = 4
	labels, q := make([]int, n), make([]float64, n*factors)
	for i := range labels {
		labels[i] = r.IntN(k)
	}
	for e := range q {
		q[e] = r.NormFloat64()
	}
	var views []sets.Matrix
	for _, d := range []int{60, 15} {
		centre, weight := make([]float64, k*d), make([]float64, factors*d)
		for e := range centre {
			centre[e] = f.distance * r.NormFloat64() / math.Sqrt(2*float64(d))
		}
		for e := range weight {
			weight[e] = r.NormFloat64()
		}
		x := make([]float32, n*d)
		for e := range x {
			i, j := e/d, e%d
			y := f.value(r) + centre[labels[i]*d+j]
			for p := 0; f.factors && p < factors; p++ {
				y += q[i*factors+p] * weight[p*d+j]
			}
			x[e] = float32(y)
		}
		views = append(views, sets.Matrix{N: n, D: d, X: x})
	}
	return sets.New(f.name, views, labels, k)
}
