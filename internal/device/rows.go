package device

import (
	"context"
	"errors"
	"fmt"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Rows holds the rows of some views in a device's memory, with the products for the stages around the epochs: k-means, nearest
// landmarks and neighbours, directions and projections. One goroutine at a time may use it.
type Rows[T kernel.Float] struct {
	k         *kernels[T]
	mem       memory
	n         int
	chunk     int // number of rows in one partial sum
	most      int // largest number of bytes of products at a time
	dims, ldx []int
	x         []Ptr
	has       Ptr // bits of the views of a row; 0: every row has all

	// Memory of the last products, by purpose.
	buffers map[string]buffer
}

// buffer is memory that is used again.
type buffer struct {
	p     Ptr
	bytes int64
}

var (
	_ rows.Products[float32] = (*Rows[float32])(nil)
	_ rows.Products[float64] = (*Rows[float64])(nil)
)

// mostViews is the number of views whose presence fits a row's bits.
const mostViews = 32

// NewRows copies the rows of x to the device. present[v] says which rows have view v (nil: all); absent rows are zero there. If
// the device has too little memory for them and for their products, the error is a *MemoryError.
func NewRows[T kernel.Float](drv Driver, x []rows.Matrix[T], present [][]bool, use rows.Use) (*Rows[T], error) {
	k, err := loadKernels[T](drv)
	if err != nil {
		return nil, err
	}
	if len(x) == 0 || len(x) > mostViews {
		return nil, fmt.Errorf("device: %d views, want 1 to %d", len(x), mostViews)
	}
	n, _ := x[0].Dims()
	r := &Rows[T]{k: k, n: n, chunk: parallel.ChunkRows(n, mostRowsOfChunk), most: productBytes}
	for v, xv := range x {
		nv, d := xv.Dims()
		if nv != n {
			return nil, fmt.Errorf("device: view %d has %d rows, view 0 has %d", v, nv, n)
		}
		r.dims, r.ldx = append(r.dims, d), append(r.ldx, padded(d))
	}
	panel := 1
	if use.Sums { // columns are along a short dimension of the grid
		panel = use.Columns
	}
	if err := checkSizes(n, r.dims, panel, ceil(n, r.chunk)); err != nil {
		return nil, err
	}
	has := presence(present, len(x), n)
	count := *r
	count.allocate(memory{}, use, has != nil)
	if err := fits(drv, fmt.Sprintf("a matrix of %d samples", n), count.mem.total); err != nil {
		return nil, err
	}
	r.allocate(memory{drv: drv}, use, has != nil)
	if err = r.k.failed(); err == nil {
		err = r.fill(use.Workers, x, present, has)
	}
	if err != nil {
		return nil, errors.Join(err, r.mem.release())
	}
	return r, nil
}

// allocate takes the memory for the rows and for their products.
func (r *Rows[T]) allocate(mem memory, use rows.Use, some bool) {
	r.mem, r.buffers, r.x = mem, map[string]buffer{}, nil
	bytes := func(n, d int) int64 { return int64(n) * int64(d) * int64(size[T]()) }
	for v, ldx := range r.ldx {
		r.x = append(r.x, r.mem.take(bytes(r.n, ldx), "X of view %d", v))
	}
	if some {
		r.has = r.mem.take(int64(r.n)*4, "views of the rows")
	}
	r.k.err, r.mem.err = r.mem.err, nil
	k, strip := use.Columns, 1
	if use.Sums {
		strip = r.chunk
		widest := 0
		for v, d := range r.dims {
			r.buffer(partsOf(v), bytes(ceil(r.n, r.chunk)*k, d))
			widest = max(widest, d)
		}
		r.buffer("sums", int64(k)*int64(widest)*8)
	}
	for v, ldx := range r.ldx {
		r.buffer(panelOf(v), bytes(k, ldx))
	}
	strip = r.strip(k, strip)
	products := bytes(strip, stride(k))
	if strip < r.n { // strips of fewer columns have more rows, and may round up if these round down
		products = max(products, int64(r.most))
	}
	r.buffer(productsOfRows, products)
	if use.Keep > 0 {
		r.buffer("bias", int64(len(r.dims))*int64(k)*8)
		r.buffer("lowest columns", int64(strip)*int64(use.Keep+1)*4) // one more if this process drops a row's own column
		r.buffer("lowest scores", int64(strip)*int64(use.Keep+1)*8)
	}
}

const productsOfRows = "products of rows"

func panelOf(v int) string { return fmt.Sprintf("columns of products with view %d", v) }

func partsOf(v int) string { return fmt.Sprintf("sums of chunks of view %d", v) }

// fill uploads the rows and their presence bits; has is nil if all rows have all views.
func (r *Rows[T]) fill(workers int, x []rows.Matrix[T], present [][]bool, has []uint32) error {
	for v, xv := range x {
		if err := strips(r.k.drv, workers, r.x[v], r.n, r.ldx[v], func(i int, row []T) {
			if row = row[:r.dims[v]]; present == nil || present[v] == nil || present[v][i] {
				xv.Row(i, row)
			} else {
				clear(row)
			}
		}); err != nil {
			return fmt.Errorf("device: view %d: %w", v, err)
		}
	}
	if has == nil {
		return nil
	}
	return r.k.drv.Upload(r.has, rawBytes(has))
}

// mostRowsOfChunk is the number of rows of a chunk if there are few rows.
const mostRowsOfChunk = 1024

// presence returns the presence bits of every row, nil if all rows have all views.
func presence(present [][]bool, views, n int) []uint32 {
	has, some := make([]uint32, n), false
	for v := range views {
		for i := range has {
			if present == nil || present[v] == nil || present[v][i] {
				has[i] |= 1 << v
			} else {
				some = true
			}
		}
	}
	if !some {
		return nil
	}
	return has
}

// Close releases the memory on the device.
func (r *Rows[T]) Close() error { return r.mem.release() }

// Len returns the number of rows.
func (r *Rows[T]) Len() int { return r.n }

// buffer returns memory for a purpose. It keeps the memory until a call needs more.
func (r *Rows[T]) buffer(purpose string, bytes int64) Ptr {
	b := r.buffers[purpose]
	if r.k.err != nil || b.bytes >= bytes {
		return b.p
	}
	delete(r.buffers, purpose)
	if b.p != 0 {
		if r.k.err = r.mem.give(b.p); r.k.err != nil {
			return 0
		}
	}
	p := r.mem.take(bytes, "%s", purpose)
	if r.k.err, r.mem.err = r.mem.err, nil; r.k.err == nil {
		r.buffers[purpose] = buffer{p, bytes}
	}
	return p
}

// productBytes bounds the memory of products of rows: more products are computed in strips of rows.
const productBytes = 256 << 20

// strip returns the number of rows whose products with k columns are computed at a time, a multiple of `of` unless it is all.
func (r *Rows[T]) strip(k, of int) int {
	count := r.most / (stride(max(k, 1)) * size[T]()) / of * of
	return min(max(count, of, smallTimes.rows), r.n)
}

// panels uploads columns, b[v] being k×d_v.
func (r *Rows[T]) panels(b [][]T, k int) []Ptr {
	out := make([]Ptr, len(b))
	for v, d := range r.dims {
		ldx := r.ldx[v]
		panel := make([]T, k*ldx)
		for j := range k {
			copy(panel[j*ldx:j*ldx+d], b[v][j*d:(j+1)*d])
		}
		out[v] = r.send(panelOf(v), rawBytes(panel))
	}
	return out
}

// times sets the products of the rows from lo to hi to Σ_v X_v B_vᵀ, k columns, and returns their address.
func (r *Rows[T]) times(panels []Ptr, k, lo, hi int) (y Ptr, ld int) {
	ld = stride(k)
	y = r.buffer(productsOfRows, int64(hi-lo)*int64(ld)*int64(size[T]()))
	for v, d := range r.dims {
		ldx, op := r.ldx[v], add
		if v == 0 {
			op = store
		}
		r.k.timesTransposed(product{op: op, out: y, ldOut: ld, a: r.x[v] + Ptr(lo*ldx*size[T]()), lda: ldx, b: panels[v],
			ldb: ldx, n: hi - lo, m: k, k: d, base: y})
	}
	return y, ld
}

// send uploads x to a buffer.
func (r *Rows[T]) send(purpose string, x []byte) Ptr {
	p := r.buffer(purpose, int64(len(x)))
	if r.k.err == nil {
		r.k.err = r.k.drv.Upload(p, x)
	}
	return p
}

func (r *Rows[T]) check(b [][]T, k int) error {
	if len(b) != len(r.dims) || k < 1 {
		return fmt.Errorf("device: %d columns in %d views, the rows have %d", k, len(b), len(r.dims))
	}
	for v, d := range r.dims {
		if len(b[v]) != k*d {
			return fmt.Errorf("device: %d values for %d columns of view %d, which has %d features", len(b[v]), k, v, d)
		}
	}
	return nil
}

// Project sets dst, with the stride ld ≥ k, to Σ_v X_v V_vᵀ, v[v] being k×d_v.
func (r *Rows[T]) Project(ctx context.Context, v [][]float64, k int, dst []T, ld int) error {
	b := make([][]T, len(v))
	for i := range v {
		b[i] = kernel.Convert[T](v[i])
	}
	if err := r.check(b, k); err != nil {
		return err
	}
	r.k.ctx = ctx
	panels, strip := r.panels(b, k), r.strip(k, 1)
	got := make([]T, strip*stride(k))
	for lo := 0; lo < r.n; lo += strip {
		hi := min(lo+strip, r.n)
		y, own := r.times(panels, k, lo, hi)
		if err := r.k.failed(); err != nil {
			return err
		}
		if err := r.k.drv.Download(rawBytes(got[:(hi-lo)*own]), y); err != nil {
			return err
		}
		for i := range hi - lo {
			copy(dst[(lo+i)*ld:(lo+i)*ld+k], got[i*own:])
		}
	}
	return nil
}

// GramTimes returns G·XᵀX, k×D, for the views side by side, D columns together.
func (r *Rows[T]) GramTimes(ctx context.Context, g []float64, k int) ([]float64, error) {
	total := 0
	for _, d := range r.dims {
		total += d
	}
	if k < 1 || len(g) != k*total {
		return nil, fmt.Errorf("device: %d values for %d rows of %d columns", len(g), k, total)
	}
	r.k.ctx = ctx
	b, at := make([][]T, len(r.dims)), 0
	for v, d := range r.dims {
		for j := range k {
			b[v] = append(b[v], kernel.Convert[T](g[j*total+at:j*total+at+d])...)
		}
		at += d
	}
	panels, strip, chunks := r.panels(b, k), r.strip(k, r.chunk), ceil(r.n, r.chunk)
	parts := make([]Ptr, len(r.dims))
	for v, d := range r.dims {
		parts[v] = r.buffer(partsOf(v), int64(chunks*k*d)*int64(size[T]()))
	}
	for lo := 0; lo < r.n; lo += strip {
		hi := min(lo+strip, r.n)
		y, ld := r.times(panels, k, lo, hi)
		for v, d := range r.dims {
			r.k.transposedTimes(sums{part: parts[v] + Ptr(lo/r.chunk*k*d*size[T]()), a: y, lda: ld,
				x: r.x[v] + Ptr(lo*r.ldx[v]*size[T]()), ldx: r.ldx[v], n: hi - lo, m: k, d: d, chunk: r.chunk})
		}
	}
	out := make([]float64, k*total)
	at = 0
	for v, d := range r.dims {
		sum := r.buffer("sums", int64(k*d)*8)
		r.k.fold(sum, parts[v], chunks, k*d)
		if err := r.k.failed(); err != nil {
			return nil, err
		}
		got := make([]float64, k*d)
		if err := r.k.drv.Download(rawBytes(got), sum); err != nil {
			return nil, err
		}
		for j := range k {
			copy(out[j*total+at:j*total+at+d], got[j*d:(j+1)*d])
		}
		at += d
	}
	return out, nil
}

type lowestOptions struct {
	group, keep int
	self        int // added to a row's number it gives its own column; −1: it has none
}

// lowest returns, for every row and each group of columns, the `keep` columns of lowest score in order and their scores: score =
// Σ_{v present} (x_v·b_vj + bias_vj), b[v] being columns × d_v and bias V×columns. If there are fewer columns, the column is −1
// and the score infinite.
func (r *Rows[T]) lowest(ctx context.Context, b [][]T, bias []float64, o lowestOptions) ([]int32, []float64, error) {
	columns := len(bias) / len(r.dims)
	if err := r.check(b, columns); err != nil {
		return nil, nil, err
	}
	r.k.ctx = ctx
	groups, strip := ceil(columns, o.group), r.strip(columns, 1)
	keep := o.keep
	if strip < r.n && o.self >= 0 { // The kernel handles own columns only in the first strip.
		keep++
	}
	panels, up := r.panels(b, columns), r.send("bias", rawBytes(bias))
	column, score := make([]int32, r.n*groups*keep), make([]float64, r.n*groups*keep)
	for lo := 0; lo < r.n; lo += strip {
		hi := min(lo+strip, r.n)
		y, ld := r.times(panels, columns, lo, hi)
		from, count := lo*groups*keep, (hi-lo)*groups*keep
		index := r.buffer("lowest columns", int64(strip*groups*keep)*4)
		low := r.buffer("lowest scores", int64(strip*groups*keep)*8)
		has, self := r.has, o.self
		if has != 0 {
			has += Ptr(lo * 4)
		}
		if strip < r.n {
			self = -1
		}
		r.k.launch(r.k.stages, "lowest", [3]int{ceil((hi-lo)*groups, fourRows), 1, 1}, rowThreads, 0, index, low, y, up, has,
			int32(len(r.dims)), int32(hi-lo), int32(columns), int32(ld), int32(o.group), int32(groups), int32(keep), int32(self))
		if err := r.k.failed(); err != nil {
			return nil, nil, err
		}
		if err := errors.Join(r.k.drv.Download(rawBytes(column[from:from+count]), index),
			r.k.drv.Download(rawBytes(score[from:from+count]), low)); err != nil {
			return nil, nil, err
		}
	}
	for _, j := range column {
		if j < -1 || int(j) >= columns {
			return nil, nil, &FailedError{r.k.drv.Name(), "the kernel lowest", fmt.Errorf("column %d of %d", j, columns)}
		}
	}
	if keep > o.keep {
		column, score = withoutSelf(column, score, keep, o.self)
	}
	return column, score, nil
}

// withoutSelf drops the own column of every row, or else its last column, from `keep` columns a row.
func withoutSelf(column []int32, score []float64, keep, self int) ([]int32, []float64) {
	to := 0
	for i := range len(column) / keep {
		left := keep - 1
		for at := i * keep; at < (i+1)*keep && left > 0; at++ {
			if int(column[at]) == i-self {
				continue
			}
			column[to], score[to] = column[at], score[at]
			to++
			left--
		}
	}
	return column[:to], score[:to]
}

// Nearest returns the `keep` columns of the lowest scores of every row, see rows.Products.
func (r *Rows[T]) Nearest(ctx context.Context, columns [][]T, bias []float64, keep, self int) ([]int32, []float64, error) {
	return r.lowest(ctx, columns, bias, lowestOptions{group: len(bias) / len(r.dims), keep: keep, self: self})
}

// Lowest finds the lowest score of every row in each group of columns, and its distance to the next one.
func (r *Rows[T]) Lowest(ctx context.Context, columns [][]T, bias []float64, group int, first []int32,
	low, next []float64) error {
	at, score, err := r.lowest(ctx, columns, bias, lowestOptions{group: group, keep: 2, self: -1})
	for i := range first {
		if err != nil {
			break
		}
		first[i], low[i], next[i] = at[2*i], score[2*i], score[2*i+1]
	}
	return err
}
