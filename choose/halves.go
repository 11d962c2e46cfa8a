package choose

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// halves are the samples parted in two.
type halves [2][]largemvc.View

// newHalves parts the samples in two at random, some times.
func newHalves(views []largemvc.View, seed uint64, times int) []halves {
	var out []halves
	n, _ := views[0].Dims()
	for t := range times {
		order := rand.New(rand.NewPCG(seed, uint64(t))).Perm(n)
		var h halves
		for s, part := range [][]int{order[:n/2], order[n/2:]} {
			for _, x := range views {
				h[s] = append(h[s], x.Take(part))
			}
		}
		out = append(out, h)
	}
	return out
}

// agreementOfHalves fits each half and returns the mean ARI of its labels with those that the other's fit gives it. It is NaN
// where there are no halves, or a half cannot be fitted: with too few samples, or a view that none of them has.
func agreementOfHalves(ctx context.Context, parted []halves, config largemvc.Config) (float64, error) {
	total, count := 0.0, 0.0
	for t, h := range parted {
		var fits [2]*largemvc.Clustering
		for s := range h {
			c := config
			c.Seed += uint64(2*t + s)
			if n, _ := h[s][0].Dims(); config.Clusters >= n || c.Check(h[s]) != nil {
				return math.NaN(), nil
			}
			var err error
			if fits[s], err = largemvc.Fit(ctx, h[s], c); err != nil {
				return math.NaN(), err
			}
		}
		for s := range h {
			given, err := fits[1-s].Predict(ctx, h[s])
			if err != nil {
				return math.NaN(), err
			}
			ari, err := largemvc.ARI(fits[s].Labels, given)
			if err != nil {
				return math.NaN(), err
			}
			total, count = total+ari, count+1
		}
	}
	return total / count, nil
}

// eigengaps returns λ_c − λ_(c+1) of the graph of neighbours for each number of clusters, NaN without a graph.
func eigengaps(ctx context.Context, views []largemvc.View, c *largemvc.Config, clusters []int) ([]float64, error) {
	gaps := make([]float64, len(clusters))
	for i := range gaps {
		gaps[i] = math.NaN()
	}
	if !c.HasNeighbors() {
		return gaps, nil
	}
	inner := make([]view.View, len(views))
	for v, x := range views {
		var err error
		if inner[v], err = x.Content(); err != nil {
			return nil, err
		}
	}
	n, hood := inner[0].Rows, c.Neighborhood
	o := smooth.Options{
		Kind: prepare.Kind(c.Preprocess), Neighbors: hood.Neighbors, Directions: max(hood.Directions, 0), Exact: hood.Exact,
		Landmarks: hood.Landmarks, Seed: c.Seed, Workers: c.Machine.Workers,
	}
	in, err := smooth.Find[float32](ctx, inner, o)
	if err != nil {
		return nil, named(err)
	}
	blocks, err := in.Fill(ctx, inner, o)
	if err != nil {
		return nil, named(err)
	}
	filled, err := in.Filled(ctx, blocks, n, o)
	if err != nil {
		return nil, named(err)
	}
	graph, err := in.Join(ctx, blocks, filled, n, o)
	if err != nil {
		return nil, named(err)
	}
	mul := func(dst, x []float64, ld int) error {
		return neighbor.Mul(ctx, graph.Operator(), c.Machine.Workers, dst, x, ld)
	}
	values, err := spectral.Leading(ctx, n, min(clusters[len(clusters)-1]+1, n), mul, c.Seed, c.Machine.Workers)
	if err != nil {
		return nil, named(err)
	}
	for i, k := range clusters {
		if k < len(values) {
			gaps[i] = values[k-1] - values[k]
		}
	}
	return gaps, nil
}
