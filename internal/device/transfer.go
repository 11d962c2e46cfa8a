package device

import (
	"context"
	"errors"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// constantPlaces holds the offsets of the constants of a pass in their array, in elements. All except P and dM are m×m with the
// stride of row state; right factors are transposed.
type constantPlaces struct {
	r, u, rt, ut int   // R, U, Rᵀ, Uᵀ
	k, s, c, cu  []int // Kᵀ, Sᵀ, Cᵀ, C·U per view
	p, dm        []int // P and dM, m×d with the stride of X
	withP, all   int   // ends of the constants up to P, and of all
}

// sumPlaces holds the offsets of the sums of a pass in their array.
type sumPlaces struct {
	values     int   // V+1
	w          []int // m×m per view: W of a forward or the final pass, T of a backward one
	m          []int // m×d per view
	k, u       []int // m×m per view
	r          int
	withM, all int
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
	for _, at := range []*int{&c.r, &c.u, &c.rt, &c.ut} {
		*at = constants.take(square)
	}
	for _, at := range []*[]int{&c.k, &c.s, &c.c, &c.cu} {
		*at = each(&constants, square)
	}
	for v := range views {
		c.p = append(c.p, constants.take(p.m*p.ldx[v]))
	}
	c.withP = constants.length
	for v := range views {
		if spec.Anchored && !spec.Detach && p.training {
			c.dm = append(c.dm, constants.take(p.m*p.ldx[v]))
		}
	}
	c.all = constants.length

	s.values, s.w = sums.take(views+1), each(&sums, p.m*p.m)
	for v := range views {
		s.m = append(s.m, sums.take(p.m*p.dims[v]))
	}
	s.withM = sums.length
	if p.training {
		s.k, s.u, s.r = each(&sums, p.m*p.m), each(&sums, p.m*p.m), sums.take(p.m*p.m)
	}
	s.all = sums.length
	p.constants, p.sums = constants, sums
}

// constants are the addresses of a pass's constants, 0 for constants that it does not have.
type constants struct {
	r, u, rt, ut        Ptr
	k, s, c, cu, p, dm  []Ptr
	largestP, largestDM []float64
}

// upload copies a pass's constants to the device.
func (s *Shard[T]) upload(p *engine.Pass) (*constants, error) {
	at, views := &s.plan.at, len(p.Views)
	list := func() []Ptr { return make([]Ptr, views) }
	c := &constants{k: list(), s: list(), c: list(), cu: list(), p: list(), dm: list(), largestP: make([]float64, views),
		largestDM: make([]float64, views)}
	m, ld, end := s.plan.m, s.plan.ld, at.withP
	place := func(offset int) Ptr { return s.constant + Ptr(int64(offset)*s.plan.size) }
	square := func(dst *Ptr, offset int, a []float64, transposed bool) {
		if a == nil {
			return
		}
		if *dst = place(offset); transposed {
			putTransposed(s.stage[offset:], ld, a, m)
		} else {
			put(s.stage[offset:], ld, a, m, m)
		}
	}
	square(&c.rt, at.rt, p.R, true)
	square(&c.ut, at.ut, p.U, true)
	square(&c.r, at.r, p.R, false)
	square(&c.u, at.u, p.U, false)
	for _, w := range p.Views {
		if w.DM != nil {
			end = at.all
		}
	}
	err := parallel.For(context.Background(), s.spec.Workers, views, func(_, v int) error {
		w := &p.Views[v]
		square(&c.k[v], at.k[v], w.K, true)
		square(&c.s[v], at.s[v], w.S, true)
		square(&c.c[v], at.c[v], w.C, true)
		if w.C != nil && p.Kind == engine.Backward {
			cu := make([]float64, m*m)
			multiply(cu, w.C, p.U, m)
			square(&c.cu[v], at.cu[v], cu, false)
		}
		d, ldx := s.plan.dims[v], s.plan.ldx[v]
		put(s.stage[at.p[v]:], ldx, w.P, m, d)
		c.p[v], c.largestP[v] = place(at.p[v]), largest(w.P)
		if w.DM != nil {
			put(s.stage[at.dm[v]:], ldx, w.DM, m, d)
			c.dm[v], c.largestDM[v] = place(at.dm[v]), largest(w.DM)
		}
		return nil
	})
	return c, errors.Join(err, s.k.drv.Upload(s.constant, rawBytes(s.stage[:end])))
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

// multiply sets dst to a·b, all m×m.
func multiply(dst, a, b []float64, m int) {
	clear(dst)
	kernel.TMulAdd(m, m, m, transposed(a, m), m, b, m, dst, m)
}

func transposed(a []float64, m int) []float64 {
	t := make([]float64, m*m)
	for i := range m {
		for j := range m {
			t[j*m+i] = a[i*m+j]
		}
	}
	return t
}

// collect downloads a pass's sums and pushes them.
func (s *Shard[T]) collect(p *engine.Pass, tree *engine.Tree) error {
	if p.Kind == engine.Project {
		return s.k.drv.Sync()
	}
	to, views := &s.plan.to, len(p.Views)
	end := to.withM
	if p.Kind == engine.Backward {
		end = to.all
	}
	if err := s.k.drv.Download(rawBytes(s.result[:end]), s.sum); err != nil {
		return err
	}
	part, r, square := tree.Part(), s.result, s.plan.m*s.plan.m
	correlates := p.Correlates(s.spec)
	part.Begin(p, correlates)
	values := r[to.values : to.values+views+1]
	for v := range views {
		if correlates {
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

// hasW reports whether a forward or the final pass sums W of a view.
func (s *Shard[T]) hasW(p *engine.Pass, v int) bool {
	if p.Kind == engine.Forward {
		return s.spec.Noise && s.spec.Anchored
	}
	return p.Correlates(s.spec) && p.Views[v].K != nil
}

// hasT reports whether a backward pass sums T, and hasK whether it sums K of a view.
func (s *Shard[T]) hasT(p *engine.Pass) bool { return s.spec.Noise && p.Layer > 1 }

func (s *Shard[T]) hasK(p *engine.Pass, v int) bool {
	return s.spec.Noise && p.Views[v].K != nil && s.spec.ThroughAnchors(p.Layer)
}
