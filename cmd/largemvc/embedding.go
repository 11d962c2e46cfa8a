package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
)

// matrixEndings are those of files of matrices.
var matrixEndings = []string{".npy", ".npz", ".csv"}

// matrixFile is a file of a matrix that has a row for each sample.
type matrixFile struct {
	flag, path string
	array      string // its name in .npz
	column     string // the names of its columns in .csv begin with
}

// embeddingFile is the file of H, and membershipsFile the one of the memberships in clusters.
func embeddingFile(path string) matrixFile { return matrixFile{"embedding", path, "H", "h"} }
func membershipsFile(path string) matrixFile {
	return matrixFile{"memberships", path, "memberships", "cluster"}
}

// check refuses a file of another kind.
func (f matrixFile) check(command string) error {
	if f.path == "" || slices.Contains(matrixEndings, ending(f.path)) {
		return nil
	}
	return usagef("%s: -%s %s: the name must end in .npy, .npz or .csv", command, f.flag, f.path)
}

// longestID is how many characters a text in .npz has at most: NumPy gives every text of an array the room of the longest.
const longestID = 1024

// checkIDs refuses ids that cannot be written beside the matrix, before the work that they would be the end of.
func (f matrixFile) checkIDs(in *input) error {
	if ending(f.path) != ".npz" {
		return nil
	}
	for i, id := range in.ids {
		if n := utf8.RuneCountInString(id); n > longestID {
			return fmt.Errorf("-%s %s: the id of sample %d (from 0), %q, has %d characters; .npz takes at most %d (ids: %s): "+
				"shorten it, or give -%[1]s a name that ends in .csv", f.flag, f.path, i,
				string([]rune(id)[:20])+"…", n, longestID, in.reading.IDs)
		}
	}
	return nil
}

// write writes a matrix: in .npz with ids where there are some; in .csv the ids, sample, and a column for each column. out
// is the file, links followed.
func (f matrixFile) write(out *output, h mat.Matrix, in *input) error {
	if out.path == "" {
		return nil
	}
	n, m := h.Dims()
	if ending(out.path) == ".csv" {
		return out.writeTable(io.Discard, in.withIDs(0, f.columns(0, h))...)
	}
	values := make([]float64, 0, n*m)
	for i := range n {
		for j := range m {
			values = append(values, h.At(i, j))
		}
	}
	matrix := dataset.Array{Name: f.array, Shape: []int{n, m}, Data: values}
	if ending(out.path) == ".npy" {
		return out.save(io.Discard, func(w io.Writer) error { return dataset.EncodeNPY(w, matrix) })
	}
	arrays := []dataset.Array{matrix}
	if in.ids != nil {
		arrays = append(arrays, dataset.Array{Name: "ids", Data: in.ids})
	}
	return out.write(io.Discard, func(w io.Writer) error { return dataset.EncodeNPZ(w, false, arrays...) },
		func(path string) error { return dataset.WriteNPZ(path, false, arrays...) })
}

// columns returns the columns of a matrix of samples, whose numbers begin with first.
func (f matrixFile) columns(first int, h mat.Matrix) []dataset.Column {
	n, m := h.Dims()
	columns := []dataset.Column{numbers(first, n)}
	for j := range m {
		column := make([]float64, n)
		for i := range column {
			column[i] = h.At(i, j)
		}
		columns = append(columns, dataset.Column{Name: fmt.Sprintf("%s%d", f.column, j), Data: column})
	}
	return columns
}

// writeMemberships writes the memberships of samples by their representation.
func writeMemberships(ctx context.Context, out *output, model *largemvc.Predictor, h mat.Matrix, in *input) error {
	if out.path == "" {
		return nil
	}
	x, err := model.Memberships(ctx, h)
	if err != nil {
		return err
	}
	return membershipsFile(out.path).write(out, x, in)
}
