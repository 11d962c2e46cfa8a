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
	emvgcLambda   = 0.1
	emvgcMu       = 1
	emvgcMost     = 40
	emvgcSettings = "columns z-scored, m = c anchors, λ = 0.1 and μ = 1 (the middles of the paper's grid), at most 40 iterations"
)

// emvgc is efficient multi-view graph clustering with local and global structure preservation (Y. Wen, S. Liu, X. Wan, S.
// Wang, K. Liang, X. Liu, X. Yang and P. Zhang, ACM MM 2023), with the objective of its authors' code:
//
//	min Σ_v (‖X_v − Z A_v‖² + λ Σ_ij z_ij ‖a_vj‖²) + μ‖Z‖²  subject to Z ≥ 0, Z1 = 1,
//
// with the anchors A_v (m×d_v) of each view and the graph Z (n×m) of samples and anchors, common to the views, whose left
// singular vectors are clustered. It goes by turns in Z and A, both exactly, from anchors that k-means gives, until an
// iteration lowers the objective by less than a thousandth.
func emvgc(ctx context.Context, views []mat.Matrix, c int, seed uint64, how scaling) ([]int, error) {
	x, err := load(ctx, views, nil, c, how)
	if err != nil {
		return nil, err
	}
	anchors := make([][]float64, len(x))
	for v, b := range x {
		r, err := runKMeans(ctx, x[v:v+1], c, seed+uint64(v), false)
		if err != nil {
			return nil, err
		}
		anchors[v] = make([]float64, c*b.d) // fewer than c were found where samples are equal; the others are 0
		kernel.Widen(anchors[v][:r.Found*b.d], r.Centroids[0][:r.Found*b.d])
	}
	z := make([]float64, x[0].n*c)
	last := math.Inf(1)
	for t := 1; t <= emvgcMost; t++ {
		if err := emvgcGraph(ctx, x, anchors, z); err != nil {
			return nil, err
		}
		objective, err := emvgcAnchors(ctx, x, anchors, z)
		if err != nil {
			return nil, err
		}
		if t > 9 && last-objective < 1e-3*last {
			break
		}
		last = objective
	}
	u, err := leftVectors(x[0].n, c, z, c)
	if err != nil {
		return nil, err
	}
	unitRows(u)
	return labelsOf(ctx, []*block{u}, c, seed, true)
}

// emvgcGraph sets Z to the minimum for the anchors: for every sample a problem on the simplex.
func emvgcGraph(ctx context.Context, x []*block, anchors [][]float64, z []float64) error {
	n, m := x[0].n, len(z)/x[0].n
	ld := kernel.Pad(m)
	gram, local := make([]float64, m*m), make([]float64, m)
	panels := make([]kernel.Panel[float32], len(x))
	for v, b := range x {
		a := mat.NewDense(m, b.d, anchors[v])
		var part mat.Dense
		part.Mul(a, a.T())
		for i := range m {
			for j := range m {
				gram[i*m+j] += part.At(i, j)
			}
			local[i] += emvgcLambda / 2 * part.At(i, i)
		}
		kernel.PackT(&panels[v], b.d, m, anchors[v], b.d)
	}
	for i := range m {
		gram[i*m+i] += emvgcMu
	}
	const chunk = 256
	return parallel.For(ctx, 0, (n+chunk-1)/chunk, func(_, k int) error {
		lo, hi := k*chunk, min((k+1)*chunk, n)
		products, rhs := make([]float32, chunk*ld), make([]float64, m)
		for v, b := range x {
			kernel.Mul(hi-lo, b.x[lo*b.d:hi*b.d], b.d, &panels[v], products, ld, v > 0)
		}
		fit := newSimplexFit(m, gram)
		for i := lo; i < hi; i++ {
			for j := range m {
				rhs[j] = float64(products[(i-lo)*ld+j]) - local[j]
			}
			fit.solve(rhs, z[i*m:(i+1)*m])
		}
		return nil
	})
}

// emvgcAnchors sets the anchors to the minimum for Z, A_v = (ZᵀZ + λ diag(Zᵀ1))⁻¹ZᵀX_v, and returns the objective. An anchor
// that no sample uses becomes 0.
func emvgcAnchors(ctx context.Context, x []*block, anchors [][]float64, z []float64) (float64, error) {
	n, m := x[0].n, len(z)/x[0].n
	zm := mat.NewDense(n, m, z)
	var gram mat.SymDense
	gram.SymOuterK(1, zm.T())
	used, objective := make([]float64, m), 0.0
	for j := range m {
		objective += emvgcMu * gram.At(j, j)
		for i := range n {
			used[j] += z[i*m+j]
		}
	}
	system := mat.NewSymDense(m, nil)
	system.CopySym(&gram)
	for j := range m {
		system.SetSym(j, j, gram.At(j, j)+emvgcLambda*used[j])
		if used[j] == 0 {
			system.SetSym(j, j, 1)
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(system) {
		return 0, fmt.Errorf("baseline: EMVGC-LG: the system of the anchors is singular")
	}
	for v, b := range x {
		sums, err := weightedSums(ctx, b, m, z)
		if err != nil {
			return 0, err
		}
		rhs, a := mat.NewDense(m, b.d, sums), mat.NewDense(m, b.d, anchors[v])
		if err := chol.SolveTo(a, rhs); err != nil {
			return 0, fmt.Errorf("baseline: EMVGC-LG, view %d: %w", v, err)
		}
		// At the minimum ‖X‖² − 2⟨ZᵀX, A⟩ + ⟨A, (ZᵀZ + λD)A⟩ is ‖X‖² − ⟨ZᵀX, A⟩.
		objective += kernel.SumSquares(b.x, 0)
		for i, s := range sums {
			objective -= s * anchors[v][i]
		}
	}
	return objective, nil
}

// weightedSums returns ZᵀX (m×d) for the n×m weights Z.
func weightedSums(ctx context.Context, b *block, m int, z []float64) ([]float64, error) {
	out := make([]float64, m*b.d)
	ld := kernel.Pad(m)
	err := parallel.Fold(ctx, 0, (b.n+assignChunk-1)/assignChunk,
		func() []float32 { return make([]float32, m*b.d+assignChunk*ld) },
		func(_, k int, part []float32) error {
			sums, weights := part[:m*b.d], part[m*b.d:]
			clear(sums)
			lo, hi := k*assignChunk, min((k+1)*assignChunk, b.n)
			for i := lo; i < hi; i++ {
				for j, a := range z[i*m : (i+1)*m] {
					weights[(i-lo)*ld+j] = float32(a)
				}
			}
			kernel.TMulAdd(hi-lo, m, b.d, weights, ld, b.x[lo*b.d:hi*b.d], b.d, sums, b.d)
			return nil
		},
		func(_ int, part []float32) error {
			kernel.AddTo(out, part[:m*b.d])
			return nil
		})
	return out, err
}

// unitRows divides the rows by their norms.
func unitRows(b *block) {
	for i := range b.n {
		row := b.row(i)
		if norm := math.Sqrt(kernel.SumSquares(row, 0)); norm > 0 {
			for j := range row {
				row[j] = float32(float64(row[j]) / norm)
			}
		}
	}
}
