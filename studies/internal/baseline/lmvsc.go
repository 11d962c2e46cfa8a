package baseline

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// The grid of the authors' code, whose middle is the fixed setting.
var (
	lmvscAnchors = []int{0, 50, 100} // 0: c
	lmvscAlphas  = []float64{0.01, 1, 100}
)

const lmvscSettings = "views as they are, m = 50 anchors a view and α = 1 (the middle of the authors' grid)"

// lmvsc is large-scale multi-view subspace clustering in linear time (Z. Kang, W. Zhou, Z. Zhao, J. Shao, M. Han and Z.
// Xu, AAAI 2020). In every view k-means gives m anchors A_v, and every sample is written as a convex combination of
// them,
//
//	min_z ‖x_i − A_vᵀz‖² + α‖z‖²  subject to z ≥ 0, Σz = 1;
//
// the weights of all views side by side, Z = [Z_1 … Z_V]/√V (n×Vm), are clustered by k-means on their first c left
// singular vectors. Each sample's problem is solved exactly.
func lmvsc(ctx context.Context, views []mat.Matrix, c int, seed uint64, how scaling) ([]int, error) {
	x, err := load(ctx, views, nil, c, how)
	if err != nil {
		return nil, err
	}
	anchors, err := findAnchors(ctx, x, lmvscAnchors[1], seed)
	if err != nil {
		return nil, err
	}
	return lmvscOn(ctx, x, anchors, lmvscAlphas[1], c, seed)
}

// LMVSCOfGrid runs LMVSC with every setting of its authors' grid: m of c, 50 and 100 anchors and α of 0.01, 1 and 100. It returns
// the labels with the highest score, and their setting. A score that compares labels with classes makes it an oracle, as in the
// paper: tables must call it label-picked.
func LMVSCOfGrid(
	ctx context.Context, views []mat.Matrix, c int, seed uint64, score func(labels []int) (float64, error),
) (labels []int, setting string, err error) {
	x, err := load(ctx, views, nil, c, raw)
	if err != nil {
		return nil, "", err
	}
	best := 0.0
	for _, m := range lmvscAnchors {
		if m == 0 {
			m = c
		}
		anchors, err := findAnchors(ctx, x, m, seed)
		if err != nil {
			return nil, "", err
		}
		for _, alpha := range lmvscAlphas {
			found, err := lmvscOn(ctx, x, anchors, alpha, c, seed)
			if err != nil {
				return nil, "", err
			}
			s, err := score(found)
			if err != nil {
				return nil, "", fmt.Errorf("baseline: %w", err)
			}
			if labels == nil || s > best {
				labels, setting, best = found, fmt.Sprintf("m = %d, α = %g", m, alpha), s
			}
		}
	}
	return labels, setting, nil
}

// anchorSet is the anchors of a view: m×d_v.
type anchorSet struct {
	m int
	a []float32
}

// findAnchors returns m anchors of every view, or as many as there are samples.
func findAnchors(ctx context.Context, x []*block, m int, seed uint64) ([]anchorSet, error) {
	out := make([]anchorSet, len(x))
	for v := range x {
		r, err := runKMeans(ctx, x[v:v+1], min(m, x[v].n), seed+uint64(v), false)
		if err != nil {
			return nil, err
		}
		out[v] = anchorSet{r.Found, r.Centroids[0]}
	}
	return out, nil
}

// lmvscOn clusters the samples by their weights on the anchors.
func lmvscOn(ctx context.Context, x []*block, anchors []anchorSet, alpha float64, c int, seed uint64) ([]int, error) {
	n, width := x[0].n, 0
	parts := make([][]float64, len(x))
	for v, b := range x {
		var err error
		if parts[v], err = convexWeights(ctx, b, anchors[v].a, anchors[v].m, alpha); err != nil {
			return nil, err
		}
		width += anchors[v].m
	}
	z := make([]float64, 0, n*width)
	for i := range n {
		for v, p := range parts {
			m := anchors[v].m
			for _, a := range p[i*m : (i+1)*m] {
				z = append(z, a/math.Sqrt(float64(len(x))))
			}
		}
	}
	return clusterVectors(ctx, mat.NewDense(n, width, z), c, seed)
}

// clusterVectors clusters the rows of the first c left singular vectors of z, or of as many as it has columns.
func clusterVectors(ctx context.Context, z *mat.Dense, c int, seed uint64) ([]int, error) {
	n, width := z.Dims()
	u, err := leftVectors(n, width, z.RawMatrix().Data, min(c, width))
	if err != nil {
		return nil, err
	}
	return labelsOf(ctx, []*block{u}, c, seed, true)
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

// leftVectors returns the first k left singular vectors of the n×d matrix z as rows, from the eigenvectors of the smaller of zᵀz
// and zzᵀ. Vectors with singular value 0, and vectors beyond n, are 0.
func leftVectors(n, d int, z []float64, k int) (*block, error) {
	m, side := mat.NewDense(n, d, z), min(n, d)
	var gram mat.SymDense
	if d > n {
		gram.SymOuterK(1, m)
	} else {
		gram.SymOuterK(1, m.T())
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(&gram, true) {
		return nil, fmt.Errorf("baseline: the eigenvectors of ZᵀZ did not converge")
	}
	var all, product mat.Dense
	eigen.VectorsTo(&all)
	values, out := eigen.Values(nil), &block{n: n, d: k, x: make([]float32, n*k)}
	found := min(k, side)
	vectors := all.Slice(0, side, side-found, side)
	if d > n {
		product.CloneFrom(vectors)
	} else {
		product.Mul(m, vectors)
	}
	for j := range found {
		value := values[side-1-j]
		if value <= 1e-12*values[side-1] {
			continue
		}
		scale := 1.0
		if d <= n {
			scale = math.Sqrt(value)
		}
		for i := range n {
			out.x[i*k+j] = float32(product.At(i, found-1-j) / scale)
		}
	}
	return out, nil
}
