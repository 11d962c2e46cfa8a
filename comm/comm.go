// Package comm divides samples among the ranks of a job, the processes that fit one data set together. Package mpi joins these
// processes. For tests, Local makes ranks that are goroutines.
//
//	lo, hi, err := comm.Share(n, world.Rank(), world.Size()) // world from package mpi, or from Local
//	…                                                        // views of the samples from lo to hi−1
//	config.Machine.Comm = world
//	found, err := largemvc.Fit(ctx, views, config)
//
// Every rank calls Fit with the same configuration and its own samples. Rank 0 has the first samples, rank 1 the next, and so on.
// Each rank gets the labels of its samples and the same Predictor. The result has the bits of a fit of all samples in one
// process, for any division, except where that process rotates views of low rank to fewer columns (without neighbours).
package comm

import (
	"fmt"

	"github.com/largemvc/largemvc/internal/parallel"
)

// Unit returns the number of samples in a piece, if there are n samples in all. The first sample of every rank must be at a
// multiple of Unit(n). Sums are computed piece by piece, so that their bits do not depend on the division.
func Unit(n int) int { return max(1024, parallel.ChunkRows(n, parallel.MaxChunk)) }

// Share returns the samples of a rank, from lo to hi−1. It divides n samples as evenly as pieces of Unit(n) samples allow. Fewer
// pieces than ranks are an error.
func Share(n, rank, size int) (lo, hi int, err error) {
	if n < 1 || size < 1 || rank < 0 || rank >= size {
		return 0, 0, fmt.Errorf("comm: rank %d of %d with %d samples: want ranks from 0 on, and at least 1 sample", rank, size, n)
	}
	unit := Unit(n)
	pieces := (n + unit - 1) / unit
	if pieces < size {
		return 0, 0, fmt.Errorf("comm: %d samples make %d pieces of %d, too few for %d ranks", n, pieces, unit, size)
	}
	// This order of operations does not overflow for any possible number of samples.
	at := func(r int) int { return min((pieces/size*r+pieces%size*r/size)*unit, n) }
	return at(rank), at(rank + 1), nil
}
