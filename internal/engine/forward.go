package engine

import "github.com/largemvc/largemvc/internal/kernel"

// forward is layer l on one block of rows:
//
//	A_v = H_{l−1} R + Z_v U      Z_v = t Y_v + (1−t) H_{l−1} C_v, in layer 1 Y_v − E_0v P_0vᵀ
//	H_l = Σ_v b_v S_θ(A_v) / Σ_v b_v
//	r_i = ‖x_i − h_i P‖          t = 1 − σ(r−ρ)/r where r > ρ, else 1
//	M  += diag(b t H)ᵀ X         W += diag(b(1−t) H)ᵀ H
//
// Without acc the last line is left out.
func (s *Memory[T]) forward(p *Pass, pk *panels[T], w *scratch[T], acc *chunkSums[T], lo, hi int) {
	l, ld, m, c := p.Layer, s.ld, s.spec.Anchors, hi-lo
	h := s.h[l][lo*ld : hi*ld]
	clear(h)
	var prev []T
	if s.h[l-1] != nil {
		prev = s.h[l-1][lo*ld : hi*ld]
		kernel.Mul(c, prev, ld, &pk.r, w.hr, ld, false)
	}
	for v, x := range s.x {
		y := s.yOf(l-1, v)[lo*ld : hi*ld]
		if l > 1 && s.spec.Anchored {
			x.Mul(lo, hi, &pk.views[v].p, y, ld)
		}
		z := y
		if s.spec.Noise && l > 1 {
			kernel.Mul(c, prev, ld, &pk.views[v].c, w.z, ld, false)
			kernel.RowLerp(w.z, y, w.z, s.trust[l-1][v][lo:hi], ld)
			z = w.z
		}
		if l == 1 {
			z = s.firstClean(w, v, lo, y)
		}
		s.threshold(p, pk, w, v, lo, hi, prev != nil, z, h)
	}
	if s.spec.OneSided && p.Theta < 0 { // S_θ(0) = −θ has gone into the columns beyond m, which must be zero
		for i := range c {
			clear(h[i*ld+m : (i+1)*ld])
		}
	}
	if !s.spec.Noise {
		for v := range s.x {
			if acc != nil && s.spec.Anchored { // M += diag(b) HᵀX
				s.correlate(acc, v, lo, hi, s.maskedRows(w, v, lo, hi, h))
			}
		}
		return
	}
	for v := range s.x {
		s.shrink(p, pk, w, v, lo, hi, h)
		if acc == nil || !s.spec.Anchored {
			continue
		}
		a := s.left(acc, v, lo, hi, w.a)
		kernel.RowSplit(a, w.rest, s.maskedRows(w, v, lo, hi, h), s.trust[l][v][lo:hi], ld)
		s.correlate(acc, v, lo, hi, a)
		kernel.TMulAdd(c, m, m, w.rest, ld, h, ld, acc.w[v], m)
	}
}

// firstClean returns Z_v of layer 1, Y − E_0·P_0ᵀ of the rows from lo on: y itself for E_0 = 0.
func (s *Memory[T]) firstClean(w *scratch[T], v, lo int, y []T) []T {
	if s.noise == nil {
		return y
	}
	z, noise := w.z[:len(y)], s.noise[v][lo*s.ld:]
	for i, a := range y {
		z[i] = a - noise[i]
	}
	return z
}

// maskedRows returns diag(b)·h, h itself where all samples have the view.
func (s *Memory[T]) maskedRows(w *scratch[T], v, lo, hi int, h []T) []T {
	if s.present[v] == nil {
		return h
	}
	kernel.RowScale(w.a, h, s.present[v][lo:hi], s.ld)
	return w.a
}

// mask multiplies row values by b.
func (s *Memory[T]) mask(v, lo int, values []T) {
	if s.present[v] == nil {
		return
	}
	for i := range values {
		values[i] *= s.present[v][lo+i]
	}
}

// threshold adds view v's share of S_θ(A) to h, A = H_{l−1}R + zU.
func (s *Memory[T]) threshold(p *Pass, pk *panels[T], w *scratch[T], v, lo, hi int, carry bool, z, h []T) {
	l, ld, c := p.Layer, s.ld, hi-lo
	a := w.a
	if s.a[l][v] != nil {
		a = s.a[l][v][lo*ld : hi*ld]
	}
	if carry {
		copy(a, w.hr[:c*ld])
	}
	kernel.Mul(c, z, ld, &pk.u, a, ld, carry)
	weight := s.weight[v][lo:hi]
	if s.spec.Represent == SELU {
		seluThreshold(h, a, p.Theta, weight, s.spec.Anchors, ld, s.spec.OneSided)
		return
	}
	kernel.Threshold(h, a, T(p.Theta), weight, s.pattern[l][v][lo*ld/4:hi*ld/4], ld, s.spec.OneSided)
}

// shrink sets r, t and the direct flags of view v.
func (s *Memory[T]) shrink(p *Pass, pk *panels[T], w *scratch[T], v, lo, hi int, h []T) {
	l, ld, c := p.Layer, s.ld, hi-lo
	hk := h
	if p.Views[v].K != nil {
		kernel.Mul(c, h, ld, &pk.views[v].k, w.hk, ld, false)
		hk = w.hk
	}
	s.squared(p, pk, w, v, lo, h, hk, s.yOf(l-1, v)[lo*ld:hi*ld], s.h[l], w.d1[:c])
	direct := s.direct[l][v][lo:hi]
	clear(direct)
	for _, i := range w.rows {
		direct[i-lo] = 1
	}
	kernel.Shrink(s.resid[l][v][lo:hi], s.trust[l][v][lo:hi], w.d1[:c], p.Views[v].Rho, s.spec.Shrink.positiveSlope())
}
