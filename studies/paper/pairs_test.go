package main

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/studies/internal/sets"
)

// A share of the rows that are there go to other samples, and no others.
func TestSwap(t *testing.T) {
	m := sets.Matrix{N: 100, D: 1}
	present := make([][]bool, m.N)
	for i := range present {
		m.X, present[i] = append(m.X, float32(i)), []bool{true, i%2 == 0}
	}
	got, wrong := swap(m, present, 1, 0.3, 0)
	moved := 0
	for i, w := range wrong {
		if w != (got.X[i] != m.X[i]) || w && i%2 == 1 {
			t.Errorf("row %d is row %v, marked %v", i, got.X[i], w)
		}
		moved += index(w)
	}
	if moved != 15 {
		t.Errorf("%d rows moved, want 15", moved)
	}
	if slices.Sort(got.X); !slices.Equal(got.X, m.X) {
		t.Error("rows were lost")
	}
	if _, other := swap(m, present, 1, 0.3, 1); slices.Equal(wrong, other) {
		t.Error("two draws swap the same rows")
	}
}

// Where the views of a sample share more than its cluster, the trust names many wrong rows and few others.
func TestTrustNamesWrongRows(t *testing.T) {
	const n = 150
	rng := rand.New(rand.NewPCG(1, 2))
	views, labels := make([]sets.Matrix, 3), make([]int, n)
	for v := range views {
		views[v] = sets.Matrix{N: n, D: 8}
	}
	for i := range n {
		labels[i] = i % 3
		var shared [8]float64
		for j := range shared {
			shared[j] = rng.NormFloat64() + 4*float64(index(j%3 == labels[i]))
		}
		for v := range views {
			for j := range shared {
				views[v].X = append(views[v].X, float32(shared[j]+shared[(j+v+1)%8]+0.1*rng.NormFloat64()))
			}
		}
	}
	s := &study{epochs: 5}
	got, err := s.repair(context.Background(), sets.New("made", views, labels, 3), damage{wrong: 0.3}, 0)
	if err != nil || got.Named[1] < 40 || got.Blamed[1] > 4 || got.Named[0] > got.Named[1] || got.Trusted[1] < got.Plain {
		t.Errorf("%+v, %v", got, err)
	}
}

// A view of 254 columns that 120 of 400 samples have is no error. Its leading directions are found from rows for which Cholesky's
// rounding error is large.
func TestFewRowsOfView(t *testing.T) {
	found, err := sets.OpenAll(context.Background(), sets.Choice{Path: filepath.Join(testutil.RealSets(t), "orl.npz")})
	if err != nil {
		t.Fatal(err)
	}
	s := &study{epochs: 1}
	if _, err := s.repair(context.Background(), found[0].InOrder(2), damage{0.3, 0.7}, 2); err != nil {
		t.Error(err)
	}
}
