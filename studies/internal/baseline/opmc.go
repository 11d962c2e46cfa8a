package baseline

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/linalg"
)

const (
	opmcIterations = 300
	opmcSettings   = "columns z-scored, equal view weights, c latent dimensions, one random start, relative tolerance 1e-5"
)

// opmc is one-pass multi-view clustering for large-scale data (J. Liu, X. Liu, Y. Yang, L. Liu, S. Wang, W. Liang and J.
// Shi, ICCV 2021), with the equal view weights of its authors' code:
//
//	min Σ_v ‖X_v − Y C_v W_v‖²  subject to W_v W_vᵀ = I, Y a partition,
//
// with the partition Y common to the views, and each view's centres C_v (c×c) in its projection W_v (c×d_v), by turns in W,
// C and Y, from random labels and random C.
func opmc(ctx context.Context, views []mat.Matrix, c int, seed uint64, how scaling) ([]int, error) {
	x, err := load(ctx, views, nil, c, how)
	if err != nil {
		return nil, err
	}
	r := source(seed)
	p := newPartition(x, c)
	for i := range p.labels {
		p.labels[i] = r.IntN(c)
	}
	latent, centres, weights := make([][]float64, len(x)), make([][]float64, len(x)), make([]float64, len(x))
	for v, b := range x {
		latent[v], centres[v], weights[v] = make([]float64, c*c), make([]float64, c*b.d), 1
		for i := range latent[v] {
			latent[v][i] = r.Float64()
		}
	}
	if err := p.accumulate(ctx); err != nil {
		return nil, err
	}
	last := math.Inf(1)
	for t := 1; t <= opmcIterations; t++ {
		for v := range x {
			if err := p.opmcStep(v, latent[v], centres[v]); err != nil {
				return nil, err
			}
		}
		if err := p.assign(ctx, centres, weights); err != nil {
			return nil, err
		}
		objective := 0.0
		for v := range x {
			objective += p.residual(v, centres[v])
		}
		if t > 2 && math.Abs(objective-last) <= 1e-5*objective {
			break
		}
		last = objective
	}
	return renumbered(p.labels), nil
}

// opmcStep updates W_v = polar(CᵀYᵀX), C_v = (YᵀY)⁻¹YᵀX Wᵀ and the centres C_v W_v. The latent centre of an empty cluster
// is 0.
func (p *partition) opmcStep(v int, latent, centres []float64) error {
	c, d := p.c, p.x[v].d
	sums, lm := mat.NewDense(c, d, p.sums[v]), mat.NewDense(c, c, latent)
	w := mat.NewDense(c, d, nil)
	w.Mul(lm.T(), sums)
	var polar linalg.Polar
	if err := polar.Factor(c, d, w.RawMatrix().Data, w.RawMatrix().Data); err != nil {
		return fmt.Errorf("baseline: OPMC, view %d: %w", v, err)
	}
	lm.Mul(sums, w.T())
	for k, count := range p.counts {
		for j := range c {
			if count > 0 {
				latent[k*c+j] /= count
			}
		}
	}
	mat.NewDense(c, d, centres).Mul(lm, w)
	return nil
}
