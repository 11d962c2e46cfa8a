package parallel

import (
	"context"
	"sync"
)

// Fold runs work(worker, i, b) for i = 0 … n−1 on at most workers goroutines (0: GOMAXPROCS) and then fold(i, b) with
// the same buffer, strictly in the order of i and never two at a time; sums that fold forms have the same bits for any
// number of workers. work must set the buffer whatever it held before: buffers come from newBuf, at most 2·workers of
// them (one with one worker), and are used again. Errors, panics and the context are treated as in For; every item below
// a failed one has been folded when Fold returns its error.
func Fold[B any](ctx context.Context, workers, n int, newBuf func() B,
	work func(worker, i int, b B) error, fold func(i int, b B) error) error {
	workers = min(Workers(workers), n)
	if workers < 1 {
		return nil
	}
	r := &foldRun[B]{limit: n, work: work, fold: fold, newBuf: newBuf}
	if workers == 1 {
		r.slots = make([]slot[B], 1)
		r.alone(ctx)
		return r.err
	}
	r.slots = make([]slot[B], min(2*workers, n))
	r.room.L = &r.mu
	var wg sync.WaitGroup
	wg.Add(workers - 1)
	for w := 1; w < workers; w++ {
		go func() {
			defer wg.Done()
			r.run(ctx, w)
		}()
	}
	r.run(ctx, 0)
	wg.Wait()
	return r.err
}

// slot is a place for one item in flight; item i has the slot i mod len(slots).
type slot[B any] struct {
	buf  B
	made bool // buf comes from newBuf
	full bool // buf holds an item that was worked and not folded
}

// foldRun is the state that the workers of one Fold share.
type foldRun[B any] struct {
	newBuf func() B
	work   func(worker, i int, b B) error
	fold   func(i int, b B) error

	mu      sync.Mutex
	room    sync.Cond // an item was folded, or limit fell
	slots   []slot[B]
	next    int  // the next item to hand out
	folded  int  // the items below it are folded
	folding bool // a worker is in fold
	limit   int  // items from here on are not wanted: n, or the lowest failed item, or where the context ended the run
	err     error
}

// alone is run with one worker.
func (r *foldRun[B]) alone(ctx context.Context) {
	for i := range r.limit {
		if r.err = ctx.Err(); r.err != nil {
			return
		}
		if r.err = r.workItem(0, i); r.err != nil {
			return
		}
		if r.err = r.foldItem(i); r.err != nil {
			return
		}
	}
}

func (r *foldRun[B]) run(ctx context.Context, worker int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		for r.next < r.limit && r.next-r.folded >= len(r.slots) {
			r.room.Wait()
		}
		if r.next >= r.limit {
			return
		}
		if err := ctx.Err(); err != nil {
			r.fail(r.next, err)
			return
		}
		i := r.next
		r.next++
		r.mu.Unlock()
		err := r.workItem(worker, i)
		r.mu.Lock()
		if err != nil {
			r.fail(i, err)
			continue
		}
		r.slots[i%len(r.slots)].full = true
		r.drain()
	}
}

// drain folds the items that are ready, unless another worker is at it: that one looks again before it stops. r.mu is
// held on entry and on return, not during fold.
func (r *foldRun[B]) drain() {
	if r.folding {
		return
	}
	r.folding = true
	for r.folded < r.limit {
		s := &r.slots[r.folded%len(r.slots)]
		if !s.full {
			break
		}
		i := r.folded
		r.mu.Unlock()
		err := r.foldItem(i)
		r.mu.Lock()
		if err != nil {
			r.fail(i, err)
			break
		}
		s.full = false
		r.folded++
		r.room.Broadcast()
	}
	r.folding = false
}

// fail records the error of item i. Items are handed out in order, so those below i are folded or will be, and the
// lowest error is a function of the items alone.
func (r *foldRun[B]) fail(i int, err error) {
	if i < r.limit {
		r.limit, r.err = i, err
		r.room.Broadcast()
	}
}

func (r *foldRun[B]) workItem(worker, i int) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Panicked(v)
		}
	}()
	s := &r.slots[i%len(r.slots)]
	if !s.made {
		s.buf, s.made = r.newBuf(), true
	}
	return r.work(worker, i, s.buf)
}

func (r *foldRun[B]) foldItem(i int) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Panicked(v)
		}
	}()
	return r.fold(i, r.slots[i%len(r.slots)].buf)
}
