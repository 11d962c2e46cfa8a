package engine

import "github.com/largemvc/largemvc/internal/kernel"

// final is the loss on one block of rows, with y = x P_Lᵀ:
//
//	loss_v += Σ b‖x − hP‖²      dH = Σ_v 2 w_v b (hK − y)      M += (bH)ᵀX      W += (bH)ᵀH
//
// all but the first only with p.Gradient. Without acc nothing is summed.
func (s *Memory[T]) final(p *Pass, pk *panels[T], w *scratch[T], acc *chunkSums[T], lo, hi int) {
	ld, m, c, l := s.ld, s.spec.Anchors, hi-lo, s.spec.Layers
	h := s.h[l][lo*ld : hi*ld]
	if p.Gradient {
		clear(s.dh[lo*ld : hi*ld])
	}
	for v, x := range s.x {
		y := w.z
		if s.spec.Anchored {
			x.Mul(lo, hi, &pk.views[v].p, y, ld)
		} else {
			y = s.y[0][v][lo*ld : hi*ld]
		}
		hk := h
		if p.Views[v].K != nil {
			kernel.Mul(c, h, ld, &pk.views[v].k, w.hk, ld, false)
			hk = w.hk
		}
		s.squared(p, pk, w, v, lo, h, hk, y, s.h[l], w.d1[:c])
		if acc != nil {
			sum := 0.0
			for i, q := range w.d1[:c] {
				if s.present[v] == nil || s.present[v][lo+i] != 0 {
					sum += max(q, 0)
				}
			}
			acc.loss[v] += sum
		}
		if !p.Gradient {
			continue
		}
		factor := T(2 * p.Views[v].LossWeight)
		for i := range c {
			w.s1[i] = factor
		}
		s.mask(v, lo, w.s1[:c])
		s.addResidual(p, pk, w, v, lo, s.dh[lo*ld:hi*ld], hk, y, w.s1[:c], s.h[l], w.rows)
		if acc == nil || !s.spec.Anchored || s.spec.Detach {
			continue
		}
		bh := s.maskedRows(w, v, lo, hi, h)
		s.correlate(acc, v, lo, hi, bh)
		if p.Views[v].K != nil {
			kernel.TMulAdd(c, m, m, bh, ld, h, ld, acc.w[v], m)
		}
	}
}
