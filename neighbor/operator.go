package neighbor

import (
	"context"
	"errors"
	"fmt"

	"github.com/largemvc/largemvc/internal/parallel"
)

// Operator is a symmetric n×n matrix A with non-negative entries and spectral radius at most 1. Graph and Factor are operators.
// Its methods are safe for concurrent use.
type Operator interface {
	// Len returns n.
	Len() int
	// Mul32 sets dst = A·x for n×ld matrices, row-major, ld a multiple of 16. dst must not be x. workers bounds the goroutines
	// (0: GOMAXPROCS); the result does not depend on it. Mul32 returns an error if the sizes do not fit, and the context's error
	// if ctx is cancelled.
	Mul32(ctx context.Context, workers int, dst, x []float32, ld int) error
	// Mul64 is Mul32 in float64.
	Mul64(ctx context.Context, workers int, dst, x []float64, ld int) error
}

var (
	_ Operator = (*Graph)(nil)
	_ Operator = (*Factor)(nil)
)

// CheckOperator returns an error for an operator that is nil or empty.
func CheckOperator(op Operator) error {
	if parallel.Nil(op) {
		return errors.New("neighbor: the operator is nil")
	}
	g, graph := op.(*Graph)
	f, factor := op.(*Factor)
	if graph && g.links == nil || factor && f.links == nil {
		return errors.New("neighbor: the operator is empty: NewGraph and NewFactor make one")
	}
	return nil
}

// Mul calls op.Mul32 or op.Mul64, by the type of x. If op or ctx is nil, it returns an error.
func Mul[T Float](ctx context.Context, op Operator, workers int, dst, x []T, ld int) error {
	if err := parallel.CheckContext(ctx); err != nil {
		return fmt.Errorf("neighbor: %w", err)
	}
	if err := CheckOperator(op); err != nil {
		return err
	}
	switch x := any(x).(type) {
	case []float32:
		return op.Mul32(ctx, workers, any(dst).([]float32), x, ld)
	case []float64:
		return op.Mul64(ctx, workers, any(dst).([]float64), x, ld)
	}
	return errors.New("neighbor: the values are neither float32 nor float64")
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

// Graph is an operator that stores its entries.
type Graph struct {
	links   *Links
	layouts layouts
}

// NewGraph returns the operator of a symmetric matrix: your own, or the result of Graph.Links. It returns an error if the matrix
// is not square and symmetric. It does not check the spectral radius.
func NewGraph(l *Links) (*Graph, error) {
	if l == nil || l.n != l.atoms {
		return nil, errors.New("neighbor: a graph needs as many atoms as samples")
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
	return &Graph{links: l}, nil
}

// Len returns the number of samples.
func (g *Graph) Len() int { return g.links.n }

// Links returns the entries.
func (g *Graph) Links() *Links { return g.links }

// Mul32 sets dst = A·x.
func (g *Graph) Mul32(ctx context.Context, workers int, dst, x []float32, ld int) error {
	return mul(ctx, part[float32]{layout: g.layouts.single(g.links, false)}, &g.layouts.memory[0], workers, dst, x, ld)
}

// Mul64 sets dst = A·x.
func (g *Graph) Mul64(ctx context.Context, workers int, dst, x []float64, ld int) error {
	return mul(ctx, part[float64]{layout: g.layouts.double(g.links, false)}, &g.layouts.memory[1], workers, dst, x, ld)
}

// Factor is the operator A = B·Bᵀ. It stores B.
type Factor struct {
	links   *Links
	layouts layouts
}

// NewFactor returns the operator B·Bᵀ of the rows of B.
func NewFactor(b *Links) (*Factor, error) {
	if b == nil {
		return nil, errors.New("neighbor: the links of the factor are nil")
	}
	return &Factor{links: b}, nil
}

// Len returns the number of samples.
func (f *Factor) Len() int { return f.links.n }

// Links returns B.
func (f *Factor) Links() *Links { return f.links }

// Mul32 sets dst = B·(Bᵀ·x).
func (f *Factor) Mul32(ctx context.Context, workers int, dst, x []float32, ld int) error {
	return mul(ctx, part[float32]{layout: f.layouts.single(f.links, true)}, &f.layouts.memory[0], workers, dst, x, ld)
}

// Mul64 sets dst = B·(Bᵀ·x).
func (f *Factor) Mul64(ctx context.Context, workers int, dst, x []float64, ld int) error {
	return mul(ctx, part[float64]{layout: f.layouts.double(f.links, true)}, &f.layouts.memory[1], workers, dst, x, ld)
}
