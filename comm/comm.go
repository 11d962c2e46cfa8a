// Package comm has what a program needs besides package mpi to fit one data set in several processes, the ranks of a job: the cut
// of the samples among them, and ranks that are goroutines, for tests.
//
//	lo, hi, err := comm.Share(n, world.Rank(), world.Size()) // world from package mpi, or from Local
//	…                                                        // views of the samples from lo to hi−1
//	config.Machine.Comm = world
//	found, err := largemvc.Fit(ctx, views, config)
//
// Every rank calls Fit with the same configuration and with its own samples, in the order of the ranks: rank 0 has the first.
// Each gets the labels of its samples and the same Predictor. The result has the bits of a fit of all samples in one process,
// for any number of ranks and any cut of the samples among them.
package comm

import (
	"fmt"

	"github.com/largemvc/largemvc/internal/parallel"
)

// Unit is the number of samples in a piece of n samples that cannot be cut any further: the first sample of every rank is at a
// multiple of it. Sums over the samples are taken piece by piece, so that their bits are the same wherever the pieces are.
func Unit(n int) int { return max(1024, parallel.ChunkRows(n, parallel.MaxChunk)) }

// Share returns the samples of a rank, from lo to hi−1, where n samples are dealt out as evenly as their pieces allow. It is an
// error if there are fewer pieces than ranks.
func Share(n, rank, size int) (lo, hi int, err error) {
	if n < 1 || size < 1 || rank < 0 || rank >= size {
		return 0, 0, fmt.Errorf("comm: rank %d of %d with %d samples", rank, size, n)
	}
	unit := Unit(n)
	pieces := (n + unit - 1) / unit
	if pieces < size {
		return 0, 0, fmt.Errorf("comm: %d samples make %d pieces of %d, too few for %d ranks", n, pieces, unit, size)
	}
	// In this order nothing overflows before a number of samples that no machine has.
	at := func(r int) int { return min((pieces/size*r+pieces%size*r/size)*unit, n) }
	return at(rank), at(rank + 1), nil
}
