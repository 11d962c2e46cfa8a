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

// measure sets the units of ρ: 1, or per view the median distance of the present samples to the mean of their start
// cluster. Without labels (given anchors) it is the distance to the anchors' span, ‖x − xPᵀP‖.
func measure[T kernel.Float](ctx context.Context, s *Point, x []rows.Matrix[T], views []view.View, o Start) error {
	s.Scale = make([]float64, len(views))
	for v := range s.Scale {
		s.Scale[v] = 1
	}
	if !o.Measure {
		return nil
	}
	for v := range views {
		residual, err := startResiduals(ctx, x[v], views[v], s.Labels, s.Anchors[v], o)
		if err != nil {
			return err
		}
		slices.Sort(residual)
		if median := residual[len(residual)/2]; median > 0 {
			s.Scale[v] = median
		}
	}
	return nil
}

// startResiduals returns the distance of every present sample to the mean of its cluster, or to the anchors' span.
func startResiduals[T kernel.Float](
	ctx context.Context, x rows.Matrix[T], in view.View, labels []int, anchors []float64, o Start,
) ([]float64, error) {
	n, d := x.Dims()
	m := o.Count
	mean := make([]T, m*d)
	if labels != nil {
		sums, err := clusterSums(ctx, x, in, labels, o)
		if err != nil {
			return nil, err
		}
		count := make([]float64, m)
		for i, l := range labels {
			if in.Has(i) {
				count[l]++
			}
		}
		for i, sum := range sums {
			mean[i] = T(sum / max(count[i/d], 1))
		}
	}
	out := make([]float64, n)
	const chunk = 1024
	err := parallel.For(ctx, o.Workers, (n+chunk-1)/chunk, func(_, k int) error {
		row, fit := make([]T, d), make([]T, d)
		for i := k * chunk; i < min((k+1)*chunk, n); i++ {
			if !in.Has(i) {
				out[i] = math.Inf(1)
				continue
			}
			x.Row(i, row)
			if labels != nil {
				out[i] = math.Sqrt(kernel.SquaredDistance(row, mean[labels[i]*d:(labels[i]+1)*d]))
				continue
			}
			projectRow(fit, row, anchors, m)
			out[i] = math.Sqrt(kernel.SquaredDistance(row, fit))
		}
		return nil
	})
	return slices.DeleteFunc(out, func(r float64) bool { return math.IsInf(r, 1) }), err
}

// projectRow sets fit = x PᵀP.
func projectRow[T kernel.Float](fit, x []T, p []float64, m int) {
	d := len(x)
	clear(fit)
	for j := range m {
		pj := p[j*d : (j+1)*d]
		dot := 0.0
		for q, a := range pj {
			dot += a * float64(x[q])
		}
		for q, a := range pj {
			fit[q] += T(dot * a)
		}
	}
}
