package view

import "github.com/largemvc/largemvc/internal/ranks"

const (
	// freeColumns is the number of columns that any sparse view may have; one value of each takes 128 MiB.
	freeColumns = 1 << 24
	// columnsPerEntry is how many columns a sparse view may have for each of its entries, beyond freeColumns.
	columnsPerEntry = 16
)

// CheckWidths refuses sparse views whose columns are far more than their entries on all ranks. A fit holds some numbers of each
// column, and would take memory for columns that no sample has.
func CheckWidths(g *ranks.Group, views []View) error {
	entries, wide := make([]int, len(views)), false
	for v, x := range views {
		if x.Sparse != nil && x.Cols > freeColumns {
			wide = true
			for i := range x.Rows {
				if x.Has(i) {
					entries[v] += x.Sparse.Ptr[i+1] - x.Sparse.Ptr[i]
				}
			}
		}
	}
	if !wide {
		return nil
	}
	if err := g.SumInts("the entries of sparse views", entries); err != nil {
		return err
	}
	for v, x := range views {
		if x.Sparse != nil && x.Cols > freeColumns && x.Cols/columnsPerEntry > entries[v] {
			return Wrong(v, -1, "%s has %d features and %d values of them: leave out the features that no sample has",
				x.Label(v), x.Cols, entries[v])
		}
	}
	return nil
}
