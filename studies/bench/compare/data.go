package main

import (
	_ "embed" // of the model
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/largemvc/largemvc/dataset"
)

//go:embed paper_model.py
var paperModel string

// writeScript writes a script of Python's to a folder, beside the literal network in PyTorch, and returns its path.
func writeScript(dir, name, text string) (string, error) {
	for name, text := range map[string]string{name: text, "paper_model.py": paperModel} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, name), nil
}

// makeData writes ten clusters in the given shape: normal centres and uniform noise.
func makeData(dir string, n int, dims []int) (string, error) {
	rng := rand.New(rand.NewPCG(1, 1))
	arrays := make([]dataset.Array, len(dims))
	const clusters = 10
	for v, d := range dims {
		centre := make([]float32, clusters*d)
		for j := range centre {
			centre[j] = float32(rng.NormFloat64())
		}
		x := make([]float32, n*d)
		for i := range n {
			c := centre[i%clusters*d : (i%clusters+1)*d]
			row := x[i*d : (i+1)*d]
			for j := range row {
				row[j] = c[j] + 4*rng.Float32() - 2
			}
		}
		arrays[v] = dataset.Array{Name: fmt.Sprintf("X%d", v), Shape: []int{n, d}, Data: x}
	}
	path := filepath.Join(dir, fmt.Sprintf("made_%d_%d.npz", n, len(dims)))
	return path, dataset.WriteNPZ(path, false, arrays...)
}
