package structure

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// null draws rows without clusters that have the mean and the covariance of the data. It draws rows at their length before the
// scaling to norm 1, and then scales them. The scaling makes clusters of rows that lie along a line through the centre, and null
// data must share these.
type null struct {
	of      *data
	columns []*columns // of the views that the rows come from
	mean    [][]float32
	basis   *spectral.Basis
	panel   []kernel.Panel[float32] // of each block, its part of the directions
	rest    [][]float32             // of each block, the centred rows without their directions
	lost    [][]float64             // of each block, the squared length of each row outside of the block's columns
}

const (
	// principal is the number of principal directions of all inputs side by side whose scores are drawn. The part outside these
	// directions is a sum of rows drawn at random, with normal weights; mixed is the number of these rows.
	principal, mixed = 64, 6
	// longest bounds the length of rows, in medians: a few long rows, as of sparse counts, would determine the covariance.
	longest = 1.3
)

func newNull(ctx context.Context, d *data, views []view.View, o Options) (*null, error) {
	full, err := d.filled(ctx, o)
	if err != nil {
		return nil, err
	}
	m := &null{of: d, columns: make([]*columns, len(views))}
	err = parallel.For(ctx, o.Workers, len(views), func(_, v int) error {
		m.columns[v] = newColumns(views[v])
		return nil
	})
	if err != nil {
		return nil, err
	}
	var x []rows.Matrix[float32]
	total := 0
	for k, b := range full.blocks {
		centred := m.lengthen(&b, d.length[k], d.n)
		m.rest = append(m.rest, centred)
		x = append(x, rows.NewDense(d.n, b.Cols, b.Cols, centred))
		total += b.Cols
	}
	rank := min(principal, d.n, total)
	m.basis, err = spectral.Find(ctx, x, spectral.Config{Rank: rank, Seed: o.Seed, Iterations: 4, Workers: o.Workers})
	if err != nil {
		return nil, err
	}
	u, err := spectral.Project(ctx, m.basis, x, o.Workers)
	if err != nil {
		return nil, err
	}
	m.panel = make([]kernel.Panel[float32], len(x))
	for k, b := range full.blocks {
		kernel.Pack(&m.panel[k], rank, b.Cols, m.basis.V[k], b.Cols)
		ld := kernel.Pad(b.Cols)
		part := make([]float32, d.n*ld)
		kernel.Mul(d.n, u, kernel.Pad(rank), &m.panel[k], part, ld, false)
		for i := range d.n {
			row := m.rest[k][i*b.Cols : (i+1)*b.Cols]
			for j := range row {
				row[j] -= part[i*ld+j]
			}
		}
	}
	return m, nil
}

// lengthen adds a block's mean and lost lengths, and returns its rows at their lengths without the mean.
func (m *null) lengthen(b *neighbor.Block[float32], length []float64, n int) []float32 {
	var there []float64
	for i, l := range length {
		if b.Present == nil || b.Present[i] {
			there = append(there, l)
		}
	}
	slices.Sort(there)
	typical := there[len(there)/2]
	if at, _ := slices.BinarySearch(there, math.SmallestNonzeroFloat64); typical == 0 && at < len(there) { // most rows are zero
		typical = there[(at+len(there))/2]
	}
	out, lost, sum := make([]float32, n*b.Cols), make([]float64, n), make([]float64, b.Cols)
	for i := range n {
		l := typical
		if b.Present == nil || b.Present[i] {
			l = min(length[i], longest*typical)
		}
		row := b.X[i*b.Ld : i*b.Ld+b.Cols]
		lost[i] = l * l * max(0, 1-kernel.SumSquares(row, 0))
		to := out[i*b.Cols : (i+1)*b.Cols]
		kernel.Affine(to, row, l, 0)
		kernel.AddTo(sum, to)
	}
	mean := make([]float32, b.Cols)
	for j, s := range sum {
		mean[j] = float32(s / float64(n))
	}
	for i := range n {
		for j, y := range mean {
			out[i*b.Cols+j] -= y
		}
	}
	m.mean, m.lost = append(m.mean, mean), append(m.lost, lost)
	return out
}

// allKinds is the number of kinds of null data: two kinds of scores, and shuffled columns.
const allKinds = 3

// kinds draw a score of mean 0 and variance 1.
var kinds = [2]func(r *rand.Rand) float64{
	func(r *rand.Rand) float64 { return r.NormFloat64() },
	func(r *rand.Rand) float64 { return (2*r.Float64() - 1) * math.Sqrt(3) },
}

// drawn holds null data of one draw, and its figures.
type drawn struct {
	rows      *data // nil: no view varies
	agreement float64
	splits    []Figures
}

// measure measures the splits of a draw that were not yet measured, and returns the means of all of them.
func (m *null) measure(ctx context.Context, of *drawn, kind, draw, splits int, o Options) (Figures, error) {
	number := 1 + kind + allKinds*draw
	if of.splits == nil {
		var err error
		if of.rows, err = m.rowsOf(ctx, kind, number, o); err != nil {
			return Figures{}, err
		}
		if of.rows != nil {
			if of.agreement, err = of.rows.agreementOfViews(ctx, o); err != nil {
				return Figures{}, err
			}
		}
	}
	for s := len(of.splits); s < splits; s++ {
		t := trial{Figures: Figures{Border: 1}} // without varying views there are no clusters
		if of.rows != nil {
			var err error
			if t, err = measure(ctx, of.rows, o, splitNumber(number, s), false); err != nil {
				return Figures{}, err
			}
		}
		t.Agreement = of.agreement
		of.splits = append(of.splits, t.Figures)
	}
	return average(of.splits), nil
}

// rowsOf returns the rows of a draw; nil: no view varies.
func (m *null) rowsOf(ctx context.Context, kind, number int, o Options) (*data, error) {
	if kind < len(kinds) {
		return m.draw(kinds[kind], o.Seed, uint64(number)), nil
	}
	return m.shuffled(ctx, rand.New(rand.NewPCG(o.Seed, streamNull|uint64(number)<<8)), o)
}

// draw draws as many rows as the data has. They lack the same views.
func (m *null) draw(f func(r *rand.Rand) float64, seed, number uint64) *data {
	rng := rand.New(rand.NewPCG(seed, streamNull|number<<8))
	n, rank := m.of.n, len(m.basis.S)
	ld := kernel.Pad(rank)
	u := make([]float32, n*ld)
	for i := range n {
		for r, s := range m.basis.S {
			u[i*ld+r] = float32(f(rng) * s / math.Sqrt(float64(n)))
		}
	}
	from, weight, lost := make([]int, n*mixed), make([]float32, n*mixed), make([]int, n)
	for q := range from {
		from[q], weight[q] = rng.IntN(n), float32(rng.NormFloat64()/math.Sqrt(mixed))
	}
	for i := range lost {
		lost[i] = rng.IntN(n)
	}
	out := &data{n: n, view: m.of.view}
	for k, b := range m.of.blocks {
		c := newBlock(n, b.Cols)
		c.Present = b.Present
		kernel.Mul(n, u, ld, &m.panel[k], c.X, c.Ld, false)
		for i := range n {
			row := c.X[i*c.Ld : i*c.Ld+c.Cols]
			if b.Present != nil && !b.Present[i] {
				clear(row)
				continue
			}
			for j, y := range m.mean[k] {
				row[j] += y
			}
			for q := i * mixed; q < (i+1)*mixed; q++ {
				w := weight[q]
				for j, y := range m.rest[k][from[q]*b.Cols : (from[q]+1)*b.Cols] {
					row[j] += w * y
				}
			}
			if q := kernel.SumSquares(row, 0) + m.lost[k][lost[i]]; q > 0 {
				kernel.Affine(row, row, 1/math.Sqrt(q), 0)
			}
		}
		out.blocks = append(out.blocks, c)
	}
	return out
}
