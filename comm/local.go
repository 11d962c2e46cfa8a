package comm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/largemvc/largemvc/machine"
)

// Local returns communicators for tests, of ranks that are goroutines of this process. For speed, use machine.Options.Workers
// instead. After Abort, or if a context is cancelled while a rank waits, all methods return an error.
func Local(size int) []machine.Comm {
	m := &meeting{size: max(size, 1), parts: make([][]byte, max(size, 1)), cuts: make([][]int, max(size, 1))}
	m.room.L = &m.mu
	out := make([]machine.Comm, m.size)
	for r := range out {
		out[r] = &local{m, r}
	}
	return out
}

type meeting struct {
	size int

	mu      sync.Mutex
	room    sync.Cond
	arrived int
	round   int
	parts   [][]byte
	cuts    [][]int // of each rank's bytes, by the rank that receives them
	err     error
}

type local struct {
	*meeting
	rank int
}

func (l *local) Rank() int { return l.rank }

func (l *local) Size() int { return l.size }

// wait returns when all ranks have called it. before runs as the rank arrives.
func (l *local) wait(ctx context.Context, before func()) error {
	stop := context.AfterFunc(ctx, func() { l.end(ctx.Err()) })
	defer stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	if before != nil {
		before()
	}
	round := l.round
	if l.arrived++; l.arrived == l.size {
		l.arrived = 0
		l.round++
		l.room.Broadcast()
	}
	for l.round == round && l.err == nil {
		l.room.Wait()
	}
	return l.err
}

func (m *meeting) end(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
	m.room.Broadcast()
}

func (l *local) AllGather(ctx context.Context, mine []byte, sizes []int, all []byte) error {
	total := 0
	for _, n := range sizes {
		total += n
	}
	if len(sizes) != l.size || len(mine) != sizes[l.rank] || len(all) != total {
		return fmt.Errorf("comm: %d bytes of rank %d into %d, for sizes %v", len(mine), l.rank, len(all), sizes)
	}
	if err := l.wait(ctx, func() { l.parts[l.rank] = mine }); err != nil {
		return err
	}
	at, wrong := 0, -1
	for r, n := range sizes {
		if len(l.parts[r]) != n {
			wrong = r
		}
		if r != l.rank || n > 0 && &all[at] != &mine[0] {
			copy(all[at:at+n], l.parts[r])
		}
		at += n
	}
	if err := l.wait(ctx, nil); err != nil { // the other ranks still read the parts
		return err
	}
	if wrong >= 0 {
		return fmt.Errorf("comm: rank %d has another number of bytes than rank %d expects", wrong, l.rank)
	}
	return nil
}

func (l *local) Broadcast(ctx context.Context, root int, x []byte) error {
	if root < 0 || root >= l.size {
		return fmt.Errorf("comm: no rank %d", root)
	}
	if err := l.wait(ctx, func() { l.parts[l.rank] = x }); err != nil {
		return err
	}
	same := len(l.parts[root]) == len(x)
	if l.rank != root {
		copy(x, l.parts[root])
	}
	if err := l.wait(ctx, nil); err != nil {
		return err
	}
	if !same {
		return fmt.Errorf("comm: rank %d has another number of bytes than rank %d", root, l.rank)
	}
	return nil
}

// AllToAll gives every rank the bytes that the other ranks send to it.
func (l *local) AllToAll(ctx context.Context, mine []byte, to []int, all []byte, from []int) error {
	if len(to) != l.size || len(from) != l.size || len(mine) != sum(to) || len(all) != sum(from) || to[l.rank] != from[l.rank] {
		return fmt.Errorf("comm: %d bytes of rank %d for sizes %v, %d for %v", len(mine), l.rank, to, len(all), from)
	}
	if err := l.wait(ctx, func() { l.parts[l.rank], l.cuts[l.rank] = mine, to }); err != nil {
		return err
	}
	at, wrong := 0, -1
	for r, n := range from {
		lo := sum(l.cuts[r][:l.rank])
		if l.cuts[r][l.rank] != n {
			wrong = r
		}
		copy(all[at:at+n], l.parts[r][lo:lo+l.cuts[r][l.rank]])
		at += n
	}
	if err := l.wait(ctx, nil); err != nil {
		return err
	}
	if wrong >= 0 {
		return fmt.Errorf("comm: rank %d has another number of bytes for rank %d than that expects", wrong, l.rank)
	}
	return nil
}

func sum(x []int) (total int) {
	for _, n := range x {
		total += n
	}
	return total
}

// Abort makes the waiting calls of the other ranks return.
func (l *local) Abort(err error) {
	l.end(fmt.Errorf("comm: rank %d ended the job: %w", l.rank, cmp.Or(err, errors.New("without an error"))))
}
