package spectral

import (
	"math"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Scores are the projections to the directions, except for the sign of a column: with fewer samples than columns and with more,
// and with as many directions as samples.
func TestScores(t *testing.T) {
	dense, _ := views[float64](150, 300, 420)
	narrow, _ := views[float64](150, 40)
	for _, test := range []struct {
		name string
		x    []rows.Matrix[float64]
		rank int
	}{{"few samples", dense, 12}, {"sparse", []rows.Matrix[float64]{asSparse(dense[0])}, 12}, {"all", dense, 150}, {"narrow", narrow, 9}} {
		cfg := Config{Rank: test.rank, Iterations: 30, Seed: 3}
		basis, want, err := FindAndProject(t.Context(), test.x, cfg)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Scores(t.Context(), test.x, cfg)
		if err != nil {
			t.Fatal(err)
		}
		ld := kernel.Pad(test.rank)
		if len(got) != 150*ld {
			t.Fatalf("%s: %d numbers, want %d", test.name, len(got), 150*ld)
		}
		for r, s := range basis.S {
			dot := 0.0
			for i := range 150 {
				dot += got[i*ld+r] * want[i*ld+r]
			}
			if math.Abs(math.Abs(dot)-s*s) > 1e-6*basis.S[0]*basis.S[0] {
				t.Errorf("%s: direction %d has the product %v, want %v", test.name, r, dot, s*s)
			}
		}
		for _, workers := range []int{1, 5} {
			cfg.Workers = workers
			same, err := Scores(t.Context(), test.x, cfg)
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range same {
				if x != got[i] {
					t.Fatalf("%s: %d workers give other bits", test.name, workers)
				}
			}
		}
	}
}
