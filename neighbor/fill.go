package neighbor

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
)

// Fill returns views in which absent rows are means of neighbours' rows. In each of the given steps, every absent row becomes the
// mean of its neighbours' rows after the previous step, weighted by the operator. At the end these rows are scaled to norm 1. A
// row that no walk of that length reaches becomes the mean of the present rows, at norm 1. Present rows keep their bits.
//
// The returned views have new rows with the stride Stride(Cols), and the same masks. A view without absent rows is returned as
// it is. op must be a Graph or a Factor. Fill returns an error for sizes that do not fit and for values that are not finite, and
// the context's error if ctx is cancelled.
func Fill[T Float](ctx context.Context, op Operator, views []Block[T], steps, workers int) ([]Block[T], error) {
	base, err := operand[T](op, 0)
	if err != nil {
		return nil, err
	}
	if steps < 1 || steps > maxSteps {
		return nil, fmt.Errorf("neighbor: %d steps of filling; want 1 to %d", steps, maxSteps)
	}
	if err := checkBlocks(ctx, views, op.Len(), workers); err != nil {
		return nil, err
	}
	out := make([]Block[T], len(views))
	for v := range views {
		if out[v] = views[v]; !lacking(base.links.group, views[v].Present) {
			continue
		}
		f := newFilling(base, &views[v])
		for range steps {
			if err := f.step(ctx, workers); err != nil {
				return nil, err
			}
		}
		if err := f.finish(ctx, workers); err != nil {
			return nil, err
		}
		out[v] = f.block
	}
	return out, nil
}

// filling is a view that is being filled.
type filling[T Float] struct {
	part   part[T]
	block  Block[T]
	absent []int      // the samples without the view
	links  *layout[T] // of the absent samples alone
	there  []float64  // 1 for samples that have a row so far, else 0
	all    bool       // all samples have a row, and share is final
	share  []float64  // of each absent sample, (A·there) of its row
	next   []T        // the new absent rows
}

func newFilling[T Float](base part[T], b *Block[T]) *filling[T] {
	n := base.links.n
	f := &filling[T]{part: base, there: make([]float64, n)}
	f.block = Block[T]{Ld: Stride(b.Cols), Cols: b.Cols, Present: b.Present}
	f.block.X = make([]T, n*f.block.Ld)
	own := &Links{atoms: base.links.atoms, ptr: []int{0}}
	for i := range n {
		if b.has(i) {
			copy(f.block.X[i*f.block.Ld:i*f.block.Ld+b.Cols], b.X[i*b.Ld:])
			f.there[i] = 1
			continue
		}
		f.absent = append(f.absent, i)
		own.appendRow(base.links.Row(i))
	}
	f.links, f.share = newLayout[T](own, false), make([]float64, len(f.absent))
	f.next = make([]T, len(f.absent)*f.block.Ld)
	return f
}

// step replaces every absent row by the mean of its neighbours' rows.
func (f *filling[T]) step(ctx context.Context, workers int) error {
	table, err := f.part.table(ctx, workers, f.block.X, f.block.Ld)
	if err != nil {
		return err
	}
	if !f.all {
		if err := f.reach(ctx, workers); err != nil {
			return err
		}
	}
	ld := f.block.Ld
	err = parallel.For(ctx, workers, (len(f.absent)+gatherRows-1)/gatherRows, func(_, b int) error {
		lo, hi := b*gatherRows, min((b+1)*gatherRows, len(f.absent))
		f.links.gather(lo, hi, f.next[lo*ld:], table, ld)
		return nil
	})
	if err != nil {
		return err
	}
	for a, i := range f.absent {
		if !(f.share[a] > 0) {
			continue
		}
		row := f.block.X[i*ld : i*ld+f.block.Cols]
		for j, x := range f.next[a*ld : a*ld+f.block.Cols] {
			row[j] = T(float64(x) / f.share[a])
		}
		f.there[i] = 1
	}
	return nil
}

// reach sets the share of every absent sample, and whether all samples have a row.
func (f *filling[T]) reach(ctx context.Context, workers int) error {
	left, err := anywhere(f.part.links.group, "samples without a row", slices.Contains(f.there, 0))
	if err != nil {
		return err
	}
	f.all = !left
	there := f.there
	if links := f.part.links; f.part.chunks != nil {
		there, err = ranks.SumRows(
			ctx, links.group, links.sum("the weights of the rows that there are", workers, links.atoms),
			func() struct{} { return struct{}{} },
			func(_, lo, hi int, _ struct{}, part []float64) error {
				for i := lo; i < hi; i++ {
					cols, vals := links.Row(i)
					for e := 0; f.there[i] > 0 && e < len(cols); e++ {
						part[cols[e]] += vals[e]
					}
				}
				return nil
			})
		if err != nil {
			return err
		}
	}
	for a := range f.absent {
		cols, vals := f.links.links.Row(a)
		f.share[a] = 0
		for e, c := range cols {
			f.share[a] += vals[e] * there[c]
		}
	}
	return nil
}

// finish sets rows that were not reached to the mean of the present rows, and scales absent rows to norm 1.
func (f *filling[T]) finish(ctx context.Context, workers int) error {
	b := &f.block
	lost := func(i int) bool { return f.there[i] == 0 || kernel.SumSquares(b.X[i*b.Ld:i*b.Ld+b.Cols], 0) == 0 }
	some, err := anywhere(f.part.links.group, "rows that nothing reaches", slices.ContainsFunc(f.absent, lost))
	if err != nil {
		return err
	}
	var mean []float64
	if some {
		if mean, err = b.presentMean(ctx, f.part.links, workers); err != nil {
			return err
		}
	}
	for _, i := range f.absent {
		row := b.X[i*b.Ld : i*b.Ld+b.Cols]
		if lost(i) {
			for j, x := range mean {
				row[j] = T(x)
			}
		}
		toUnit(row)
	}
	return nil
}

// presentMean returns the mean, at norm 1, of the present rows of the samples with the links, zeros if the mean vanishes.
func (b *Block[T]) presentMean(ctx context.Context, l *Links, workers int) ([]float64, error) {
	mean, err := ranks.SumRows(ctx, l.group, l.sum("the mean of the rows of a view", workers, b.Cols),
		func() struct{} { return struct{}{} },
		func(_, lo, hi int, _ struct{}, part []float64) error {
			for i := lo; i < hi; i++ {
				if b.has(i) {
					kernel.AddTo(part, b.X[i*b.Ld:i*b.Ld+b.Cols])
				}
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	if q := kernel.SumSquares(mean, 0); q > 0 {
		for j := range mean {
			mean[j] /= math.Sqrt(q)
		}
	}
	return mean, nil
}
