// Package view holds views of the samples in whatever memory the caller has them: dense, sparse or any matrix, with a mask
// of the samples that have them.
package view

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
)

// View is one view of the samples: Rows rows of Cols features, one row a sample, in memory of the caller, of which it has
// one of Matrix, F32, F64 and Sparse, or outside memory (Source). It is read-only but for what Own returns.
type View struct {
	Name       string
	Rows, Cols int

	Matrix mat.Matrix
	F32    []float32 // row-major
	F64    []float64
	Given  bool // F32 or F64 is a slice that the caller gave as such
	Sparse *CSR
	Source Source // rows that are read when they are needed

	// First is the number that row 0 has among all samples: where rows of a Source begin, and what messages count from.
	First int

	Features []string // names of the columns; nil without
	Prepared Prepared

	Offset int // what messages add to the numbers of rows: the rows of lower ranks

	Present []bool // the samples that have the view; nil: all. The rows of the others are never read.

	order   Order // of the samples, the rows that dense values or a Source have for them; nil: as they stand
	numbers Order // of the samples among the caller's, for messages; nil: as they stand
}

// Prepared says how the values of a view were changed before, in the words and numbers of who changed them.
type Prepared struct {
	About   string // empty: they were not changed
	Numbers []float64
}

// Changes is the first line of About. The others are for readers, and need not agree.
func (p Prepared) Changes() string {
	line, _, _ := strings.Cut(p.About, "\n")
	return line
}

// Number is the number of sample i among all of the caller's.
func (v View) Number(i int) int {
	switch {
	case v.numbers == nil:
		return v.Offset + v.First + i
	case v.Source != nil:
		i += v.First
	}
	return v.Offset + v.numbers[i]
}

// Empty says whether the view has no memory at all.
func (v View) Empty() bool {
	return v.Matrix == nil && v.F32 == nil && v.F64 == nil && v.Sparse == nil && v.Source == nil
}

// Has says whether sample i has the view.
func (v View) Has(i int) bool { return v.Present == nil || v.Present[i] }

// place is where dense values have those of sample i.
func (v View) place(i int) int {
	if v.order == nil {
		return i
	}
	return v.order[i]
}

// Label names view v in messages.
func (v View) Label(index int) string {
	if v.Name == "" {
		return fmt.Sprintf("view %d", index)
	}
	return fmt.Sprintf("view %d (%s)", index, v.Name)
}

// Row writes row i to dst, which has d_v elements.
func (v View) Row(i int, dst []float64) {
	switch {
	case v.Sparse != nil:
		clear(dst)
		for k := v.Sparse.Ptr[i]; k < v.Sparse.Ptr[i+1]; k++ {
			dst[v.Sparse.Cols[k]] = v.Sparse.Value(k)
		}
	case v.F64 != nil:
		i = v.place(i)
		copy(dst, v.F64[i*v.Cols:(i+1)*v.Cols])
	case v.F32 != nil:
		i = v.place(i)
		kernel.Widen(dst, v.F32[i*v.Cols:(i+1)*v.Cols])
	case v.Source != nil:
		v.readRow(i, dst)
	default:
		for j := range dst {
			dst[j] = v.Matrix.At(i, j)
		}
	}
}

// Float32Row is row i of a view that holds float32, nil otherwise. It is the view's own.
func (v View) Float32Row(i int) []float32 {
	if v.F32 == nil || v.Sparse != nil || v.F64 != nil {
		return nil
	}
	i = v.place(i)
	return v.F32[i*v.Cols : (i+1)*v.Cols]
}

// Window returns samples [lo, hi) of the view.
func (v View) Window(lo, hi int) View {
	if lo == 0 && hi == v.Rows {
		return v
	}
	out := v
	out.Rows, out.First = hi-lo, v.First+lo
	if v.Present != nil {
		out.Present = v.Present[lo:hi]
	}
	if v.numbers != nil && v.Source == nil {
		out.numbers = v.numbers[lo:hi]
	}
	switch {
	case v.order != nil && v.Source == nil:
		out.order = v.order[lo:hi]
	case v.Sparse != nil:
		out.Sparse = v.Sparse.Window(lo, hi)
	case v.F64 != nil:
		out.F64 = v.F64[lo*v.Cols : hi*v.Cols]
	case v.F32 != nil:
		out.F32 = v.F32[lo*v.Cols : hi*v.Cols]
	case v.Source != nil:
	default:
		out.Matrix = rowWindow{v.Matrix, lo, hi - lo}
	}
	return out
}

// Own returns the view's values if the caller gave them as a slice of T.
func Own[T kernel.Float](x View) []T {
	if !x.Given || x.order != nil {
		return nil
	}
	if m, ok := any(x.F32).([]T); ok && x.F32 != nil {
		return m
	}
	if m, ok := any(x.F64).([]T); ok && x.F64 != nil {
		return m
	}
	return nil
}

// rowWindow is some rows of a matrix.
type rowWindow struct {
	of    mat.Matrix
	first int
	rows  int
}

func (w rowWindow) Dims() (int, int) {
	_, d := w.of.Dims()
	return w.rows, d
}

func (w rowWindow) At(i, j int) float64 { return w.of.At(w.first+i, j) }

func (w rowWindow) T() mat.Matrix { return mat.Transpose{Matrix: w} }

// Mask returns the n×V mask of the views, nil where all samples have all views, of all ranks if they are together (see Together).
func Mask(views []View, together bool) [][]bool {
	complete := true
	for _, x := range views {
		complete = complete && (x.Present == nil || !together && !slices.Contains(x.Present, false))
	}
	if complete {
		return nil
	}
	out := make([][]bool, views[0].Rows)
	for i := range out {
		out[i] = make([]bool, len(views))
		for v, x := range views {
			out[i][v] = x.Has(i)
		}
	}
	return out
}
