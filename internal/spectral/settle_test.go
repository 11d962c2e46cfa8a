package spectral

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// TestFindAndProjectOfMany wants of many rows what all of them would give in directions that stand out, and rows whose columns
// are orthogonal to rounding in those that do not; for any number of goroutines.
func TestFindAndProjectOfMany(t *testing.T) {
	const n, rank, strong = 2*EnoughRows + 1000, 8, 4
	dims := []int{7, 12}
	rng := rand.New(rand.NewPCG(9, 9))
	var x []rows.Matrix[float64]
	for _, d := range dims {
		values := make([]float64, n*d)
		for i := range n {
			for j := range d {
				values[i*d+j] = 0.01 * rng.NormFloat64()
			}
			for j := range strong / len(dims) {
				values[i*d+j] += float64(1+d-j) * rng.NormFloat64()
			}
		}
		x = append(x, rows.NewDense(n, d, d, values))
	}
	cfg := Config{Rank: rank, Workers: 1}
	b, y, err := FindAndProject(context.Background(), x, cfg)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Find(context.Background(), x, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range strong {
		if math.Abs(b.S[i]-whole.S[i]) > 1e-4*whole.S[i] {
			t.Errorf("singular value %d is %v, of all rows %v", i, b.S[i], whole.S[i])
		}
		dot := 0.0
		for v := range dims {
			for j, a := range b.V[v][i*dims[v] : (i+1)*dims[v]] {
				dot += a * whole.V[v][i*dims[v]+j]
			}
		}
		if math.Abs(dot-1) > 1e-4 {
			t.Errorf("direction %d is at the cosine %v to that of all rows", i, dot)
		}
	}
	again, err := Project(context.Background(), b, x, 2)
	if err != nil {
		t.Fatal(err)
	}
	ld, square := kernel.Pad(rank), make([]float64, rank*rank)
	for i := range n {
		for p := range rank {
			if a, c := y[i*ld+p], again[i*ld+p]; math.Abs(a-c) > 1e-10 {
				t.Fatalf("row %d is at %v in direction %d, not at %v", i, a, p, c)
			}
			for q := range rank {
				square[p*rank+q] += y[i*ld+p] * y[i*ld+q]
			}
		}
	}
	for p := range rank {
		for q := range rank {
			want := 0.0
			if p == q {
				want = b.S[p] * b.S[p]
			}
			if math.Abs(square[p*rank+q]-want) > 1e-13*b.S[0]*b.S[0] {
				t.Errorf("entry %d, %d of YᵀY is %v, want %v", p, q, square[p*rank+q], want)
			}
		}
	}
	cfg.Workers = 3
	if _, other, err := FindAndProject(context.Background(), x, cfg); err != nil || !slices.Equal(other, y) {
		t.Errorf("three goroutines find something else, %v", err)
	}
}
