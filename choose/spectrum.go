package choose

import (
	"context"
	"fmt"
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

// Which eigengap of one graph is the widest hangs on the number of neighbours and on the rows that were drawn, and where two are
// about as wide they are often far apart. Graphs of half to twice the neighbours of the fit's, in equal ratios, are asked
// together; squares make little of many small gaps; and the median of what is left has the least distance to it all.
const (
	shareSamples    = 1000 // of the graphs, drawn at random where there are more
	sharePerCluster = 50   // samples for each cluster of the highest number tried, where that makes more
)

var shareRatios = []float64{0.5, math.Sqrt2 / 2, 1, math.Sqrt2, 2}

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
	spectra, err := spectra(ctx, views, c, clusters[len(clusters)-1]+1, []int{c.Neighborhood.Neighbors})
	if len(spectra) == 0 {
		return gapsAfter(nil, clusters), err
	}
	return gapsAfter(spectra[0], clusters), err
}

// gapShares returns for each number of clusters its mean share of the squares of the eigengaps of several graphs, NaN without
// them. The graphs are of samples that differ: one that is there many times would have no neighbours but its equals, and so be a
// cluster of its own.
func gapShares(ctx context.Context, views []largemvc.View, c *largemvc.Config, clusters []int) ([]float64, error) {
	most := clusters[len(clusters)-1]
	all, _ := views[0].Dims()
	if n := max(shareSamples, sharePerCluster*most); n < all {
		var err error
		if views, err = taken(views, rows.Sample(rand.New(rand.NewPCG(c.Seed, 2)), all, n)); err != nil {
			return nil, err
		}
	}
	var distinct []int
	err := within(ctx, views, c, func(ctx context.Context, views []view.View) (err error) {
		distinct, err = view.Distinct(ctx, views, c.Machine.Workers)
		return err
	})
	if err != nil {
		return nil, err
	}
	if n, _ := views[0].Dims(); len(distinct) < n {
		if views, err = taken(views, distinct); err != nil {
			return nil, err
		}
	}
	if n, _ := views[0].Dims(); n < all && refused(*c, views) { // No sample has a certain view, say.
		return gapsAfter(nil, clusters), nil
	}
	neighbors := make([]int, len(shareRatios))
	for i, r := range shareRatios {
		neighbors[i] = max(1, int(math.Round(min(r*float64(c.Neighborhood.Neighbors), float64(all)))))
	}
	spectra, err := spectra(ctx, views, c, most+1, neighbors)
	if err != nil {
		return nil, err
	}
	return shares(spectra, clusters), nil
}

// shares are those of the squares of the gaps, the mean over the spectra that have a gap.
func shares(spectra [][]float64, clusters []int) []float64 {
	out, count := make([]float64, len(clusters)), 0.0
	for _, values := range spectra {
		gaps, sum := gapsAfter(values, clusters), 0.0
		for i, gap := range gaps {
			gaps[i] = 0
			if gap > 0 {
				gaps[i] = gap * gap
			}
			sum += gaps[i]
		}
		if sum == 0 {
			continue
		}
		for i, gap := range gaps {
			out[i] += gap / sum
		}
		count++
	}
	for i := range out {
		out[i] /= count // NaN where there is no gap at all
	}
	return out
}

// taken are the views of some samples.
func taken(views []largemvc.View, samples []int) ([]largemvc.View, error) {
	out := make([]largemvc.View, len(views))
	for v, x := range views {
		out[v] = x.Take(samples)
	}
	_, err := contents(out)
	return out, err
}

// contents are what the views hold.
func contents(views []largemvc.View) ([]view.View, error) {
	out := make([]view.View, len(views))
	for v, x := range views {
		var err error
		if out[v], err = x.Content(); err != nil {
			return nil, named(fmt.Errorf("%s: %w", out[v].Label(v), err))
		}
	}
	return out, nil
}

// within calls work with what the views hold, see view.Within.
func within(
	ctx context.Context, views []largemvc.View, c *largemvc.Config, work func(ctx context.Context, views []view.View) error,
) error {
	inner, err := contents(views)
	if err != nil {
		return err
	}
	return named(view.Within(ctx, inner, c.Machine.Workers, work))
}

// reduced are views in their leading directions.
type reduced struct {
	*smooth.Inputs[float32]
	n       int
	options smooth.Options
	// the rows, and the same with rows of neighbours in place of absent ones
	blocks, filled []neighbor.Block[float32]
}

func newReduced(ctx context.Context, views []view.View, c *largemvc.Config) (out *reduced, err error) {
	hood := c.Neighborhood
	out = &reduced{n: views[0].Rows, options: smooth.Options{
		Kind: prepare.Kind(c.Preprocess), Neighbors: hood.Neighbors, Directions: max(hood.Directions, 0), Exact: hood.Exact,
		Landmarks: hood.Landmarks, Seed: c.Seed, Workers: c.Machine.Workers,
	}}
	if out.Inputs, err = smooth.Find[float32](ctx, views, out.options); err != nil {
		return nil, err
	}
	if out.blocks, _, err = out.Fill(ctx, views, out.options); err != nil {
		return nil, err
	}
	out.filled, err = out.Filled(ctx, out.blocks, out.n, out.options)
	return out, err
}

// spectra returns up to count leading eigenvalues, the highest first, of a graph of each of the numbers of neighbours. There are
// none without neighbours.
func spectra(ctx context.Context, views []largemvc.View, c *largemvc.Config, count int, neighbors []int) ([][]float64, error) {
	if c.Neighborhood.Neighbors == largemvc.None {
		return nil, nil
	}
	var out [][]float64
	err := within(ctx, views, c, func(ctx context.Context, views []view.View) error {
		in, err := newReduced(ctx, views, c)
		if err != nil {
			return err
		}
		n, o := in.n, in.options
		for _, o.Neighbors = range neighbors {
			graph, err := in.Join(ctx, in.blocks, in.filled, n, o)
			if err != nil {
				return err
			}
			mul := func(dst, x []float64, ld int) error {
				return neighbor.Mul(ctx, graph.Operator(), c.Machine.Workers, dst, x, ld)
			}
			values, err := spectral.Leading(ctx, n, min(count, n), mul, c.Seed, c.Machine.Workers)
			if err != nil {
				return err
			}
			out = append(out, values)
		}
		return nil
	})
	return out, err
}

// refused says whether a configuration is out of range for some samples. Their memory is no part of that: a fit speaks of it.
func refused(c largemvc.Config, views []largemvc.View) bool {
	c.Machine.MaxMemory = 0
	return c.Check(views) != nil
}
