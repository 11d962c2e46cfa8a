// Package machine says what a fit may use of the machine that it runs on. Nothing here changes a result but for the last bits,
// which a device has of its own: the same views, seed and configuration give the same bits for any number of goroutines and of
// processes.
package machine

import "context"

// Options are what a fit may use. The zero value uses all cores and leaves the caller's views as they are. Files hold the
// number of goroutines and nothing else of it.
type Options struct {
	// Workers is the number of goroutines, up to 4,096; 0: GOMAXPROCS.
	Workers int

	// Overwrite lets views that are in the arithmetic of the fit already be standardised in place, in place of a copy, which
	// saves the size of the data in memory. The memory of a view that nothing takes the place of holds state of the training. The
	// caller's values are different ones afterwards.
	Overwrite bool `json:"-"`

	// MaxMemory bounds what a fit holds, in bytes, as largemvc.Config.EstimateMemory counts it; what the Go runtime keeps beside
	// it is bounded by debug.SetGCPercent and debug.SetMemoryLimit. Where it has room, the rows of a RowsView are held in memory,
	// with and without neighbours; else they are read whenever they are needed, and if that is not enough, what is kept for each
	// sample is computed again in every pass, without neighbours.
	// What cannot be done is an error before any work. 0: no bound, and the rows of a RowsView are read whenever they are needed.
	MaxMemory int64 `json:"-"`

	// Device is where the network is trained, and where its inputs, first anchors and clusters are sought; default: a GPU where
	// it can be had. New samples are labelled on the CPU unless
	// largemvc.Predictor.WithMachine asks for a GPU.
	Device Device `json:"-"`

	// Comm, if not nil, joins the processes of a job that fit one data set together (packages mpi and comm). The views are those
	// of this process then, and the labels theirs.
	Comm Comm `json:"-"`
}

// Comm moves bytes between the ranks of a job. One that also has
//
//	AllToAll(ctx context.Context, mine []byte, to []int, all []byte, from []int) error
//
// which gives every rank the bytes that the others have for it (those in mine for rank r are to[r] long, those in all from rank r
// from[r], both in the order of the ranks), has sums sent so that the bytes that a rank receives do not grow with the ranks.
// Its methods are collective but for Abort: all ranks call the same ones in the same
// order with sizes that fit, each from one goroutine at a time. An error, say of the network, leaves it without use.
type Comm interface {
	// Rank is the number of this rank, from 0 to Size()−1.
	Rank() int
	// Size is the number of ranks.
	Size() int
	// AllGather gives every rank the bytes of all. Those of rank r are sizes[r] long, and follow those of the lower ranks in all;
	// mine are those of this rank, which may lie at their place in all. A context that ends may end the wait with its error.
	AllGather(ctx context.Context, mine []byte, sizes []int, all []byte) error
	// Broadcast gives the bytes x of the root to all ranks, in x.
	Broadcast(ctx context.Context, root int, x []byte) error
	// Abort ends the job on all ranks, as far as it can, because of an error. With processes it does not return.
	Abort(err error)
}
