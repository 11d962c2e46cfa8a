package report

import (
	"context"
	"math"

	"github.com/largemvc/largemvc/internal/structure"
	"github.com/largemvc/largemvc/internal/view"
)

// apart holds how far clusters are from each other in the prepared views, which no training has changed.
type apart struct {
	samples    int       // that were looked at
	mean       float64   // of the silhouettes
	silhouette []float64 // per cluster, a mean; NaN for a cluster without a sample among those
	nearest    []int     // per cluster, by mean distances of samples; −1: none
	separation []float64 // per cluster: 1 − (mean distance within it)/(mean distance to the nearest one); NaN: not known
}

// newApart measures distances between some samples. It returns nil where there are none to compare: without views, and for fewer
// than two clusters among the samples.
func newApart(ctx context.Context, r *result, o *Options) (*apart, error) {
	if o.Views == nil || r.clusters() < 2 {
		return nil, nil
	}
	of := o.featureRows(r)
	views := make([]view.View, len(o.Views))
	for v, x := range o.Views {
		views[v], _ = x.Take(of).Content()
	}
	square, stride, err := structure.Squares(ctx, views, searchOptions(r, o))
	if err != nil || square == nil {
		return nil, err
	}
	labels := make([]int, len(of))
	for q, i := range of {
		labels[q] = r.labels[i]
	}
	return apartOf(labels, r.clusters(), func(i, j int) float64 { return math.Sqrt(float64(square[i*stride+j])) }), nil
}

// apartOf computes the figures of labelled samples from their distances. It returns nil for fewer than two clusters.
func apartOf(labels []int, clusters int, distance func(i, j int) float64) *apart {
	size, found := make([]float64, clusters), 0
	for _, k := range labels {
		if size[k]++; size[k] == 1 {
			found++
		}
	}
	if found < 2 {
		return nil
	}
	out := &apart{
		samples: len(labels), silhouette: make([]float64, clusters), nearest: make([]int, clusters),
		separation: make([]float64, clusters),
	}
	between := make([]float64, clusters*clusters) // sums of distances
	sums := make([]float64, clusters)
	for i, k := range labels {
		clear(sums)
		for j, l := range labels {
			sums[l] += distance(i, j)
		}
		next := math.Inf(1)
		for l, sum := range sums {
			between[k*clusters+l] += sum
			if l != k && size[l] > 0 {
				next = min(next, sum/size[l])
			}
		}
		if own := sums[k] / (size[k] - 1); size[k] > 1 && max(own, next) > 0 {
			s := (next - own) / max(own, next)
			out.mean += s / float64(len(labels))
			out.silhouette[k] += s / size[k]
		}
	}
	for k := range clusters {
		if size[k] == 0 {
			out.silhouette[k] = math.NaN()
		}
		out.nearest[k], out.separation[k] = neighbourOf(k, size, between[k*clusters:(k+1)*clusters])
	}
	return out
}

// neighbourOf returns the cluster nearest to k and the separation of the two. sums are sums of distances from samples of k.
func neighbourOf(k int, size, sums []float64) (nearest int, separation float64) {
	nearest = -1
	least := math.Inf(1)
	for l, sum := range sums {
		if d := sum / (size[k] * size[l]); l != k && size[l] > 0 && d < least {
			nearest, least = l, d
		}
	}
	if size[k] < 2 || least == 0 {
		return nearest, math.NaN()
	}
	return nearest, 1 - sums[k]/(size[k]*(size[k]-1))/least
}
