package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/internal/sets"
	"github.com/largemvc/largemvc/examples/internal/tables"
	"github.com/largemvc/largemvc/examples/internal/work"
)

const (
	badShare = 0.2 // of the rows of a view
	mostBad  = 4   // views that are made bad, each in turn
)

// detector says what it thinks of the rows: less for those that do not belong.
type detector int

const (
	byTrust detector = iota
	byNeighbors
	byRegression
	detectors
)

var detectorNames = [detectors]string{
	"trust", "distance to the neighbours found in the other views", "regression on the other views",
}

// naming is how well bad rows of a view are found: the area under the ROC curve, and the share whose view is the one of its
// sample that is suspected most, in per cent.
type naming struct{ Area, Named [detectors]float64 }

// place is a view that is made bad.
type place struct {
	set  *sets.Set
	view int
}

// trusts corrupts a view at a time and asks which rows of which view are bad.
func trusts(ctx context.Context, s *study, all []*sets.Set) error {
	var jobs []work.Job[naming]
	var names []string
	var places []place
	for draw := range s.draws {
		clean := map[*sets.Set][]*mat.Dense{} // what the plain detectors compare, of views that nothing was done to
		for _, kind := range corruptions {
			for _, d := range all {
				for v := 0; len(d.Views) > 2 && v < min(len(d.Views), mostBad); v++ {
					if draw == 0 {
						names = append(names, fmt.Sprintf("%s, view %d of %d, %s", d.Name, v, len(d.Views), kind))
						places = append(places, place{d, v})
					}
					name := fmt.Sprintf("%s | trust | %s | view %d | draw %d", d.About(), kind, v, draw)
					jobs = append(jobs, work.Job[naming]{Key: name, Name: name, Do: func(ctx context.Context) (naming, error) {
						inOrder := d.InOrder(draw)
						if clean[d] == nil {
							var err error
							if clean[d], err = plainRows(ctx, inOrder.Values...); err != nil {
								return naming{}, err
							}
						}
						return detect(ctx, inOrder, clean[d], kind, v, draw)
					}})
				}
			}
		}
	}
	got, err := work.All(ctx, s.work(), s.stderr, "trust", jobs)
	if err != nil {
		return err
	}
	for k, kind := range corruptions {
		g := tables.Grid{
			Title:  fmt.Sprintf("Area under the ROC curve and share of views named (%%), %s rows", kind),
			Header: []string{"set"},
		}
		for _, name := range detectorNames {
			g.Header = append(g.Header, name, "named")
		}
		if kind == "swapped" {
			g.Header = append(g.Header, "classes known", "named")
		}
		part := len(names) / len(corruptions)
		var sums, hard [2 * detectors][]float64
		for c := k * part; c < (k+1)*part; c++ {
			line := tables.Line{Name: names[c]}
			var means [2 * detectors]float64
			for m := range detectors {
				var area, named []float64
				for draw := range s.draws {
					x := got[draw*len(names)+c]
					area, named = append(area, 100*x.Area[m]), append(named, 100*x.Named[m])
				}
				line.Cells = append(line.Cells, tables.MeanOf(area), tables.MeanOf(named))
				means[2*m], means[2*m+1] = stat.Mean(area, nil), stat.Mean(named, nil)
			}
			if kind == "swapped" {
				var area, named []float64
				for draw := range s.draws {
					a, n := knownClasses(places[c].set, places[c].view, draw)
					area, named = append(area, 100*a), append(named, 100*n)
				}
				line.Cells = append(line.Cells, tables.MeanOf(area), tables.MeanOf(named))
			}
			g.Rows = append(g.Rows, line)
			into := &sums
			if max(means[0], means[2], means[4]) < 75 {
				into = &hard
			}
			for m, x := range means {
				into[m] = append(into[m], x)
			}
		}
		for _, of := range []struct {
			name   string
			values *[2 * detectors][]float64
		}{{"mean where one of them reaches 75", &sums}, {"mean of the others", &hard}} {
			line := tables.Line{Name: fmt.Sprintf("%s (%d)", of.name, len(of.values[0]))}
			for _, x := range of.values {
				if len(x) > 0 {
					line.Cells = append(line.Cells, tables.Cell{Mean: stat.Mean(x, nil), Count: 1})
				}
			}
			if len(line.Cells) > 0 {
				g.Rows = append(g.Rows, line)
			}
		}
		s.print(g)
	}
	return nil
}

var corruptions = []string{"noise", "swapped"}

// toBeBad returns the rows that are replaced, each by the next where they are swapped.
func toBeBad(n int, share float64, rng *rand.Rand) []int { return rng.Perm(n)[:int(share*float64(n))] }

// badRandom is what a view is made bad with.
func badRandom(draw, view int) *rand.Rand { return rand.New(rand.NewPCG(uint64(draw), uint64(view))) }

// knownClasses is what one would reach who knows the class of every row and sample and nothing else: a swapped row is seen if
// its class is not the sample's, and else as likely suspected as any other.
func knownClasses(d *sets.Set, view, draw int) (area, named float64) {
	d = d.InOrder(draw)
	chosen, same := toBeBad(d.N, badShare, badRandom(draw, view)), 0.
	for k, i := range chosen {
		if d.Labels[i] == d.Labels[chosen[(k+1)%len(chosen)]] {
			same += 1 / float64(len(chosen))
		}
	}
	return 1 - same/2, 1 - same + same/float64(len(d.Views))
}

// corrupt replaces a share of the rows of a view by noise of the view's own mean and deviation, or by the rows of each other.
func corrupt(d *sets.Set, kind string, view int, share float64, rng *rand.Rand) (*sets.Set, []bool) {
	bad := make([]bool, d.N)
	chosen := toBeBad(d.N, share, rng)
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

// detect makes a view bad and judges what each detector says of it; clean are the plain rows of the set as it was.
func detect(ctx context.Context, d *sets.Set, clean []*mat.Dense, kind string, view, draw int) (naming, error) {
	dirty, bad := corrupt(d, kind, view, badShare, badRandom(draw, view))
	var out naming
	c, err := largemvc.Fit(ctx, dirty.Views, largemvc.Config{
		Clusters: d.Classes, Seed: uint64(draw), Epochs: largemvc.None, KMeansStarts: 1,
	})
	if err != nil {
		return out, err
	}
	found := [detectors][][]float64{}
	if found[byTrust], err = c.ViewTrust(ctx, dirty.Views); err != nil {
		return out, err
	}
	rows, err := plainRows(ctx, dirty.Values[view])
	if err != nil {
		return out, err
	}
	x := slices.Clone(clean)
	x[view] = rows[0]
	if found[byNeighbors], found[byRegression], err = plainDetectors(ctx, x); err != nil {
		return out, err
	}
	for m, t := range found {
		out.Area[m], out.Named[m] = judged(t, bad, view)
	}
	return out, nil
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
