package dataset

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// featuresOf ends the name of the array that names the columns of another: X0.features those of X0.
const featuresOf = ".features"

// nameFeatures finds the arrays of texts that name the columns of views. Another number of names is an error.
func (s *source) nameFeatures(views []*variable, o *Options) error {
	for _, names := range s.vars {
		of, ok := strings.CutSuffix(names.name, featuresOf)
		if !ok || names.kind != text || o.leavesOut(names.name) {
			continue
		}
		for _, v := range views {
			if v.file != names.file || v.name != of || v.names != nil {
				continue
			}
			_, cols, _ := v.shape2()
			if n, vector := names.vectorLen(); !vector || n != cols {
				return names.errorf("holds names of the shape %s, and %s has %d features: save a name for each, or give "+
					"Options.LeaveOut %s", names.shapeString(), of, cols, names.name)
			}
			v.names, v.namedBy = names.strings, names
		}
	}
	return nil
}

// Arrange returns the view with its features in the order of names, for example those of a model. Features that are not in names
// are left out. The values of a dense view move in place: the view itself must not be used afterwards. A view without names, one
// that lacks one of names, and one that has a name twice are errors.
func (v *View) Arrange(names []string) (View, error) {
	if v.Features == nil {
		return View{}, fmt.Errorf("dataset: the features of view %s have no names", v.Name)
	}
	at := make(map[string]int, len(v.Features))
	for j, f := range v.Features {
		if _, twice := at[f]; twice {
			return View{}, fmt.Errorf("dataset: view %s has two features named %q", v.Name, f)
		}
		at[f] = j
	}
	from := make([]int, len(names))
	to := slices.Repeat([]int32{-1}, len(v.Features)) // −1: left out
	for k, f := range names {
		j, ok := at[f]
		if !ok {
			return View{}, fmt.Errorf("dataset: view %s has no feature named %q, but %s", v.Name, f, someNames(v.Features))
		}
		if to[j] >= 0 {
			return View{}, fmt.Errorf("dataset: feature %q is requested twice", f)
		}
		from[k], to[j] = j, int32(k)
	}
	out := View{Name: v.Name, Rows: v.Rows, Cols: len(names), Features: names}
	switch {
	case v.Float32 != nil:
		out.Float32 = arrange(v.Float32, v.Cols, from)
	case v.Float64 != nil:
		out.Float64 = arrange(v.Float64, v.Cols, from)
	case v.Sparse != nil:
		out.Sparse = v.Sparse.arrange(to)
	default:
		return View{}, errors.New("dataset: view " + v.Name + " has no values")
	}
	return out, nil
}

// arrange moves the columns of a matrix in place: column k of the result is column from[k]. It has no more columns than
// before, so that a row never overtakes those that are still to be read.
func arrange[T float32 | float64](x []T, cols int, from []int) []T {
	row := make([]T, len(from))
	n := len(x) / max(cols, 1)
	for i := range n {
		for k, j := range from {
			row[k] = x[i*cols+j]
		}
		copy(x[i*len(from):], row)
	}
	return x[:n*len(from)]
}

// arrange gives the columns new numbers; those below 0 are dropped.
func (c *CSR) arrange(to []int32) *CSR {
	if c.Float32 != nil {
		return arrangeRows(c, c.Float32, to)
	}
	return arrangeRows(c, c.Float64, to)
}

func arrangeRows[T float32 | float64](c *CSR, values []T, to []int32) *CSR {
	ptr := make([]int, len(c.RowPtr))
	kept := 0
	for i := range len(c.RowPtr) - 1 {
		for k := c.RowPtr[i]; k < c.RowPtr[i+1]; k++ {
			if j := to[c.Col[k]]; j >= 0 {
				c.Col[kept], values[kept] = j, values[k]
				kept++
			}
		}
		ptr[i+1] = kept
		sort.Sort(&entries[T]{c.Col[ptr[i]:kept], values[ptr[i]:kept]})
	}
	out := &CSR{RowPtr: ptr, Col: c.Col[:kept]}
	setValues(values[:kept], &out.Float32, &out.Float64)
	return out
}
