package engine

import (
	"bytes"

	"github.com/largemvc/largemvc/internal/kernel"
)

// backward computes the backward pass of layer l for one block of rows. s.dh holds the cotangent of H_l on entry and of H_{l−1}
// on return, s.dt likewise for the trust. Without acc nothing is summed.
func (s *Memory[T]) backward(p *Pass, pk *panels[T], w *scratch[T], acc *chunkSums[T], lo, hi int) {
	l, ld := p.Layer, s.ld
	dh := s.dh[lo*ld : hi*ld]
	if l == s.spec.Layers {
		if p.Scale != 1 {
			for i := range dh {
				dh[i] *= T(p.Scale)
			}
		}
		for v := range s.x {
			clear(s.dt[v][lo:hi])
		}
	}
	addBlock(dh, s.addedH[l], lo*ld)
	for v := range s.x {
		addBlock(s.dt[v][lo:hi], s.addedT[l][v], lo)
		s.backwardAnchor(p, pk, w, v, lo, hi, dh)
		s.backwardNoise(p, pk, w, acc, v, lo, hi, dh)
	}
	s.backwardRepresent(p, pk, w, acc, lo, hi, dh)
}

func addBlock[T kernel.Float](dst, src []T, lo int) {
	if src == nil {
		return
	}
	for i := range dst {
		dst[i] += src[lo+i]
	}
}

// backwardAnchor is the share of M = diag(t H)ᵀX + W P, W = Hᵀ diag(1−t) H, with dA = X dMᵀ and S = dW + dWᵀ:
//
//	dH += t dA + (1−t) H S      dt += ⟨h, dA⟩ − ½⟨h, hS⟩
func (s *Memory[T]) backwardAnchor(p *Pass, pk *panels[T], w *scratch[T], v, lo, hi int, dh []T) {
	if p.Views[v].DM == nil {
		return
	}
	l, ld, c := p.Layer, s.ld, hi-lo
	h := s.h[l][lo*ld : hi*ld]
	s.x[v].Mul(lo, hi, &pk.views[v].dm, w.a, ld)
	if !s.spec.Noise {
		if s.present[v] == nil {
			kernel.RowAxpy(dh, w.a, w.ones[:c], ld)
		} else {
			kernel.RowAxpy(dh, w.a, s.present[v][lo:hi], ld)
		}
		return
	}
	kernel.Mul(c, h, ld, &pk.views[v].s, w.g, ld, false)
	kernel.RowResidual(w.d1[:c], h, w.g, w.a, ld) // ⟨h, hS − 2dA⟩
	t, dt := s.trust[l][v][lo:hi], s.dt[v][lo:hi]
	if s.present[v] == nil {
		kernel.RowLerpAxpy(dh, w.a, w.g, t, ld)
		for i, d := range w.d1[:c] {
			dt[i] -= T(d / 2)
		}
		return
	}
	for i, b := range s.present[v][lo:hi] {
		w.s1[i], w.s2[i] = b*t[i], b*(1-t[i])
		if b != 0 {
			dt[i] -= T(w.d1[i] / 2)
		}
	}
	kernel.RowAxpy(dh, w.a, w.s1[:c], ld)
	kernel.RowAxpy(dh, w.g, w.s2[:c], ld)
}

// backwardNoise is the share of t(r, ρ), with q = r² and s = 1 − t = σ(r−ρ)/r on r > ρ:
//
//	dq = −dt (σ'/r − σ/r²) / 2r      dρ += dt σ'/r      dH += 2dq (hK − y)      dK += Hᵀ diag(dq) H
//
// It leaves −2dq in w.dq, the factor of H in dY.
func (s *Memory[T]) backwardNoise(p *Pass, pk *panels[T], w *scratch[T], acc *chunkSums[T], v, lo, hi int, dh []T) {
	if !s.spec.Noise {
		return
	}
	l, ld, m, c := p.Layer, s.ld, s.spec.Anchors, hi-lo
	h, y := s.h[l][lo*ld:hi*ld], s.yOf(l-1, v)[lo*ld:hi*ld]
	sum, any := kernel.ShrinkGrad(w.s1[:c], w.dq[v], s.resid[l][v][lo:hi], s.dt[v][lo:hi], p.Views[v].Rho,
		s.spec.Shrink.positiveSlope())
	if acc != nil {
		acc.rho[v] += sum
	}
	if !any {
		return
	}
	w.rows = w.rows[:0]
	if direct := s.direct[l][v][lo:hi]; bytes.IndexByte(direct, 1) >= 0 {
		for i, yes := range direct {
			if yes == 1 && w.s1[i] != 0 {
				w.rows = append(w.rows, lo+i)
			}
		}
	}
	general := p.Views[v].K != nil
	hk := h
	if general {
		kernel.Mul(c, h, ld, &pk.views[v].k, w.hk, ld, false)
		hk = w.hk
	}
	s.addResidual(p, pk, w, v, lo, dh, hk, y, w.s1[:c], s.h[l], w.rows)
	if acc != nil && general && s.spec.ThroughAnchors(l) {
		for i, x := range w.dq[v][:c] {
			w.s2[i] = -x / 2
		}
		kernel.RowScale(w.a, h, w.s2[:c], ld)
		kernel.TMulAdd(c, m, m, w.a, ld, h, ld, acc.k[v], m)
	}
}

// backwardRepresent is the share of H_l = Σ_v w_v S_θ(A_v), A_v = H_{l−1}R + Z_vU, with g_v the cotangent of A_v:
//
//	dR += H_{l−1}ᵀ Σg_v     dU += Σ Z_vᵀ g_v     dZ_v = g_v Uᵀ     dY_v += t dZ_v
//	dH_{l−1} = (Σg_v) Rᵀ + Σ (1−t) dZ_v C_vᵀ     dt_v = ⟨dZ_v, Y_v⟩ − ⟨dZ_v C_vᵀ, H_{l−1}⟩
//
// Z_vᵀg_v = Y_vᵀ(t g_v) + C_vᵀ T_v with T_v = H_{l−1}ᵀ((1−t) g_v), and dC_v = T_v Uᵀ: the coordinator adds those.
func (s *Memory[T]) backwardRepresent(p *Pass, pk *panels[T], w *scratch[T], acc *chunkSums[T], lo, hi int, dh []T) {
	l, ld, m, c := p.Layer, s.ld, s.spec.Anchors, hi-lo
	var prev []T
	if s.h[l-1] != nil {
		prev = s.h[l-1][lo*ld : hi*ld]
		clear(w.gs[:c*ld])
		clear(w.prev[:c*ld])
	}
	noisy := s.spec.Noise && l > 1
	for v := range s.x {
		y := s.yOf(l-1, v)[lo*ld : hi*ld]
		if theta := s.thresholdGrad(p, w, v, lo, hi, dh); acc != nil {
			acc.theta += theta
		}
		if prev != nil {
			kernel.RowAxpy(w.gs, w.g, w.ones[:c], ld)
		}
		switch {
		case acc == nil:
		case l == 1:
			kernel.TMulAdd(c, m, m, s.firstClean(w, v, lo, y), ld, w.g, ld, acc.u, m)
		case !noisy:
			kernel.TMulAdd(c, m, m, y, ld, w.g, ld, acc.u, m)
		default:
			kernel.RowSplit(w.zc, w.rest, w.g, s.trust[l-1][v][lo:hi], ld)
			kernel.TMulAdd(c, m, m, y, ld, w.zc, ld, acc.u, m)
			kernel.TMulAdd(c, m, m, prev, ld, w.rest, ld, acc.t[v], m)
		}
		if l == 1 {
			continue
		}
		dz := s.left(acc, v, lo, hi, w.grad)
		kernel.Mul(c, w.g, ld, &pk.ut, dz, ld, false)
		if noisy {
			for i, t := range s.trust[l-1][v][lo:hi] {
				w.s2[i] = 1 - t
			}
			kernel.Mul(c, w.g, ld, &pk.views[v].cut, w.zc, ld, false)
			kernel.RowDot(w.d1[:c], dz, y, ld)
			kernel.RowDot(w.d2[:c], w.zc, prev, ld)
			for i := range c {
				s.dt[v][lo+i] = T(w.d1[i] - w.d2[i])
			}
			kernel.RowAxpy(w.prev, w.zc, w.s2[:c], ld)
		}
		if acc == nil || !s.spec.ThroughAnchors(l) {
			continue
		}
		if s.spec.Noise {
			kernel.RowScale(dz, dz, s.trust[l-1][v][lo:hi], ld)
			kernel.RowAxpy(dz, s.h[l][lo*ld:hi*ld], w.dq[v][:c], ld)
		}
		s.correlate(acc, v, lo, hi, dz)
	}
	if prev == nil {
		return
	}
	if acc != nil {
		kernel.TMulAdd(c, m, m, prev, ld, w.gs, ld, acc.r, m)
	}
	if l > 1 {
		kernel.Mul(c, w.gs, ld, &pk.rt, w.prev, ld, true)
		copy(dh, w.prev[:c*ld])
	}
}

func (s *Memory[T]) thresholdGrad(p *Pass, w *scratch[T], v, lo, hi int, dh []T) float64 {
	l, ld, c := p.Layer, s.ld, hi-lo
	weight := s.weight[v][lo:hi]
	if s.spec.Represent == SELU {
		clear(w.g[:c*ld])
		return seluThresholdGrad(w.g, dh, s.a[l][v][lo*ld:hi*ld], p.Theta, weight, s.spec.Anchors, ld, s.spec.OneSided)
	}
	return kernel.ThresholdGrad(w.g, dh, weight, s.pattern[l][v][lo*ld/4:hi*ld/4], ld)
}
