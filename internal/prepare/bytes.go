package prepare

import "github.com/largemvc/largemvc/internal/view"

// Bytes is the memory of a standardised view, in numbers of size bytes. A sparse view has its entries, and a shift for each row.
func Bytes(x view.View, size int64) int64 {
	n := int64(x.Rows)
	if x.Sparse == nil {
		return n * int64(x.Cols) * size
	}
	b := int64(len(x.Sparse.Cols))*size + n*size
	if x.Present != nil { // pointers and columns without the rows that are absent
		b += int64(len(x.Sparse.Cols))*4 + (n+1)*8
	}
	return b
}
