package structure

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc/internal/view"
)

// shuffled returns rows in which the values of every column are permuted independently, so that columns and views are
// independent. A column of distinct numbers is changed to one mode first: clusters that show in a single column are clusters.
// Counts of words keep their number in each row.
func shuffled(ctx context.Context, views []view.View, rng *rand.Rand, o Options) (*data, error) {
	out := make([]view.View, len(views))
	for v, x := range views {
		out[v] = view.View{Rows: x.Rows, Cols: x.Cols, Present: x.Present}
		if rows, columns := words(x); rows != nil {
			out[v].Sparse = shuffledWords(x.Rows, rows, columns, rng)
		} else if x.Sparse == nil {
			out[v].F32 = shuffledDense(x, rng)
		} else {
			out[v].Sparse = shuffledSparse(x, rng)
		}
	}
	sets, err := prepared(ctx, out, o)
	if err != nil || len(sets) == 0 {
		return nil, err
	}
	return joined(sets), nil
}

// present returns the rows that have the view.
func present(x view.View) (there []int) {
	for i := range x.Rows {
		if x.Has(i) {
			there = append(there, i)
		}
	}
	return there
}

// shuffledDense returns the values of a view with shuffled columns (row-major).
func shuffledDense(x view.View, rng *rand.Rand) []float32 {
	there := present(x)
	values, row := make([]float32, x.Rows*x.Cols), make([]float64, x.Cols)
	for _, i := range there {
		x.Row(i, row)
		for j, y := range row {
			values[i*x.Cols+j] = float32(y)
		}
	}
	column := make([]float64, len(there))
	for j := range x.Cols {
		for q, i := range there {
			column[q] = float64(values[i*x.Cols+j])
		}
		slices.Sort(column)
		oneMode(column)
		for q, p := range rng.Perm(len(there)) {
			values[there[q]*x.Cols+j] = float32(column[p])
		}
	}
	return values
}

// shuffledSparse is shuffledDense for a sparse view. It stores only the entries: there may be more columns than memory has room
// for.
func shuffledSparse(x view.View, rng *rand.Rand) *view.CSR {
	there := present(x)
	entries := make([][]float64, x.Cols) // of each column
	for _, i := range there {
		for k := x.Sparse.Ptr[i]; k < x.Sparse.Ptr[i+1]; k++ {
			j := x.Sparse.Cols[k]
			entries[j] = append(entries[j], x.Sparse.Value(k))
		}
	}
	cols, values := make([][]int32, x.Rows), make([][]float32, x.Rows)
	column := make([]float64, len(there))
	for j, held := range entries {
		if len(held) == 0 {
			continue
		}
		clear(column[copy(column, held):])
		slices.Sort(column)
		oneMode(column)
		for q, p := range rng.Perm(len(there)) {
			if i := there[q]; column[p] != 0 {
				cols[i], values[i] = append(cols[i], int32(j)), append(values[i], float32(column[p]))
			}
		}
	}
	out := &view.CSR{Ptr: []int{0}, Cols: slices.Concat(cols...), F32: slices.Concat(values...)}
	for i := range cols {
		out.Ptr = append(out.Ptr, out.Ptr[i]+len(cols[i]))
	}
	return out
}

// distinct is the share of distinct values from which a column counts as continuous.
const distinct = 0.8

// oneMode changes sorted values of nearly all distinct numbers so that they have one mode: their density rises up to the shortest
// half of them and falls from there. It is the nearest such distribution that J. Hartigan and P. Hartigan's dip (Ann. Stat. 13,
// 1985) measures the distance from.
func oneMode(x []float64) {
	n, different := len(x), 1
	for i := 1; i < n; i++ {
		if x[i] > x[i-1] {
			different++
		}
	}
	if n < 4 || float64(different) < distinct*float64(n) {
		return
	}
	at, least := 0, math.Inf(1)
	for i := 0; i+n/2 < n; i++ {
		if width := x[i+n/2] - x[i]; width < least {
			at, least = i, width
		}
	}
	mode := at + n/4
	level(x[:mode+1], func(first, second float64) bool { return first > second })
	level(x[mode:], func(first, second float64) bool { return first < second })
}

// level spaces sorted values evenly between some of them, such that wrong is false for the densities of all neighbouring spaces.
func level(x []float64, wrong func(first, second float64) bool) {
	density := func(a, b int) float64 { return float64(b-a) / (x[b] - x[a]) }
	kept := []int{0}
	for i := 1; i < len(x); i++ {
		for len(kept) > 1 && wrong(density(kept[len(kept)-2], kept[len(kept)-1]), density(kept[len(kept)-1], i)) {
			kept = kept[:len(kept)-1]
		}
		kept = append(kept, i)
	}
	for k := 1; k < len(kept); k++ {
		a, b := kept[k-1], kept[k]
		for i := a + 1; i < b; i++ {
			x[i] = x[a] + (x[b]-x[a])*float64(i-a)/float64(b-a)
		}
	}
}
