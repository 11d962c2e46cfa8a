// Package scale is about data that are larger than memory, or of more samples than a fit has time for: what a source of rows
// outside memory has to do.
package scale

import "context"

// Rows is a matrix of n samples and d features that need not be in memory: rows of a file, of a database, of something that
// makes them. largemvc.RowsView makes a view of it; dataset.OpenRows opens files as such matrices. Its methods are called by
// several goroutines at once.
type Rows interface {
	// Dims returns n and d, which do not change.
	Dims() (n, d int)
	// ReadRows fills dst with the rows from first on, one after another; dst holds a whole number of rows, none of them beyond
	// n. The same rows have the same values whenever they are read. An error ends what is being done with the rows and is
	// returned by it. A long reading ends early once ctx is done.
	ReadRows(ctx context.Context, first int, dst []float32) error
}
