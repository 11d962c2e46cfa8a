package neighbor

import (
	"context"
	"errors"
	"fmt"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// Operator is a symmetric n×n matrix A with non-negative entries and spectral radius at most 1 that can be multiplied. A
// Graph and a Factor are operators. Its methods are safe for concurrent use.
type Operator interface {
	// Len returns n.
	Len() int
	// Mul32 sets dst = A·x for n×ld matrices, row-major, ld a multiple of 16. dst is not x. Workers bounds the goroutines
	// (0: GOMAXPROCS); the result does not depend on it. It returns an error if the sizes do not fit, and the context's if
	// it is cancelled.
	Mul32(ctx context.Context, workers int, dst, x []float32, ld int) error
	// Mul64 is Mul32 in float64.
	Mul64(ctx context.Context, workers int, dst, x []float64, ld int) error
}

var (
	_ Operator = (*Graph)(nil)
	_ Operator = (*Factor)(nil)
)

// Mul is op.Mul32 or op.Mul64.
func Mul[T Float](ctx context.Context, op Operator, workers int, dst, x []T, ld int) error {
	switch x := any(x).(type) {
	case []float32:
		return op.Mul32(ctx, workers, any(dst).([]float32), x, ld)
	case []float64:
		return op.Mul64(ctx, workers, any(dst).([]float64), x, ld)
	}
	return errors.New("neighbor: neither float32 nor float64")
}

// checkProduct checks the sizes of a product with n rows.
func checkProduct(n, dst, x, ld int) error {
	if ld < 1 || ld%16 != 0 {
		return fmt.Errorf("neighbor: stride %d is not a multiple of 16", ld)
	}
	if dst < n*ld || x < n*ld {
		return fmt.Errorf("neighbor: %d and %d values for %d rows with the stride %d", dst, x, n, ld)
	}
	return nil
}

// Graph is an operator given by its entries.
type Graph struct{ links *Links }

// NewGraph returns the operator of a symmetric matrix, such as Links gave before. It returns an error if it is not square
// and symmetric.
func NewGraph(l *Links) (*Graph, error) {
	if l == nil || l.n != l.atoms {
		return nil, errors.New("neighbor: a graph needs a square matrix")
	}
	t := l.transpose()
	for i := range l.n {
		a, w := l.Row(i)
		b, v := t.Row(i)
		if len(a) != len(b) {
			return nil, fmt.Errorf("neighbor: row and column %d of a graph differ", i)
		}
		for e := range a {
			if a[e] != b[e] || w[e] != v[e] {
				return nil, fmt.Errorf("neighbor: row and column %d of a graph differ", i)
			}
		}
	}
	return &Graph{l}, nil
}

// Len returns the number of samples.
func (g *Graph) Len() int { return g.links.n }

// Links returns the entries.
func (g *Graph) Links() *Links { return g.links }

// Mul32 sets dst = A·x.
func (g *Graph) Mul32(ctx context.Context, workers int, dst, x []float32, ld int) error {
	return mul(ctx, part[float32]{links: g.links}, workers, dst, x, ld)
}

// Mul64 sets dst = A·x.
func (g *Graph) Mul64(ctx context.Context, workers int, dst, x []float64, ld int) error {
	return mul(ctx, part[float64]{links: g.links}, workers, dst, x, ld)
}

// Factor is the operator A = B·Bᵀ, given by B.
type Factor struct{ links *Links }

// NewFactor returns the operator B·Bᵀ of the rows of B.
func NewFactor(b *Links) (*Factor, error) {
	if b == nil {
		return nil, errors.New("neighbor: a factor needs its links")
	}
	return &Factor{b}, nil
}

// Len returns the number of samples.
func (f *Factor) Len() int { return f.links.n }

// Links returns B.
func (f *Factor) Links() *Links { return f.links }

// Mul32 sets dst = B·(Bᵀ·x).
func (f *Factor) Mul32(ctx context.Context, workers int, dst, x []float32, ld int) error {
	return mul(ctx, part[float32]{links: f.links, factor: true}, workers, dst, x, ld)
}

// Mul64 sets dst = B·(Bᵀ·x).
func (f *Factor) Mul64(ctx context.Context, workers int, dst, x []float64, ld int) error {
	return mul(ctx, part[float64]{links: f.links, factor: true}, workers, dst, x, ld)
}

// part is an operator as A = L·(table of x), where the table has a row for each atom: x itself for a graph, Lᵀ·x for a
// factor. It holds the memory for one product at a time.
type part[T Float] struct {
	links  *Links
	factor bool
	sum    []float64
	atoms  []T
	chunk  []T
}

// partOf returns the part of a Graph or a Factor.
func partOf[T Float](op Operator) (part[T], error) {
	switch o := op.(type) {
	case *Graph:
		return part[T]{links: o.links}, nil
	case *Factor:
		return part[T]{links: o.links, factor: true}, nil
	}
	return part[T]{}, fmt.Errorf("neighbor: the operator is a %T, want a *Graph or a *Factor", op)
}

const (
	gatherRows = 256
	// A sum over the samples of a factor is taken in at most maxChunks chunks, whose number depends on n alone.
	scatterRows = 2048
	maxChunks   = 8
)

// table returns the table of x (n rows with the stride ld, the first width columns) and its stride. It is valid until the
// next call.
func (p *part[T]) table(ctx context.Context, workers int, x []T, ld, width int) ([]T, int, error) {
	if !p.factor {
		return x, ld, nil
	}
	n, size := p.links.n, p.links.atoms*width
	if len(p.sum) != size {
		p.sum, p.atoms, p.chunk = make([]float64, size), make([]T, size), nil
	}
	clear(p.sum)
	chunk := max(scatterRows, (n+maxChunks-1)/maxChunks)
	alone := parallel.Workers(workers) == 1
	if alone && p.chunk == nil {
		p.chunk = make([]T, size)
	}
	err := parallel.Fold(ctx, workers, (n+chunk-1)/chunk,
		func() []T {
			if alone {
				return p.chunk
			}
			return make([]T, size)
		},
		func(_, i int, b []T) error {
			clear(b)
			scatter(p.links, i*chunk, min((i+1)*chunk, n), b, x, ld, width)
			return nil
		},
		func(_ int, b []T) error {
			kernel.AddTo(p.sum, b)
			return nil
		})
	if err != nil {
		return nil, 0, err
	}
	for j, v := range p.sum {
		p.atoms[j] = T(v)
	}
	return p.atoms, width, nil
}

// mulStrip sets dst = A·x for n rows with the strides ldd and ldx, the first width columns.
func (p *part[T]) mulStrip(ctx context.Context, workers int, dst []T, ldd int, x []T, ldx, width int) error {
	table, ldt, err := p.table(ctx, workers, x, ldx, width)
	if err != nil {
		return err
	}
	n := p.links.n
	return parallel.For(ctx, workers, (n+gatherRows-1)/gatherRows, func(_, b int) error {
		lo, hi := b*gatherRows, min((b+1)*gatherRows, n)
		gather(p.links, lo, hi, dst[lo*ldd:], ldd, table, ldt, width)
		return nil
	})
}

// stripColumns is the number of columns that are multiplied at a time: those of the atoms then stay in the cache.
const stripColumns = 64

func mul[T Float](ctx context.Context, p part[T], workers int, dst, x []T, ld int) error {
	if err := checkProduct(p.links.n, len(dst), len(x), ld); err != nil {
		return err
	}
	for c := 0; c < ld; c += stripColumns {
		if err := p.mulStrip(ctx, workers, dst[c:], ld, x[c:], ld, min(stripColumns, ld-c)); err != nil {
			return err
		}
	}
	return nil
}
