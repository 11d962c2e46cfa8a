package cluster

import (
	"context"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/spectral"
)

// Embedding takes samples to where a scaled start clusters them: the rows of U·diag(S)^½ of the inputs side by side, at norm 1.
type Embedding[T kernel.Float] struct {
	Basis   *spectral.Basis
	columns int
}

// Embed finds the embedding of the inputs x in at most a number of columns. The group has the other rows; nil: these are all.
func Embed[T kernel.Float](
	ctx context.Context, g *ranks.Group, x []rows.Matrix[T], columns int, seed uint64, workers int,
) (*Embedding[T], error) {
	n, _ := x[0].Dims()
	total := 0
	for _, xv := range x {
		_, d := xv.Dims()
		total += d
	}
	rank := min(columns, g.Total(n), total)
	basis, err := spectral.Find(ctx, x, spectral.Config{Rank: rank, Seed: seed, Workers: workers, Group: g, ByColumns: true})
	return &Embedding[T]{basis, columns}, err
}

// NewEmbedding returns the embedding of a basis in so many columns, those beyond its rank being zero.
func NewEmbedding[T kernel.Float](basis *spectral.Basis, columns int) *Embedding[T] {
	return &Embedding[T]{basis, columns}
}

// Rows returns the rows of some samples, with the stride kernel.Pad of the columns. A row has the same bits whatever the others
// are.
func (e *Embedding[T]) Rows(ctx context.Context, x []rows.Matrix[T], workers int) ([]T, error) {
	u, err := spectral.Project(ctx, e.Basis, x, workers)
	if err != nil {
		return nil, err
	}
	rank, from, to := len(e.Basis.S), kernel.Pad(len(e.Basis.S)), kernel.Pad(e.columns)
	n := len(u) / from
	for i := range n {
		scaleSingular(u[i*from:i*from+rank], e.Basis.S)
	}
	if from == to {
		return u, nil
	}
	out := make([]T, n*to)
	for i := range n {
		copy(out[i*to:i*to+rank], u[i*from:i*from+rank])
	}
	return out, nil
}
