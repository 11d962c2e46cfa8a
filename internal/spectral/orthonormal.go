package spectral

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

var dense gonum.Implementation

// weakPivot is the squared part of a row of norm 1 outside the span of earlier rows below which Cholesky's rounding error
// matters.
const weakPivot = 1e-9

// orthonormalise replaces the k rows of g by an orthonormal basis of their span. It uses Cholesky of their Gram matrix, twice,
// for speed, and Gram–Schmidt for rows that nearly depend on others. Rows that depend on others become zero.
func orthonormalise(ctx context.Context, g []float64, k, d, workers int) error {
	toUnitRows(g, k, d)
	return orthonormaliseUnit(ctx, g, k, d, 2, workers)
}

// nearlyOrthonormalise is orthonormalise for rows that only need to stay independent until the next product: Cholesky once, whose
// rounding error grows with the condition of the rows.
func nearlyOrthonormalise(ctx context.Context, g []float64, k, d, workers int) error {
	toUnitRows(g, k, d)
	return orthonormaliseUnit(ctx, g, k, d, 1, workers)
}

// toUnitRows scales rows to norm 1; rows of zeros stay zero.
func toUnitRows(g []float64, k, d int) {
	for i := range k {
		row := g[i*d : (i+1)*d]
		if norm := dense.Dnrm2(d, row, 1); norm > 0 {
			dense.Dscal(d, 1/norm, row, 1)
		}
	}
}

// orthonormaliseUnit makes rows of norm 1 orthonormal, by the given rounds of Cholesky.
func orthonormaliseUnit(ctx context.Context, g []float64, k, d, rounds, workers int) error {
	strong := k
	for range rounds {
		var err error
		if strong, err = choleskyRows(ctx, g, strong, d, workers); err != nil {
			return err
		}
	}
	if !gramSchmidt(g, strong, k, d) {
		toUnitRows(g, k, d)
		gramSchmidt(g, 0, k, d)
	}
	return nil
}

// choleskyRows makes rows of norm 1 orthonormal, except for rounding. It moves the rows for which this fails to the end,
// unchanged, and returns the number of the others.
func choleskyRows(ctx context.Context, g []float64, k, d, workers int) (int, error) {
	s, err := timesTransposed(ctx, g, g, k, d, workers)
	if err != nil {
		return 0, err
	}
	defer give(s)
	// The factor of the rows that are taken: row i of l belongs to row taken[i] of g.
	l := take(k * k)
	defer give(l)
	clear(l)
	taken, weak := make([]int, 0, k), make([]int, 0, k)
	for i := range k {
		n := len(taken)
		row := l[n*k : n*k+n+1]
		for j, t := range taken {
			row[j] = (s[i*k+t] - dense.Ddot(j, row, 1, l[j*k:], 1)) / l[j*k+j]
		}
		pivot := s[i*k+i] - dense.Ddot(n, row, 1, row, 1)
		if !(pivot > weakPivot) {
			weak = append(weak, i)
			continue
		}
		row[n] = math.Sqrt(pivot)
		taken = append(taken, i)
	}
	if len(weak) > 0 {
		reorder(g, d, append(taken, weak...))
	}
	n := len(taken)
	if n == 0 {
		return 0, nil
	}
	inverse := take(n * n)
	defer give(inverse)
	clear(inverse)
	for i := range n {
		inverse[i*n+i] = 1
	}
	dense.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, n, n, 1, l, k, inverse, n)
	out, err := times(ctx, inverse, g, n, n, d, workers)
	if err != nil {
		return n, err
	}
	copy(g, out)
	give(out)
	return n, nil
}

// reorder moves row order[i] of g to place i.
func reorder(g []float64, d int, order []int) {
	out := make([]float64, 0, len(order)*d)
	for _, i := range order {
		out = append(out, g[i*d:(i+1)*d]...)
	}
	copy(g, out)
}

// dependent is the part of a row of norm 1 outside the span of earlier rows below which the part is rounding error.
const dependent = 1e-12

// grown is the norm above which a projected row of norm 1 shows that the earlier rows are not orthonormal.
const grown = 1.01

// gramSchmidt replaces rows [first, k) of norm 1 one by one by their part outside the span of earlier rows, at norm 1 or 0. It
// returns false, with rows that are not orthonormal, if the rows before first are far from it, as Cholesky leaves rows of a large
// condition.
func gramSchmidt(g []float64, first, k, d int) bool {
	coef := make([]float64, k)
	project := func(i int) {
		if row := g[i*d : (i+1)*d]; i > 0 {
			dense.Dgemv(blas.NoTrans, i, d, 1, g, d, row, 1, 0, coef, 1)
			dense.Dgemv(blas.Trans, i, d, -1, g, d, coef, 1, 1, row, 1)
		}
	}
	for i := first; i < k; i++ {
		project(i)
		project(i)
		row := g[i*d : (i+1)*d]
		norm := dense.Dnrm2(d, row, 1)
		if norm > grown {
			return false
		}
		if norm <= dependent {
			clear(row)
			continue
		}
		dense.Dscal(d, 1/norm, row, 1)
		project(i) // The division has magnified rounding errors.
	}
	return true
}

// productRows is the number of rows of a product that a goroutine computes at once.
const productRows = 32

// timesTransposed returns a·bᵀ for matrices of k rows of d columns.
func timesTransposed(ctx context.Context, a, b []float64, k, d, workers int) ([]float64, error) {
	panel := panels.Get().(*kernel.Panel[float64])
	defer panels.Put(panel)
	kernel.PackT(panel, d, k, b, d)
	return multiply(ctx, a, k, d, panel, k, workers)
}

// times returns a·b for a of m×k and b of k×d.
func times(ctx context.Context, a, b []float64, m, k, d, workers int) ([]float64, error) {
	panel := panels.Get().(*kernel.Panel[float64])
	defer panels.Put(panel)
	kernel.Pack(panel, k, d, b, d)
	return multiply(ctx, a, m, k, panel, d, workers)
}

// multiply returns the product of a, m×k, and the packed matrix of the given number of columns. The caller releases it with give.
func multiply(ctx context.Context, a []float64, m, k int, panel *kernel.Panel[float64], columns, workers int) ([]float64, error) {
	out, ld := take(m*columns), kernel.Pad(columns)
	err := parallel.For(ctx, workers, (m+productRows-1)/productRows, func(_, c int) error {
		lo, hi := c*productRows, min((c+1)*productRows, m)
		y := take((hi - lo) * ld)
		defer give(y)
		kernel.Mul(hi-lo, a[lo*k:], k, panel, y, ld, false)
		for i := lo; i < hi; i++ {
			copy(out[i*columns:(i+1)*columns], y[(i-lo)*ld:])
		}
		return nil
	})
	return out, err
}
