package neighbor

import (
	"context"
	"fmt"
	"math"
	"sync"
	"unsafe"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// Block is the rows of one view that a filter changes in place: n rows of Cols features with the stride Ld.
type Block[T Float] struct {
	X        []T
	Ld, Cols int
	// Present says which samples have the view; nil: all. Absent rows become zero.
	Present []bool
	// Device, if not nil, filters the view along a Factor where it can. The last bits differ then. For use within this module.
	Device rows.Device
}

func (b *Block[T]) check(v, n int) error {
	if b.Cols < 1 || b.Ld < b.Cols || len(b.X) < b.Cols || n > 1 && b.Ld > (len(b.X)-b.Cols)/(n-1) {
		return fmt.Errorf("neighbor: view %d: %d×%d rows with the stride %d in %d values", v, n, b.Cols, b.Ld, len(b.X))
	}
	if b.Present != nil && len(b.Present) != n {
		return fmt.Errorf("neighbor: view %d has %d rows and a mask of %d", v, n, len(b.Present))
	}
	return nil
}

// finite checks the present rows from lo to hi.
func (b *Block[T]) finite(v, lo, hi int) error {
	for i := lo; i < hi; i++ {
		if !b.has(i) {
			continue
		}
		row := b.X[i*b.Ld : i*b.Ld+b.Cols]
		if kernel.SumSquares(row, 0) < largestSquare[T]() {
			continue
		}
		for j, x := range row {
			if y := float64(x); math.IsNaN(y) || math.IsInf(y, 0) {
				return fmt.Errorf("neighbor: view %d has %v at row %d, column %d", v, y, i, j)
			}
		}
		return fmt.Errorf("neighbor: row %d of view %d is so long that its norm is not finite", i, v)
	}
	return nil
}

func (b *Block[T]) has(i int) bool { return b.Present == nil || b.Present[i] }

// stripColumns is the number of columns of a view that are filtered together. With some thousand atoms they stay in a core's
// second-level cache.
const stripColumns = 32

// Filter is a low-pass filter of one view, in the form that applies to new samples: one row for each atom of the operator. It is
// immutable and safe for concurrent use.
//
// With A = L·(atoms), S steps compute x_S = 2^−S·x_0 + A·u with u = Σ_t 2^(t−S)·x_t over t < S: a polynomial of A times x_0.
// Table holds the row of u for each sample of a Graph, and Bᵀu for a Factor. A new sample with the links l gets 2^−S·x +
// l·Table, scaled to norm 1.
type Filter[T Float] struct {
	Steps int
	Cols  int
	Atoms int
	Table []T // Atoms rows with the stride Stride(Cols)
	// All and Have are nil unless samples of the graph lack the view. They are the sums of each atom over all samples, and over
	// those that have the view. Their ratio gives the links of a sample the weight that they would have if none lacked it.
	All, Have []float64

	series []float64 // u as a Chebyshev series of A on [0, 1] in place of steps; nil: by steps
}

// Smooth filters views in place: steps times x ← (x + A·x)/2, then every row is scaled to norm 1. Rows of zeros stay zero.
//
// If samples lack a view, their rows are zero and stay zero. A·x is then the weighted mean over the samples that have the view,
// times the total weight: row i is multiplied by (A·1)_i / (A·b)_i, with b_j = 1 for samples j that have the view and 0 for
// others. Such rows can grow from step to step. If they exceed the range of T, the error is a *GrowthError.
//
// op must be a Graph or a Factor. Views are filtered in strips of 32 columns, several at the same time. Each needs memory for a
// few tables of the strip with one row for each atom. Smooth returns the filters for new samples. It returns an error for sizes
// that do not fit and for values that are not finite, and the context's error if ctx is cancelled. After an error the views are
// partly filtered.
func Smooth[T Float](ctx context.Context, op Operator, views []Block[T], steps, workers int) ([]*Filter[T], error) {
	base, err := operand[T](op, steps)
	if err != nil {
		return nil, err
	}
	n := op.Len()
	if err := checkBlocks(ctx, views, n, workers); err != nil {
		return nil, err
	}
	filters, on := make([]*Filter[T], len(views)), &deviceFilter[T]{base: base}
	var strips []strip[T]
	for v := range views {
		b := &views[v]
		f, factors, err := newFilter(ctx, base, b, steps, workers)
		if err != nil {
			return nil, err
		}
		filters[v] = f
		filtered, err := on.run(ctx, b, f, factors)
		if err != nil {
			return nil, err
		}
		for c := 0; c < b.Cols; c += stripColumns {
			strips = append(strips, strip[T]{
				view: b, filter: f, factors: factors, from: c, cols: min(stripColumns, b.Cols-c), filtered: filtered,
			})
		}
	}
	outer, inner := stripWorkers[T](base.links.atoms, len(strips), workers)
	if base.links.group != nil { // ranks work on one strip at a time
		outer, inner = 1, parallel.Workers(workers)
	}
	samples, atoms := make([]*stripSpace[T], outer), make([]*atomSpace[T], outer)
	err = parallel.For(ctx, outer, len(strips), func(w, q int) error {
		if base.chunks != nil {
			if atoms[w] == nil {
				atoms[w] = newAtomSpace(base)
			}
			return strips[q].runAtoms(ctx, inner, atoms[w])
		}
		if samples[w] == nil {
			samples[w] = newStripSpace(base, n)
		}
		return strips[q].run(ctx, inner, samples[w])
	})
	if err != nil {
		return nil, err
	}
	return filters, unitRows(ctx, views, filters, n, workers)
}

// newFilter returns the empty filter of one view. If samples lack the view, it also returns the factors of the rows of A·x.
func newFilter[T Float](ctx context.Context, base part[T], b *Block[T], steps, workers int) (*Filter[T], []T, error) {
	f := &Filter[T]{Steps: steps, Cols: b.Cols, Atoms: base.links.atoms}
	f.Table = make([]T, f.Atoms*Stride(b.Cols))
	if !lacking(base.links.group, b.Present) {
		if base.chunks != nil {
			f.series = chebyshev[T](steps)
		}
		return f, nil, nil
	}
	var err error
	if f.All, f.Have, err = presence(ctx, base, b, workers); err != nil {
		return nil, nil, err
	}
	factors := make([]T, base.links.n)
	f.factors(base.links, factors)
	return f, factors, nil
}

// unitRows scales the n filtered rows of each view to norm 1. It returns a *GrowthError if they are not finite.
func unitRows[T Float](ctx context.Context, views []Block[T], filters []*Filter[T], n, workers int) error {
	blocks := (n + gatherRows - 1) / gatherRows
	return parallel.For(ctx, workers, len(views)*blocks, func(_, q int) error {
		b, lo := &views[q/blocks], q%blocks*gatherRows
		hi := min(lo+gatherRows, n)
		if masked := filters[q/blocks].All != nil; masked && b.finite(q/blocks, lo, hi) != nil {
			return &GrowthError{View: q / blocks, Steps: filters[q/blocks].Steps}
		}
		for i := lo; i < hi; i++ {
			toUnit(b.X[i*b.Ld : i*b.Ld+b.Cols])
		}
		return nil
	})
}

// GrowthError says that Smooth made rows grow beyond the range of their type, in a view that some samples lack.
type GrowthError struct {
	View  int // its place in the views of Smooth
	Steps int
}

// Error names the view and the cure.
func (e *GrowthError) Error() string {
	return fmt.Sprintf("neighbor: view %d: rows overflow in %d steps of the filter, because samples "+
		"lack the view; use fewer steps", e.View, e.Steps)
}

// maxSteps bounds the steps along a graph.
const maxSteps = 1000

// operand returns the parts of an operator, an error for nil or for a wrong number of steps along it.
func operand[T Float](op Operator, steps int) (part[T], error) {
	if err := CheckOperator(op); err != nil {
		return part[T]{}, err
	}
	if steps < 0 || steps > maxSteps {
		return part[T]{}, fmt.Errorf("neighbor: %d steps of the filter; want 0 to %d", steps, maxSteps)
	}
	return partOf[T](op)
}

// checkBlocks checks the sizes of views of n samples, and the values of their present rows.
func checkBlocks[T Float](ctx context.Context, views []Block[T], n, workers int) error {
	for v := range views {
		if err := views[v].check(v, n); err != nil {
			return err
		}
	}
	blocks := (n + gatherRows - 1) / gatherRows
	return parallel.For(ctx, workers, len(views)*blocks, func(_, q int) error {
		v, lo := q/blocks, q%blocks*gatherRows
		return views[v].finite(v, lo, min(lo+gatherRows, n))
	})
}

// stripBytes bounds the memory of the strips in work (bytes).
const stripBytes = 512 << 20

// stripTables is the number of tables of a strip's columns, a row for each atom, that its steps take.
const stripTables = 20

// stripWorkers returns the number of strips side by side, and the number of workers in each.
func stripWorkers[T Float](atoms, strips, workers int) (outer, inner int) {
	workers = parallel.Workers(workers)
	one := stripTables * atoms * stripColumns * int(unsafe.Sizeof(T(0)))
	outer = max(1, min(workers, strips, stripBytes/max(one, 1)))
	return outer, max(1, workers/outer)
}

// presence returns the atoms' sums over all samples and over those that have the view.
func presence[T Float](ctx context.Context, base part[T], b *Block[T], workers int) (all, have []float64, err error) {
	l := base.links
	if base.chunks == nil {
		all, have = make([]float64, l.atoms), make([]float64, l.atoms)
		for i := range l.n {
			if all[i] = 1; b.has(i) {
				have[i] = 1
			}
		}
		return all, have, nil
	}
	sums, err := ranks.SumRows(
		ctx, l.group, l.sum("the weights of landmarks where a view is absent", workers, 2*l.atoms),
		func() struct{} { return struct{}{} },
		func(_, lo, hi int, _ struct{}, part []float64) error {
			for i := lo; i < hi; i++ {
				for e := l.ptr[i]; e < l.ptr[i+1]; e++ {
					part[l.col[e]] += l.weight(e)
					if b.has(i) {
						part[l.atoms+int(l.col[e])] += l.weight(e)
					}
				}
			}
			return nil
		})
	if err != nil {
		return nil, nil, err
	}
	return sums[:l.atoms], sums[l.atoms:], nil
}

// factors sets dst to the factor of A·x for each sample with the links.
func (f *Filter[T]) factors(l *Links, dst []T) {
	for i := range dst {
		dst[i] = 1
		if f.All == nil {
			continue
		}
		all, have := 0.0, 0.0
		for e := l.ptr[i]; e < l.ptr[i+1]; e++ {
			all += l.weight(e) * f.All[l.col[e]]
			have += l.weight(e) * f.Have[l.col[e]]
		}
		if have > 0 {
			dst[i] = T(all / have)
		}
	}
}

// toUnit divides a row by its norm.
func toUnit[T Float](row []T) {
	if q := kernel.SumSquares(row, 0); q > 0 {
		kernel.Affine(row, row, 1/math.Sqrt(q), 0)
	}
}

// strip is some columns of a view, which are filtered together.
type strip[T Float] struct {
	view       *Block[T]
	filter     *Filter[T]
	factors    []T
	from, cols int
	filtered   bool // the filter has its table
}

// stripSpace is the memory for a strip of a graph, which is filtered sample by sample.
type stripSpace[T Float] struct {
	part part[T]
	rows [2][]T // of n rows each
}

func newStripSpace[T Float](base part[T], n int) *stripSpace[T] {
	w := &stripSpace[T]{part: base}
	for j := range w.rows {
		w.rows[j] = make([]T, n*stripColumns)
	}
	return w
}

// run takes the strip through the filter.
func (s *strip[T]) run(ctx context.Context, workers int, w *stripSpace[T]) error {
	b, f, n := s.view, s.filter, w.part.links.n
	width := Stride(s.cols)
	for j := range w.rows {
		w.rows[j] = w.rows[j][:n*width]
	}
	u, err := s.sum(ctx, workers, w, width)
	if err != nil {
		return err
	}
	table, err := w.part.table(ctx, workers, u, width)
	if err != nil {
		return err
	}
	ld := Stride(f.Cols)
	for a := range f.Atoms {
		copy(f.Table[a*ld+s.from:a*ld+s.from+width], table[a*width:(a+1)*width])
	}
	share, au := T(math.Ldexp(1, -f.Steps)), w.rows[1]
	return w.part.gatherAll(ctx, workers, au, table, width, func(i int, ai []T) {
		xi := b.X[i*b.Ld+s.from : i*b.Ld+s.from+s.cols]
		if b.has(i) {
			finish(xi, ai, share, s.factor(i))
		} else {
			clear(xi)
		}
	})
}

// sum returns u, n rows of the given width: u_1 = x_0/2, u_(t+1) = (u_t + 2^−t·x_0 + A·u_t)/2.
func (s *strip[T]) sum(ctx context.Context, workers int, w *stripSpace[T], width int) ([]T, error) {
	share := T(1) / 2
	if s.filter.Steps == 0 {
		share = 0
	}
	u, au := w.rows[0], w.rows[1]
	if err := s.start(ctx, workers, u, width, share); err != nil {
		return nil, err
	}
	share = 1
	for t := 1; t < s.filter.Steps; t++ {
		share /= 2
		err := s.product(ctx, workers, w, au, u, width, func(i int, x, ai []T) {
			ui, factor := u[i*width:i*width+len(ai)], s.factor(i)
			for j := range x {
				ai[j] = (ui[j] + share*x[j] + factor*ai[j]) / 2
			}
			clear(ai[len(x):])
		})
		if err != nil {
			return nil, err
		}
		u, au = au, u
	}
	w.rows[0], w.rows[1] = u, au
	return u, nil
}

// start sets dst to share·x_0.
func (s *strip[T]) start(ctx context.Context, workers int, dst []T, width int, share T) error {
	b := s.view
	return eachRow(ctx, workers, len(dst)/width, func(i int) {
		row := dst[i*width : (i+1)*width]
		clear(row)
		if b.has(i) {
			for j, v := range b.X[i*b.Ld+s.from : i*b.Ld+s.from+s.cols] {
				row[j] = share * v
			}
		}
	})
}

// product sets dst to A·x, calls then with every row and its row of x_0, and zeroes rows that lack the view.
func (s *strip[T]) product(
	ctx context.Context, workers int, w *stripSpace[T], dst, x []T, width int, then func(i int, x0, ai []T),
) error {
	table, err := w.part.table(ctx, workers, x, width)
	if err != nil {
		return err
	}
	b := s.view
	return w.part.gatherAll(ctx, workers, dst, table, width, func(i int, ai []T) {
		if b.has(i) {
			then(i, b.X[i*b.Ld+s.from:i*b.Ld+s.from+s.cols], ai)
		} else {
			clear(ai)
		}
	})
}

// finish sets x to share·x + factor·a.
func finish[T Float](x, a []T, share, factor T) {
	a = a[:len(x)]
	for j, v := range a {
		x[j] = share*x[j] + factor*v
	}
}

func (s *strip[T]) factor(i int) T {
	if s.factors == nil {
		return 1
	}
	return s.factors[i]
}

func eachRow(ctx context.Context, workers, n int, f func(i int)) error {
	return parallel.For(ctx, workers, (n+gatherRows-1)/gatherRows, func(_, b int) error {
		for i := b * gatherRows; i < min((b+1)*gatherRows, n); i++ {
			f(i)
		}
		return nil
	})
}

// applyRows is the number of new samples that are filtered together. Each row of a table of some thousand atoms is then read
// several times while it is in cache.
const applyRows = 1024

// Apply filters new samples in place, with the links that Index.Attach returned for them. A sample with the row and the links of
// a sample of the graph gets the bits of that sample. An absent row becomes zero.
func (f *Filter[T]) Apply(ctx context.Context, l *Links, x Block[T], workers int) error {
	return ApplyAll(ctx, []*Filter[T]{f}, l, []Block[T]{x}, workers)
}

// ApplyAll applies several filters, each to its own block. It returns an error if the numbers of filters and blocks differ or l
// is nil, and the errors of Apply.
func ApplyAll[T Float](ctx context.Context, filters []*Filter[T], l *Links, blocks []Block[T], workers int) error {
	if l == nil || len(filters) != len(blocks) {
		return fmt.Errorf("neighbor: %d blocks for %d filters, or no links", len(blocks), len(filters))
	}
	values := takeRows[T](len(l.col))
	defer giveRows(values)
	for e := range *values {
		(*values)[e] = T(l.weight(e))
	}
	layout := &layout[T]{links: l, values: *values}
	within := 1
	if len(filters) == 1 {
		within = workers
	}
	return parallel.For(ctx, workers, len(filters), func(_, k int) error {
		return filters[k].apply(ctx, layout, blocks[k], within)
	})
}

func (f *Filter[T]) apply(ctx context.Context, layout *layout[T], x Block[T], workers int) error {
	l := layout.links
	if l.atoms != f.Atoms || len(f.Table) != f.Atoms*Stride(f.Cols) {
		return fmt.Errorf("neighbor: the links are not to the %d atoms of the filter", f.Atoms)
	}
	if x.Cols != f.Cols {
		return fmt.Errorf("neighbor: %d columns for a filter of %d", x.Cols, f.Cols)
	}
	if err := x.check(0, l.n); err != nil {
		return err
	}
	var factors []T
	if f.All != nil {
		factors = make([]T, l.n)
		f.factors(l, factors)
	}
	share := T(math.Ldexp(1, -f.Steps))
	ld := Stride(f.Cols)
	return parallel.For(ctx, workers, (l.n+applyRows-1)/applyRows, func(_, b int) error {
		lo, hi := b*applyRows, min((b+1)*applyRows, l.n)
		if err := x.finite(0, lo, hi); err != nil {
			return err
		}
		au := takeRows[T]((hi - lo) * ld)
		defer giveRows(au)
		layout.gather(lo, hi, *au, f.Table, ld)
		for i := lo; i < hi; i++ {
			row := x.X[i*x.Ld : i*x.Ld+x.Cols]
			if !x.has(i) {
				clear(row)
				continue
			}
			factor := T(1)
			if factors != nil {
				factor = factors[i]
			}
			finish(row, (*au)[(i-lo)*ld:], share, factor)
			toUnit(row)
		}
		return nil
	})
}

// rowPools hold released memory for rows, of float32 and of float64.
var rowPools [2]sync.Pool

func rowPool[T Float]() *sync.Pool {
	if kernel.Is32[T]() {
		return &rowPools[0]
	}
	return &rowPools[1]
}

// takeRows returns memory for some values, with undefined content.
func takeRows[T Float](size int) *[]T {
	x, _ := rowPool[T]().Get().(*[]T)
	if x == nil || cap(*x) < size {
		fresh := make([]T, size)
		return &fresh
	}
	*x = (*x)[:size]
	return x
}

func giveRows[T Float](x *[]T) { rowPool[T]().Put(x) }
