package engine

import (
	"context"
	"sync"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// panels are a pass's constants, packed for the kernels.
type panels[T kernel.Float] struct {
	r, u, rt, ut kernel.Panel[T]
	views        []viewPanels[T]
	sparse       []bool // views of sparse rows; nil: unknown
}

type viewPanels[T kernel.Float] struct {
	p, c, k  kernel.Panel[T] // Pᵀ (d×m), C, K
	dm, s    kernel.Panel[T] // dMᵀ (d×m), S
	cut      kernel.Panel[T] // (C U)ᵀ
	rows     kernel.Panel[T] // P (m×d), packed when a row needs its residual
	lazyP    *sync.Once      // nil: p is packed
	lazyRows *sync.Once
	sparse   bool
	scratch  []float64
	work     small
}

// projects reports whether a pass multiplies all of X by Pᵀ.
func (p *Pass) projects(s *Spec) bool {
	switch p.Kind {
	case Project:
		return true
	case Forward:
		return s.Anchored && p.Layer > 1
	case Final:
		return s.Anchored
	}
	return false
}

// pack sets the panels that a pass of this kind needs. The views are packed side by side.
func (pk *panels[T]) pack(ctx context.Context, s *Spec, p *Pass) error {
	m := s.Anchors
	if pk.views == nil {
		pk.views = make([]viewPanels[T], len(s.Dims))
	}
	if p.R != nil {
		kernel.Pack(&pk.r, m, m, p.R, m)
		kernel.Pack(&pk.u, m, m, p.U, m)
		if p.Kind == Backward {
			kernel.PackT(&pk.rt, m, m, p.R, m)
			kernel.PackT(&pk.ut, m, m, p.U, m)
		}
	}
	workers := s.Workers
	if !p.projects(s) && p.Views[0].DM == nil { // only m×m matrices
		workers = 1
	}
	return parallel.For(ctx, workers, len(p.Views), func(_, v int) error {
		c, vp, d := &p.Views[v], &pk.views[v], s.Dims[v]
		vp.sparse = pk.sparse != nil && pk.sparse[v]
		vp.lazyRows, vp.lazyP = new(sync.Once), nil
		if p.projects(s) {
			vp.packT(&vp.p, d, m, c.P)
		} else {
			vp.lazyP = new(sync.Once)
		}
		if c.K != nil {
			kernel.Pack(&vp.k, m, m, c.K, m)
		}
		if c.DM != nil {
			vp.packT(&vp.dm, d, m, c.DM)
		}
		if c.S != nil {
			kernel.Pack(&vp.s, m, m, c.S, m)
		}
		if c.C == nil {
			return nil
		}
		if p.Kind != Backward {
			kernel.Pack(&vp.c, m, m, c.C, m)
			return nil
		}
		vp.scratch = grow(vp.scratch, m*m)
		clear(vp.scratch)
		vp.work.mulAdd(vp.scratch, c.C, p.U, m, m, m, 1)
		kernel.PackT(&vp.cut, m, m, vp.scratch, m)
		return nil
	})
}

// packT packs the transpose of b (m×d) for products with the view's rows.
func (vp *viewPanels[T]) packT(p *kernel.Panel[T], d, m int, b []float64) {
	if vp.sparse {
		kernel.PackRowsT(p, d, m, b, d)
	} else {
		kernel.PackT(p, d, m, b, d)
	}
}

// residualPanel returns P as m×d right-hand side, packed on first use in a pass.
func (vp *viewPanels[T]) residualPanel(p []float64, m, d int) *kernel.Panel[T] {
	vp.lazyRows.Do(func() { kernel.Pack(&vp.rows, m, d, p, d) })
	return &vp.rows
}

// projection returns Pᵀ as d×m right-hand side, packed on first use where the pass itself does not need it.
func (vp *viewPanels[T]) projection(p []float64, m, d int) *kernel.Panel[T] {
	if vp.lazyP != nil {
		vp.lazyP.Do(func() { kernel.PackT(&vp.p, d, m, p, d) })
	}
	return &vp.p
}
