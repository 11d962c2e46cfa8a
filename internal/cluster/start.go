// Package cluster finds the first anchors of a network by clustering the samples, and the clusters of the representation
// that it ends with.
package cluster

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/internal/view"
)

// Start says how the first anchors are found: from labels of k-means over the concatenated views.
type Start struct {
	Scaled  bool        // k-means on the first left singular vectors, each times the root of its singular value, rows at norm 1
	Labels  []int       // if not nil, the labels of the samples, in place of those of k-means
	Anchors [][]float64 // if not nil, the anchors, m×d_v per view, in place of all that
	Count   int         // m, the number of anchors

	Starts  int   // of each k-means
	Score   Score // of labels, for the choice among the starts; nil selects by inertia alone
	Seed    uint64
	Workers int

	Measure bool        // the units of ρ, of a start from labels
	Device  rows.Device // of the products with rows; nil: they are made here

	Group *ranks.Group // processes that hold the other rows; nil: these are all
}

// Point is where training begins.
type Point struct {
	Labels  []int       // of the samples, 0 to m−1; nil where anchors were given
	Anchors [][]float64 // P_v, m×d_v
	Scale   []float64   // the unit of ρ per view; nil unless measured
}

// FirstAnchors finds the first anchors for the inputs x. views are what they come from, with the samples that have them.
// filled, if not nil, returns the inputs with rows for absent views too, which a scaled start then clusters; anchors and
// units come from the rows that are there.
func FirstAnchors[T kernel.Float](
	ctx context.Context, x []rows.Matrix[T], filled func(context.Context) ([]rows.Matrix[T], error), views []view.View, o Start,
) (*Point, error) {
	s := &Point{}
	switch {
	case o.Anchors != nil:
		s.Anchors = o.Anchors
		return s, nil
	case o.Labels != nil:
		s.Labels = slices.Clone(o.Labels)
	default:
		var err error
		seen := x
		if filled != nil && o.Scaled {
			if seen, err = filled(ctx); err != nil {
				return nil, err
			}
		}
		if s.Labels, err = startLabels(ctx, seen, views, o); err != nil {
			return nil, err
		}
	}
	for v, xv := range x {
		sums, err := clusterSums(ctx, xv, views[v], s.Labels, o)
		if err != nil {
			return nil, err
		}
		_, d := xv.Dims()
		if kernel.Is32[T]() {
			if err := dropNoise(sums, o.Count, d); err != nil {
				return nil, fmt.Errorf("start anchors of %s: %w", views[v].Label(v), err)
			}
		}
		p, err := oddPolar(o.Count, d, sums)
		if err != nil {
			return nil, fmt.Errorf("start anchors of %s: %w", views[v].Label(v), err)
		}
		s.Anchors = append(s.Anchors, p)
	}
	return s, measure(ctx, s, x, views, o)
}

// oddPolar returns the polar factor of the sums (m×d), which it overwrites, so that those of −sums have its negative. Sums of
// centred columns are of lower rank, and what their factor has beside it is any direction, of any sign: a view times −1 would
// begin elsewhere.
func oddPolar(m, d int, sums []float64) ([]float64, error) {
	sign, largest := 1.0, 0.0
	for _, x := range sums {
		if math.Abs(x) > largest {
			sign, largest = math.Copysign(1, x), math.Abs(x)
		}
	}
	p := make([]float64, len(sums))
	for i := range sums {
		sums[i] *= sign
	}
	var polar linalg.Polar
	err := polar.Factor(m, d, sums, p)
	for i := range p {
		p[i] *= sign
	}
	return p, err
}

// rowPasses is the number of iterations over all rows of the inputs themselves. Each reads them once, which takes the time of a
// start from disk; more of them change the anchors little, and what is trained of these less: on mnist3v, 60,000 samples, ACC of
// the start was 60.4 with 3, 5 and 10 (means of three seeds).
const rowPasses = 4

// startLabels clusters the samples for the start.
func startLabels[T kernel.Float](ctx context.Context, x []rows.Matrix[T], views []view.View, o Start) ([]int, error) {
	cfg := kmeans.Config{Clusters: o.Count, Starts: o.Starts, Seed: o.Seed, Workers: o.Workers, Device: o.Device}
	joint := make([]kmeans.View[T], len(x))
	for v := range x {
		joint[v] = kmeans.View[T]{Rows: x[v], Weight: 1, Present: views[v].Present}
	}
	cfg.Passes = rowPasses
	if o.Scaled {
		cfg.Passes = 0
		n, _ := x[0].Dims()
		total := 0
		for _, xv := range x {
			_, d := xv.Dims()
			total += d
		}
		rank := min(o.Count, o.Group.Total(n), total)
		basis, u, err := spectral.FindAndProject(
			ctx, x, spectral.Config{Rank: rank, Seed: o.Seed, Workers: o.Workers, Group: o.Group, Device: o.Device},
		)
		if err != nil {
			return nil, err
		}
		ld := kernel.Pad(rank)
		for i := range n {
			scaleSingular(u[i*ld:i*ld+rank], basis.S)
		}
		joint = []kmeans.View[T]{{Rows: rows.NewDense(n, rank, ld, u), Weight: 1}}
	}
	if o.Score != nil { // A single input has all samples then, so they are all in what is scored.
		cfg = byScore(cfg, o.Score)
	}
	src, err := kmeans.NewSource(o.Group, joint...)
	if err != nil {
		return nil, err
	}
	r, err := kmeans.Run(ctx, src, cfg)
	if err != nil {
		return nil, err
	}
	return r.Labels, nil
}

// scaleSingular turns a row of U·diag(s) into the row of U·diag(s)^½, at norm 1.
func scaleSingular[T kernel.Float](row []T, s []float64) {
	for j, x := range row {
		if s[j] > 0 {
			row[j] = T(float64(x) / math.Sqrt(s[j]))
		}
	}
	if q := kernel.SumSquares(row, 0); q > 0 {
		kernel.Affine(row, row, 1/math.Sqrt(q), 0)
	}
}
