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
// would matter.
const weakPivot = 1e-9

// orthonormalise replaces the k rows of g by an orthonormal basis of their span: Cholesky of their Gram matrix, twice, for
// its speed, and Gram–Schmidt for the rows that nearly depend on others. Rows that do depend on others become zero.
func orthonormalise(ctx context.Context, g []float64, k, d, workers int) error {
	toUnitRows(g, k, d)
	return orthonormaliseUnit(ctx, g, k, d, 2, workers)
}

// nearlyOrthonormalise is orthonormalise for rows that are only to be kept apart until they are multiplied again: Cholesky once,
// whose rounding error grows with their condition.
func nearlyOrthonormalise(ctx context.Context, g []float64, k, d, workers int) error {
	toUnitRows(g, k, d)
	return orthonormaliseUnit(ctx, g, k, d, 1, workers)
}

// toUnitRows brings rows to norm 1; rows of zeros stay.
func toUnitRows(g []float64, k, d int) {
	for i := range k {
		row := g[i*d : (i+1)*d]
		if norm := dense.Dnrm2(d, row, 1); norm > 0 {
			dense.Dscal(d, 1/norm, row, 1)
		}
	}
}

// orthonormaliseUnit makes rows of norm 1 orthonormal, by so many rounds of Cholesky.
func orthonormaliseUnit(ctx context.Context, g []float64, k, d, rounds, workers int) error {
	strong := k
	for range rounds {
		var err error
		if strong, err = choleskyRows(ctx, g, strong, d, workers); err != nil {
			return err
		}
	}
	gramSchmidt(g, strong, k, d)
	return nil
}

// choleskyRows makes rows of norm 1 orthonormal but for rounding. The rows for which that fails go to the end, as they are;
// it returns the number of the others.
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

// reorder puts row order[i] of g in the place of row i.
func reorder(g []float64, d int, order []int) {
	out := make([]float64, 0, len(order)*d)
	for _, i := range order {
		out = append(out, g[i*d:(i+1)*d]...)
	}
	copy(g, out)
}

// dependent is the part of a row of norm 1 outside the span of earlier rows below which it is rounding.
const dependent = 1e-12

// gramSchmidt takes rows [first, k) of norm 1 one by one to the part that earlier rows do not span, at norm 1 or 0.
func gramSchmidt(g []float64, first, k, d int) {
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
		if norm <= dependent {
			clear(row)
			continue
		}
		dense.Dscal(d, 1/norm, row, 1)
		project(i) // The division has made rounding errors larger.
	}
}

// productRows is the number of rows of a product that a goroutine makes at once.
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

// multiply returns the product of a, m×k, and the packed matrix of the given number of columns, in memory that give takes.
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
