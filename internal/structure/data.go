package structure

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// data holds prepared rows: inputs at norm 1 in their leading directions.
type data struct {
	n      int
	view   []int // of each block
	blocks []neighbor.Block[float32]
	length [][]float64 // of the rows of each block before they were scaled to norm 1; nil in null data
}

// mildest is the largest exponent of 2 by which values may differ from 1: sums of the squares of such values are float32 numbers.
const mildest = 48

// moderate returns a view of values whose sums of squares are float32 numbers: x, or x times a power of 2.
func moderate(x view.View) view.View {
	row, largest := make([]float64, x.Cols), 0.0
	for i := range x.Rows {
		if x.Has(i) {
			x.Row(i, row)
			largest = max(largest, floats.Norm(row, math.Inf(1)))
		}
	}
	_, e := math.Frexp(largest)
	if e >= -mildest && e <= mildest {
		return x
	}
	out := view.View{Rows: x.Rows, Cols: x.Cols, Present: x.Present}
	if x.Sparse != nil {
		values := make([]float64, len(x.Sparse.Cols))
		for k := range values {
			values[k] = math.Ldexp(x.Sparse.Value(k), -e)
		}
		out.Sparse = &view.CSR{Ptr: x.Sparse.Ptr, Cols: x.Sparse.Cols, F64: values}
		return out
	}
	out.F64 = make([]float64, x.Rows*x.Cols)
	for i := range x.Rows {
		if x.Has(i) {
			row := out.F64[i*x.Cols : (i+1)*x.Cols]
			x.Row(i, row)
			for j := range row {
				row[j] = math.Ldexp(row[j], -e)
			}
		}
	}
	return out
}

// prepared returns the rows of each view that is not constant. lengths selects whether to measure their lengths.
func prepared(ctx context.Context, views []view.View, lengths bool, o Options) ([]*data, error) {
	var out []*data
	for v := range views {
		in, err := smooth.Find[float32](ctx, views[v:v+1], o.smoothing())
		if errors.Is(err, prepare.ErrNothingLeft) {
			continue
		}
		if err != nil {
			return nil, err
		}
		d := &data{n: views[v].Rows}
		if d.blocks, _, err = in.Fill(ctx, views[v:v+1], o.smoothing()); err != nil {
			return nil, err
		}
		for k := range d.blocks {
			d.view = append(d.view, v)
			if lengths {
				d.length = append(d.length, in.Lengths(k, views[v]))
			}
		}
		out = append(out, d)
	}
	return out, nil
}

// joined returns all views side by side.
func joined(sets []*data) *data {
	out := &data{n: sets[0].n}
	for _, d := range sets {
		out.blocks, out.length = append(out.blocks, d.blocks...), append(out.length, d.length...)
		out.view = append(out.view, d.view...)
	}
	return out
}

// take returns copies of some of the rows.
func (d *data) take(samples []int) *data {
	out := &data{n: len(samples), view: d.view, blocks: make([]neighbor.Block[float32], len(d.blocks))}
	for k, b := range d.blocks {
		c := newBlock(len(samples), b.Cols)
		if b.Present != nil {
			c.Present = make([]bool, len(samples))
		}
		for i, s := range samples {
			copy(c.X[i*c.Ld:i*c.Ld+c.Cols], b.X[s*b.Ld:])
			if b.Present != nil {
				c.Present[i] = b.Present[s]
			}
		}
		out.blocks[k] = c
	}
	return out
}

// first returns at most a number of the rows, the first ones.
func (d *data) first(most int) *data {
	if d.n <= most {
		return d
	}
	return d.take(lists.Indices(most))
}

// single returns the blocks of one view.
func (d *data) single(view int) *data {
	out := &data{n: d.n}
	for k, v := range d.view {
		if v == view {
			out.blocks, out.view = append(out.blocks, d.blocks[k]), append(out.view, v)
		}
	}
	return out
}

// newBlock returns a block of zeros.
func newBlock(n, cols int) neighbor.Block[float32] {
	ld := neighbor.Stride(cols)
	return neighbor.Block[float32]{X: make([]float32, n*ld), Ld: ld, Cols: cols}
}

// fillSteps is the number of steps in which rows of absent views are filled.
const fillSteps = 5

// graph returns the graph of the samples by all inputs side by side.
func (d *data) graph(ctx context.Context, o Options, filled bool) (neighbor.Operator, error) {
	views, all := make([]neighbor.View[float32], len(d.blocks)), make([]int, len(d.blocks))
	for k, b := range d.blocks {
		var err error
		if views[k], err = neighbor.Dense(d.n, b.Cols, b.Ld, b.X, b.Present); err != nil {
			return nil, err
		}
		all[k] = k
	}
	index, err := neighbor.Build(ctx, views, []neighbor.Space{{Views: all, Weight: 1, Filled: filled}}, neighbor.Config{
		Neighbors: min(max(o.Neighbors, 1), d.n-1), ExactUpTo: d.n, Seed: o.Seed, Workers: o.Workers,
	})
	if err != nil {
		return nil, err
	}
	return index.Operator(), nil
}

// filled returns the data with rows of neighbours in place of absent rows. It returns d if no row is absent.
func (d *data) filled(ctx context.Context, o Options) (*data, error) {
	if !smooth.Incomplete(nil, d.blocks) {
		return d, nil
	}
	op, err := d.graph(ctx, o, false)
	if err != nil {
		return nil, err
	}
	out := &data{n: d.n, view: d.view, length: d.length}
	out.blocks, err = neighbor.Fill(ctx, op, d.blocks, fillSteps, o.Workers)
	return out, err
}

// squares returns the squared distances between all rows, over all inputs, with the stride kernel.Pad(n).
func (d *data) squares() []float32 {
	ld := kernel.Pad(d.n)
	out := make([]float32, d.n*ld)
	for k, b := range d.blocks {
		var p kernel.Panel[float32]
		kernel.PackT(&p, b.Cols, d.n, b.X, b.Ld)
		kernel.Mul(d.n, b.X, b.Ld, &p, out, ld, k > 0)
	}
	self := make([]float32, d.n)
	for i := range self {
		self[i] = out[i*ld+i]
	}
	for i := range d.n {
		row := out[i*ld : i*ld+d.n]
		for j, s := range self {
			row[j] = max(0, self[i]+s-2*row[j])
		}
		row[i] = 0
	}
	return out
}
