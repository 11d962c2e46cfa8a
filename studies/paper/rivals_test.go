package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/studies/internal/sets"
)

// Another machine gets the rows in the order of a draw, and its scores come back in per cent; without them the method is left out.
func TestElsewhere(t *testing.T) {
	s := smallStudy(t)
	s.elsewhere = t.TempDir()
	if err := s.export(); err != nil {
		t.Fatal(err)
	}
	d, run := s.draw(s.sets[1], 1), contrastive("cvcl")
	got, err := sets.OpenAll(context.Background(), sets.Choice{Path: filepath.Join(s.elsewhere, d.Name+"-1.npz")})
	if err != nil || !slices.Equal(got[0].Labels, d.Labels) || !slices.Equal(got[0].Values[0].X, d.Values[0].X) {
		t.Errorf("other rows went out: %v", err)
	}
	if _, err := run(context.Background(), s, d, 1); !errors.Is(err, errPython) {
		t.Errorf("without results: %v", err)
	}
	text := `{"epochs": [201, 202], "acc": [0.5, 0.25], "nmi": [0, 0], "purity": [0.5, 0.75], "device": "cuda"}`
	if err := os.WriteFile(filepath.Join(s.elsewhere, "cvcl-"+d.Name+"-1.json"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	c, err := run(context.Background(), s, d, 1)
	if err != nil || !slices.Equal(c.Epochs, []int{201, 202}) || !slices.Equal(c.ACC, []float64{50, 25}) || c.best() != 50 {
		t.Errorf("got %v, %v", c, err)
	}
}
