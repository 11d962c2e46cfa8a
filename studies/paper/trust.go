package main

import (
	"context"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/integrate"
	"gonum.org/v1/gonum/stat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
)

const (
	badShare = 0.2 // of the rows of a view that are replaced
	badViews = 4   // the most views of a set that are damaged, each in turn
)

// found says how well the trust finds the rows that were replaced, in %, means over the views of a set: the area and the share named
// for rows of noise, and for rows of other samples.
type found [4]float64

// trusts replaces rows of one view at a time, and scores the trust in them.
func trusts(ctx context.Context, s *study) error {
	runs, err := eachDraw(ctx, s, "trust", doubt)
	if err != nil {
		return err
	}
	g := tables.Grid{Name: "trust", Plain: true, Header: []string{"rows replaced by", "mean"}}
	for _, d := range s.sets {
		g.Header = append(g.Header, d.Name)
	}
	for k, name := range []string{"noise: area", "noise: named", "rows of other samples: area", "rows of other samples: named"} {
		g.Rows = append(g.Rows, meanLine(name, runs, func(f found) float64 { return f[k] }))
	}
	return s.publish(page{name: "trust", title: "Trust in rows", caption: trustCaption, notes: "The paper has no such measure.",
		tables: []tables.Grid{g}})
}

const trustCaption = "A fifth of the rows of one view is replaced, for each of the first four views in turn: by normal noise with the " +
	"mean and the deviation of the view, or by rows of other samples. `ViewTrust` then judges every row of every view. *Area* is the " +
	"area under the ROC curve of the trust in the rows of this view (%). *Named* is the share of the replaced rows that have the least " +
	"trust of their sample (%). With two views both have the same trust, and none is named. Means over the views of a set."

// doubt damages the views of a set in turn.
func doubt(ctx context.Context, s *study, d *sets.Set, draw int) (out found, err error) {
	there := make([][]bool, d.N)
	for i := range there {
		there[i] = slices.Repeat([]bool{true}, len(d.Views))
	}
	damaged := min(len(d.Views), badViews)
	for v := range damaged {
		swapped, bad := swap(d.Values[v], there, v, badShare, draw)
		for k, values := range []sets.Matrix{noisy(d.Values[v], bad, draw), swapped} {
			views := slices.Clone(d.Views)
			views[v] = values.View()
			r, err := largemvc.Fit(ctx, views, s.configFor(largemvc.Config{NoStructure: true, Epochs: largemvc.None}, d, draw))
			if err != nil {
				return out, err
			}
			trust, err := r.ViewTrust(ctx, views)
			if err != nil {
				return out, err
			}
			area, named := judged(trust, bad, v)
			out[2*k] += 100 * area / float64(damaged)
			out[2*k+1] += 100 * named / float64(damaged)
		}
	}
	return out, nil
}

// noisy replaces rows by normal noise with the mean and the deviation of the values of the matrix.
func noisy(m sets.Matrix, bad []bool, draw int) sets.Matrix {
	values := make([]float64, len(m.X))
	for k, x := range m.X {
		values[k] = float64(x)
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	rng := rand.New(rand.NewPCG(uint64(draw), 0x6e6f697365)) // "noise"
	out := sets.Matrix{N: m.N, D: m.D, X: slices.Clone(m.X)}
	for k := range out.X {
		if bad[k/m.D] {
			out.X[k] = float32(mean + deviation*rng.NormFloat64())
		}
	}
	return out
}

// judged returns the area under the ROC curve of the trust in the rows of view v, and the share of the bad rows that have the least
// trust of their sample.
func judged(trust [][]float64, bad []bool, v int) (area, named float64) {
	values, good := slices.Clone(trust[v]), make([]bool, len(bad))
	count := 0.
	for i, b := range bad {
		good[i] = !b
		count += float64(index(b))
		named += float64(index(b && least(trust, i, v, 2)))
	}
	stat.SortWeightedLabeled(values, good, nil)
	hits, alarms, _ := stat.ROC(nil, values, good, nil)
	return integrate.Trapezoidal(alarms, hits), named / max(count, 1)
}
