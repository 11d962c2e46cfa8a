package smooth

import (
	"context"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// Fill makes the rows of the inputs. With Options.Overwrite it writes them to the caller's memory of the views, if they fit
// there. It returns the views whose memory may be written and holds no input.
func (s *Inputs[T]) Fill(ctx context.Context, views []view.View, o Options) ([]neighbor.Block[T], []view.View, error) {
	blocks := make([]neighbor.Block[T], len(s.Inputs))
	dims := make([]int, len(views))
	for v, x := range views {
		dims[v] = x.Cols
	}
	var free []spare[T]
	var own []view.View // views whose memory may be written
	for _, v := range widestFirst(dims) {
		x := views[v]
		if o.Overwrite {
			x = view.Settled[T](x)
		}
		if prepare.InPlace[T](x, o.Overwrite) {
			free, own = append(free, spare[T]{view.Own[T](x), dims[v], 0}), append(own, x)
		}
		if err := s.fill(ctx, blocks, v, x, free, o); err != nil {
			return nil, nil, err
		}
	}
	var idle []view.View
	for k, f := range free {
		if f.taken == 0 {
			idle = append(idle, own[k])
		}
	}
	return blocks, idle, nil
}

// widestFirst returns the numbers of views by decreasing width. Inputs replace views in this order: the memory that a wide view
// leaves has room for narrow ones.
func widestFirst(dims []int) []int {
	order := lists.Indices(len(dims))
	slices.SortStableFunc(order, func(a, b int) int { return dims[b] - dims[a] })
	return order
}

// spare is the memory of a view that inputs replace: of each row, the columns from taken on.
type spare[T kernel.Float] struct {
	x           []T
	cols, taken int
}

// fill makes the blocks of the inputs that come from view v, in free memory if they fit: of views that were filled earlier, and
// of v.
func (s *Inputs[T]) fill(ctx context.Context, blocks []neighbor.Block[T], v int, x view.View, free []spare[T], o Options) error {
	var mine []int
	fresh := make([]bool, len(blocks)) // of mine, whether the block has memory of its own
	units := make([]rows.Matrix[T], len(blocks))
	for k, in := range s.Inputs {
		if in.View != v {
			continue
		}
		mine = append(mine, k)
		var err error
		if units[k], err = UnitRows[T](ctx, s.Standardised, k, x, o.Workers); err != nil {
			return err
		}
		width := neighbor.Stride(in.Columns)
		if at := slices.IndexFunc(free, func(f spare[T]) bool { return f.taken+width <= f.cols }); at >= 0 {
			f := &free[at]
			blocks[k] = neighbor.Block[T]{X: f.x[f.taken:], Ld: f.cols, Cols: in.Columns, Present: x.Present}
			f.taken += width
			continue
		}
		fresh[k] = true
		blocks[k] = neighbor.Block[T]{X: make([]T, x.Rows*width), Ld: width, Cols: in.Columns, Present: x.Present}
	}
	buffers := make([][][]T, parallel.Workers(o.Workers))
	return parallel.For(ctx, o.Workers, (x.Rows+fillRows-1)/fillRows, func(worker, q int) error {
		lo, hi := q*fillRows, min((q+1)*fillRows, x.Rows)
		if buffers[worker] == nil {
			buffers[worker] = make([][]T, len(mine))
		}
		parts := buffers[worker]
		for i, k := range mine { // Compute all of them before writing the first: it may overlap the view's rows.
			if width := neighbor.Stride(s.Inputs[k].Columns); fresh[k] {
				s.rows(k, units[k], lo, hi, blocks[k].X[lo*width:lo*width:hi*width])
			} else {
				parts[i] = s.rows(k, units[k], lo, hi, parts[i])
			}
		}
		for i, k := range mine {
			b, width := &blocks[k], neighbor.Stride(s.Inputs[k].Columns)
			for r := lo; r < hi && !fresh[k]; r++ {
				copy(b.X[r*b.Ld:r*b.Ld+b.Cols], parts[i][(r-lo)*width:])
			}
		}
		return nil
	})
}

// fillRows is the number of rows that a goroutine projects at once.
const fillRows = 256

// Matrices returns the n rows of the blocks.
func Matrices[T kernel.Float](blocks []neighbor.Block[T], n int) []rows.Matrix[T] {
	out := make([]rows.Matrix[T], len(blocks))
	for k, b := range blocks {
		out[k] = rows.NewDense(n, b.Cols, b.Ld, b.X)
	}
	return out
}
