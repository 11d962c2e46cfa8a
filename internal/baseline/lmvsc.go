package baseline

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

const (
	lmvscAlpha    = 1
	lmvscSettings = "views as they are, m = 2c anchors a view, α = 1 (the middle of the paper's grid)"
)

// LMVSC is large-scale multi-view subspace clustering in linear time (Z. Kang, W. Zhou, Z. Zhao, J. Shao, M. Han and Z.
// Xu, AAAI 2020). In every view k-means gives m anchors A_v, and every sample is written as a convex combination of
// them,
//
//	min_z ‖x_i − A_vᵀz‖² + α‖z‖²  subject to z ≥ 0, Σz = 1;
//
// the weights of all views side by side, Z = [Z_1 … Z_V]/√V (n×Vm), are clustered by k-means on their first c left
// singular vectors. Each sample's problem is solved exactly.
func LMVSC(ctx context.Context, views []mat.Matrix, c int, seed uint64) ([]int, error) {
	x, err := load(ctx, views, nil, c, raw)
	if err != nil {
		return nil, err
	}
	n := x[0].n
	anchors := min(2*c, n)
	width := 0
	parts := make([][]float64, len(x))
	found := make([]int, len(x))
	for v, b := range x {
		r, err := runKMeans(ctx, x[v:v+1], anchors, seed+uint64(v), false)
		if err != nil {
			return nil, err
		}
		found[v] = r.Found
		if parts[v], err = convexWeights(ctx, b, r.Centroids[0], r.Found, lmvscAlpha); err != nil {
			return nil, err
		}
		width += r.Found
	}
	z := make([]float64, 0, n*width)
	for i := range n {
		for v, p := range parts {
			for _, a := range p[i*found[v] : (i+1)*found[v]] {
				z = append(z, a/math.Sqrt(float64(len(x))))
			}
		}
	}
	u, err := leftVectors(n, width, z, min(c, width))
	if err != nil {
		return nil, err
	}
	r, err := runKMeans(ctx, []*block{u}, c, seed, true)
	if err != nil {
		return nil, err
	}
	return r.Labels, nil
}

// convexWeights returns the n×m weights of the samples of b by the anchors (m×d).
func convexWeights(ctx context.Context, b *block, anchors []float32, m int, alpha float64) ([]float64, error) {
	gram := make([]float64, m*m)
	for i := range m {
		for j := range m {
			s := 0.0
			for t, a := range anchors[i*b.d : (i+1)*b.d] {
				s += float64(a) * float64(anchors[j*b.d+t])
			}
			gram[i*m+j] = s
			if i == j {
				gram[i*m+j] += alpha
			}
		}
	}
	var panel kernel.Panel[float32]
	kernel.PackT(&panel, b.d, m, anchors, b.d)
	ld := kernel.Pad(m)
	out := make([]float64, b.n*m)
	const chunk = 256
	err := parallel.For(ctx, 0, (b.n+chunk-1)/chunk, func(_, k int) error {
		lo, hi := k*chunk, min((k+1)*chunk, b.n)
		products, rhs := make([]float32, chunk*ld), make([]float64, m)
		kernel.Mul(hi-lo, b.x[lo*b.d:hi*b.d], b.d, &panel, products, ld, false)
		fit := newSimplexFit(m, gram)
		for i := lo; i < hi; i++ {
			for j := range m {
				rhs[j] = float64(products[(i-lo)*ld+j])
			}
			fit.solve(rhs, out[i*m:(i+1)*m])
		}
		return nil
	})
	return out, err
}

// leftVectors returns the first k left singular vectors of the n×d matrix z as rows, from the eigenvectors of zᵀz.
func leftVectors(n, d int, z []float64, k int) (*block, error) {
	var gram mat.SymDense
	gram.SymOuterK(1, mat.NewDense(n, d, z).T())
	var eigen mat.EigenSym
	if !eigen.Factorize(&gram, true) {
		return nil, fmt.Errorf("baseline: the eigenvectors of ZᵀZ did not converge")
	}
	var vectors, product mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil)
	product.Mul(mat.NewDense(n, d, z), vectors.Slice(0, d, d-k, d))
	out := &block{n: n, d: k, x: make([]float32, n*k)}
	for j := range k {
		value := values[d-1-j]
		if value <= 1e-12*values[d-1] {
			continue
		}
		for i := range n {
			out.x[i*k+j] = float32(product.At(i, k-1-j) / math.Sqrt(value))
		}
	}
	return out, nil
}
