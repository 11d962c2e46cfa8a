package device

import (
	"context"
	"errors"
	"slices"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/parallel"
)

// constantPlaces holds the offsets of the constants of a pass in their array, in elements, in the order in which passes need
// them. All except P and dM are m×m with the stride of row state; right factors are transposed.
type constantPlaces struct {
	rt, ut     int   // Rᵀ, Uᵀ
	k, ct      []int // Kᵀ, Cᵀ per view
	r, u       int
	c, s       []int // C, Sᵀ per view
	p, dm      []int // P and dM, m×d with the stride of X, of views that are not kept
	withP, all int   // ends of the constants up to P, and of all
}

// sumPlaces holds the offsets of the sums of a pass in their array.
type sumPlaces struct {
	values     int // V+1
	r          int
	u, w, k    []int // m×m per view; w: W of a forward or the final pass, T of a backward one
	m          []int // m×d per view, of views that are not kept
	withK, all int
}

func (p *plan) reserve(spec *engine.Spec) {
	c, s, views := &p.at, &p.to, len(p.dims)
	constants, sums := arena{size: int(p.size)}, arena{size: 8}
	square := p.m * p.ld
	each := func(a *arena, n int) (at []int) {
		for range views {
			at = append(at, a.take(n))
		}
		return at
	}
	c.rt, c.ut, c.k, c.ct = constants.take(square), constants.take(square), each(&constants, square), each(&constants, square)
	c.r, c.u, c.c, c.s = constants.take(square), constants.take(square), each(&constants, square), each(&constants, square)
	// others places a matrix of each view that is not kept.
	others := func(a *arena, size func(v int) int) (at []int) {
		for v := range views {
			n := 0
			if !p.keeps(v) {
				n = size(v)
			}
			at = append(at, a.take(n))
		}
		return at
	}
	c.p = others(&constants, func(v int) int { return p.m * p.ldx[v] })
	if c.withP = constants.length; spec.Anchored && !spec.Detach && p.training {
		c.dm = others(&constants, func(v int) int { return p.m * p.ldx[v] })
	}
	c.all = constants.length

	s.values = sums.take(views + 1)
	if p.training {
		s.r, s.u = sums.take(p.m*p.m), each(&sums, p.m*p.m)
	}
	s.w = each(&sums, p.m*p.m)
	if p.training {
		s.k = each(&sums, p.m*p.m)
	}
	s.withK = sums.length
	s.m = others(&sums, func(v int) int { return p.m * p.dims[v] })
	s.all = sums.length
	p.constants, p.sums = constants, sums
}

// constants are the addresses of a pass's constants, 0 for constants that it does not have.
type constants struct {
	r, u, rt, ut        Ptr
	k, s, c, ct, p, dm  []Ptr
	largestP, largestDM []float64
}

// upload copies a pass's constants to the device.
func (s *Shard[T]) upload(p *engine.Pass) (*constants, error) {
	at, views := &s.plan.at, len(p.Views)
	list := func() []Ptr { return make([]Ptr, views) }
	c := &constants{k: list(), s: list(), c: list(), ct: list(), p: list(), dm: list(), largestP: make([]float64, views),
		largestDM: make([]float64, views)}
	m, ld := s.plan.m, s.plan.ld
	place := func(offset int) Ptr { return s.constant + Ptr(int64(offset)*s.plan.size) }
	ends := make([]int, views+1) // of the constants in use
	square := func(v int, dst *Ptr, offset int, a []float64, transposed bool) {
		if a == nil {
			return
		}
		*dst, ends[v] = place(offset), max(ends[v], offset+m*ld)
		if transposed {
			putTransposed(s.stage[offset:], ld, a, m)
		} else {
			put(s.stage[offset:], ld, a, m, m)
		}
	}
	backward := p.Kind == engine.Backward
	square(views, &c.rt, at.rt, p.R, true)
	square(views, &c.ut, at.ut, p.U, true)
	if backward {
		square(views, &c.r, at.r, p.R, false)
		square(views, &c.u, at.u, p.U, false)
	}
	err := parallel.For(context.Background(), s.spec.Workers, views, func(_, v int) error {
		w := &p.Views[v]
		square(v, &c.k[v], at.k[v], w.K, true)
		if backward {
			square(v, &c.s[v], at.s[v], w.S, false) // symmetric
			square(v, &c.c[v], at.c[v], w.C, false)
		} else {
			square(v, &c.ct[v], at.ct[v], w.C, true)
		}
		if s.Keeps(v) {
			return s.useKept(c, p, v)
		}
		wide := func(dst *Ptr, most *float64, offset int, a []float64) {
			d, ldx := s.plan.dims[v], s.plan.ldx[v]
			put(s.stage[offset:], ldx, a, m, d)
			*dst, *most, ends[v] = place(offset), largest(a), offset+m*ldx
		}
		wide(&c.p[v], &c.largestP[v], at.p[v], w.P)
		if w.DM != nil {
			wide(&c.dm[v], &c.largestDM[v], at.dm[v], w.DM)
		}
		return nil
	})
	if end := slices.Max(ends); end > 0 {
		err = errors.Join(err, s.k.drv.Upload(s.constant, rawBytes(s.stage[:end])))
	}
	for v := range p.Views {
		if s.Keeps(v) && (p.Kind == engine.Final || p.Kind == engine.Forward && p.Layer > 1) {
			s.narrow(v, p.Incoming(s.spec), s.polar.of(p.Incoming(s.spec), v).slot(linalg.SlotP))
		}
	}
	return c, err
}

// useKept sets the constants of a kept view. Project brings P_0.
func (s *Shard[T]) useKept(c *constants, p *engine.Pass, v int) error {
	o, w, incoming := &s.polar, &p.Views[v], p.Incoming(s.spec)
	if p.Kind == engine.Project {
		first := o.of(1, v)
		if err := first.Put(before(linalg.SlotP), w.P, 1); err != nil {
			return err
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.largest[v][0] = largest(w.P)
		s.narrow(v, 0, first.slot(before(linalg.SlotP)))
	}
	c.p[v], c.largestP[v] = o.narrow[v][incoming], o.largest[v][incoming]
	if last := s.plan.layers + 1; p.Kind == engine.Backward && !s.spec.Detach {
		c.dm[v], c.largestDM[v] = o.narrow[v][last], o.largest[v][last]
	}
	return nil
}

// narrow copies a matrix of a kept view to its array i in the type of the data.
func (s *Shard[T]) narrow(v, i int, from Ptr) {
	n := s.plan.m * s.plan.ldx[v]
	s.k.byElement("narrow", n, s.polar.narrow[v][i], from, int64(n))
}

// put copies a (rows×columns) to dst, whose rows have the stride ld and zeros in the padding.
func put[T kernel.Float](dst []T, ld int, a []float64, rows, columns int) {
	for i := range rows {
		row := dst[i*ld : i*ld+columns]
		for j, x := range a[i*columns : (i+1)*columns] {
			row[j] = T(x)
		}
	}
}

func putTransposed[T kernel.Float](dst []T, ld int, a []float64, m int) {
	for i := range m {
		for j := range m {
			dst[i*ld+j] = T(a[j*m+i])
		}
	}
}

// collect downloads the sums of a pass that the coordinator needs, and pushes them.
func (s *Shard[T]) collect(p *engine.Pass, tree *engine.Tree) error {
	if p.Kind == engine.Project {
		return s.k.drv.Sync()
	}
	to, views := &s.plan.to, len(p.Views)
	end, correlates := s.wanted(p)
	if end > 0 {
		if err := s.k.drv.Download(rawBytes(s.result[:end]), s.sum); err != nil {
			return err
		}
	}
	part, r, square := tree.Part(), s.result, s.plan.m*s.plan.m
	part.Begin(p, correlates)
	values := r[to.values : to.values+views+1]
	for v := range views {
		if correlates && !s.Keeps(v) {
			copy(part.M[v], r[to.m[v]:])
		}
		if p.Kind != engine.Backward {
			if s.hasW(p, v) {
				copy(part.W[v], r[to.w[v]:])
			}
			if p.Kind == engine.Final {
				part.Loss[v] = values[v]
			}
			continue
		}
		if s.hasT(p) {
			copy(part.T[v], r[to.w[v]:])
		}
		if s.hasK(p, v) {
			copy(part.K[v], r[to.k[v]:])
		}
		kernel.AddTo(part.U, r[to.u[v]:to.u[v]+square])
		if s.spec.Noise {
			part.Rho[v] = values[v]
		}
	}
	if p.Kind == engine.Backward {
		part.Theta[0] = values[views]
		if s.h[p.Layer-1] != 0 {
			copy(part.R, r[to.r:to.r+square])
		}
	}
	tree.Push(0, part)
	return nil
}

// wanted returns the end of the sums of a pass that the coordinator needs, and whether they include M of some view.
func (s *Shard[T]) wanted(p *engine.Pass) (end int, correlates bool) {
	to := &s.plan.to
	switch {
	case p.Correlates(s.spec) && s.polar.kept < len(p.Views):
		return to.all, true
	case p.Kind == engine.Backward:
		return to.withK, false
	case p.Kind == engine.Final:
		return to.values + len(p.Views) + 1, false
	}
	return 0, false
}

// hasW reports whether a forward or the final pass sums W of a view.
func (s *Shard[T]) hasW(p *engine.Pass, v int) bool {
	if p.Kind == engine.Forward {
		return s.spec.Noise && s.spec.Anchored && !s.Keeps(v)
	}
	return p.Correlates(s.spec) && p.Views[v].K != nil
}

// hasT reports whether a backward pass sums T, and hasK whether it sums K of a view.
func (s *Shard[T]) hasT(p *engine.Pass) bool { return s.spec.Noise && p.Layer > 1 }

func (s *Shard[T]) hasK(p *engine.Pass, v int) bool {
	return s.spec.Noise && p.Views[v].K != nil && s.spec.ThroughAnchors(p.Layer)
}
