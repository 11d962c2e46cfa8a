package largemvc

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/largemvc/largemvc/internal/prepare"
)

// Clusters of views of one to four features: their rows at norm 1 alone would not tell them apart.
func TestFewFeatures(t *testing.T) {
	const n, c = 240, 4
	for d := 1; d < prepare.FewFeatures; d++ {
		rng := rand.New(rand.NewPCG(uint64(d), 7))
		classes := make([]int, n)
		x := [2][]float64{}
		for i := range n {
			classes[i] = i % c
			for v := range x {
				for j := range d {
					// Centres in one line with the origin, at different lengths.
					centre := float64(6*(classes[i]-1) + v + j)
					x[v] = append(x[v], centre+rng.NormFloat64()/2)
				}
			}
		}
		views := []View{DenseView(n, d, x[0]), DenseView(n, d, x[1])}
		r, err := Fit(context.Background(), views, Config{Clusters: c})
		if err != nil {
			t.Fatal(err)
		}
		if acc := agree(t, r.Labels, classes); acc < 0.98 {
			t.Errorf("%d features: ACC %v", d, acc)
		}
		for _, in := range r.Inputs() {
			if in.Preprocess != PreprocessZScore || in.Columns != d+1 {
				t.Errorf("%d features: input %+v", d, in)
			}
		}
		got, err := r.Predict(context.Background(), views)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i] != r.Labels[i] {
				t.Fatalf("%d features: sample %d is predicted %d, its label is %d", d, i, got[i], r.Labels[i])
			}
		}
	}
}
