package outlier

import (
	"slices"

	"github.com/largemvc/largemvc/internal/view"
)

// sparse holds a sparse view of the reference, by feature.
type sparse struct {
	scale   []float64 // of each feature; 0 leaves it out
	varying float64   // number of features that count
	first   []int     // the entries of feature j are [first[j], first[j+1])
	sample  []int32
	value   []float64 // scaled
	norms   []float64 // squared, of the scaled rows
}

// newSparse returns nil if no feature varies.
func newSparse(x view.View) *sparse {
	f := &sparse{scale: make([]float64, x.Cols), first: make([]int, x.Cols+1), norms: make([]float64, x.Rows)}
	there := 0
	each := func(do func(i, j int, y float64)) {
		for i := range x.Rows {
			if x.Has(i) {
				for k := x.Sparse.Ptr[i]; k < x.Sparse.Ptr[i+1]; k++ {
					do(i, int(x.Sparse.Cols[k]), x.Sparse.Value(k))
				}
			}
		}
	}
	for i := range x.Rows {
		if x.Has(i) {
			there++
		}
	}
	each(func(_, j int, _ float64) { f.first[j+1]++ })
	for j := range f.scale {
		f.first[j+1] += f.first[j]
	}
	next := slices.Clone(f.first)
	f.sample, f.value = make([]int32, f.first[x.Cols]), make([]float64, f.first[x.Cols])
	each(func(i, j int, y float64) {
		f.sample[next[j]], f.value[next[j]] = int32(i), y
		next[j]++
	})
	column := make([]float64, there)
	for j := range f.scale {
		entries := f.value[f.first[j]:f.first[j+1]]
		if len(entries) == 0 {
			continue
		}
		clear(column[copy(column, entries):])
		slices.Sort(column)
		if _, f.scale[j] = extent(column); f.scale[j] > 0 {
			f.varying++
		}
		for k, y := range entries {
			entries[k] = f.scaled(j, y)
			f.norms[f.sample[f.first[j]+k]] += entries[k] * entries[k]
		}
	}
	if f.varying == 0 {
		return nil
	}
	return f
}

// scaled returns a value of a feature in its scale.
func (f *sparse) scaled(j int, y float64) float64 {
	if f.scale[j] == 0 {
		return 0
	}
	return float64(float32(bounded(y / f.scale[j])))
}

func (f *sparse) squares(x view.View, lo, hi int, s *scratch) {
	m := len(f.norms)
	for i := lo; i < hi; i++ {
		out := s.view[(i-lo)*m : (i-lo+1)*m]
		if !x.Has(i) {
			continue
		}
		copy(out, f.norms)
		norm := 0.0
		for k := x.Sparse.Ptr[i]; k < x.Sparse.Ptr[i+1]; k++ {
			j := int(x.Sparse.Cols[k])
			y := f.scaled(j, x.Sparse.Value(k))
			norm += y * y
			for e := f.first[j]; e < f.first[j+1]; e++ {
				out[f.sample[e]] -= 2 * y * f.value[e]
			}
		}
		for j, q := range out {
			out[j] = max(0, q+norm) / f.varying
		}
	}
}
