package report

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/report/internal/tsne"
)

// mapping places samples in the plane.
type mapping struct {
	of     []int // the samples on the map
	x, y   []float64
	method string // method, for readers
}

const (
	// samples that t-SNE itself places; others get the mean position of the nearest of them
	mapDescent    = 3000
	mapIterations = 500 // with many samples
	mapFew        = 1000
	fewIterations = 1000 // with few samples
	mapNearest    = 3
	mapTheta      = 0.8 // of the forces' approximation: see tsne.Config
)

// newMapping draws the samples of the map and places them.
func newMapping(ctx context.Context, r *result, o *Options) (*mapping, error) {
	n := r.samples()
	m := &mapping{of: draw(n, o.Points, o.Seed)}
	x := mat.NewDense(len(m.of), r.anchors, nil)
	distinct := false
	for k, i := range m.of {
		r.row(x.RawRowView(k), i)
		distinct = distinct || !mat.Equal(x.RowView(k), x.RowView(0))
	}
	m.x, m.y = make([]float64, len(m.of)), make([]float64, len(m.of))
	var err error
	switch {
	case !distinct || r.anchors == 1 && len(m.of) < 4:
		m.method = "All samples are in one place."
		err = ctx.Err()
	case o.PCA || len(m.of) < 10:
		err = m.components(ctx, x, o)
	default:
		err = m.descend(ctx, x, r, o)
	}
	return m, err
}

// draw returns at most `most` of the numbers below n, in increasing order.
func draw(n, most int, seed uint64) []int {
	return rows.Sample(rand.New(rand.NewPCG(seed, 0)), n, min(n, most))
}

func (m *mapping) components(ctx context.Context, x *mat.Dense, o *Options) error {
	n, d := x.Dims()
	dims := min(2, n, d)
	y, err := tsne.PCA(ctx, x, dims, o.Seed, o.Workers)
	if err != nil {
		return err
	}
	for k := range m.x {
		m.x[k] = y.At(k, 0)
		if dims > 1 {
			m.y[k] = y.At(k, 1)
		}
	}
	m.method = "The first two principal components of the representation H."
	return nil
}

// descend places the samples by t-SNE. Samples beyond mapDescent get positions between the nearest of the others.
func (m *mapping) descend(ctx context.Context, x *mat.Dense, r *result, o *Options) error {
	n, d := x.Dims()
	first := draw(n, mapDescent, o.Seed+1)
	part := x
	if len(first) < n {
		part = mat.NewDense(len(first), d, nil)
		for k, i := range first {
			part.SetRow(k, x.RawRowView(i))
		}
	}
	steps := mapIterations
	if len(first) <= mapFew {
		steps = fewIterations
	}
	found, err := tsne.Embed(ctx, part, tsne.Config{
		Perplexity: perplexity(len(first), r.clusters()), Iterations: steps, Theta: mapTheta, Seed: o.Seed, Workers: o.Workers,
		Progress: func(iteration int, _ float64) error { return o.Progress("map", iteration, steps) },
	})
	if err != nil {
		return err
	}
	for k, i := range first {
		m.x[i], m.y[i] = found.Y.At(k, 0), found.Y.At(k, 1)
	}
	m.method = "t-SNE of the representation H."
	if len(first) == n {
		return nil
	}
	m.method = fmt.Sprintf("t-SNE of the representation H of %d samples drawn at random; the others are placed among the %d of "+
		"these that are nearest to them.", len(first), mapNearest)
	return m.between(ctx, x, part, first, o.Workers)
}

// perplexity is 30, or less if clusters are so small that all their samples would get one position.
func perplexity(n, clusters int) float64 {
	return min(max(float64(n)/float64(4*clusters), 5), 30, float64(n-1)/3)
}

// between places the samples that are not in first at the mean of the nearest samples of first, weighted by nearness.
func (m *mapping) between(ctx context.Context, x, part *mat.Dense, first []int, workers int) error {
	n, _ := x.Dims()
	const chunk = 64
	return parallel.For(ctx, workers, (n+chunk-1)/chunk, func(_, b int) error {
		type neighbor struct {
			at     int
			square float64
		}
		for i := b * chunk; i < min((b+1)*chunk, n); i++ {
			if at := sort.SearchInts(first, i); at < len(first) && first[at] == i {
				continue
			}
			var near [mapNearest]neighbor
			for q := range near {
				near[q].square = math.Inf(1)
			}
			row := x.RawRowView(i)
			for k := range first {
				square := 0.0
				for j, a := range part.RawRowView(k) {
					square += (a - row[j]) * (a - row[j])
				}
				for q := range near {
					if square < near[q].square {
						copy(near[q+1:], near[q:])
						near[q] = neighbor{k, square}
						break
					}
				}
			}
			total := 0.0
			scale := near[0].square + 1e-12
			for _, q := range near {
				w := scale / (q.square + 1e-12)
				m.x[i] += w * m.x[first[q.at]]
				m.y[i] += w * m.y[first[q.at]]
				total += w
			}
			m.x[i] /= total
			m.y[i] /= total
		}
		return nil
	})
}
