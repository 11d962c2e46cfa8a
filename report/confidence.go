package report

import (
	"context"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/confidence"
	"github.com/largemvc/largemvc/internal/parallel"
)

// certainty holds the confidence in each label.
type certainty struct {
	distance   []float64 // to the centroid of the sample's cluster
	confidence []float64 // how often the label is found again; the margin if this is unknown
	next       []int     // the cluster of the next centroid; −1 if there is only one
}

// newCertainty measures the distances of all samples to the centroids.
func newCertainty(ctx context.Context, r *result, workers int) (*certainty, error) {
	n, k := r.samples(), r.clusters()
	out := &certainty{make([]float64, n), make([]float64, n), make([]int, n)}
	const chunk = 1024
	err := parallel.For(ctx, workers, (n+chunk-1)/chunk, func(_, b int) error {
		row := make([]float64, r.anchors)
		for i := b * chunk; i < min((b+1)*chunk, n); i++ {
			r.row(row, i)
			own, next, at := 0.0, math.Inf(1), -1
			for c := range k {
				d := 0.0
				for j, x := range r.centroids.RawRowView(c) {
					d += (row[j] - x) * (row[j] - x)
				}
				if c == r.labels[i] {
					own = d
				} else if d < next {
					next, at = d, c
				}
			}
			out.distance[i], out.next[i], out.confidence[i] = math.Sqrt(own), at, confidence.Margin(own, next)
		}
		return nil
	})
	if r.judged.confidence != nil {
		out.confidence = r.judged.confidence
	}
	return out, err
}

func (c *certainty) leastSure(most int) []int {
	return lowest(len(c.confidence), most, nil, func(i int) float64 { return c.confidence[i] })
}

// typical returns the samples of each cluster that are nearest to its centroid, the nearest first.
func (c *certainty) typical(labels []int, clusters, most int) [][]int {
	out := make([][]int, clusters)
	for k := range out {
		out[k] = lowest(len(labels), most, func(i int) bool { return labels[i] == k },
			func(i int) float64 { return c.distance[i] })
	}
	return out
}

// lowest returns at most `most` numbers below n that pass, with the lowest values, in increasing order. Of equal values the lower
// number comes first.
func lowest(n, most int, pass func(i int) bool, value func(i int) float64) []int {
	var out []int
	for i := range n {
		if pass != nil && !pass(i) || len(out) == most && value(i) >= value(out[most-1]) {
			continue
		}
		at, _ := slices.BinarySearchFunc(out, i, func(a, b int) int {
			if value(a) <= value(b) {
				return -1
			}
			return 1
		})
		if len(out) == most {
			out = out[:most-1]
		}
		out = slices.Insert(out, at, i)
	}
	return out
}

func histogram(values []float64, bins int) []int {
	out := make([]int, bins)
	for _, x := range values {
		out[min(max(int(x*float64(bins)), 0), bins-1)]++
	}
	return out
}

// median returns the middle of some values, or the mean of the two in the middle.
func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
