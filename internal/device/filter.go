package device

import (
	"context"
	"errors"
	"fmt"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Filter32 filters a view on the device of a session.
func (s *Session) Filter32(ctx context.Context, f *rows.Filter[float32]) ([]float32, error) {
	return filtered(ctx, s, f)
}

// Filter64 is Filter32 in float64.
func (s *Session) Filter64(ctx context.Context, f *rows.Filter[float64]) ([]float64, error) {
	return filtered(ctx, s, f)
}

func filtered[T kernel.Float](ctx context.Context, s *Session, f *rows.Filter[T]) ([]T, error) {
	k, err := loadKernels[T](s.drv)
	if err != nil {
		return nil, err
	}
	k.ctx = ctx
	w := &filter[T]{k: k, n: len(f.Samples.Begin) - 1, atoms: len(f.Atoms.Begin) - 1, ld: padded(f.Columns)}
	w.allocate(f)
	if err := fits(s.drv, fmt.Sprintf("a filter of %d samples", w.n), w.mem.total); err != nil {
		return nil, s.leave(err)
	}
	if err := checkSizes(max(w.n, w.atoms)*ceil(w.ld, filterColumns), []int{f.Columns}, 1, 1); err != nil {
		return nil, err
	}
	w.mem = memory{drv: s.drv}
	w.allocate(f)
	if err = w.mem.err; err == nil {
		err = w.fill(f, s.workers)
	}
	var table []T
	if err == nil {
		table, err = w.run(f)
	}
	if err = errors.Join(err, w.mem.release()); err != nil {
		return nil, s.leave(err)
	}
	return table, nil
}

// filterColumns is the number of columns of a warp.
const filterColumns = 128

// filter is the memory of a rows.Filter on a device.
type filter[T kernel.Float] struct {
	k             *kernels[T]
	mem           memory
	n, atoms, ld  int
	x             Ptr    // x_0, and then B·u_t
	tables        [3]Ptr // z and two of u_t
	scale         Ptr    // 0: 1
	samples, back links
}

func (w *filter[T]) allocate(f *rows.Filter[T]) {
	bytes := func(n int) int64 { return int64(n) * int64(w.ld) * int64(size[T]()) }
	w.x = w.mem.take(bytes(w.n), "rows of a filter")
	for i := range w.tables {
		w.tables[i] = w.mem.take(bytes(w.atoms), "table %d of a filter", i)
	}
	w.scale = w.mem.take(int64(len(f.Scale)*size[T]()), "factors of a filter")
	hold := func(l *rows.Links[T]) links {
		return links{
			w.mem.take(int64(len(l.Begin))*8, "begins of links"), w.mem.take(int64(len(l.Columns))*4, "columns of links"),
			w.mem.take(int64(len(l.Values)*size[T]()), "values of links"),
		}
	}
	w.samples, w.back = hold(&f.Samples), hold(&f.Atoms)
}

// fill uploads the rows and the links.
func (w *filter[T]) fill(f *rows.Filter[T], workers int) error {
	send := func(to Ptr, x []byte) error {
		if len(x) == 0 {
			return nil
		}
		return w.k.drv.Upload(to, x)
	}
	hold := func(to links, l *rows.Links[T]) error {
		return errors.Join(send(to.begin, rawBytes(l.Begin)), send(to.columns, rawBytes(l.Columns)),
			send(to.values, rawBytes(l.Values)))
	}
	return errors.Join(hold(w.samples, &f.Samples), hold(w.back, &f.Atoms), send(w.scale, rawBytes(f.Scale)),
		strips(w.k.drv, workers, w.x, w.n, w.ld, func(i int, row []T) {
			clear(row[f.Columns:])
			f.Row(i, row[:f.Columns])
		}))
}

// run does the steps and returns the last table.
func (w *filter[T]) run(f *rows.Filter[T]) ([]T, error) {
	z, last, other := w.tables[0], w.tables[1], w.tables[2]
	w.times(sparseTimes{dst: z, links: w.back, n: w.atoms, x: w.x, step: rows.FilterStep{Product: 1}})
	w.times(sparseTimes{dst: last, n: w.atoms, step: rows.FilterStep{Start: f.First}, start: z})
	before := Ptr(0)
	for _, step := range f.Steps {
		w.times(sparseTimes{dst: w.x, links: w.samples, n: w.n, x: last, scale: w.scale, step: rows.FilterStep{Product: 1}})
		w.times(sparseTimes{
			dst: other, links: w.back, n: w.atoms, x: w.x, step: step, start: z, last: last, before: before,
		})
		last, other, before = other, last, last
	}
	if err := w.k.failed(); err != nil {
		return nil, err
	}
	got := make([]T, w.atoms*w.ld)
	if err := w.k.drv.Download(rawBytes(got), last); err != nil {
		return nil, err
	}
	table := make([]T, w.atoms*f.Ld)
	for a := range w.atoms {
		copy(table[a*f.Ld:a*f.Ld+f.Columns], got[a*w.ld:])
	}
	return table, nil
}

// sparseTimes is a launch of the kernel: n rows of dst from the links to x, and from other tables; 0: none.
type sparseTimes struct {
	dst                 Ptr
	links               links
	n                   int
	x, scale            Ptr
	step                rows.FilterStep
	start, last, before Ptr
}

func (w *filter[T]) times(p sparseTimes) {
	slabs, s := ceil(w.ld, filterColumns), p.step
	w.k.launch(w.k.stages, "filter", [3]int{ceil(p.n*slabs, fourRows), 1, 1}, rowThreads, 0, p.dst, p.links.begin,
		p.links.columns, p.links.values, p.x, p.scale, p.start, p.last, p.before, int32(p.n), int32(w.ld), int32(slabs),
		s.Product, s.Start, s.Last, s.Before)
}
