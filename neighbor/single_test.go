package neighbor

import (
	"context"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
)

// Weights of links that are kept in float32 are those of others in it, and so is what products make of them.
func TestSingleLinks(t *testing.T) {
	d := randomData(18, 900, false, 4, 9)
	build := func(single bool) (*Index[float32], *Links) {
		x, err := Build(context.Background(), viewsOf[float32](t, d), testSpaces,
			Config{ExactUpTo: -1, Landmarks: 40, Seed: 5, Workers: 2, Single: single})
		if err != nil {
			t.Fatal(err)
		}
		return x, x.Operator().(*Factor).Links()
	}
	whole, a := build(false)
	rounded, b := build(true)
	for i := range d.n {
		cols, weights := a.Row(i)
		other, half := b.Row(i)
		if !slices.Equal(cols, other) {
			t.Fatalf("sample %d is linked otherwise", i)
		}
		for e, w := range weights {
			if float64(float32(w)) != half[e] {
				t.Fatalf("link %d of sample %d has the weight %v, want %v rounded", e, i, half[e], w)
			}
		}
	}
	if b.val != nil || &weightsOf[float32](b)[0] != &b.single[0] || &weightsOf[float64](a)[0] != &a.val[0] {
		t.Error("weights are kept twice")
	}
	var smoothed [2][]float32
	for k, op := range []Operator{whole.Operator(), rounded.Operator()} {
		block := Block[float32]{X: kernel.Convert[float32](d.x[0]), Ld: d.dims[0], Cols: d.dims[0]}
		if _, err := Smooth(context.Background(), op, []Block[float32]{block}, 5, 2); err != nil {
			t.Fatal(err)
		}
		smoothed[k] = block.X
		out := make([]float64, d.n*16)
		if err := Mul(context.Background(), op, 2, out, make([]float64, d.n*16), 16); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(smoothed[0], smoothed[1]) {
		t.Error("rows are smoothed otherwise")
	}
}
