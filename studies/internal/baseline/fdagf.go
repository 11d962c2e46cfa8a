package baseline

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/parallel"
)

const (
	fdagfAlpha    = 1000
	fdagfLambda   = 10
	fdagfSizes    = 4
	fdagfMost     = 50
	fdagfSettings = "columns z-scored, graphs of c, 2c, 3c and 4c anchors, at most as many as the view has features, " +
		"α = 1000 and λ = 10 (the authors' example), at most 50 iterations"
)

// fdagf is flexible and diverse anchor graph fusion (P. Zhang, S. Wang, L. Li, C. Zhang, X. Liu, E. Zhu, Z. Liu, L. Zhou and L.
// Luo, AAAI 2023):
//
//	min Σ_v Σ_r β_vr (‖X_v − Z_vr A_vr‖² + α‖Z_vr‖²) + λβ_vr²
//	subject to A_vr A_vrᵀ = I, Z_vr ≥ 0, Z_vr 1 = 1, β_v ≥ 0, Σ_r β_vr = 1,
//
// with several graphs Z_vr (n×m_r) of samples and anchors A_vr (m_r×d_v) in every view. They are found by turns in Z, A and β,
// from anchors that k-means gives; the graphs, each anchor divided by the root of its sum and each graph weighted by √β_vr, are
// set side by side and clustered by their first c left singular vectors.
func fdagf(ctx context.Context, views []mat.Matrix, c int, seed uint64, how scaling) ([]int, error) {
	x, err := load(ctx, views, nil, c, how)
	if err != nil {
		return nil, err
	}
	parts, err := fdagfGraphs(ctx, x, c, seed)
	if err != nil {
		return nil, err
	}
	beta := make([][]float64, len(x))
	last := math.Inf(1)
	for t := 1; t <= fdagfMost; t++ {
		objective := 0.0
		for v, graphs := range parts {
			values := make([]float64, len(graphs))
			for r, g := range graphs {
				if values[r], err = g.step(ctx); err != nil {
					return nil, fmt.Errorf("baseline: FDAGF, view %d: %w", v, err)
				}
			}
			beta[v] = fdagfWeights(values)
			for r, w := range beta[v] {
				objective += w*values[r] + fdagfLambda*w*w
			}
		}
		if t > 9 && math.Abs(last-objective) < 1e-5*last {
			break
		}
		last = objective
	}
	return clusterVectors(ctx, fdagfJoined(x[0].n, parts, beta), c, seed)
}

// fdagfGraphs returns the graphs of every view, with anchors of k-means and without weights.
func fdagfGraphs(ctx context.Context, x []*block, c int, seed uint64) ([][]*anchorGraph, error) {
	parts := make([][]*anchorGraph, len(x))
	for v, b := range x {
		for size := 1; size <= fdagfSizes; size++ {
			g := &anchorGraph{b: b, m: min(size*c, b.d, b.n)}
			r, err := runKMeans(ctx, x[v:v+1], g.m, seed+uint64(v), false)
			if err != nil {
				return nil, err
			}
			g.a, g.z = make([]float64, g.m*b.d), make([]float64, b.n*g.m)
			kernel.Widen(g.a[:r.Found*b.d], r.Centroids[0][:r.Found*b.d])
			parts[v] = append(parts[v], g)
		}
	}
	return parts, nil
}

// fdagfJoined sets the graphs side by side, each anchor divided by the root of its sum and each graph weighted by √β_vr.
func fdagfJoined(n int, parts [][]*anchorGraph, beta [][]float64) *mat.Dense {
	width := 0
	for _, graphs := range parts {
		for _, g := range graphs {
			width += g.m
		}
	}
	all, at := mat.NewDense(n, width, nil), 0
	for v, graphs := range parts {
		for r, g := range graphs {
			for j := range g.m {
				sum := 0.0
				for i := range n {
					sum += g.z[i*g.m+j]
				}
				if sum > 0 {
					for i := range n {
						all.Set(i, at+j, g.z[i*g.m+j]*math.Sqrt(beta[v][r]/sum))
					}
				}
			}
			at += g.m
		}
	}
	return all
}

// fdagfWeights returns the weights of a view's graphs for the values of their terms.
func fdagfWeights(values []float64) []float64 {
	out := make([]float64, len(values))
	for r, value := range values {
		out[r] = -value / (2 * fdagfLambda)
	}
	toSimplex(out)
	return out
}

// anchorGraph is a graph of a view's samples and m anchors: weights z (n×m) and anchors a (m×d).
type anchorGraph struct {
	b    *block
	m    int
	z, a []float64
}

// step sets the weights to the minimum for the anchors, if these have orthonormal rows, then the anchors to the minimum for the
// weights, and returns ‖X − ZA‖² + α‖Z‖².
func (g *anchorGraph) step(ctx context.Context) (float64, error) {
	b, m := g.b, g.m
	var panel kernel.Panel[float32]
	kernel.PackT(&panel, b.d, m, g.a, b.d)
	ld := kernel.Pad(m)
	err := parallel.For(ctx, 0, (b.n+assignChunk-1)/assignChunk, func(_, k int) error {
		lo, hi := k*assignChunk, min((k+1)*assignChunk, b.n)
		products := make([]float32, (hi-lo)*ld)
		kernel.Mul(hi-lo, b.x[lo*b.d:hi*b.d], b.d, &panel, products, ld, false)
		for i := lo; i < hi; i++ {
			row := g.z[i*m : (i+1)*m]
			for j := range row {
				row[j] = float64(products[(i-lo)*ld+j]) / (1 + fdagfAlpha)
			}
			toSimplex(row)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	sums, err := weightedSums(ctx, b, m, g.z)
	if err != nil {
		return 0, err
	}
	var polar linalg.Polar
	if err := polar.Factor(m, b.d, sums, g.a); err != nil {
		return 0, err
	}
	value := kernel.SumSquares(b.x, 0) + (1+fdagfAlpha)*kernel.SumSquares(g.z, 0)
	for i, s := range sums {
		value -= 2 * s * g.a[i]
	}
	return value, nil
}
