// Package machine has the settings for the computer's resources in a fit: goroutines, memory, a GPU, other processes. The same
// views, seed and configuration give the same bits for any number of goroutines. A GPU changes the last bits.
package machine

import "context"

// Options limits the resources of a fit. The zero value uses all cores and leaves the caller's views unchanged. Model files and
// checkpoints store only Workers.
type Options struct {
	// Workers is the number of goroutines, up to 4,096; 0: GOMAXPROCS.
	Workers int

	// Overwrite lets a fit standardise views in place if they have its arithmetic (float32, or float64 with
	// largemvc.Config.Float64). This saves a copy of the data. The fit also reuses the memory of views that it no longer needs.
	// Afterwards the values of the caller's views are lost.
	Overwrite bool `json:"-"`

	// MaxMemory bounds the memory of a fit (bytes), as largemvc.Config.EstimateMemory counts it. It does not count memory that
	// the Go runtime keeps besides: use debug.SetGCPercent or debug.SetMemoryLimit for this. A fit that needs more returns an
	// error before it begins.
	//
	// If there is room, the rows of a RowsView are held in memory. Otherwise they are read in every pass. If this is not enough,
	// and there are no neighbours, the state of each sample is computed again in every pass. 0: no bound, and the rows of a
	// RowsView are read in every pass.
	MaxMemory int64 `json:"-"`

	// Device selects the device that computes a fit; default: a GPU if there is one. New samples are labelled on the CPU unless
	// largemvc.Predictor.WithMachine selects a GPU.
	Device Device `json:"-"`

	// PerModule trains the network with one Gorgonia op for each step of each module, in place of one op for all: every step is
	// then a node with a gradient. The results are equal up to rounding. It is slow, and for one process and the CPU.
	PerModule bool `json:"-"`

	// Comm, if not nil, joins the processes of a job that fit one data set together (packages mpi and comm). Each process gives
	// its own views and gets the labels of its own samples.
	Comm Comm `json:"-"`
}

// Comm moves bytes between the ranks of a job. All methods except Abort are collective: all ranks call the same ones in the same
// order with matching sizes, each from one goroutine at a time. After an error, for example of the network, a Comm cannot be used
// any more.
//
// A Comm may have a further method:
//
//	AllToAll(ctx context.Context, mine []byte, to []int, all []byte, from []int) error
//
// AllToAll gives every rank the bytes that the other ranks send to it. mine holds to[r] bytes for each rank r, and all receives
// from[r] bytes from each rank r, both in the order of the ranks. With AllToAll, the bytes that a rank receives for a sum do not
// grow with the number of ranks.
type Comm interface {
	// Rank returns the number of this rank, from 0 to Size()−1.
	Rank() int
	// Size returns the number of ranks.
	Size() int
	// AllGather gives every rank the bytes of all ranks, in all, in the order of the ranks. Rank r contributes sizes[r] bytes.
	// mine holds the bytes of this rank; it may be their place in all. If ctx is cancelled, AllGather may return its error.
	AllGather(ctx context.Context, mine []byte, sizes []int, all []byte) error
	// Broadcast copies the bytes x of the root into x of all other ranks.
	Broadcast(ctx context.Context, root int, x []byte) error
	// Abort ends the job on all ranks, as far as possible, because of err. If ranks are processes, Abort does not return.
	Abort(err error)
}
