//go:build linux || darwin || freebsd

package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/largemvc/largemvc/machine"
)

// World joins all processes of a job. One goroutine at a time may use it.
type World struct {
	lib        *library
	rank, size int
	version    string

	calls chan func() // run on the thread of MPI
	once  sync.Once
	ended error
	over  atomic.Bool // after Close
}

var _ machine.Comm = (*World)(nil)

// most bounds the bytes of one message: MPI counts them in 32 bits.
var most = 1 << 30

// initialised is locked by Init: a process can initialise MPI only once.
var initialised sync.Mutex

// Init loads the library and joins the processes of the job. A process without a launcher is a job of one process. If no library
// is found, the error lists the names that were tried. A second call of Init is an error. So is a library that does not belong to
// the launcher's MPI, because each process would be a job by itself.
func Init() (*World, error) {
	if !initialised.TryLock() {
		return nil, errors.New("mpi: Init was called twice")
	}
	lib, err := load()
	if err != nil {
		initialised.Unlock()
		return nil, err
	}
	w := &World{lib: lib, calls: make(chan func())}
	go func() {
		// MPI is initialised for calls from one thread. No other goroutine runs on this thread, which spins while it waits for
		// other ranks.
		runtime.LockOSThread()
		for f := range w.calls {
			f()
		}
	}()
	if err := w.do(w.begin); err != nil {
		return nil, err
	}
	return w, nil
}

// errClosed is the error of a World that Init has not made, or that was closed.
var errClosed = errors.New("mpi: the World is not open: Init opens it, and Close ends it")

// do runs f on the thread of MPI and returns its error.
func (w *World) do(f func() error) error {
	if w.calls == nil || w.over.Load() {
		return errClosed
	}
	done := make(chan error)
	w.calls <- func() { done <- f() }
	return <-done
}

func (w *World) begin() error {
	const funneled = 1
	provided := make([]int32, 1)
	code, _, _ := purego.SyscallN(w.lib.initThread, 0, 0, funneled, uintptr(unsafe.Pointer(&provided[0])))
	if err := w.lib.check("MPI_Init_thread", code); err != nil {
		return err
	}
	if provided[0] < funneled {
		return fmt.Errorf("mpi: %s cannot be called from a program with threads", w.lib.path)
	}
	code, _, _ = purego.SyscallN(w.lib.setErrhandler, w.lib.world, w.lib.returned)
	if err := w.lib.check("MPI_Comm_set_errhandler", code); err != nil {
		return err
	}
	var err error
	if w.rank, err = w.lib.number("MPI_Comm_rank", w.lib.rank); err != nil {
		return err
	}
	if w.size, err = w.lib.number("MPI_Comm_size", w.lib.size); err != nil {
		return err
	}
	w.version = w.lib.version()
	return checkLauncher(os.Getenv, w)
}

// Rank returns the number of this process, from 0.
func (w *World) Rank() int { return w.rank }

// Size returns the number of processes.
func (w *World) Size() int { return w.size }

// String returns the name of the library.
func (w *World) String() string {
	return fmt.Sprintf("%s (%s, ABI of %s)", w.version, w.lib.path, w.lib.abi)
}

// AllGather gives every rank the bytes of all ranks, as machine.Comm describes. A message in progress cannot be cancelled.
func (w *World) AllGather(ctx context.Context, mine []byte, sizes []int, all []byte) error {
	total := 0
	for _, n := range sizes {
		total += n
	}
	if len(sizes) != w.size || len(mine) != sizes[w.rank] || len(all) != total {
		return fmt.Errorf("mpi: %d bytes of rank %d into %d, for sizes %v", len(mine), w.rank, len(all), sizes)
	}
	if err := ctx.Err(); err != nil || total == 0 {
		return err
	}
	if total > most { // offsets are counted in 32 bits too
		return w.broadcastParts(ctx, mine, sizes, all)
	}
	at := 0
	counts, places := make([]int32, w.size), make([]int32, w.size)
	for r, n := range sizes {
		counts[r], places[r] = int32(n), int32(at)
		at += n
	}
	at = int(places[w.rank])
	if len(mine) > 0 && &all[at] != &mine[0] {
		copy(all[at:], mine)
	}
	return w.do(func() error {
		code, _, _ := purego.SyscallN(
			w.lib.allgatherv, w.lib.inPlace, 0, w.lib.bytes, uintptr(unsafe.Pointer(&all[0])),
			uintptr(unsafe.Pointer(&counts[0])), uintptr(unsafe.Pointer(&places[0])), w.lib.bytes, w.lib.world,
		)
		return w.lib.check("MPI_Allgatherv", code)
	})
}

// broadcastParts does the work of AllGather rank by rank.
func (w *World) broadcastParts(ctx context.Context, mine []byte, sizes []int, all []byte) error {
	for r, n := range sizes {
		part := all[:n]
		all = all[n:]
		if r == w.rank && n > 0 && &part[0] != &mine[0] {
			copy(part, mine)
		}
		if err := w.Broadcast(ctx, r, part); err != nil {
			return err
		}
	}
	return nil
}

// AllToAll gives every rank the bytes that the other ranks send to it. mine holds to[r] bytes for each rank r, and all receives
// from[r] bytes from each rank r, both in the order of the ranks. mine and all have at most 1 GiB each.
func (w *World) AllToAll(ctx context.Context, mine []byte, to []int, all []byte, from []int) error {
	cut := func(sizes []int) (counts, places []int32, total int) {
		for _, n := range sizes {
			counts, places = append(counts, int32(n)), append(places, int32(total))
			total += n
		}
		return counts, places, total
	}
	toCounts, toPlaces, sent := cut(to)
	fromCounts, fromPlaces, received := cut(from)
	if len(to) != w.size || len(from) != w.size || len(mine) != sent || len(all) != received || max(sent, received) > 1<<30 {
		return fmt.Errorf("mpi: %d bytes of rank %d for sizes %v, %d for %v", len(mine), w.rank, to, len(all), from)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var none [1]byte // an address for empty messages
	if sent == 0 {
		mine = none[:]
	}
	if received == 0 {
		all = none[:]
	}
	return w.do(func() error {
		code, _, _ := purego.SyscallN(
			w.lib.alltoallv,
			uintptr(unsafe.Pointer(&mine[0])), uintptr(unsafe.Pointer(&toCounts[0])), uintptr(unsafe.Pointer(&toPlaces[0])),
			w.lib.bytes, uintptr(unsafe.Pointer(&all[0])), uintptr(unsafe.Pointer(&fromCounts[0])),
			uintptr(unsafe.Pointer(&fromPlaces[0])), w.lib.bytes, w.lib.world,
		)
		return w.lib.check("MPI_Alltoallv", code)
	})
}

// Broadcast copies the bytes of the root to all ranks.
func (w *World) Broadcast(ctx context.Context, root int, x []byte) error {
	if root < 0 || root >= w.size {
		return fmt.Errorf("mpi: no rank %d", root)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for len(x) > 0 {
		part := x[:min(len(x), most)]
		err := w.do(func() error {
			code, _, _ := purego.SyscallN(
				w.lib.bcast, uintptr(unsafe.Pointer(&part[0])), uintptr(len(part)), w.lib.bytes, uintptr(root), w.lib.world,
			)
			return w.lib.check("MPI_Bcast", code)
		})
		if err != nil {
			return err
		}
		x = x[len(part):]
	}
	return nil
}

// forwarding is the time for a launcher to pass on printed text: it closes its pipes when the job ends.
const forwarding = 100 * time.Millisecond

// Abort ends the processes of all ranks, this one included, with a status other than 0. It does not print the error: print it
// first. If another goroutine of this process waits for other ranks, Abort ends only this process, and the launcher then ends the
// job.
func (w *World) Abort(error) {
	time.Sleep(forwarding)
	abort := func() {
		purego.SyscallN(w.lib.abort, w.lib.world, 1)
		os.Exit(1) // if the library returns
	}
	if w.over.Load() {
		os.Exit(1)
	}
	select {
	case w.calls <- abort:
		select {}
	default:
		os.Exit(1)
	}
}

// Close ends MPI in this process, which cannot use it again. All ranks call Close, and it waits for all of them.
func (w *World) Close() error {
	w.once.Do(func() {
		w.ended = w.do(func() error {
			code, _, _ := purego.SyscallN(w.lib.finalize)
			return w.lib.check("MPI_Finalize", code)
		})
		w.over.Store(true)
		if w.calls != nil {
			close(w.calls)
		}
	})
	return w.ended
}
