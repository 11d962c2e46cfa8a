package cluster

import (
	"context"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
)

// measure sets, where it is asked for, the units of ρ: per view the median distance of the present samples to the mean of their
// start cluster, 1 where that is 0.
func measure[T kernel.Float](ctx context.Context, s *Point, x []rows.Matrix[T], views []view.View, o Start) error {
	if !o.Measure {
		return nil
	}
	s.Scale = make([]float64, len(views))
	for v := range views {
		residual, err := startResiduals(ctx, x[v], views[v], s.Labels, o)
		if err != nil {
			return err
		}
		slices.Sort(residual)
		if s.Scale[v] = residual[len(residual)/2]; s.Scale[v] == 0 {
			s.Scale[v] = 1
		}
	}
	return nil
}

// startResiduals returns the distance of every present sample to the mean of its cluster.
func startResiduals[T kernel.Float](
	ctx context.Context, x rows.Matrix[T], in view.View, labels []int, o Start,
) ([]float64, error) {
	n, d := x.Dims()
	sums, err := clusterSums(ctx, x, in, labels, o)
	if err != nil {
		return nil, err
	}
	count, mean := make([]float64, o.Count), make([]T, o.Count*d)
	for i, l := range labels {
		if in.Has(i) {
			count[l]++
		}
	}
	for i, sum := range sums {
		mean[i] = T(sum / max(count[i/d], 1))
	}
	out := make([]float64, n)
	const chunk = 1024
	err = parallel.For(ctx, o.Workers, (n+chunk-1)/chunk, func(_, k int) error {
		row := make([]T, d)
		for i := k * chunk; i < min((k+1)*chunk, n); i++ {
			if !in.Has(i) {
				out[i] = math.Inf(1)
				continue
			}
			x.Row(i, row)
			out[i] = math.Sqrt(kernel.SquaredDistance(row, mean[labels[i]*d:(labels[i]+1)*d]))
		}
		return nil
	})
	return slices.DeleteFunc(out, func(r float64) bool { return math.IsInf(r, 1) }), err
}
