package spectral

import (
	"context"
	"errors"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// EnoughRows is the number of rows for finding leading directions, if there are at least twice as many. More rows would add only
// directions that contain hardly anything.
const EnoughRows = 16 << 10

// FindAndProject returns the leading directions of the views and all rows in them, X Vᵀ (n×rank) with the stride
// kernel.Pad(rank). For many rows, EnoughRows of them determine the span. Within it, the directions are the singular directions
// of all rows: the columns of X Vᵀ are orthogonal, and their norms are S.
func FindAndProject[T kernel.Float](ctx context.Context, x []rows.Matrix[T], cfg Config) (*Basis, []T, error) {
	if len(x) == 0 {
		return nil, nil, errors.New("spectral: no views")
	}
	n, _ := x[0].Dims()
	total := cfg.Group.Total(n)
	some, err := thinned(ctx, x, cfg)
	if err != nil {
		return nil, nil, err
	}
	var b *Basis
	seen, _ := some[0].Dims()
	if seen < total || cfg.Group != nil {
		alone := cfg // every rank has these rows
		alone.Group = nil
		if b, err = Find(ctx, some, alone); err != nil {
			return nil, nil, err
		}
	}
	b, y, err := onDevice(x, cfg, func(p rows.Products[T]) (*Basis, []T, error) {
		if b == nil {
			var err error
			if b, err = find(ctx, x, p, cfg); err != nil {
				return nil, nil, err
			}
		}
		ld := kernel.Pad(len(b.S))
		y := make([]T, n*ld)
		if p == nil {
			return b, y, project(ctx, b, x, cfg.Workers, y)
		}
		return b, y, p.Project(ctx, b.V, len(b.S), y, ld)
	})
	if err == nil && seen < total {
		err = settle(ctx, b, n, y, cfg)
	}
	if err != nil {
		return nil, nil, err
	}
	return b, y, nil
}

// thinned returns the rows for finding directions: every rank of a group gets all of them.
func thinned[T kernel.Float](ctx context.Context, x []rows.Matrix[T], cfg Config) ([]rows.Matrix[T], error) {
	if cfg.Group == nil {
		return rows.Thin(x, EnoughRows), nil
	}
	return rows.CollectThin(ctx, cfg.Group, x, EnoughRows, cfg.Workers)
}

// settle rotates directions, and the n rows y in them, so that the columns of y are orthogonal, and sets S to their norms.
func settle[T kernel.Float](ctx context.Context, b *Basis, n int, y []T, cfg Config) error {
	k := len(b.S)
	ld, chunks := kernel.Pad(k), (n+chunkRows-1)/chunkRows
	s := ranks.RowSum{What: "squares in leading directions", Workers: cfg.Workers, Rows: n, Chunk: chunkRows, Size: k * k}
	square, err := ranks.SumRows(ctx, cfg.Group, s,
		func() []T { return make([]T, k*k) },
		func(_, lo, hi int, sums []T, part []float64) error {
			clear(sums)
			kernel.TMulAdd(hi-lo, k, k, y[lo*ld:], ld, y[lo*ld:], ld, sums, k)
			kernel.AddTo(part, sums)
			return nil
		})
	if err != nil {
		return err
	}
	values, by, err := eigen(square, k)
	if err != nil {
		return err
	}
	var v []float64 // all views side by side
	for i := range k {
		b.S[i] = math.Sqrt(max(values[i], 0))
		v = v[:0]
		for q, d := range b.Dims {
			row := make([]float64, d)
			for j, a := range by[i*k : (i+1)*k] {
				for p, x := range b.V[q][j*d : (j+1)*d] {
					row[p] += a * x
				}
			}
			v = append(v, row...)
		}
		if !leadsUp(v) {
			for j := range k {
				by[i*k+j] = -by[i*k+j]
			}
		}
	}
	for q, d := range b.Dims {
		if b.V[q], err = times(ctx, by, b.V[q], k, k, d, cfg.Workers); err != nil {
			return err
		}
	}
	var panel kernel.Panel[T]
	kernel.PackT(&panel, k, k, by, k)
	return parallel.For(ctx, cfg.Workers, chunks, func(_, c int) error {
		block := make([]T, blockRows*ld)
		for lo := c * chunkRows; lo < min((c+1)*chunkRows, n); lo += blockRows {
			hi := min(lo+blockRows, (c+1)*chunkRows, n)
			kernel.Mul(hi-lo, y[lo*ld:], ld, &panel, block, ld, false)
			copy(y[lo*ld:hi*ld], block)
		}
		return nil
	})
}
