package engine

import (
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
)

// chunkSums holds the sums of one chunk of rows. Matrices have the precision of the data.
type chunkSums[T kernel.Float] struct {
	m, w, k, t [][]T
	r, u       []T
	loss, rho  []float64
	theta      float64
	a          [][]T // rows of A for views by columns, which have no m
	first      int   // the chunk's first row
}

// newChunkSums makes sums for the views of a network. For views by columns it has the rows of A.
func newChunkSums[T kernel.Float](s *Spec, columns []*byColumns[T], rows int) *chunkSums[T] {
	m, views := s.Anchors, len(s.Dims)
	c := &chunkSums[T]{r: make([]T, m*m), u: make([]T, m*m), loss: make([]float64, views), rho: make([]float64, views)}
	c.m, c.a = make([][]T, views), make([][]T, views)
	for v, d := range s.Dims {
		if columns == nil || columns[v] == nil {
			c.m[v] = make([]T, m*d)
		} else {
			c.a[v] = make([]T, rows*kernel.Pad(m))
		}
		c.w = append(c.w, make([]T, m*m))
		c.k = append(c.k, make([]T, m*m))
		c.t = append(c.t, make([]T, m*m))
	}
	return c
}

// clear zeroes the sums of a pass of this kind.
func (c *chunkSums[T]) clear(p *Pass) {
	if p.Kind == Project {
		return
	}
	for v := range c.m {
		clear(c.m[v])
		if p.Kind == Backward {
			clear(c.k[v])
			clear(c.t[v])
		} else {
			clear(c.w[v])
		}
	}
	if p.Kind == Backward {
		clear(c.r)
		clear(c.u)
	}
	clear(c.loss)
	clear(c.rho)
	c.theta = 0
}

// addTo adds the sums to dst, after dst.Begin for the pass.
func (c *chunkSums[T]) addTo(p *Pass, correlates bool, dst *Sums) {
	if p.Kind == Project {
		return
	}
	for v := range c.m {
		if correlates && c.m[v] != nil {
			kernel.AddTo(dst.M[v], c.m[v])
		}
		if p.Kind == Backward {
			kernel.AddTo(dst.K[v], c.k[v])
			kernel.AddTo(dst.T[v], c.t[v])
			dst.Rho[v] += c.rho[v]
			continue
		}
		kernel.AddTo(dst.W[v], c.w[v])
		dst.Loss[v] += c.loss[v]
	}
	if p.Kind == Backward {
		kernel.AddTo(dst.R, c.r)
		kernel.AddTo(dst.U, c.u)
		dst.Theta[0] += c.theta
	}
}

// scratch is the working memory of one goroutine: a few blocks of row state and of row values.
type scratch[T kernel.Float] struct {
	hr, z, a, hk, g, gs, prev, grad, zc, rest []T   // block × ld
	dq                                        [][]T // per view: −2 dq
	s1, s2                                    []T   // row values
	d1, d2                                    []float64
	ones                                      []T
	rows                                      []int
	common                                    []T // m values
	shared                                    []float64
	res                                       residuals[T]
}

func newScratch[T kernel.Float](s *Spec, block, ld int) *scratch[T] {
	w := &scratch[T]{s1: make([]T, block), s2: make([]T, block), d1: make([]float64, block),
		d2: make([]float64, block), ones: slices.Repeat([]T{1}, block)}
	for _, b := range []*[]T{&w.hr, &w.z, &w.a, &w.hk, &w.g, &w.gs, &w.prev, &w.grad, &w.zc, &w.rest} {
		*b = make([]T, block*ld)
	}
	for range s.Dims {
		w.dq = append(w.dq, make([]T, block))
	}
	return w
}
