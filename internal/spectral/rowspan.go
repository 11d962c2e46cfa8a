package spectral

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Compressed holds sparse rows X = diag(Factor)·(S + Shift·Alongᵀ), n×d, in compressed columns, if a matrix of all columns does
// not fit in memory.
type Compressed struct {
	N, D   int
	Ptr    []int   // d+1: column j has the entries from Ptr[j] to Ptr[j+1]
	Row    []int32 // of the entries, increasing in a column
	Value  []float64
	Shift  []float64 // n; nil: no shift
	Along  []float64 // d, with Shift
	Factor []float64 // n
}

// RowSpan holds leading directions of sparse rows with far more columns than rows, as combinations of the rows: V = Weightsᵀ·X.
// Its memory is proportional to the entries of X and to its rows; V would have d numbers for each direction.
type RowSpan struct {
	X       Compressed
	S       []float64 // singular values, decreasing
	Weights []float64 // n×rank

	sums   []float64 // S·Along, n
	square float64   // ‖Along‖²
}

const (
	spanRows    = 10_000  // the most rows: a projection has a product with all of them
	spanNumbers = 1 << 23 // the fewest numbers of V for which a RowSpan justifies its slower projections
	spanShare   = 8       // the least ratio of these numbers to the numbers in a RowSpan
)

// Spans reports whether a RowSpan holds directions of x better.
func Spans[T kernel.Float](x rows.Matrix[T], rank int) bool {
	inner, _ := rows.Unscaled(x)
	s, ok := inner.(*rows.Sparse[T])
	if !ok {
		return false
	}
	n, d := s.Dims()
	numbers := float64(rank) * float64(d)
	return n <= spanRows && numbers >= spanNumbers &&
		numbers >= spanShare*(float64(s.Entries())+float64(n)*float64(rank))
}

// compress returns sparse rows in compressed columns.
func compress[T kernel.Float](x rows.Matrix[T]) Compressed {
	inner, factor := rows.Unscaled(x)
	s := inner.(*rows.Sparse[T])
	n, d := s.Dims()
	ptr, cols, values, shift, along := s.Compressed()
	out := Compressed{N: n, D: d, Ptr: make([]int, d+1), Factor: make([]float64, n)}
	for _, j := range cols[ptr[0]:ptr[n]] {
		out.Ptr[j+1]++
	}
	for j := range d {
		out.Ptr[j+1] += out.Ptr[j]
	}
	out.Row, out.Value = make([]int32, out.Ptr[d]), make([]float64, out.Ptr[d])
	next := append([]int(nil), out.Ptr[:d]...)
	for i := range n {
		out.Factor[i] = 1
		if factor != nil {
			out.Factor[i] = float64(factor[i])
		}
		for e := ptr[i]; e < ptr[i+1]; e++ {
			at := next[cols[e]]
			out.Row[at], out.Value[at] = int32(i), float64(values[e])
			next[cols[e]]++
		}
	}
	if shift != nil {
		out.Shift, out.Along = kernel.Float64s(shift[:n]), kernel.Float64s(along)
	}
	return out
}

// complete sets the fields that follow from the rows.
func (b *RowSpan) complete() {
	b.sums, b.square = make([]float64, b.X.N), 0
	if b.X.Shift == nil {
		return
	}
	for j, u := range b.X.Along {
		b.square += u * u
		for e := b.X.Ptr[j]; e < b.X.Ptr[j+1]; e++ {
			b.sums[b.X.Row[e]] += b.X.Value[e] * u
		}
	}
}

// FindSpan returns the leading directions of sparse rows, as Find does, but iterates with X·Xᵀ.
func FindSpan[T kernel.Float](ctx context.Context, x rows.Matrix[T], cfg Config) (*RowSpan, error) {
	n, d := x.Dims()
	if cfg.Rank < 1 || cfg.Rank > min(n, d) {
		return nil, fmt.Errorf("spectral: rank %d of a %d×%d matrix", cfg.Rank, n, d)
	}
	b := &RowSpan{X: compress(x)}
	b.complete()
	k := min(cfg.Rank+oversample, n)
	passes := cfg.Iterations
	if passes == 0 {
		passes = 8
	}
	if k == n {
		passes = 1
	}
	rng := rand.New(rand.NewPCG(cfg.Seed, 0x5bec7a2))
	g := make([]float64, k*n)
	for i := range g {
		g[i] = rng.NormFloat64()
	}
	for range passes {
		if err := orthonormalise(ctx, g, k, n, cfg.Workers); err != nil {
			return nil, err
		}
		var err error
		if g, err = b.gramTimes(ctx, g, k, cfg.Workers); err != nil {
			return nil, err
		}
	}
	if err := orthonormalise(ctx, g, k, n, cfg.Workers); err != nil {
		return nil, err
	}
	z, err := b.gramTimes(ctx, g, k, cfg.Workers)
	if err != nil {
		return nil, err
	}
	small, err := timesTransposed(ctx, z, g, k, n, cfg.Workers)
	if err != nil {
		return nil, err
	}
	values, vectors, err := eigen(small, k)
	if err != nil {
		return nil, err
	}
	u, err := times(ctx, vectors[:cfg.Rank*k], g, cfg.Rank, k, n, cfg.Workers)
	if err != nil {
		return nil, err
	}
	b.setDirections(u, values[:cfg.Rank])
	return b, nil
}

// setDirections sets S and Weights from the left singular vectors, the rows of u, and the squares of the singular values.
func (b *RowSpan) setDirections(u, squares []float64) {
	n, rank := b.X.N, len(squares)
	b.S, b.Weights = make([]float64, rank), make([]float64, n*rank)
	for r, square := range squares {
		row := u[r*n : (r+1)*n]
		fixSign(row)
		if !(square > negligibleValue*squares[0]) { // rounding error, no direction
			continue
		}
		b.S[r] = math.Sqrt(max(square, 0))
		for i, e := range row {
			b.Weights[i*rank+r] = e / b.S[r]
		}
	}
}

// negligibleValue is the squared singular value, relative to the largest, below which a direction is rounding error.
const negligibleValue = 1e-13

// gramChunks is the number of parts of the columns.
const gramChunks = 32

// gramTimes returns G·XXᵀ, k×n. With U = diag(f)Gᵀ, s = bᵀU and w_j = Σ_i S_ij U_i + u_j s for column j,
//
//	(XXᵀGᵀ)_i = f_i·(Σ_j S_ij w_j + b_i Σ_j u_j w_j),    Σ_j u_j w_j = Σ_i (Su)_i U_i + ‖u‖² s.
func (b *RowSpan) gramTimes(ctx context.Context, g []float64, k, workers int) ([]float64, error) {
	n, d := b.X.N, b.X.D
	u, s, along := make([]float64, n*k), make([]float64, k), make([]float64, k)
	for i, f := range b.X.Factor {
		row := u[i*k : (i+1)*k]
		for r := range row {
			row[r] = f * g[r*n+i]
		}
		if b.X.Shift != nil {
			dense.Daxpy(k, b.X.Shift[i], row, 1, s, 1)
			dense.Daxpy(k, b.sums[i], row, 1, along, 1)
		}
	}
	dense.Daxpy(k, b.square, s, 1, along, 1)
	total := make([]float64, n*k)
	width := (d + gramChunks - 1) / gramChunks
	err := parallel.Fold(ctx, workers, (d+width-1)/width, func() []float64 { return make([]float64, n*k) },
		func(_, c int, z []float64) error {
			clear(z)
			w := make([]float64, k)
			for j := c * width; j < min((c+1)*width, d); j++ {
				lo, hi := b.X.Ptr[j], b.X.Ptr[j+1]
				if lo == hi {
					continue
				}
				clear(w)
				if b.X.Shift != nil {
					dense.Daxpy(k, b.X.Along[j], s, 1, w, 1)
				}
				for e := lo; e < hi; e++ {
					dense.Daxpy(k, b.X.Value[e], u[int(b.X.Row[e])*k:], 1, w, 1)
				}
				for e := lo; e < hi; e++ {
					dense.Daxpy(k, b.X.Value[e], w, 1, z[int(b.X.Row[e])*k:], 1)
				}
			}
			return nil
		},
		func(_ int, z []float64) error { kernel.AddTo(total, z); return nil })
	if err != nil {
		return nil, err
	}
	out := make([]float64, k*n)
	for i, f := range b.X.Factor {
		for r := range k {
			x := total[i*k+r]
			if b.X.Shift != nil {
				x += b.X.Shift[i] * along[r]
			}
			out[r*n+i] = f * x
		}
	}
	return out, nil
}

// SpanProjector projects rows to the directions of a RowSpan.
type SpanProjector[T kernel.Float] struct{ span *RowSpan }

// NewSpanProjector returns the projector for directions, or an error if their parts do not fit.
func NewSpanProjector[T kernel.Float](b *RowSpan) (*SpanProjector[T], error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	b.complete()
	return &SpanProjector[T]{b}, nil
}

// check returns an error if parts do not fit each other.
func (b *RowSpan) check() error {
	x := &b.X
	shifts := x.Shift == nil && x.Along == nil || len(x.Shift) == x.N && len(x.Along) == x.D
	if len(x.Ptr) != x.D+1 || x.Ptr[0] != 0 || x.Ptr[x.D] != len(x.Row) || len(x.Value) != len(x.Row) || !shifts ||
		len(x.Factor) != x.N || len(b.Weights) != x.N*len(b.S) {
		return errors.New("the sizes of the parts of its sparse directions do not fit each other")
	}
	for j := range x.D {
		if x.Ptr[j] > x.Ptr[j+1] {
			return fmt.Errorf("column %d of its sparse directions has a negative length", j)
		}
	}
	for e, i := range x.Row {
		if i < 0 || int(i) >= x.N {
			return fmt.Errorf("entry %d of its sparse directions is in row %d of %d", e, i, x.N)
		}
	}
	return nil
}

// Rows sets y to rows [lo, hi) of x in the directions, with the stride kernel.Pad of their number. The bits of a row do not
// depend on other rows.
func (p *SpanProjector[T]) Rows(x rows.Matrix[T], lo, hi int, y []T) {
	b := p.span
	rank := len(b.S)
	ld := kernel.Pad(rank)
	inner, factor := rows.Unscaled(x)
	sparse, isSparse := inner.(*rows.Sparse[T])
	var row []T
	if !isSparse {
		row = make([]T, b.X.D)
	}
	z, out := make([]float64, b.X.N), make([]float64, rank)
	for i := lo; i < hi; i++ {
		clear(z)
		along, c, g := 0.0, 0.0, 1.0 // of a row g·(s + c·u): s·u, c and g
		visit := func(j int, value float64) {
			if b.X.Shift != nil {
				along += value * b.X.Along[j]
			}
			for e := b.X.Ptr[j]; e < b.X.Ptr[j+1]; e++ {
				z[b.X.Row[e]] += value * b.X.Value[e]
			}
		}
		if isSparse {
			ptr, cols, values, shift, _ := sparse.Compressed()
			for e := ptr[i]; e < ptr[i+1]; e++ {
				visit(int(cols[e]), float64(values[e]))
			}
			if shift != nil {
				c = float64(shift[i])
			}
			if factor != nil {
				g = float64(factor[i])
			}
		} else {
			x.Row(i, row)
			for j, value := range row {
				if value != 0 {
					visit(j, float64(value))
				}
			}
		}
		for q := range z {
			z[q] += c * b.sums[q]
			if b.X.Shift != nil {
				z[q] += b.X.Shift[q] * (along + c*b.square)
			}
			z[q] *= g * b.X.Factor[q]
		}
		dense.Dgemv(blas.Trans, b.X.N, rank, 1, b.Weights, rank, z, 1, 0, out, 1)
		for r, value := range out {
			y[(i-lo)*ld+r] = T(value)
		}
	}
}
