// Package synthetic makes small data for the example programs.
package synthetic

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Views returns n samples of k classes in views of the given widths: a class has a random centre in each view, from which its
// samples deviate by noise. Sample i is of class i mod k.
func Views(seed uint64, n, k int, noise float64, widths ...int) (views []*mat.Dense, classes []int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	classes = make([]int, n)
	for i := range classes {
		classes[i] = i % k
	}
	for _, d := range widths {
		centres := mat.NewDense(k, d, nil)
		centres.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, centres)
		x := mat.NewDense(n, d, nil)
		x.Apply(func(i, j int, _ float64) float64 { return centres.At(classes[i], j) + noise*rng.NormFloat64() }, x)
		views = append(views, x)
	}
	return views, classes
}
