package classical

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
)

// solver is the state of the alternating minimisation. E_v is kept as a row weight: E_v = diag(1−t)(X_v − H P_old)
// with the anchors that it was made with, so with Y = X Pᵀ and C = P_old Pᵀ
//
//	(X−E) Pᵀ = diag(t) Y + diag(1−t) H C          ‖x−e‖² = t‖x‖² + (1−t)‖hP_old‖² − t(1−t)‖x − hP_old‖²
//
// and one pass over X does an iteration but for the polar factors.
type solver[T kernel.Float] struct {
	n, m, ld int
	alpha    float64
	views    []*solverView[T]
	count    []float64 // V_i, the views that sample i has
	h        []T       // n×ld
	noisy    bool      // E may differ from 0
	noise    float64   // Σ_v β_v‖E_v‖₂,₁
}

type solverView[T kernel.Float] struct {
	x     rows.Matrix[T]
	d     int
	has   func(i int) bool
	beta  float64
	norm  []float64 // ‖x_i‖²
	clean []float64 // ‖x_i − e_i‖²
	trust []T
	share []T // 1/V_i, 0 where the view is absent: the weight of the view in the step of H

	p, old []float64 // P, and the one that E was made with; m×d
	polar  linalg.Polar

	pt, c, k kernel.Panel[T] // Pᵀ (d×m), C, PPᵀ; the last only where d < m
}

// newSolver returns the solver for the inputs x at H = 0, E = 0 and the anchors, m×d_v per view, which it keeps.
func newSolver[T kernel.Float](
	x []rows.Matrix[T], views []view.View, anchors [][]float64, alpha float64, beta []float64,
) *solver[T] {
	n, d := x[0].Dims()
	m := len(anchors[0]) / d
	s := &solver[T]{n: n, m: m, ld: kernel.Pad(m), alpha: alpha, count: make([]float64, n)}
	s.h = make([]T, n*s.ld)
	for v, xv := range x {
		_, d := xv.Dims()
		a := &solverView[T]{x: xv, d: d, has: views[v].Has, beta: beta[v], p: anchors[v], old: make([]float64, m*d),
			norm: make([]float64, n), clean: make([]float64, n), trust: make([]T, n), share: make([]T, n)}
		xv.SquaredNorms(0, n, a.norm)
		for i := range n {
			a.trust[i], a.clean[i] = 1, a.norm[i]
			if a.has(i) {
				s.count[i]++
			}
		}
		s.views = append(s.views, a)
	}
	for _, a := range s.views {
		for i := range n {
			if a.has(i) {
				a.share[i] = T(1 / s.count[i])
			}
		}
	}
	return s
}

// blockRows is the number of rows that are worked on while they are in cache.
const blockRows = 64

// passSums are what a chunk of rows adds to the sums of a pass.
type passSums[T kernel.Float] struct {
	m     [][]T // (diag(t)H)ᵀX, m×d
	w     [][]T // Hᵀdiag(1−t)H, m×m
	s     [][]T // HᵀH over the rows that have the view; nil where d ≥ m
	j     float64
	noise float64

	y          [][]T // X Pᵀ of the block per view
	z, hk, g   []T
	sum, inner []float64
	a, b       []T
	row        []T
}

func (s *solver[T]) newSums() *passSums[T] {
	c := &passSums[T]{sum: make([]float64, blockRows), inner: make([]float64, blockRows),
		a: make([]T, blockRows), b: make([]T, blockRows)}
	widest := 0
	for _, a := range s.views {
		c.m, c.w, c.s = append(c.m, make([]T, s.m*a.d)), append(c.w, make([]T, s.m*s.m)), append(c.s, nil)
		if a.d < s.m {
			c.s[len(c.s)-1] = make([]T, s.m*s.m)
		}
		c.y = append(c.y, make([]T, blockRows*s.ld))
		widest = max(widest, a.d)
	}
	c.row = make([]T, widest)
	for _, b := range []*[]T{&c.z, &c.hk, &c.g} {
		*b = make([]T, blockRows*s.ld)
	}
	return c
}

func (c *passSums[T]) clear() {
	for v := range c.m {
		clear(c.m[v])
		clear(c.w[v])
		clear(c.s[v])
	}
	c.j, c.noise = 0, 0
}

// pack makes the panels of the present anchors.
func (s *solver[T]) pack() {
	for _, a := range s.views {
		kernel.PackT(&a.pt, a.d, s.m, a.p, a.d)
		p := mat.NewDense(s.m, a.d, a.p)
		var product mat.Dense
		if s.noisy {
			product.Mul(mat.NewDense(s.m, a.d, a.old), p.T())
			kernel.Pack(&a.c, s.m, s.m, product.RawMatrix().Data, s.m)
			product.Reset()
		}
		if a.d < s.m {
			product.Mul(p, p.T())
			kernel.Pack(&a.k, s.m, s.m, product.RawMatrix().Data, s.m)
		}
	}
}

// pass runs block on all rows and folds the chunks' sums in order.
func (s *solver[T]) pass(ctx context.Context, block func(c *passSums[T], lo, hi int), fold func(c *passSums[T])) error {
	s.pack()
	chunk := max((s.n+63)/64, 256)
	return parallel.Fold(ctx, 0, (s.n+chunk-1)/chunk, s.newSums, func(_, i int, c *passSums[T]) error {
		c.clear()
		for lo, end := i*chunk, min((i+1)*chunk, s.n); lo < end; lo += blockRows {
			block(c, lo, min(lo+blockRows, end))
		}
		return nil
	}, func(_ int, c *passSums[T]) error {
		fold(c)
		return nil
	})
}

// iterate updates H, E and P once and returns J as it was before.
func (s *solver[T]) iterate(ctx context.Context) (float64, error) {
	type sums struct{ m, w, s []float64 }
	total := make([]sums, len(s.views))
	for v, a := range s.views {
		total[v] = sums{make([]float64, s.m*a.d), make([]float64, s.m*s.m), make([]float64, s.m*s.m)}
	}
	j, noise := s.noise, 0.0
	err := s.pass(ctx, s.iterateBlock, func(c *passSums[T]) {
		j += c.j
		noise += c.noise
		for v, t := range total {
			kernel.AddTo(t.m, c.m[v])
			kernel.AddTo(t.w, c.w[v])
			kernel.AddTo(t.s, c.s[v])
		}
	})
	if err != nil {
		return 0, err
	}
	s.noise, s.noisy = noise, true
	err = parallel.For(ctx, 0, len(s.views), func(_, v int) error {
		return s.views[v].update(s.m, total[v].m, total[v].w, total[v].s)
	})
	return j, err
}

// iterateBlock adds up J of the rows [lo, hi), updates their H and E, and adds to the sums that P is made of.
func (s *solver[T]) iterateBlock(c *passSums[T], lo, hi int) {
	k := hi - lo
	h, z, g, sum := s.h[lo*s.ld:hi*s.ld], c.z[:k*s.ld], c.g[:k*s.ld], c.sum[:k]
	c.j += s.alpha * s.absolute(h, lo)
	clear(g)
	for v, a := range s.views {
		y := c.y[v][:k*s.ld]
		a.x.Mul(lo, hi, &a.pt, y, s.ld)
		copy(z, y)
		if s.noisy {
			kernel.Mul(k, h, s.ld, &a.c, z, s.ld, false)
			kernel.RowLerp(z, y, z, a.trust[lo:hi], s.ld)
		}
		hk := a.timesK(c.hk, h, k, s)
		kernel.RowResidual(sum, h, hk, z, s.ld)
		for i, q := range sum {
			if a.has(lo + i) {
				c.j += max(a.clean[lo+i]+q, 0) / 2
			}
		}
		kernel.RowDiffAxpy(g, z, hk, a.share[lo:hi], s.ld)
	}
	alpha := T(s.alpha)
	for i, step := range g {
		h[i] = max(h[i]+step-alpha, 0)
	}
	for v, a := range s.views {
		hk := a.timesK(c.hk, h, k, s)
		s.shrink(c, a, v, lo, hi, h, hk)
		weights, rest := c.a[:k], c.b[:k]
		for i := range k {
			weights[i], rest[i] = 0, 0
			if a.has(lo + i) {
				weights[i], rest[i] = a.trust[lo+i], 1-a.trust[lo+i]
			}
		}
		kernel.RowScale(z, h, weights, s.ld)
		a.x.TMulAdd(lo, hi, s.m, z, s.ld, c.m[v], a.d)
		kernel.RowScale(z, h, rest, s.ld)
		kernel.TMulAdd(k, s.m, s.m, h, s.ld, z, s.ld, c.w[v], s.m)
		if c.s[v] == nil {
			continue
		}
		for i := range k {
			weights[i] += rest[i]
		}
		kernel.RowScale(z, h, weights, s.ld)
		kernel.TMulAdd(k, s.m, s.m, h, s.ld, z, s.ld, c.s[v], s.m)
	}
}

// absolute returns Σ_i V_i‖h_i‖₁ of a block; H is ≥ 0.
func (s *solver[T]) absolute(h []T, lo int) float64 {
	total := 0.0
	for i := range len(h) / s.ld {
		total += s.count[lo+i] * kernel.Sum(h[i*s.ld:(i+1)*s.ld])
	}
	return total
}

// timesK returns H PPᵀ of k rows, which is H where P has orthonormal rows.
func (a *solverView[T]) timesK(buf, h []T, k int, s *solver[T]) []T {
	if a.d >= s.m {
		return h
	}
	kernel.Mul(k, h, s.ld, &a.k, buf, s.ld, false)
	return buf[:len(h)]
}

// shrink sets the trust of rows [lo, hi) for E = D_β(X − HP), given Y in c, and adds up β‖E‖.
func (s *solver[T]) shrink(c *passSums[T], a *solverView[T], v, lo, hi int, h, hk []T) {
	k := hi - lo
	sum, inner := c.sum[:k], c.inner[:k]
	kernel.RowResidual(sum, h, hk, c.y[v][:k*s.ld], s.ld)
	kernel.RowDot(inner, h, hk, s.ld) // ‖hP‖²
	for i, q := range sum {
		at := lo + i
		if !a.has(at) {
			continue
		}
		if q += a.norm[at]; q < engine.DirectShare[T]()*a.norm[at] {
			q = a.direct(c.row[:a.d], at, h[i*s.ld:])
		}
		sum[i] = q
		r, t := math.Sqrt(q), 1.0
		if r > a.beta {
			t = float64(T(a.beta / r))
			c.noise += a.beta * (1 - t) * r
		}
		a.trust[at] = T(t)
		a.clean[at] = t*a.norm[at] + (1-t)*inner[i] - t*(1-t)*q
	}
}

// direct returns ‖x_i − h P‖² from the difference itself: what ‖x‖² − 2h·y + hKhᵀ gives is only as exact as its terms are
// small beside it.
func (a *solverView[T]) direct(row []T, i int, h []T) float64 {
	a.x.Row(i, row)
	m := len(a.p) / a.d
	q := 0.0
	for f := range row {
		e := float64(row[f])
		for j := range m {
			e -= float64(h[j]) * a.p[j*a.d+f]
		}
		q += e * e
	}
	return q
}

// update sets P from M = AᵀX, W and, where d < m, S = HᵀH.
func (a *solverView[T]) update(m int, sum, w, hh []float64) error {
	p, corr := mat.NewDense(m, a.d, a.p), mat.NewDense(m, a.d, sum)
	var part mat.Dense
	part.Mul(mat.NewDense(m, m, w), p)
	corr.Add(corr, &part)
	if a.d < m {
		symmetric := mat.NewSymDense(m, hh)
		var eigen mat.EigenSym
		if !eigen.Factorize(symmetric, false) {
			return fmt.Errorf("the eigenvalues of HᵀH do not converge")
		}
		values := eigen.Values(nil)
		part.Mul(symmetric, p)
		corr.Sub(corr, &part)
		part.Scale(values[m-1], p)
		corr.Add(corr, &part)
	}
	a.p, a.old = a.old, a.p
	if err := a.polar.Factor(m, a.d, sum, a.p); err != nil {
		return fmt.Errorf("anchors: %w", err)
	}
	return nil
}

// finish updates E once more, so that it belongs to the present P, and returns J.
func (s *solver[T]) finish(ctx context.Context) (float64, error) {
	j := 0.0
	err := s.pass(ctx, func(c *passSums[T], lo, hi int) {
		k := hi - lo
		h := s.h[lo*s.ld : hi*s.ld]
		c.j += s.alpha * s.absolute(h, lo)
		for v, a := range s.views {
			a.x.Mul(lo, hi, &a.pt, c.y[v][:k*s.ld], s.ld)
			s.shrink(c, a, v, lo, hi, h, a.timesK(c.hk, h, k, s))
			for i, q := range c.sum[:k] {
				if a.has(lo + i) {
					t := float64(a.trust[lo+i])
					c.j += t * t * q / 2
				}
			}
		}
	}, func(c *passSums[T]) { j += c.j + c.noise })
	return j, err
}
