package structure

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc/internal/view"
)

// columns are the values of a view, which are to be permuted. A column of distinct numbers is changed to one mode: clusters that
// show in a single column are clusters.
type columns struct {
	of    view.View // its rows, columns and absent rows
	there []int     // the rows that have the view
	held  []float32 // of dense views: the values of each column, increasing
	// Of sparse views: the numbers of the columns that have entries, and the entries of each. There may be more columns than
	// memory has room for.
	filled []int32
	values [][]float64
	words  words // of counts, which keep their number in each row
}

// newColumns returns the columns of a view.
func newColumns(x view.View) *columns {
	c := &columns{of: view.View{Rows: x.Rows, Cols: x.Cols, Present: x.Present}, there: present(x), words: wordsOf(x)}
	switch {
	case c.words.rows != nil:
	case x.Sparse == nil:
		c.sortDense(x)
	default:
		c.sortSparse(x)
	}
	return c
}

// shuffled returns the view with values that are permuted in every column independently, so that columns are independent.
func (c *columns) shuffled(rng *rand.Rand) view.View {
	out := c.of
	switch {
	case c.words.rows != nil:
		out.Sparse = c.words.shuffled(out.Rows, rng)
	case c.held != nil:
		out.F32 = c.shuffledDense(rng)
	default:
		out.Sparse = c.shuffledSparse(rng)
	}
	return out
}

// shuffled returns rows of shuffled columns, which also makes views independent. It returns nil if no view varies.
func (m *null) shuffled(ctx context.Context, rng *rand.Rand, o Options) (*data, error) {
	out := make([]view.View, len(m.columns))
	for v, c := range m.columns {
		out[v] = c.shuffled(rng)
	}
	sets, err := prepared(ctx, out, false, o)
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

// sortDense sets held.
func (c *columns) sortDense(x view.View) {
	n, row := len(c.there), make([]float64, x.Cols)
	values := make([]float32, n*x.Cols)
	for q, i := range c.there {
		x.Row(i, row)
		for j, y := range row {
			values[q*x.Cols+j] = float32(y)
		}
	}
	c.held = make([]float32, n*x.Cols)
	column := make([]float64, n)
	for j := range x.Cols {
		for q := range column {
			column[q] = float64(values[q*x.Cols+j])
		}
		slices.Sort(column)
		oneMode(column)
		for q, y := range column {
			c.held[j*n+q] = float32(y)
		}
	}
}

// shuffledDense returns the values of a dense view (row-major).
func (c *columns) shuffledDense(rng *rand.Rand) []float32 {
	n, d := len(c.there), c.of.Cols
	values := make([]float32, c.of.Rows*d)
	for j := range d {
		for q, p := range rng.Perm(n) {
			values[c.there[q]*d+j] = c.held[j*n+p]
		}
	}
	return values
}

// sortSparse sets filled and values.
func (c *columns) sortSparse(x view.View) {
	entries := make([][]float64, x.Cols) // of each column
	for _, i := range c.there {
		for k := x.Sparse.Ptr[i]; k < x.Sparse.Ptr[i+1]; k++ {
			j := x.Sparse.Cols[k]
			entries[j] = append(entries[j], x.Sparse.Value(k))
		}
	}
	for j, held := range entries {
		if len(held) > 0 {
			c.filled, c.values = append(c.filled, int32(j)), append(c.values, held)
		}
	}
}

// shuffledSparse returns the entries of a sparse view.
func (c *columns) shuffledSparse(rng *rand.Rand) *view.CSR {
	cols, values := make([][]int32, c.of.Rows), make([][]float32, c.of.Rows)
	column := make([]float64, len(c.there))
	for k, j := range c.filled {
		clear(column[copy(column, c.values[k]):])
		slices.Sort(column)
		oneMode(column)
		for q, p := range rng.Perm(len(c.there)) {
			if i := c.there[q]; column[p] != 0 {
				cols[i], values[i] = append(cols[i], j), append(values[i], float32(column[p]))
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
