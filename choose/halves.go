package choose

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/score"
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
			if n, _ := h[s][0].Dims(); config.Clusters >= n || refused(c, h[s]) {
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
			table, err := score.NewContingency(fits[s].Labels, given)
			if err != nil {
				return math.NaN(), err
			}
			total, count = total+table.Pairs().ARI(), count+1
		}
	}
	return total / count, nil
}

// refused says whether a configuration is out of range for some samples. Their memory is no part of that: a fit speaks of it.
func refused(c largemvc.Config, views []largemvc.View) bool {
	c.Machine.MaxMemory = 0
	return c.Check(views) != nil
}
