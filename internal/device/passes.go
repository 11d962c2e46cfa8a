package device

import (
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/linalg"
)

// The passes of internal/engine. Its forward.go, final.go and backward.go document the algebra. Here every line of it is a launch
// over all rows.

// bySquare launches out = a·bᵀ for row state a and an m×m constant b, with an epilogue.
func (s *Shard[T]) bySquare(out, a, b Ptr, p product) {
	p.out, p.ldOut, p.a, p.lda, p.b, p.ldb = out, s.plan.ld, a, s.plan.ld, b, s.plan.ld
	p.n, p.m, p.k = s.plan.n, s.plan.m, s.plan.m
	s.k.timesTransposed(p)
}

// byRows launches out = X·Bᵀ of a view, B being m×d with the given largest entry.
func (s *Shard[T]) byRows(v int, out, b Ptr, most float64) {
	ldx := s.plan.ldx[v]
	if s.scales[v] != 0 {
		s.tensorTimes(v, out, b, most)
		return
	}
	s.k.timesTransposed(product{op: store, out: out, ldOut: s.plan.ld, a: s.x[v], lda: ldx, b: b, ldb: ldx,
		n: s.plan.n, m: s.plan.m, k: s.plan.dims[v]})
}

// correlate sums (w ⊙ A)ᵀX of a view among the sums, or if the view is kept in a matrix of the layer's Procrustes step. fresh
// says that A differs from the previous call.
func (s *Shard[T]) correlate(v, layer int, slot linalg.Slot, a, weight Ptr, fresh bool) {
	d, dst := s.plan.dims[v], s.sumAt(s.plan.to.m[v])
	if s.Keeps(v) {
		d, dst = s.plan.ldx[v], s.polar.of(layer, v).slot(slot)
	}
	if fresh {
		s.measured = false
	}
	q := sums{part: s.part, a: a, lda: s.plan.ld, weight: weight, x: s.x[v], ldx: s.plan.ldx[v], n: s.plan.n, m: s.plan.m, d: d,
		chunk: s.plan.shares[v]}
	if s.scales[v] != 0 {
		s.tensorSums(q, s.scales[v])
	} else {
		s.k.transposedTimes(q)
	}
	s.k.fold(dst, s.part, ceil(q.n, q.chunk), q.m*d)
}

// square sums (w ⊙ A)ᵀB of two row states at offset to of the sums.
func (s *Shard[T]) square(to int, a, weight, b Ptr) {
	m, ld := s.plan.m, s.plan.ld
	s.k.transposedTimes(sums{part: s.part, a: a, lda: ld, weight: weight, x: b, ldx: ld, n: s.plan.n, m: m, d: m,
		chunk: s.plan.share})
	s.k.fold(s.sumAt(to), s.part, ceil(s.plan.n, s.plan.share), m*m)
}

// squareOf sums (w ⊙ A)ᵀA, for the A of the last correlate of view v, as W of the layer. Few columns gain nothing from tensor
// cores.
func (s *Shard[T]) squareOf(v, layer int, a, weight Ptr) {
	m, ld, dst := s.plan.m, s.plan.ld, s.sumAt(s.plan.to.w[v])
	q := sums{part: s.part, a: a, lda: ld, weight: weight, x: a, ldx: ld, n: s.plan.n, m: m, d: m, chunk: s.plan.share}
	if s.Keeps(v) {
		q.d, dst = ld, s.polar.own(squareW+layer-1)+Ptr(8*s.polar.of(layer, v).index*m*ld)
	}
	if s.scales[v] == 0 || m <= fewColumns {
		s.k.transposedTimes(q)
	} else {
		s.tensorSums(q, 0)
	}
	s.k.fold(dst, s.part, ceil(q.n, q.chunk), m*q.d)
}

func (s *Shard[T]) sumAt(place int) Ptr { return s.sum + Ptr(8*place) }

// sumValues sums the row values: one column for each view, and one more.
func (s *Shard[T]) sumValues() {
	columns := len(s.plan.dims) + 1
	s.k.rowSums(s.valueParts, s.values, columns, s.plan.n, s.plan.chunk)
	s.k.foldDoubles(s.sumAt(s.plan.to.values), s.valueParts, s.plan.chunks, columns)
}

func (s *Shard[T]) project(c *constants) {
	for v, d := range s.plan.dims {
		s.byRows(v, s.y[0][v], c.p[v], c.largestP[v])
		s.k.byRow("squared_norms", s.plan.n, s.norms[v], s.x[v], int32(s.plan.ldx[v]), int32(s.plan.n), int32(d))
	}
}

func (s *Shard[T]) forward(p *engine.Pass, c *constants) {
	l, n, ld := p.Layer, s.plan.n, s.plan.ld
	h, prev := s.h[l], s.h[l-1]
	var hr Ptr
	if prev != 0 {
		hr = s.scratch[0]
		s.bySquare(hr, prev, c.rt, product{op: store})
	}
	for v := range s.plan.dims {
		y := s.yOf(l-1, v)
		if l > 1 && s.spec.Anchored {
			s.byRows(v, y, c.p[v], c.largestP[v])
		}
		z := y
		if s.spec.Noise && l > 1 {
			z = s.scratch[1]
			s.bySquare(z, prev, c.ct[v], product{op: lerp, base: y, row: s.trust[l-1][v]})
		}
		if s.spec.Represent == engine.ReLU {
			s.bySquare(h, z, c.ut, product{op: threshold, base: hr, row: s.weight[v], theta: p.Theta, pattern: s.pattern[l][v],
				first: v == 0, oneSd: s.spec.OneSided})
			continue
		}
		a := s.a[l][v]
		if a == 0 {
			a = s.scratch[2]
		}
		s.bySquare(a, z, c.ut, product{op: add, base: hr})
		s.k.byRow("selu_threshold", n, h, toInt(v == 0), a, s.weight[v], p.Theta, toInt(s.spec.OneSided), int32(n),
			int32(s.plan.m), int32(ld))
	}
	for v := range s.plan.dims {
		weight := s.present[v]
		if s.spec.Noise {
			s.residual(c, v, h, s.yOf(l-1, v), s.direct[l][v], p.Views[v].K != nil)
			s.k.byElement("trust", n, s.norm[l][v], s.trust[l][v], s.rowW, s.rowR, s.q, s.present[v], int32(n), p.Views[v].Rho,
				positiveSlope(s.spec.Shrink))
			weight = s.rowW
		}
		if !s.spec.Anchored || s.frozen {
			continue
		}
		s.correlate(v, l, linalg.SlotA, h, weight, v == 0)
		if s.spec.Noise {
			s.squareOf(v, l, h, s.rowR)
		}
	}
}

func positiveSlope(a engine.Activation) float64 { return a.Slope(1) }

// hk returns HK, or H if K is the identity.
func (s *Shard[T]) hk(c *constants, v int, h Ptr) Ptr {
	if c.k[v] == 0 {
		return h
	}
	s.bySquare(s.scratch[3], h, c.k[v], product{op: store})
	return s.scratch[3]
}

// residual sets q to ‖x − hP‖² and direct to the rows that were computed from x − hP itself; it returns HK.
func (s *Shard[T]) residual(c *constants, v int, h, y, direct Ptr, general bool) Ptr {
	n, ld := s.plan.n, s.plan.ld
	hk := s.hk(c, v, h)
	s.k.byRow("residual", n, s.q, direct, s.norms[v], h, hk, y, int32(n), int32(ld), engine.DirectShare[T]())
	s.k.launch(s.k.rows, "direct_residual", [3]int{ceil(n, directRows), 1, 1}, rowThreads, 0, s.q, direct, s.x[v],
		int32(s.plan.ldx[v]), h, int32(ld), c.p[v], int32(n), int32(s.plan.m), int32(s.plan.dims[v]))
	return hk
}

// addResidual adds factor[i]·(h_i K − y_i) to the rows of dst, without cancellation for direct rows.
func (s *Shard[T]) addResidual(c *constants, v int, dst Ptr, first bool, factor, direct, h, hk, y Ptr) {
	n, ld, m := s.plan.n, s.plan.ld, s.plan.m
	s.k.byRow("add_residual", n, dst, toInt(first), factor, direct, hk, y, int32(n), int32(ld))
	s.k.launch(s.k.rows, "subtract_direct", [3]int{ceil(n, directRows), 1, 1}, rowThreads, m*int(s.plan.size), dst, factor,
		direct, s.x[v], int32(s.plan.ldx[v]), h, int32(ld), c.p[v], int32(n), int32(m), int32(s.plan.dims[v]))
}

func (s *Shard[T]) final(p *engine.Pass, c *constants) {
	n, l, columns := s.plan.n, s.plan.layers, len(s.plan.dims)+1
	h := s.h[l]
	s.k.zero(s.values, int64(n*columns)*8) // the last column has no sum
	for v := range s.plan.dims {
		y := s.scratch[1]
		if s.spec.Anchored {
			s.byRows(v, y, c.p[v], c.largestP[v])
		} else {
			y = s.y[0][v]
		}
		hk := s.residual(c, v, h, y, s.flags, p.Views[v].K != nil)
		var factors Ptr
		if p.Gradient {
			factors = s.rowC
		}
		s.k.byElement("loss_terms", n, s.valueAt(v), int32(columns), factors, s.q, s.present[v], int32(n),
			T(2*p.Views[v].LossWeight))
		if !p.Gradient {
			continue
		}
		s.addResidual(c, v, s.dh, v == 0, factors, s.flags, h, hk, y)
		if !p.Correlates(s.spec) {
			continue
		}
		s.correlate(v, l, linalg.SlotG, h, s.present[v], v == 0)
		if s.hasW(p, v) {
			s.squareOf(v, l, h, s.present[v])
		}
	}
	s.sumValues()
}

// valueAt is the column of the row values of a view, or of θ for the number of views.
func (s *Shard[T]) valueAt(v int) Ptr { return s.values + Ptr(8*v) }

func (s *Shard[T]) scaleAdd(dst Ptr, scale float64, with Ptr, n int) {
	s.k.byElement("scale_add", n, dst, T(scale), with, int64(n))
}

func (s *Shard[T]) backward(p *engine.Pass, c *constants) {
	l, n, ld := p.Layer, s.plan.n, s.plan.ld
	last, values := l == s.plan.layers, len(s.plan.dims)+1
	if scale := p.Scale; last && scale != 1 || s.addedH[l] != 0 {
		if !last {
			scale = 1
		}
		s.scaleAdd(s.dh, scale, s.addedH[l], n*ld)
	}
	if !s.spec.Noise {
		s.k.zero(s.values, int64(n*values)*8)
	}
	for v := range s.plan.dims {
		switch {
		case last:
			s.scaleAdd(s.dt[v], 0, s.addedT[l][v], n)
		case s.addedT[l][v] != 0:
			s.scaleAdd(s.dt[v], 1, s.addedT[l][v], n)
		}
		s.backwardAnchor(p, c, v)
		if s.spec.Noise {
			s.backwardNoise(p, c, v)
		}
	}
	s.backwardRepresent(p, c)
	s.sumValues()
}

func (s *Shard[T]) backwardAnchor(p *engine.Pass, c *constants, v int) {
	if c.dm[v] == 0 {
		return
	}
	l, n := p.Layer, s.plan.n
	da, hs, trust := s.scratch[0], Ptr(0), Ptr(0)
	s.byRows(v, da, c.dm[v], c.largestDM[v])
	if s.spec.Noise {
		hs, trust = s.scratch[1], s.trust[l][v]
		s.bySquare(hs, s.h[l], c.s[v], product{op: store})
	}
	s.k.byRow("anchor_cotangent", n, s.dh, s.dt[v], da, hs, s.h[l], trust, s.present[v], int32(n), int32(s.plan.ld))
}

func (s *Shard[T]) backwardNoise(p *engine.Pass, c *constants, v int) {
	l, n, h := p.Layer, s.plan.n, s.h[p.Layer]
	var half Ptr
	if s.hasK(p, v) {
		half = s.rowW
	}
	s.k.byElement("noise_cotangent", n, s.rowC, s.minus[v], half, s.valueAt(v), int32(len(s.plan.dims)+1), s.norm[l][v], s.dt[v],
		int32(n), p.Views[v].Rho, positiveSlope(s.spec.Shrink))
	hk := s.hk(c, v, h)
	s.addResidual(c, v, s.dh, false, s.rowC, s.direct[l][v], h, hk, s.yOf(l-1, v))
	if half != 0 {
		s.square(s.plan.to.k[v], h, half, h)
	}
}

func (s *Shard[T]) backwardRepresent(p *engine.Pass, c *constants) {
	l, n, ld, views := p.Layer, int32(s.plan.n), int32(s.plan.ld), len(s.plan.dims)
	prev, through := s.h[l-1], s.spec.ThroughAnchors(l)
	g, dz, sum, zc, carry := s.scratch[0], s.scratch[1], s.scratch[2], s.scratch[3], s.scratch[4]
	if prev == 0 {
		sum = 0
	}
	noisy := s.spec.Noise && l > 1
	columns := int32(views + 1)
	for v := range s.plan.dims {
		y := s.yOf(l-1, v)
		if s.spec.Represent == engine.ReLU {
			s.k.byRow("threshold_cotangent", s.plan.n, g, sum, s.valueAt(views), columns, toInt(v == 0), s.dh, s.weight[v],
				s.pattern[l][v], n, ld)
		} else {
			s.k.byRow("selu_cotangent", s.plan.n, g, sum, s.valueAt(views), columns, toInt(v == 0), s.dh, s.weight[v],
				s.a[l][v], p.Theta, toInt(s.spec.OneSided), n, int32(s.plan.m), ld)
		}
		if !noisy {
			s.square(s.plan.to.u[v], y, 0, g)
		} else {
			s.k.byElement("one_less", s.plan.n, s.rowR, s.trust[l-1][v], n)
			s.square(s.plan.to.u[v], y, s.trust[l-1][v], g)
			s.square(s.plan.to.w[v], prev, s.rowR, g)
		}
		if l == 1 {
			continue
		}
		if noisy || through {
			s.bySquare(dz, g, c.u, product{op: store})
		}
		if noisy {
			s.bySquare(zc, dz, c.c[v], product{op: store}) // g (C U)ᵀ
			var h Ptr
			if through {
				h = s.h[l]
			}
			s.k.byRow("represent_cotangent", s.plan.n, s.dt[v], carry, toInt(v == 0), dz, zc, y, prev, s.trust[l-1][v], h,
				s.minus[v], n, ld)
		}
		if through {
			s.correlate(v, l-1, linalg.SlotG, dz, 0, true)
		}
	}
	if prev == 0 {
		return
	}
	s.square(s.plan.to.r, prev, 0, sum)
	if l > 1 {
		last := product{op: store}
		if noisy {
			last = product{op: add, base: carry}
		}
		s.bySquare(s.dh, sum, c.r, last)
	}
}
