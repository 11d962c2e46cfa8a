package main

import (
	"fmt"
	"io"
	"path/filepath"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/dataset"
)

// embeddingEndings are those of files of H.
var embeddingEndings = []string{".npy", ".npz", ".csv"}

// checkEmbedding refuses a file of H of another kind.
func checkEmbedding(command, path string) error {
	if path == "" {
		return nil
	}
	for _, ending := range embeddingEndings {
		if filepath.Ext(path) == ending {
			return nil
		}
	}
	return usagef("%s: -embedding %s: the name must end in .npy, .npz or .csv", command, path)
}

// longestID is how many characters a text in .npz has at most: NumPy gives every text of an array the room of the longest.
const longestID = 1024

// checkEmbeddedIDs refuses ids that cannot be written beside H, before the work that they would be the end of.
func checkEmbeddedIDs(path string, in *input) error {
	if filepath.Ext(path) != ".npz" {
		return nil
	}
	for i, id := range in.ids {
		if n := utf8.RuneCountInString(id); n > longestID {
			return fmt.Errorf("-embedding %s: the id of sample %d (from 0), %q, has %d characters, and .npz takes %d at most "+
				"(ids: %s): shorten it, or give -embedding a name that ends in .csv", path, i,
				string([]rune(id)[:20])+"…", n, longestID, in.reading.IDs)
		}
	}
	return nil
}

// writeEmbedding writes the representation of the samples: in .npz the matrix H, with ids where there are some; in .csv the
// columns id, sample, h0, h1, ….
func writeEmbedding(out *output, h mat.Matrix, ids []string) error {
	if out.path == "" {
		return nil
	}
	n, m := h.Dims()
	if filepath.Ext(out.path) == ".csv" {
		sample := make([]int, n)
		for i := range sample {
			sample[i] = i
		}
		var columns []dataset.Column
		if ids != nil {
			columns = append(columns, dataset.Column{Name: "id", Data: ids})
		}
		columns = append(columns, dataset.Column{Name: "sample", Data: sample})
		for j := range m {
			column := make([]float64, n)
			for i := range column {
				column[i] = h.At(i, j)
			}
			columns = append(columns, dataset.Column{Name: fmt.Sprintf("h%d", j), Data: column})
		}
		return out.write(io.Discard, func(w io.Writer) error { return dataset.EncodeCSV(w, columns...) },
			func(path string) error { return dataset.WriteCSV(path, columns...) })
	}
	values := make([]float64, 0, n*m)
	for i := range n {
		for j := range m {
			values = append(values, h.At(i, j))
		}
	}
	matrix := dataset.Array{Name: "H", Shape: []int{n, m}, Data: values}
	if filepath.Ext(out.path) == ".npy" {
		return out.save(io.Discard, func(w io.Writer) error { return dataset.EncodeNPY(w, matrix) })
	}
	arrays := []dataset.Array{matrix}
	if ids != nil {
		arrays = append(arrays, dataset.Array{Name: "ids", Data: ids})
	}
	return out.write(io.Discard, func(w io.Writer) error { return dataset.EncodeNPZ(w, false, arrays...) },
		func(path string) error { return dataset.WriteNPZ(path, false, arrays...) })
}
