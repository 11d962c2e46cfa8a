package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/internal/sets"
)

const (
	badShare = 0.2 // of the rows of a view
	mostBad  = 4   // views that are made bad, each in turn
)

// trusts makes rows of one view bad, of each view in turn, and measures how well the trust of a fit names them: the area under
// the ROC curve of the view's trust, and the share of bad rows whose view is the one of their sample that is trusted least.
func trusts() question {
	q := question{
		title:       "Area under the ROC curve and share of views named (%), means over the views of a set",
		cases:       []string{"noise", "swapped"},
		lines:       []string{": area", ": named"},
		fewestViews: 3,
	}
	q.do = func(ctx context.Context, d *sets.Set, k, draw, _ int) ([]float64, error) {
		sums := make([]float64, 2)
		views := min(len(d.Views), mostBad)
		for v := range views {
			area, named, err := detect(ctx, d, q.cases[k], v, draw)
			if err != nil {
				return nil, err
			}
			sums[0], sums[1] = sums[0]+100*area/float64(views), sums[1]+100*named/float64(views)
		}
		return sums, nil
	}
	return q
}

// detect makes a view bad and judges the trust of a fit to the start.
func detect(ctx context.Context, d *sets.Set, kind string, view, draw int) (area, named float64, err error) {
	dirty, bad := corrupt(d, kind, view, rand.New(rand.NewPCG(uint64(draw), uint64(view))))
	c, err := largemvc.Fit(ctx, dirty.Views, largemvc.Config{
		Clusters: d.Classes, Seed: uint64(draw), Epochs: largemvc.None, KMeansStarts: 1,
	})
	if err != nil {
		return 0, 0, err
	}
	trust, err := c.ViewTrust(ctx, dirty.Views)
	if err != nil {
		return 0, 0, err
	}
	area, named = judged(trust, bad, view)
	return area, named, nil
}

// corrupt replaces the share badShare of the rows of a view by noise of the view's own mean and deviation, or by the rows of each
// other.
func corrupt(d *sets.Set, kind string, view int, rng *rand.Rand) (*sets.Set, []bool) {
	bad := make([]bool, d.N)
	chosen := rng.Perm(d.N)[:int(badShare*float64(d.N))]
	old := d.Values[view]
	values := make([]float64, len(old.X))
	for k, x := range old.X {
		values[k] = float64(x)
	}
	mean, std := stat.MeanStdDev(values, nil)
	x := sets.Matrix{N: old.N, D: old.D, X: slices.Clone(old.X)}
	for k, i := range chosen {
		bad[i] = true
		row := x.X[i*x.D : (i+1)*x.D]
		if kind == "swapped" {
			copy(row, old.RawRow(chosen[(k+1)%len(chosen)]))
			continue
		}
		for c := range row {
			row[c] = float32(mean + std*rng.NormFloat64())
		}
	}
	views := slices.Clone(d.Values)
	views[view] = x
	return sets.New(d.Name, views, d.Labels, d.ClassNames), bad
}

// judged returns the area under the ROC curve of a view's trust for its bad rows, and the share of these where it is the least
// of the sample.
func judged(trust [][]float64, bad []bool, view int) (area, named float64) {
	order := make([]int, len(bad))
	count := 0.
	for i := range order {
		order[i] = i
		if bad[i] {
			count++
			least := true
			for v := range trust {
				least = least && (v == view || trust[v][i] > trust[view][i])
			}
			if least {
				named++
			}
		}
	}
	t := trust[view]
	sort.Slice(order, func(a, b int) bool { return t[order[a]] < t[order[b]] })
	before := 0. // bad rows that are less trusted
	for k := 0; k < len(order); {
		good, here := 0., 0.
		for same := t[order[k]]; k < len(order) && t[order[k]] == same; k++ {
			if bad[order[k]] {
				here++
			} else {
				good++
			}
		}
		area += good * (before + here/2)
		before += here
	}
	return area / (count * (float64(len(bad)) - count)), named / math.Max(count, 1)
}
