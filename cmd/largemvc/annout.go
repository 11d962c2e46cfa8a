package main

import (
	"io"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/lists"
)

// ownName begins the names of columns and matrices in a copy of AnnData.
const ownName = "largemvc"

// asAnnData says whether labels go into a copy of an AnnData or MuData file.
func asAnnData(out string) bool {
	return slices.Contains([]string{".h5ad", ".h5mu"}, ending(out))
}

// checkAnnOut refuses -out FILE.h5ad if the data are no file that such a copy can be made of.
func (o *dataOptions) checkAnnOut(command, out string, inMemory bool) error {
	switch {
	case !asAnnData(out):
		return nil
	case !inMemory:
		return usagef("%s: -out %s: a copy with the labels needs all of them in one process and in memory: name a file .csv or "+
			".npy", command, out)
	case len(o.data) != 1 || o.data[0] == standard || o.sharded() || isAddress(o.data[0]):
		return usagef("%s: -out %s is a copy of the data with the labels, and needs one file of AnnData or MuData: name a file "+
			".csv, .parquet or .npy", command, out)
	case asAnnData(o.data[0]) && ending(o.data[0]) != ending(out):
		return usagef("%s: -out %s is a copy of the data, which are %s: give it the same ending", command, out,
			filepath.Ext(o.data[0]))
	}
	columns := []string{"label", "confidence", "remoteness", "novelty", "class", "class_confidence"}
	return dataset.CheckAnnData(o.data[0], lists.Texts(columns, annName), []string{annMatrix})
}

// annMatrix is the name of the representation in obsm.
const annMatrix = "X_" + ownName

// annName is the name in obs of a column of -out.
func annName(column string) string {
	if column == "label" {
		return ownName
	}
	return ownName + "_" + column
}

// writeAnnData writes columns of -out, and the representation, into a copy of the data.
func (o *dataOptions) writeAnnData(out *output, stdout io.Writer, ids []string, h mat.Matrix, columns []dataset.Column) error {
	x := dataset.AnnDataLabels{IDs: ids}
	for _, c := range columns {
		if c.Name != "sample" {
			x.Columns = append(x.Columns, dataset.Column{Name: annName(c.Name), Data: c.Data})
		}
	}
	n, m := h.Dims()
	values := make([]float32, 0, n*m)
	for i := range n {
		for j := range m {
			values = append(values, float32(h.At(i, j)))
		}
	}
	x.Matrices = []dataset.Array{{Name: annMatrix, Shape: []int{n, m}, Data: values}}
	return out.save(stdout, func(w io.Writer) error { return dataset.EncodeAnnData(w, o.data[0], x) })
}
