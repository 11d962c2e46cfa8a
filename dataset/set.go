package dataset

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/largemvc/largemvc/internal/textfile"
)

// Set is a multi-view data set. The zero value is empty.
type Set struct {
	Name  string
	Views []View
	// Labels holds the class of each sample, 0 … len(LabelNames)−1, or is nil without labels.
	Labels []int
	// LabelNames holds the value that stands for each class in the file, for example "1" or "cat".
	LabelNames []string
	// IDs names the samples, as the files do; nil without. They are all different.
	IDs []string
	// Present is n×V: Present[i][v] says whether sample i has view v. It is nil for complete data.
	Present [][]bool
	// Reading says how the files were read.
	Reading Reading
}

// View is one matrix of Rows samples by Cols features. Exactly one of Float32, Float64 and Sparse holds it.
type View struct {
	Name       string
	Rows, Cols int
	Float32    []float32 // row-major, Rows·Cols values
	Float64    []float64 // row-major, Rows·Cols values
	Sparse     *CSR
	// Features names the columns, as the file does; nil without names.
	Features []string
	// Prepared says how the values were changed after reading; nil: they are as in the file.
	Prepared *Preparation
}

// CSR is a matrix of compressed rows: the entries of row i are RowPtr[i] ≤ k < RowPtr[i+1], at the columns Col[k]
// (increasing within a row). Entries not listed are zero. Exactly one of Float32 and Float64 is used.
type CSR struct {
	RowPtr  []int
	Col     []int32
	Float32 []float32
	Float64 []float64
}

// String says how many samples, views, features and classes there are.
func (s *Set) String() string {
	text := fmt.Sprintf("%s: %s, views of %d features", cmp.Or(s.Name, "data set"), textfile.Count(s.Samples(), "sample"),
		s.Dims())
	if s.Labels != nil {
		text += ", " + textfile.Count(s.Classes(), "class")
	}
	if rate := s.MissingRate(); rate > 0 {
		text += fmt.Sprintf(", %.1f %% of the view rows absent", 100*rate)
	}
	return text
}

// Samples is the number of samples, 0 without views.
func (s *Set) Samples() int {
	if len(s.Views) == 0 {
		return 0
	}
	return s.Views[0].Rows
}

// Dims returns the number of features of each view.
func (s *Set) Dims() []int {
	dims := make([]int, len(s.Views))
	for v := range s.Views {
		dims[v] = s.Views[v].Cols
	}
	return dims
}

// Classes is the number of distinct labels, 0 without labels.
func (s *Set) Classes() int { return len(s.LabelNames) }

// classReports lists the classes with their sizes; nil without labels.
func (s *Set) classReports() []ClassReport {
	if s.Labels == nil {
		return nil
	}
	classes := make([]ClassReport, len(s.LabelNames))
	for c, name := range s.LabelNames {
		classes[c].Name = name
	}
	for _, l := range s.Labels {
		classes[l].Count++
	}
	return classes
}

// MissingRate is the share of the n·V view rows that are absent, 0 … 1.
func (s *Set) MissingRate() float64 {
	if len(s.Present) == 0 || len(s.Views) == 0 {
		return 0
	}
	return float64(absentRows(s.Present)) / float64(len(s.Present)*len(s.Views))
}

// Bytes is the memory that the values of the views take.
func (s *Set) Bytes() int64 {
	var b int64
	for v := range s.Views {
		b += s.Views[v].Bytes()
	}
	return b
}

// Bytes is the memory that the values take, with the indices of a sparse view.
func (v *View) Bytes() int64 {
	b := 4*int64(len(v.Float32)) + 8*int64(len(v.Float64))
	if c := v.Sparse; c != nil {
		b += 8*int64(len(c.RowPtr)) + 4*int64(len(c.Col)) + 4*int64(len(c.Float32)) + 8*int64(len(c.Float64))
	}
	return b
}

// At returns the value in row i and column j, both from 0. It panics where they are out of range.
func (v *View) At(i, j int) float64 {
	if i < 0 || i >= v.Rows || j < 0 || j >= v.Cols {
		panic(fmt.Sprintf("dataset: entry (%d, %d) of a %d×%d view", i, j, v.Rows, v.Cols))
	}
	switch {
	case v.Float32 != nil:
		return float64(v.Float32[i*v.Cols+j])
	case v.Float64 != nil:
		return v.Float64[i*v.Cols+j]
	case v.Sparse != nil:
		c := v.Sparse
		lo := c.RowPtr[i]
		if k, ok := slices.BinarySearch(c.Col[lo:c.RowPtr[i+1]], int32(j)); ok {
			return c.value(lo + k)
		}
	}
	return 0
}

func (c *CSR) value(k int) float64 {
	if c.Float32 != nil {
		return float64(c.Float32[k])
	}
	return c.Float64[k]
}

// Row writes row i to dst, which holds Cols values.
func (v *View) Row(i int, dst []float64) {
	if v.Sparse == nil {
		for j := range dst[:v.Cols] {
			dst[j] = v.At(i, j)
		}
		return
	}
	clear(dst[:v.Cols])
	for k := v.Sparse.RowPtr[i]; k < v.Sparse.RowPtr[i+1]; k++ {
		dst[v.Sparse.Col[k]] = v.Sparse.value(k)
	}
}

// Prepare changes the views as the views of the training were changed: by has one preparation for each view, with nil for none.
// Read the set with Options.AllowNaN if a preparation fills NaN.
func (s *Set) Prepare(by []*Preparation) error {
	if len(by) != len(s.Views) {
		return viewsError(len(by), len(s.Views))
	}
	for v, p := range by {
		if err := p.apply(s, v); err != nil {
			return err
		}
	}
	return nil
}
