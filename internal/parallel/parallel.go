// Package parallel runs numbered items on a few goroutines so that what comes out does not depend on how many there are:
// For for items that write to places of their own, Fold for items whose results are summed in the order of their number.
package parallel

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
)

// MostWorkers is the largest number of goroutines: callers have memory for each, and no result depends on their number.
const MostWorkers = 4096

// Workers returns the number of goroutines meant by a setting: GOMAXPROCS for 0 and below, else the setting itself, but at
// most MostWorkers.
func Workers(setting int) int {
	if setting < 1 {
		setting = runtime.GOMAXPROCS(0)
	}
	return min(setting, MostWorkers)
}

// PanicError is a panic, as an error.
type PanicError struct {
	Value any    // what was given to panic
	Stack []byte // the stack of the goroutine that panicked
}

// Panicked returns the PanicError of a value that was recovered. Call it in the deferred function: it takes the stack.
func Panicked(value any) error { return &PanicError{Value: value, Stack: debug.Stack()} }

// Error returns the value on one line.
func (e *PanicError) Error() string {
	lines := strings.FieldsFunc(fmt.Sprint(e.Value), func(r rune) bool { return r == '\n' || r == '\r' })
	return "panic: " + strings.Join(lines, "; ")
}

// Format writes the error, and for the verb %+v the stack on the lines below it.
func (e *PanicError) Format(s fmt.State, verb rune) {
	fmt.Fprintf(s, fmt.FormatString(s, verb), e.Error())
	if verb == 'v' && s.Flag('+') {
		fmt.Fprintf(s, "\n%s", e.Stack)
	}
}

// Unwrap returns the value if it is an error, else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// For runs f(worker, i) for i = 0 … n−1 on at most workers goroutines (0: GOMAXPROCS), the caller's among them; worker,
// from 0 to Workers(workers)−1, says which of them calls, so that f can have memory per worker. Items are handed out in
// increasing order. After an error or a panic (a *PanicError) no further item starts; of several errors the one of the
// lowest item is returned, which is the same one for any number of workers. A cancelled context ends the run between
// items with its error, a nil one is an error. With one worker no goroutine is started.
func For(ctx context.Context, workers, n int, f func(worker, i int) error) error {
	if err := CheckContext(ctx); err != nil {
		return err
	}
	watch := watchOf(ctx)
	if watch != nil {
		if watch.busy.CompareAndSwap(false, true) {
			defer watch.busy.Store(false)
		} else {
			watch = nil
		}
	}
	workers = min(Workers(workers), n)
	if workers <= 1 {
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := call(f, 0, i); err != nil {
				return err
			}
			if watch != nil {
				watch.f(i+1, n, false)
			}
		}
		return nil
	}
	r := forRun{n: int64(n), lowest: int64(n), watch: watch}
	r.wg.Add(workers - 1)
	for w := 1; w < workers; w++ {
		go func() {
			defer r.wg.Done()
			r.work(ctx, w, f)
		}()
	}
	r.work(ctx, 0, f)
	r.wg.Wait()
	return r.err
}

// forRun is the state that the workers of one For share.
type forRun struct {
	n     int64
	next  atomic.Int64
	watch *Watch
	stop  atomic.Bool
	wg    sync.WaitGroup

	mu     sync.Mutex
	lowest int64 // the item of err; n for the context's error, which any other displaces
	err    error
}

func (r *forRun) work(ctx context.Context, worker int, f func(worker, i int) error) {
	// An item that was taken is always run: then every item below a failed one has been run too, and the lowest error
	// is a function of the items alone.
	for !r.stop.Load() && r.next.Load() < r.n {
		if err := ctx.Err(); err != nil {
			r.fail(r.n, err)
			return
		}
		i := r.next.Add(1) - 1
		if i >= r.n {
			return
		}
		if err := call(f, worker, int(i)); err != nil {
			r.fail(i, err)
			return
		}
		if worker == 0 && r.watch != nil {
			r.watch.f(int(min(r.next.Load(), r.n)), int(r.n), false)
		}
	}
}

func (r *forRun) fail(i int64, err error) {
	r.stop.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil || i < r.lowest {
		r.lowest, r.err = i, err
	}
}

// call runs f and turns a panic into an error.
func call(f func(worker, i int) error, worker, i int) (err error) {
	defer caught(&err)
	return f(worker, i)
}

// Caught runs f, which calls what is not of this module, and turns a panic into an error as For does.
func Caught(f func() error) (err error) {
	defer caught(&err)
	return f()
}

// caught turns a panic into an error where it is deferred.
func caught(err *error) {
	if v := recover(); v != nil {
		*err = Panicked(v)
	}
}
