package report

import (
	"context"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/structure"
	"github.com/largemvc/largemvc/internal/view"
)

// apart holds how far clusters are from each other in the prepared views, which training does not change.
type apart struct {
	samples    int       // measured
	mean       float64   // of all silhouettes
	silhouette []float64 // per cluster, a mean; NaN: none of its samples was measured
	nearest    []int     // per cluster, by mean distances of samples; −1: none
	separation []float64 // per cluster: 1 − (mean distance within it)/(mean distance to the nearest one); NaN: unknown
}

// newApart measures distances between some samples. It returns nil without views, and for fewer than two clusters among the
// samples.
func newApart(ctx context.Context, r *result, o *Options) (*apart, error) {
	if o.Views == nil || r.clusters() < 2 {
		return nil, nil
	}
	of := o.featureRows(r)
	views := make([]view.View, len(o.inner))
	for v, x := range o.inner {
		views[v] = x.Take(of)
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
	present := slices.Compact(slices.Sorted(slices.Values(labels))) // far fewer than clusters if there are very many
	if len(present) < 2 {
		return nil
	}
	out := &apart{
		samples: len(labels), silhouette: make([]float64, clusters), nearest: make([]int, clusters),
		separation: make([]float64, clusters),
	}
	for k := range clusters {
		out.silhouette[k], out.nearest[k], out.separation[k] = math.NaN(), -1, math.NaN()
	}
	m := len(present)
	at, size := make([]int, len(labels)), make([]float64, m)
	for i, k := range labels {
		at[i], _ = slices.BinarySearch(present, k)
		size[at[i]]++
	}
	silhouette, between, sums := make([]float64, m), make([]float64, m*m), make([]float64, m) // between has sums of distances
	for i, k := range at {
		clear(sums)
		for j, l := range at {
			sums[l] += distance(i, j)
		}
		for l, sum := range sums {
			between[k*m+l] += sum
		}
		silhouette[k] += silhouetteOf(k, size, sums)
	}
	for k, number := range present {
		out.mean += silhouette[k] / float64(len(labels))
		nearest, separation := neighbourOf(k, size, between[k*m:(k+1)*m])
		out.silhouette[number], out.nearest[number], out.separation[number] = silhouette[k]/size[k], present[nearest], separation
	}
	return out
}

// silhouetteOf returns the silhouette of a sample of cluster k. sums are sums of its distances to the samples of each cluster.
func silhouetteOf(k int, size, sums []float64) float64 {
	next := math.Inf(1)
	for l, sum := range sums {
		if l != k {
			next = min(next, sum/size[l])
		}
	}
	own := sums[k] / (size[k] - 1)
	if size[k] < 2 || max(own, next) == 0 {
		return 0
	}
	return (next - own) / max(own, next)
}

// neighbourOf returns the cluster nearest to k and the separation of k and that cluster. sums are sums of distances from samples
// of k.
func neighbourOf(k int, size, sums []float64) (nearest int, separation float64) {
	least := math.Inf(1)
	for l, sum := range sums {
		if d := sum / (size[k] * size[l]); l != k && !(d >= least) { // the first one also if it is not a number
			nearest, least = l, d
		}
	}
	if size[k] < 2 || least == 0 {
		return nearest, math.NaN()
	}
	return nearest, 1 - sums[k]/(size[k]*(size[k]-1))/least
}
