package dataset

import (
	"slices"
	"sort"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// compress sorts n entries into compressed rows. Entries of the same place are added. each visits them twice, in the same
// order.
func compress[T elem.Float](rows, n int, each func(visit func(r, c int32, x T)), lim *limits) (*CSR, error) {
	used := lim.Used()
	if err := lim.Take("a sparse view", 16*int64(rows+1)+int64(n)*(4+bytesOf[T]())); err != nil {
		return nil, err
	}
	ptr := make([]int, rows+1)
	each(func(r, _ int32, _ T) { ptr[r+1]++ })
	for r := range rows {
		ptr[r+1] += ptr[r]
	}
	col, out := make([]int32, n), make([]T, n)
	next := slices.Clone(ptr[:rows])
	each(func(r, c int32, x T) {
		col[next[r]], out[next[r]] = c, x
		next[r]++
	})
	kept := 0
	for r := range rows {
		lo, hi := ptr[r], ptr[r+1]
		ptr[r] = kept
		if !slices.IsSorted(col[lo:hi]) {
			sort.Stable(&entries[T]{col[lo:hi], out[lo:hi]})
		}
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
	lim.Reset(used)
	return c, lim.Take("a sparse view", 8*int64(rows+1)+int64(n)*(4+bytesOf[T]()))
}

// entries are those of a row, in the order of their columns once they are sorted, without further memory.
type entries[T elem.Float] struct {
	col []int32
	val []T
}

func (e *entries[T]) Len() int           { return len(e.col) }
func (e *entries[T]) Less(i, j int) bool { return e.col[i] < e.col[j] }
func (e *entries[T]) Swap(i, j int) {
	e.col[i], e.col[j] = e.col[j], e.col[i]
	e.val[i], e.val[j] = e.val[j], e.val[i]
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
