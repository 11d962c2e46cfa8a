package smooth

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/neighbor"
)

// A graph that was kept is taken for the rows that it was built from. For other rows, as of other directions, it is built again.
func TestKeptGraph(t *testing.T) {
	const n, d = 60, 5
	rng, rows := rand.New(rand.NewPCG(1, 2)), make([]float32, n*d)
	for i := range rows {
		rows[i] = rng.Float32() - 0.5
	}
	cfg := neighbor.Config{ExactUpTo: -1, Landmarks: 6, Nearest: 2, Single: true}
	built, found := 0, []safetensors.Tensor(nil)
	links := func() []float64 {
		x, err := neighbor.Dense(n, d, d, rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Keeper: &Keeper{Found: slices.Clone(found), Write: func(graphs []safetensors.Tensor) error {
			built++
			found = slices.Clone(graphs)
			return nil
		}}}
		index, err := build(t.Context(), sampleGraph, []neighbor.View[float32]{x}, []neighbor.Space{{Views: []int{0}, Weight: 1}},
			o, cfg)
		if err != nil {
			t.Fatal(err)
		}
		var out []float64
		for i := range n {
			at, weights := index.Operator().(*neighbor.Factor).Links().Row(i)
			for e, a := range at {
				out = append(out, float64(a), weights[e])
			}
		}
		return out
	}
	first := links()
	if again := links(); built != 1 || !slices.Equal(again, first) {
		t.Errorf("built %d times, or other links", built)
	}
	for i := 0; i < len(rows); i += d { // a direction has the other sign
		rows[i] = -rows[i]
	}
	other := links()
	if built != 2 {
		t.Errorf("built %d times after the rows changed", built)
	}
	found = nil
	if fresh := links(); !slices.Equal(other, fresh) {
		t.Error("the graph of changed rows is not theirs")
	}
}
