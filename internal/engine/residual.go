package engine

import "github.com/largemvc/largemvc/internal/kernel"

// DirectShare is the share of ‖x‖² below which the squared residual is not computed as ‖x‖² − 2h·y + hKhᵀ. This is a difference
// of large numbers with the relative error ε(‖x‖/r)². Sums in float64 do not reduce it, because the error is already in y = xPᵀ.
// Rows that fit better get r = x − hP itself.
func DirectShare[T kernel.Float]() float64 {
	if kernel.Is32[T]() {
		return 1e-2
	}
	return 1e-4
}

// residuals holds the rows x − hP of some rows of a block.
type residuals[T kernel.Float] struct {
	h, hp, r, rp []T
	x            []T
}

func grow[T any](b []T, n int) []T {
	if cap(b) < n {
		return make([]T, n)
	}
	return b[:n]
}

// compute fills r with x − hP for the listed rows, which are counted from the start of the shard.
func (e *residuals[T]) compute(s *Memory[T], pk *panels[T], p *Pass, h []T, v int, list []int) (ldd int) {
	d, k := s.spec.Dims[v], len(list)
	ldd = kernel.Pad(d)
	e.h, e.hp, e.r, e.x = grow(e.h, k*s.ld), grow(e.hp, k*ldd), grow(e.r, k*d), grow(e.x, d)
	for j, i := range list {
		copy(e.h[j*s.ld:(j+1)*s.ld], h[i*s.ld:(i+1)*s.ld])
	}
	kernel.Mul(k, e.h, s.ld, pk.views[v].residualPanel(p.Views[v].P, s.spec.Anchors, d), e.hp, ldd, false)
	for j, i := range list {
		s.x[v].Row(i, e.x)
		r, hp := e.r[j*d:(j+1)*d], e.hp[j*ldd:j*ldd+d]
		for q, x := range e.x {
			r[q] = x - hp[q]
		}
	}
	return ldd
}

// squared sets q[i−lo] to ‖x_i − h_i P‖² for the rows [lo, lo+len(q)) of view v, given y = x Pᵀ and hk = hK, and
// records in w.rows the rows that were computed directly.
func (s *Memory[T]) squared(p *Pass, pk *panels[T], w *scratch[T], v, lo int, h, hk, y []T, all []T, q []float64) {
	kernel.RowResidual(q, h, hk, y, s.ld)
	w.rows = w.rows[:0]
	share, norms := DirectShare[T](), s.norms[v][lo:lo+len(q)]
	if !kernel.AddNorms(q, norms, share) {
		return
	}
	for i, xx := range norms {
		if q[i] < share*xx {
			w.rows = append(w.rows, lo+i)
		}
	}
	w.res.compute(s, pk, p, all, v, w.rows)
	d := s.spec.Dims[v]
	for j, i := range w.rows {
		q[i-lo] = kernel.SumSquares(w.res.r[j*d:(j+1)*d], 0)
	}
}

// addResidual adds c[i]·(h_i K − y_i) to row i of dst over a block. For the listed rows, counted from the start of the shard, it
// adds −c[i]·(x_i − h_i P)Pᵀ, which is the same without cancellation. It overwrites c at these rows.
func (s *Memory[T]) addResidual(p *Pass, pk *panels[T], w *scratch[T], v, lo int, dst, hk, y, c []T, all []T, list []int) {
	if len(list) > 0 {
		d := s.spec.Dims[v]
		w.res.compute(s, pk, p, all, v, list)
		w.res.rp = grow(w.res.rp, len(list)*s.ld)
		kernel.Mul(len(list), w.res.r, d, pk.views[v].projection(p.Views[v].P, s.spec.Anchors, d), w.res.rp, s.ld, false)
		for j, i := range list {
			row, rp := dst[(i-lo)*s.ld:(i-lo+1)*s.ld], w.res.rp[j*s.ld:(j+1)*s.ld]
			for q := range row {
				row[q] -= c[i-lo] * rp[q]
			}
			c[i-lo] = 0
		}
	}
	kernel.RowDiffAxpy(dst, hk, y, c, s.ld)
}
