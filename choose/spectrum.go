package choose

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// Clusters are told apart best in sparse graphs: one of n samples holds together from about log n neighbours on, and every
// neighbour more joins clusters that are close. The mean over three graphs is steadier than any of them.
const (
	sparseSamples    = 1000 // of the graphs, drawn at random where there are more
	sparsePerCluster = 50   // samples for each cluster of the highest number tried, where that makes more
)

var sparseNeighbors = []int{4, 5, 6}

// gapsAfter returns λ_c − λ_(c+1) for each number of clusters c, NaN beyond the eigenvalues.
func gapsAfter(values []float64, clusters []int) []float64 {
	gaps := make([]float64, len(clusters))
	for i, k := range clusters {
		if gaps[i] = math.NaN(); k < len(values) {
			gaps[i] = values[k-1] - values[k]
		}
	}
	return gaps
}

// eigengaps returns the gaps in the spectrum of the graph of neighbours for each number of clusters, NaN without a graph.
func eigengaps(ctx context.Context, views []largemvc.View, c *largemvc.Config, clusters []int) ([]float64, error) {
	values, err := meanSpectrum(ctx, views, c, clusters[len(clusters)-1]+1, []int{c.Neighborhood.Neighbors})
	return gapsAfter(values, clusters), err
}

// sparseGaps returns the gaps in the mean spectrum of sparse graphs, of samples that differ: one that is there many times would
// have no neighbours but its equals, and so be a cluster of its own.
func sparseGaps(ctx context.Context, views []largemvc.View, c *largemvc.Config, clusters []int) ([]float64, error) {
	most := clusters[len(clusters)-1]
	all, _ := views[0].Dims()
	if n := max(sparseSamples, sparsePerCluster*most); n < all {
		views = taken(views, rows.Sample(rand.New(rand.NewPCG(c.Seed, 2)), all, n))
	}
	inner, err := contents(views)
	if err != nil {
		return nil, err
	}
	distinct, err := view.Distinct(ctx, inner, c.Machine.Workers)
	if err != nil {
		return nil, named(err)
	}
	if n, _ := views[0].Dims(); len(distinct) < n {
		views = taken(views, distinct)
	}
	if n, _ := views[0].Dims(); n < all && c.Check(views) != nil { // No sample has a certain view, say.
		return gapsAfter(nil, clusters), nil
	}
	values, err := meanSpectrum(ctx, views, c, most+1, sparseNeighbors)
	return gapsAfter(values, clusters), err
}

// taken are the views of some samples.
func taken(views []largemvc.View, samples []int) []largemvc.View {
	out := make([]largemvc.View, len(views))
	for v, x := range views {
		out[v] = x.Take(samples)
	}
	return out
}

// contents are what the views hold.
func contents(views []largemvc.View) ([]view.View, error) {
	out := make([]view.View, len(views))
	for v, x := range views {
		var err error
		if out[v], err = x.Content(); err != nil {
			return nil, named(err)
		}
	}
	return out, nil
}

// meanSpectrum returns up to count leading eigenvalues, the highest first: the mean over graphs of so many neighbours each. There
// are none without neighbours.
func meanSpectrum(
	ctx context.Context, views []largemvc.View, c *largemvc.Config, count int, neighbors []int,
) ([]float64, error) {
	if !c.HasNeighbors() {
		return nil, nil
	}
	inner, err := contents(views)
	if err != nil {
		return nil, err
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
	mean := make([]float64, min(count, n))
	for _, o.Neighbors = range neighbors {
		graph, err := in.Join(ctx, blocks, filled, n, o)
		if err != nil {
			return nil, named(err)
		}
		mul := func(dst, x []float64, ld int) error {
			return neighbor.Mul(ctx, graph.Operator(), c.Machine.Workers, dst, x, ld)
		}
		values, err := spectral.Leading(ctx, n, len(mean), mul, c.Seed, c.Machine.Workers)
		if err != nil {
			return nil, named(err)
		}
		for i, x := range values {
			mean[i] += x / float64(len(neighbors))
		}
	}
	return mean, nil
}
