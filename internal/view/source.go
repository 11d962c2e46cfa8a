package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Source is the public RowSource: rows outside memory.
type Source interface {
	Dims() (n, d int)
	ReadRows(ctx context.Context, first int, dst []float32) error
}

// Outside says whether any of the views is outside memory.
func Outside(views []View) bool {
	return slices.ContainsFunc(views, func(v View) bool { return v.Source != nil })
}

// bound is a Source within one piece of work: it keeps the blocks that were read last, and its errors are those of the reads.
type bound struct {
	Source
	reads    *rows.Reads
	resident bool // what is made of the rows is held in memory
	index    int  // of the view
	blocks   *rows.Blocks[float32]
	steady   *steady
}

// Bind returns the views for one piece of work of some goroutines, which is ended by the first row that cannot be read. resident
// says that what is made of the rows has room in memory.
func Bind(views []View, r *rows.Reads, workers int, resident bool) []View {
	out := slices.Clone(views)
	for v, x := range out {
		if x.Source == nil {
			continue
		}
		n, d := x.Source.Dims()
		fill := func(ctx context.Context, lo, hi int, dst []float32) error {
			return x.read(ctx, v, lo, dst[:(hi-lo)*d])
		}
		b := &bound{x.Source, r, resident, v, rows.NewBlocks(r, n, d, workers, fill), newSteady(n, x)}
		x.Source, out[v].Source = b, b
	}
	return out
}

// Within calls work with the views bound, for results in memory. A row that cannot be read ends it, and its error is the result.
func Within(ctx context.Context, views []View, workers int, work func(ctx context.Context, views []View) error) error {
	reads, ctx := rows.NewReads(ctx)
	defer reads.End()
	err := work(ctx, Bind(views, reads, workers, true))
	return cmp.Or(reads.Err(), err)
}

// ReadRows reads rows for the work. Work that makes a result after it was cancelled has a context without end: its reads have
// the grace.
func (b *bound) ReadRows(ctx context.Context, first int, dst []float32) error {
	if ctx.Done() != nil {
		return b.Source.ReadRows(ctx, first, dst)
	}
	return b.reads.Do(func(ctx context.Context) error { return readRows(ctx, b.Source, first, dst) })
}

// Hold returns the views with the rows of their sources in memory, read a block at a time.
func Hold(ctx context.Context, views []View, workers int) ([]View, error) {
	out := slices.Clone(views)
	for v, x := range out {
		if x.Source == nil {
			continue
		}
		n, _ := x.Source.Dims()
		held, block, watch := make([]float32, x.Rows*x.Cols), rows.BlockRows(4*x.Cols), newSteady(n, x)
		err := parallel.For(ctx, workers, (x.Rows+block-1)/block, func(_, k int) error {
			lo, hi := k*block, min((k+1)*block, x.Rows)
			if err := x.read(ctx, v, x.First+lo, held[lo*x.Cols:hi*x.Cols]); err != nil || x.order != nil {
				return err
			}
			return x.checkSteady(watch, v, x.First+lo, held[lo*x.Cols:hi*x.Cols])
		})
		if err == nil && x.order == nil {
			err = x.checkAgain(ctx, watch, v)
		}
		if err != nil {
			return nil, err
		}
		if x.numbers != nil {
			out[v].numbers = x.numbers[x.First : x.First+x.Rows]
		}
		out[v].Source, out[v].order, out[v].F32 = nil, nil, held
	}
	return out, nil
}

// Streamed returns the matrix of cols columns that fill makes of rows of view x, given in memory: a block of them whenever it is
// needed. ok is false for views that are not bound, or that have room in memory.
func Streamed[T kernel.Float](x View, index, cols, workers int, fill func(in View, dst []T)) (m rows.Matrix[T], ok bool) {
	if !x.Streams() {
		return nil, false
	}
	b, _ := x.Source.(*bound)
	var pool sync.Pool // of []float32, for rows as they are read
	return rows.NewBlocks(b.reads, x.Rows, cols, workers, func(ctx context.Context, lo, hi int, dst []T) error {
		held, _ := pool.Get().(*[]float32)
		if held == nil {
			held = new([]float32)
		}
		in, err := x.InMemory(ctx, index, lo, hi, *held)
		if err != nil {
			return err
		}
		*held = in.F32
		fill(in, dst)
		pool.Put(held)
		return nil
	}), true
}

// isBound says whether the rows are read for one piece of work, which has the errors of the reads.
func (v View) isBound() bool {
	_, ok := v.Source.(*bound)
	return ok
}

// Streams says whether the view is bound, and its rows are read whenever they are needed.
func (v View) Streams() bool {
	b, ok := v.Source.(*bound)
	return ok && !b.resident
}

// StreamedBytes is the memory of a matrix of Streamed, with that of rows of the view as they are read, in numbers of size bytes.
func StreamedBytes(x View, cols, workers int, size int64) int64 {
	return rows.BlocksBytes(cols, workers, size) + 2*rows.BlocksBytes(x.Cols, workers, 4)
}

// read reads rows of view v, numbered from the first of its source, or in the view's order.
func (v View) read(ctx context.Context, index, first int, dst []float32) error {
	if v.order != nil {
		order := v.order
		v.order = nil
		for ; len(dst) > 0; first, dst = first+1, dst[v.Cols:] {
			if err := v.read(ctx, index, order[first], dst[:v.Cols]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := readRows(ctx, v.Source, first, dst); err != nil {
		from := v.Offset + first
		return fmt.Errorf("reading %s, rows %d to %d: %w", v.Label(index), from, from+len(dst)/max(v.Cols, 1)-1, err)
	}
	if b, ok := v.Source.(*bound); ok {
		return v.checkSteady(b.steady, index, first, dst)
	}
	return nil
}

// patience is how long a source may take to return after its context has ended.
const patience = 200 * time.Millisecond

// readRows has a source read rows, and returns soon after ctx ends, whatever the source does. After an error dst may still be
// written to.
func readRows(ctx context.Context, s Source, first int, dst []float32) error {
	read := func() error {
		return parallel.For(context.Background(), 1, 1, func(int, int) error { // it may be a caller's own, and panic
			return s.ReadRows(ctx, first, dst)
		})
	}
	if ctx.Done() == nil {
		return read()
	}
	done := make(chan error, 1)
	go func() {
		err := read()
		if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, context.Cause(ctx)) {
			err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return fmt.Errorf("the source has not returned: %w", context.Cause(ctx))
	}
}

// rowPool holds single rows.
var rowPool sync.Pool

// readRow writes row i to dst, NaN where it cannot be read.
func (v View) readRow(i int, dst []float64) {
	held, _ := rowPool.Get().(*[]float32)
	if held == nil {
		held = new([]float32)
	}
	defer rowPool.Put(held)
	*held = slices.Grow((*held)[:0], v.Cols)
	row := (*held)[:v.Cols]
	if b, ok := v.Source.(*bound); ok {
		b.blocks.Row(v.First+i, row)
	} else if err := v.read(context.Background(), 0, v.First+i, row); err != nil {
		for j := range row {
			row[j] = float32(math.NaN())
		}
	}
	kernel.Widen(dst, row)
}

// takeRead reads some rows, those that lie together at once.
func (v View) takeRead(samples []int) (out []float32, failed error) {
	out = make([]float32, len(samples)*v.Cols)
	for k := 0; k < len(samples); {
		end := k + 1
		for end < len(samples) && samples[end] == samples[end-1]+1 {
			end++
		}
		part := out[k*v.Cols : end*v.Cols]
		if b, ok := v.Source.(*bound); ok && end == k+1 {
			rows.RowReader(b.blocks, len(samples))(v.First+samples[k], part)
		} else if ok {
			b.blocks.Copy(v.First+samples[k], v.First+samples[end-1]+1, part)
		} else if err := v.read(context.Background(), 0, v.First+samples[k], part); err != nil {
			for j := range part {
				part[j] = float32(math.NaN())
			}
			failed = cmp.Or(failed, fmt.Errorf("reading rows %d to %d: %w", v.Number(samples[k]), v.Number(samples[end-1]),
				errors.Unwrap(err)))
		}
		k = end
	}
	return out, failed
}

// InMemory returns rows [lo, hi) of a view with the values in memory: those of a Source are read into buf, where there is room.
func (v View) InMemory(ctx context.Context, index, lo, hi int, buf []float32) (View, error) {
	out := v.Window(lo, hi)
	if v.Source == nil {
		return out, nil
	}
	if v.numbers != nil {
		out.numbers = v.numbers[v.First+lo : v.First+hi]
	}
	out.Source, out.order, out.F32 = nil, nil, slices.Grow(buf[:0], (hi-lo)*v.Cols)[:(hi-lo)*v.Cols]
	return out, v.read(ctx, index, v.First+lo, out.F32)
}

const (
	// passBytes is about what a block of a pass takes in memory, and fewestRows and mostRows bound its rows.
	passBytes            = 32 << 20
	fewestRows, mostRows = 256, 1 << 14
)

// PassRows is the number of rows of a block of Pass: it depends on the number of all columns.
func PassRows(columns int) int { return min(max(passBytes/4/max(columns, 1), fewestRows), mostRows) }

// Pass takes the samples to f in blocks, in their order, with the values in memory; first is the number of a block's first
// sample. While f has a block, the next one is read. f must not keep the views.
func Pass(ctx context.Context, views []View, f func(first int, in []View) error) error {
	n, columns := views[0].Rows, 0
	for _, x := range views {
		columns += x.Cols
	}
	rows := PassRows(columns)
	type block struct {
		views []View
		err   error
	}
	read := func(lo int, buf [][]float32) block {
		b := block{views: make([]View, len(views))}
		for v, x := range views {
			if b.views[v], b.err = x.InMemory(ctx, v, lo, min(lo+rows, n), buf[v]); b.err != nil {
				return b
			}
			if x.Source != nil {
				buf[v] = b.views[v].F32
			}
		}
		return b
	}
	buffers := [2][][]float32{make([][]float32, len(views)), make([][]float32, len(views))}
	turn := 0
	next := make(chan block, 1)
	next <- read(0, buffers[turn])
	for lo := 0; lo < n; lo += rows {
		now := <-next
		if now.err == nil {
			now.err = ctx.Err()
		}
		if now.err != nil {
			return now.err
		}
		if after := lo + rows; after < n {
			turn = 1 - turn
			go func() { next <- read(after, buffers[turn]) }()
		} else {
			next <- block{}
		}
		if err := f(lo, now.views); err != nil {
			<-next // Nothing may be read once this has returned.
			return err
		}
	}
	return nil
}
