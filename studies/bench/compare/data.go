package main

import (
	_ "embed" // of the model
	"fmt"
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

// makeData writes ten clusters in the given shape.
func makeData(dir string, n int, dims []int) (string, error) {
	var arrays []dataset.Array
	for v, x := range made(n, dims...).x {
		arrays = append(arrays, dataset.Array{Name: fmt.Sprintf("X%d", v), Shape: []int{n, dims[v]}, Data: x})
	}
	path := filepath.Join(dir, fmt.Sprintf("made_%d_%d.npz", n, len(dims)))
	return path, dataset.WriteNPZ(path, false, arrays...)
}
