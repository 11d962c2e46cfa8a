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
