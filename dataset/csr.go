package dataset

import (
	"cmp"
	"slices"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// compress sorts triplets into compressed rows. Entries of the same place are added.
func compress[T elem.Float](rows int, ri, ci []int32, val []T) *CSR {
	ptr := make([]int, rows+1)
	for _, r := range ri {
		ptr[r+1]++
	}
	for r := range rows {
		ptr[r+1] += ptr[r]
	}
	col, out := make([]int32, len(ci)), make([]T, len(val))
	next := slices.Clone(ptr[:rows])
	for k, r := range ri {
		at := next[r]
		col[at], out[at] = ci[k], val[k]
		next[r]++
	}
	kept := 0
	for r := range rows {
		lo, hi := ptr[r], ptr[r+1]
		ptr[r] = kept
		sortRow(col[lo:hi], out[lo:hi])
		for k := lo; k < hi; k++ {
			if kept > ptr[r] && col[kept-1] == col[k] {
				out[kept-1] += out[k]
				continue
			}
			col[kept], out[kept] = col[k], out[k]
			kept++
		}
	}
	ptr[rows] = kept
	c := &CSR{RowPtr: ptr, Col: col[:kept]}
	setValues(out[:kept], &c.Float32, &c.Float64)
	return c
}

// sortRow orders the entries of a row by column; those of the same column keep their order.
func sortRow[T elem.Float](col []int32, val []T) {
	if slices.IsSorted(col) {
		return
	}
	type entry struct {
		c int32
		x T
	}
	e := make([]entry, len(col))
	for k := range col {
		e[k] = entry{col[k], val[k]}
	}
	slices.SortStableFunc(e, func(a, b entry) int { return cmp.Compare(a.c, b.c) })
	for k := range e {
		col[k], val[k] = e[k].c, e[k].x
	}
}

// dropRows removes the entries of the rows that drop names.
func (c *CSR) dropRows(drop func(row int) bool) {
	kept := 0
	for r := range len(c.RowPtr) - 1 {
		lo, hi := c.RowPtr[r], c.RowPtr[r+1]
		c.RowPtr[r] = kept
		if drop(r) {
			continue
		}
		copy(c.Col[kept:], c.Col[lo:hi])
		if c.Float32 != nil {
			copy(c.Float32[kept:], c.Float32[lo:hi])
		} else {
			copy(c.Float64[kept:], c.Float64[lo:hi])
		}
		kept += hi - lo
	}
	c.RowPtr[len(c.RowPtr)-1] = kept
	c.Col = c.Col[:kept]
	if c.Float32 != nil {
		c.Float32 = c.Float32[:kept]
	} else {
		c.Float64 = c.Float64[:kept]
	}
}
