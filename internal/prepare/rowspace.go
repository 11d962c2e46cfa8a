package prepare

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas/gonum"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

const (
	// basisRows is the number of rows that are orthogonalised together: one vector of columns of the kernels.
	basisRows = 16
	// columnStrip is the number of columns that a goroutine takes at once.
	columnStrip = 1024
)

// rowBasis returns k orthonormal rows (k×d, row-major, in float64) such that the distance of every row of x from their span is at
// most about tol times its length. If more than limit rows are needed, it stops and returns k > limit and no rows.
//
// It is Gram–Schmidt over blocks of rows, done twice (L. Giraud, J. Langou, M. Rozložník, 2005: twice is enough), in about 4k²d
// + 4(n−k)kd multiplications, nearly all of them in matrix products. A row that depends on those before it adds nothing.
func rowBasis[T kernel.Float](
	ctx context.Context, x rows.Matrix[T], limit int, tol float64, workers int,
) (q []float64, k int, err error) {
	n, d := x.Dims()
	b := &basis{d: d, workers: workers, block: make([]float64, basisRows*d), norms: make([]float64, basisRows)}
	row, square := make([]T, d), make([]float64, 1)
	filled := 0
	for i := 0; i < n && b.k < d; i++ {
		x.SquaredNorms(i, i+1, square)
		if square[0] > 0 {
			x.Row(i, row)
			for j, v := range row {
				b.block[filled*d+j] = float64(v)
			}
			b.norms[filled] = math.Sqrt(square[0])
			filled++
		}
		if filled < basisRows && i < n-1 {
			continue
		}
		if err := b.add(ctx, filled, tol); err != nil {
			return nil, 0, err
		}
		if b.k > limit {
			return nil, b.k, nil
		}
		filled = 0
	}
	return b.q, b.k, nil
}

// basis is an orthonormal basis while it is built.
type basis struct {
	d, k    int
	workers int
	q       []float64 // k×d
	groups  []group   // of the rows of q
	block   []float64 // basisRows×d: the current rows
	norms   []float64 // of these rows before orthogonalisation
}

// group is some consecutive rows of q, as right-hand side of X·Qᵀ.
type group struct {
	first, count int
	panel        kernel.Panel[float64]
	coef         []float64 // basisRows×Pad: W·Qᵀ, then its negative transpose
	turned       []float64
}

// add orthogonalises the first count rows of the block and adds those outside the span.
func (b *basis) add(ctx context.Context, count int, tol float64) error {
	if err := b.removeSpan(ctx, count); err != nil {
		return err
	}
	count = b.among(count, tol)
	// The first round may leave a short row, in which rounding is large relative to its length: the second round removes it.
	if err := b.removeSpan(ctx, count); err != nil {
		return err
	}
	if count = b.among(count, 0); count == 0 {
		return nil
	}
	count = min(count, b.d-b.k)
	b.q = append(b.q, b.block[:count*b.d]...)
	b.groups = append(b.groups, group{})
	g := &b.groups[len(b.groups)-1]
	g.first, g.count = b.k, count
	kernel.PackT(&g.panel, b.d, count, b.block, b.d)
	g.coef, g.turned = make([]float64, basisRows*basisRows), make([]float64, basisRows*basisRows)
	b.k += count
	return nil
}

// removeSpan subtracts from the first count rows of the block their parts in the span: W −= (W·Qᵀ)·Q.
func (b *basis) removeSpan(ctx context.Context, count int) error {
	if count == 0 || b.k == 0 {
		return nil
	}
	err := parallel.For(ctx, b.workers, len(b.groups), func(_, j int) error {
		g := &b.groups[j]
		kernel.Mul(count, b.block, b.d, &g.panel, g.coef, basisRows, false)
		for i := range count {
			for r := range g.count {
				g.turned[r*basisRows+i] = -g.coef[i*basisRows+r]
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return parallel.For(ctx, b.workers, (b.d+columnStrip-1)/columnStrip, func(_, c int) error {
		lo := c * columnStrip
		for j := range b.groups {
			g := &b.groups[j]
			kernel.TMulAdd(g.count, count, min(columnStrip, b.d-lo), g.turned, basisRows,
				b.q[g.first*b.d+lo:], b.d, b.block[lo:], b.d)
		}
		return nil
	})
}

// among orthonormalises the first count rows of the block among themselves. It drops a row if at most tol of its length
// remains, moves the others to the front and returns their number.
func (b *basis) among(count int, tol float64) int {
	var blas gonum.Implementation
	kept := 0
	for i := range count {
		w := b.block[i*b.d : (i+1)*b.d]
		for range 2 {
			for j := range kept {
				v := b.block[j*b.d : (j+1)*b.d]
				blas.Daxpy(b.d, -blas.Ddot(b.d, v, 1, w, 1), v, 1, w, 1)
			}
		}
		norm := blas.Dnrm2(b.d, w, 1)
		if !(norm > tol*b.norms[i]) {
			continue
		}
		blas.Dscal(b.d, 1/norm, w, 1)
		copy(b.block[kept*b.d:(kept+1)*b.d], w)
		kept++
	}
	for i := range kept { // the kept rows have length 1
		b.norms[i] = 1
	}
	return kept
}
