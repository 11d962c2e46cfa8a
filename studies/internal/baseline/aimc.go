package baseline

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/linalg"
)

const aimcSettings = "columns z-scored, dimension of the integral space d = c, at most 50 iterations, c " +
	"random samples as the first clusters"

// aimc is fast multiview clustering in an adaptively-weighted integral space (M.-S. Chen, T. Liu, C.-D. Wang, D. Huang and
// J.-H. Lai, ACM MM 2022):
//
//	min Σ_v α_v ‖X_v − Y Fᵀ G_vᵀ‖²  subject to G_vᵀG_v = I, FᵀF = I, Y a partition,
//
// with projections G_v (d_v×c), consensus centres F (c×c) and the weights α_v = 1/(2‖X_v − Y FᵀG_vᵀ‖), by turns in G, F, Y
// and α. It starts from F = I and a partition of c random samples, and needs no parameter.
func aimc(ctx context.Context, views []mat.Matrix, c int, seed uint64, how scaling) ([]int, error) {
	x, err := load(ctx, views, nil, c, how)
	if err != nil {
		return nil, err
	}
	p := newPartition(x, c)
	for i := range p.labels {
		p.labels[i] = -1
	}
	for k, i := range source(seed).Perm(len(p.labels))[:c] {
		p.labels[i] = k
	}
	if err := p.accumulate(ctx); err != nil {
		return nil, err
	}
	centres, weights := make([][]float64, len(x)), make([]float64, len(x))
	g := make([][]float64, len(x)) // G_vᵀ, c×d_v
	for v, b := range x {
		centres[v], g[v] = make([]float64, c*b.d), make([]float64, c*b.d)
		weights[v] = 1 / float64(len(x))
	}
	f := make([]float64, c*c) // row k: the centre of cluster k
	for k := range c {
		f[k*c+k] = 1
	}
	last := math.Inf(1)
	for t := 1; t <= 50; t++ {
		if err := p.aimcStep(g, f, centres, weights); err != nil {
			return nil, err
		}
		if err := p.assign(ctx, centres, weights); err != nil {
			return nil, err
		}
		objective := 0.0
		for v := range x {
			norm := math.Sqrt(p.residual(v, centres[v]))
			if norm == 0 {
				return renumbered(p.labels), nil // a view fits exactly: its weight has no value
			}
			weights[v] = 1 / (2 * norm)
			objective += norm / 2
		}
		if t > 2 && math.Abs(objective-last) < 1e-5*objective {
			break
		}
		last = objective
	}
	return renumbered(p.labels), nil
}

// aimcStep updates the projections and the consensus centres for the partition, and the views' centres F G_vᵀ.
func (p *partition) aimcStep(g [][]float64, f []float64, centres [][]float64, weights []float64) error {
	c := p.c
	var polar linalg.Polar
	consensus := mat.NewDense(c, c, nil)
	fm := mat.NewDense(c, c, f)
	for v, b := range p.x {
		sums := mat.NewDense(c, b.d, p.sums[v])
		gt := mat.NewDense(c, b.d, g[v])
		gt.Mul(fm.T(), sums)
		if err := polar.Factor(c, b.d, g[v], g[v]); err != nil {
			return fmt.Errorf("baseline: AIMC, view %d: %w", v, err)
		}
		var part mat.Dense
		part.Mul(sums, gt.T())
		part.Scale(weights[v], &part)
		consensus.Add(consensus, &part)
	}
	if err := polar.Factor(c, c, consensus.RawMatrix().Data, f); err != nil {
		return fmt.Errorf("baseline: AIMC: %w", err)
	}
	for v, b := range p.x {
		mat.NewDense(c, b.d, centres[v]).Mul(fm, mat.NewDense(c, b.d, g[v]))
	}
	return nil
}
