package largemvc

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A model that version 4 of the format has, of views of few features, which were prepared and joined in another way, predicts
// what it predicted then, and so does what is saved of it.
func TestVersion4(t *testing.T) {
	const n, c = 24, 3
	rng := rand.New(rand.NewPCG(4, 4))
	var views []View
	for _, d := range []int{4, 8} {
		x := make([]float64, n*d)
		for i := range x {
			x[i] = float64(3*(i/d%c)*(1+i%d%2)) + rng.NormFloat64()
		}
		views = append(views, Float64View(n, d, x))
	}
	labels := []int{1, 0, 0, 1, 0, 0, 1, 2, 0, 1, 0, 0, 1, 2, 0, 1, 2, 0, 1, 0, 0, 1, 2, 0}
	first := []float64{-0.05466107279062271, 0.702148973941803, 0.22594277560710907} // row 0 of H
	p, err := Load("testdata/version4/model.safetensors")
	for range 2 {
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Predict(context.Background(), views)
		if err != nil || !slices.Equal(got, labels) {
			t.Errorf("labels %v, %v", got, err)
		}
		h, err := p.Transform(context.Background(), views)
		if err != nil {
			t.Fatal(err)
		}
		for j, want := range first {
			if d := h.At(0, j) - want; math.Abs(d) > 1e-5 {
				t.Errorf("h is %v in column %d, was %v", h.At(0, j), j, want)
			}
		}
		var b bytes.Buffer
		if _, err := p.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		p, err = ReadPredictor(&b)
		if err != nil {
			t.Fatal(err)
		}
	}
}
