package neighbor

import (
	"context"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/rows"
)

// A device computes the products of a search, and the lowest scores of each row. These are candidates. Their scores and distances
// are then computed here, so that neighbours, landmarks and weights are the same with and without a device.

// onDevice takes the rows of some views to a device. The products are nil if they are computed here.
func (s *source[T]) onDevice(d rows.Device, views []int, use rows.Use) (rows.Products[T], error) {
	x, present := make([]rows.Matrix[T], len(views)), make([][]bool, len(views))
	for q, v := range views {
		x[q], present[q] = s.views[v].Rows, s.views[v].Present
	}
	return rows.Take(d, x, present, use)
}

// closed returns err, or else the error of closing p, if a device has rows.
func closed[T Float](p rows.Products[T], err error) error {
	if p == nil {
		return err
	}
	if closing := p.Close(); err == nil {
		err = closing
	}
	return err
}

// scanOn is scan with the products of a device, if the device can compute them. With absent views it cannot, because scores are
// then means over the views that two samples share.
func (s *search[T]) scanOn(ctx context.Context, workers int, d rows.Device) error {
	if d == nil {
		return s.scan(ctx, workers, nil)
	}
	here := *s
	here.spaces = nil
	for _, p := range s.spaces {
		done := false
		if !p.masked {
			products, err := s.query.onDevice(d, p.product, rows.Use{Columns: s.base.n, Keep: s.keep})
			if err != nil {
				return err
			}
			if done = products != nil; done {
				err = s.findOn(ctx, p, products)
			}
			if err := closed(products, err); err != nil {
				return err
			}
		}
		if !done {
			here.spaces = append(here.spaces, p)
		}
	}
	if len(here.spaces) == 0 {
		return nil
	}
	return here.scan(ctx, workers, nil)
}

// findOn finds the candidates of a space, of samples among themselves.
func (s *search[T]) findOn(ctx context.Context, p *plan[T], products rows.Products[T]) error {
	n := s.base.n
	columns, bias := make([][]T, len(p.product)), make([]float64, len(p.product)*n)
	for q, v := range p.product {
		d := s.base.dims[v]
		columns[q] = make([]T, n*d)
		for j := range n {
			row := columns[q][j*d : (j+1)*d]
			s.base.views[v].Rows.Row(j, row)
			for i := range row {
				row[i] *= -2
			}
			if bias[q*n+j] = s.base.square[v][j]; p.hidden[j] {
				bias[q*n+j] = math.Inf(1)
			}
		}
	}
	index, score, err := products.Nearest(ctx, columns, bias, s.keep, 0)
	if err != nil {
		return err
	}
	copy(p.index, index)
	for e, x := range score {
		p.score[e] = T(x)
	}
	return nil
}

type candidates struct {
	keep  int
	index []int32
}

// findOn finds the candidates of samples on a device, if there is one, before closest is called for them. Searches without bounds
// stay here.
func (m *landmarks[T]) findOn(ctx context.Context, src *source[T], d rows.Device) (*candidates, error) {
	if d == nil || !src.inMemory(m.space.Views) || !m.prunes(m.nearest+1) {
		return nil, nil
	}
	products, err := src.onDevice(d, m.space.Views, m.use(m.nearest+1))
	var out *candidates
	if err == nil {
		out, err = m.find(ctx, products, m.nearest+1)
	}
	return out, closed(products, err)
}

// use describes the products that a device computes: the candidates for the `want` nearest landmarks.
func (m *landmarks[T]) use(want int) rows.Use {
	return rows.Use{Columns: m.count, Keep: want + spareNearest}
}

// find returns the candidates for the `want` nearest landmarks, nil if the products are computed here.
func (m *landmarks[T]) find(ctx context.Context, products rows.Products[T], want int) (*candidates, error) {
	if products == nil || !m.prunes(want) {
		return nil, nil
	}
	columns, bias := make([][]T, len(m.centroids)), make([]float64, len(m.centroids)*m.count)
	for q, c := range m.centroids {
		columns[q] = make([]T, len(c))
		for i, x := range c {
			columns[q][i] = -2 * x
		}
		copy(bias[q*m.count:], m.points.square[q])
	}
	near := &candidates{keep: m.use(want).Keep}
	var err error
	near.index, _, err = products.Nearest(ctx, columns, bias, near.keep, -1)
	return near, err
}

// closestOf is closest among candidates. It keeps the same landmarks as lowestOf.
func (m *landmarks[T]) closestOf(
	c *candidates, src *source[T], lo, hi, want int, exact bool, w *landmarkSpace[T], f func(i int, near []found),
) {
	m.gatherRows(src, lo, hi, false, w)
	for i := lo; i < hi; i++ {
		if !src.has(m.space.Views, i) {
			continue
		}
		left := 0
		for _, j := range c.index[i*c.keep : (i+1)*c.keep] {
			if j >= 0 {
				w.list[left] = j
				left++
			}
		}
		slices.Sort(w.list[:left]) // of equal scores the lower number is first
		keep := want
		if exact {
			keep = left
		}
		m.take(w.rows[(i-lo)*m.width:(i-lo+1)*m.width], left, keep, w)
		slack := 4 * noise[T](m.width, math.Sqrt(src.length(m.space.Views, i)), m.longest)
		for last := w.near[want-1].square + slack; w.near[len(w.near)-1].square > last; {
			w.near = w.near[:len(w.near)-1]
		}
		if up := m.missing(src, i); up != 1 {
			for r := range w.near {
				w.near[r].square *= up
			}
		}
		if exact {
			m.distances(src, i, w.near, w)
		}
		f(i, w.near[:want])
	}
}

// deviceFilter filters views on devices.
type deviceFilter[T Float] struct {
	base           part[T]
	samples, atoms rows.Links[T] // made when they are first needed
}

// links makes the links for a device. It reports false where the CPU filters: without a device, along a graph, and for samples of
// several ranks.
func (o *deviceFilter[T]) links(d rows.Device, steps int) bool {
	if d == nil || o.base.chunks == nil || o.base.links.group != nil || steps == 0 {
		return false
	}
	if o.samples.Begin == nil {
		o.samples, o.atoms = rows.Links[T]{Columns: o.base.links.col, Values: o.base.values}, o.base.byAtoms()
		for _, at := range o.base.links.ptr {
			o.samples.Begin = append(o.samples.Begin, int64(at))
		}
	}
	return true
}

// run computes the table of a view's filter. It returns false if the device leaves it to the CPU.
func (o *deviceFilter[T]) run(ctx context.Context, b *Block[T], f *Filter[T], factors []T) (done bool, err error) {
	if !o.links(b.Device, f.Steps) {
		return false, nil
	}
	x := &rows.Filter[T]{
		Samples: o.samples, Atoms: o.atoms, Columns: b.Cols, Ld: Stride(b.Cols),
		Row: func(i int, row []T) {
			if clear(row); b.has(i) {
				copy(row, b.X[i*b.Ld:])
			}
		},
	}
	if factors != nil {
		x.Scale = slices.Clone(factors)
		for i := range x.Scale {
			if !b.has(i) {
				x.Scale[i] = 0
			}
		}
	}
	x.First, x.Steps = f.recurrence()
	table, err := rows.Filtered(ctx, b.Device, x)
	if err != nil || table == nil {
		return false, err
	}
	f.Table = table
	return true, nil
}

// selfWeights is SelfWeights, nil if the CPU computes them.
func (o *deviceFilter[T]) selfWeights(ctx context.Context, d rows.Device, steps int, samples []int) ([]float64, error) {
	if !o.links(d, steps) {
		return nil, nil
	}
	f := &Filter[T]{Steps: steps, Cols: len(samples), series: chebyshev(steps)}
	x := &rows.Filter[T]{
		Samples: o.samples, Atoms: o.atoms, Columns: f.Cols, Ld: Stride(f.Cols),
		Row: func(i int, row []T) {
			clear(row)
			for g, j := range samples {
				if i == j {
					row[g] = 1
				}
			}
		},
	}
	x.First, x.Steps = f.recurrence()
	table, err := rows.Filtered(ctx, d, x)
	if err != nil || table == nil {
		return nil, err
	}
	out := make([]float64, len(samples))
	for g, i := range samples {
		for e := o.samples.Begin[i]; e < o.samples.Begin[i+1]; e++ {
			out[g] += float64(o.samples.Values[e]) * float64(table[int(o.samples.Columns[e])*x.Ld+g])
		}
	}
	return out, nil
}

// byAtoms returns the rows of Bᵀ.
func (l *layout[T]) byAtoms() rows.Links[T] {
	out := rows.Links[T]{
		Begin: make([]int64, l.links.atoms+1), Columns: make([]int32, len(l.links.col)), Values: make([]T, len(l.links.col)),
	}
	at := 0
	for a := range l.links.atoms {
		for _, c := range l.chunks {
			for e := c.ptr[a]; e < c.ptr[a+1]; e++ {
				out.Columns[at], out.Values[at] = int32(c.from)+c.col[e], c.values[e]
				at++
			}
		}
		out.Begin[a+1] = int64(at)
	}
	return out
}

// recurrence returns the steps of atomStrip.table.
func (f *Filter[T]) recurrence() (first float64, steps []rows.FilterStep) {
	if f.series == nil {
		for t := 1; t < f.Steps; t++ {
			steps = append(steps, rows.FilterStep{Product: 0.5, Start: math.Ldexp(0.5, -t), Last: 0.5})
		}
		return 0.5, steps
	}
	k := len(f.series) - 1
	for t := k - 1; t >= 0; t-- {
		up := 2.0
		if t == 0 {
			up = 1
		}
		steps = append(steps, rows.FilterStep{Product: 2 * up, Start: f.series[t], Last: -up, Before: -1})
	}
	return f.series[k], steps
}
