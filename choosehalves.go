package largemvc

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// halves are the samples parted in two.
type halves [2][]View

// newHalves parts the samples in two at random, some times.
func newHalves(views []View, seed uint64, times int) []halves {
	var out []halves
	n := views[0].in.Rows
	for t := range times {
		order := rand.New(rand.NewPCG(seed, uint64(t))).Perm(n)
		var h halves
		for s, part := range [][]int{order[:n/2], order[n/2:]} {
			for _, x := range views {
				x.in = x.in.Take(part)
				h[s] = append(h[s], x)
			}
		}
		out = append(out, h)
	}
	return out
}

// agreementOfHalves fits each half and returns the mean ARI of its labels with those that the other's fit gives it. It is NaN
// where there are no halves, or a half cannot be fitted: with too few samples, or a view that none of them has.
func agreementOfHalves(ctx context.Context, parted []halves, config Config) (float64, error) {
	total, count := 0.0, 0.0
	for t, h := range parted {
		var fits [2]*Clustering
		for s := range h {
			c := config
			c.Seed += uint64(2*t + s)
			if config.Clusters >= h[s][0].in.Rows {
				return math.NaN(), nil
			}
			if _, err := checkShapes(h[s]); err != nil {
				return math.NaN(), nil
			}
			var err error
			if fits[s], err = Fit(ctx, h[s], c); err != nil {
				return math.NaN(), err
			}
		}
		for s := range h {
			given, err := fits[1-s].Predict(ctx, h[s])
			if err != nil {
				return math.NaN(), err
			}
			ari, err := ARI(fits[s].Labels, given)
			if err != nil {
				return math.NaN(), err
			}
			total, count = total+ari, count+1
		}
	}
	return total / count, nil
}

// eigengaps returns λ_c − λ_(c+1) of the graph of neighbours for each number of clusters, NaN without a graph.
func eigengaps(ctx context.Context, views []view.View, c Config, clusters []int) ([]float64, error) {
	gaps := make([]float64, len(clusters))
	for i := range gaps {
		gaps[i] = math.NaN()
	}
	if c.Neighborhood.Neighbors == None {
		return gaps, nil
	}
	c.forSamples(views[0].Rows)
	c.Neighborhood.HeldOutWeight, c.Neighborhood.Weight = None, None // the regression is of no use here
	in, err := prepareInputs[float32](ctx, views, &c)
	if err != nil {
		return nil, err
	}
	n := views[0].Rows
	count := min(clusters[len(clusters)-1]+1, n)
	mul := func(dst, x []float64, ld int) error { return neighbor.Mul(ctx, in.graph, c.Workers, dst, x, ld) }
	values, err := spectral.Leading(ctx, n, count, mul, c.Seed, c.Workers)
	if err != nil {
		return nil, withName(err)
	}
	for i, k := range clusters {
		if k < len(values) {
			gaps[i] = values[k-1] - values[k]
		}
	}
	return gaps, nil
}
