package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
	"github.com/largemvc/largemvc/studies/internal/work"
)

// damage is a setting of the experiment. wrong is the share of the present rows of one view that belong to other samples, absent the
// share of all sample–view pairs.
type damage struct{ wrong, absent float64 }

var damages = []damage{{0, 0}, {0.1, 0}, {0.3, 0}, {0.5, 0}, {0, 0.3}, {0, 0.5}, {0, 0.7}, {0.3, 0.3}, {0.3, 0.5}, {0.3, 0.7}}

// doubts are the trusts below which a row is taken for the row of another sample.
var doubts = [2]float64{0.5, 0.9}

// repaired has the accuracies of a draw in %: as the data are, with all wrong rows marked absent, and with rows of less trust than
// each of doubts marked absent. Named is the share of the wrong rows that were marked, Blamed of the right ones.
type repaired struct {
	Plain, Known           float64
	Trusted, Named, Blamed [2]float64
}

// pairs swaps rows of one view among some samples and takes views away, and clusters with and without the trust in the rows.
func pairs(ctx context.Context, s *study) error {
	var jobs []work.Job[repaired]
	for _, h := range damages {
		for _, d := range s.sets {
			for draw := range s.draws {
				if h.possible(d) {
					jobs = append(jobs, work.Job[repaired]{
						Key: fmt.Sprintf("%s | pairs %v | draw %d | epochs %d", d.About(), h, draw, s.epochs),
						Do:  func(ctx context.Context) (repaired, error) { return s.repair(ctx, s.draw(d, draw), h, draw) },
					})
				}
			}
		}
	}
	got, err := work.All(ctx, s.path("work"), s.stderr, "pairs", jobs)
	if err != nil {
		return err
	}
	g := tables.Grid{Name: "pairs", Plain: true, Header: []string{"wrong, absent: what is done", "mean"}}
	for _, d := range s.sets {
		g.Header = append(g.Header, d.Name)
	}
	for _, h := range damages {
		runs := make([][]repaired, len(s.sets)) // nil where the set does not permit the absent share
		for k, d := range s.sets {
			if h.possible(d) {
				runs[k], got = got[:s.draws], got[s.draws:]
			}
		}
		g.Rows = append(g.Rows, h.lines(runs)...)
	}
	return s.publish(page{
		name: "pairs", title: "Wrong pairs and absent views", caption: pairsCaption, notes: "The paper has no wrong pairs.",
		tables: []tables.Grid{g},
	})
}

// lines are the rows of a setting from its runs by set.
func (h damage) lines(runs [][]repaired) (out []tables.Line) {
	for _, o := range outcomes {
		if o.wrongOnly && h.wrong == 0 {
			continue
		}
		out = append(out, meanLine(fmt.Sprintf("%g, %g: %s", h.wrong, h.absent, o.name), runs, o.of))
	}
	return out
}

const pairsCaption = "ACC (%) of the default preset. *Wrong* is the share of the present rows of one view that are rows of " +
	"other samples; the views take turns over the draws. *Absent* is the share of all sample–view pairs that is absent. *Trust " +
	"below x*: `ViewTrust` of a first fit; where the lowest trust of a sample is below x, this row is marked absent for a " +
	"second fit. With two views both have the same trust: none is marked. *Wrong rows known* marks every swapped row absent, " +
	"unless its sample has no other row. No method knows these rows: this shows what there is to gain. *Named* is the share of " +
	"the wrong rows that the trust marks, *blamed* the share of the right ones that it marks. A mean is over the sets that " +
	"permit the absent share: every sample keeps a view."

// outcomes are the rows of a setting.
var outcomes = []struct {
	name      string
	wrongOnly bool // it is a row of settings with wrong pairs alone
	of        func(repaired) float64
}{
	{"as it is", false, func(r repaired) float64 { return r.Plain }},
	{"**trust below 0.5**", false, func(r repaired) float64 { return r.Trusted[0] }},
	{"**trust below 0.9**", false, func(r repaired) float64 { return r.Trusted[1] }},
	{"wrong rows known", true, func(r repaired) float64 { return r.Known }},
	{"named below 0.5, %", true, func(r repaired) float64 { return r.Named[0] }},
	{"named below 0.9, %", true, func(r repaired) float64 { return r.Named[1] }},
	{"blamed below 0.5, %", false, func(r repaired) float64 { return r.Blamed[0] }},
	{"blamed below 0.9, %", false, func(r repaired) float64 { return r.Blamed[1] }},
}

// possible says whether every sample of the set can keep a view.
func (h damage) possible(d *sets.Set) bool { return h.absent <= 1-1/float64(len(d.Views))+1e-9 }

// repair damages a set and clusters it in the three ways.
func (s *study) repair(ctx context.Context, d *sets.Set, h damage, draw int) (out repaired, err error) {
	present, err := dataset.Drop(d.N, len(d.Views), h.absent, uint64(draw))
	if err != nil {
		return out, err
	}
	of := draw % len(d.Views)
	values, wrong := swap(d.Values[of], present, of, h.wrong, draw)
	fit := func(marked func(i, v int) bool) (*largemvc.Clustering, []largemvc.View, float64, error) {
		views := make([]largemvc.View, len(d.Views))
		for v, m := range d.Values {
			if v == of {
				m = values
			}
			has := make([]bool, d.N)
			for i := range has {
				has[i] = present[i][v] && !marked(i, v)
			}
			views[v] = m.View().WithPresent(has)
		}
		c := s.configFor(largemvc.Config{NoStructure: true}, d, draw)
		r, err := largemvc.Fit(ctx, views, c)
		if err != nil {
			return nil, nil, 0, err
		}
		e, err := largemvc.Evaluate(d.Labels, r.Labels)
		return r, views, 100 * e.ACC, err
	}
	r, views, acc, err := fit(func(int, int) bool { return false })
	if err != nil {
		return out, err
	}
	trust, err := r.ViewTrust(ctx, views)
	if err != nil {
		return out, err
	}
	out.Plain = acc
	for k, below := range doubts {
		marked := func(i, v int) bool { return least(trust, i, v, below) }
		out.Named[k], out.Blamed[k] = markedShares(present, marked, func(i, v int) bool { return v == of && wrong[i] })
		if _, _, out.Trusted[k], err = fit(marked); err != nil {
			return out, err
		}
	}
	out.Known = out.Plain
	if h.wrong > 0 {
		swapped := func(i, v int) bool { return v == of && wrong[i] && others(present[i], v) }
		_, _, out.Known, err = fit(swapped)
	}
	return out, err
}

// markedShares returns the share of the wrong rows that are marked, and of the right ones, in %.
func markedShares(present [][]bool, marked, wrong func(i, v int) bool) (named, blamed float64) {
	var rows, hit [2]float64 // of right and of wrong rows
	for i, has := range present {
		for v, there := range has {
			if k := index(wrong(i, v)); there {
				rows[k]++
				hit[k] += float64(index(marked(i, v)))
			}
		}
	}
	return 100 * hit[1] / max(rows[1], 1), 100 * hit[0] / max(rows[0], 1)
}

// swap passes the rows of a share of the samples that have a view on to each other, and marks these samples.
func swap(m sets.Matrix, present [][]bool, v int, share float64, draw int) (sets.Matrix, []bool) {
	rows, wrong := make([]int, m.N), make([]bool, m.N)
	var has []int
	for _, i := range rand.New(rand.NewPCG(uint64(draw), 0x7061697273)).Perm(m.N) { // "pairs"
		rows[i] = i
		if present[i][v] {
			has = append(has, i)
		}
	}
	if has = has[:int(math.Round(share*float64(len(has))))]; len(has) < 2 {
		return m, wrong
	}
	for k, i := range has {
		rows[i], wrong[i] = has[(k+1)%len(has)], true
	}
	return m.Pick(rows), wrong
}

// least says whether the trust in row v of sample i is below a limit, and below the trust in its other rows.
func least(trust [][]float64, i, v int, below float64) bool {
	for u := range trust {
		if u != v && trust[u][i] <= trust[v][i] {
			return false
		}
	}
	return trust[v][i] < below
}

// others says whether a sample has another view than v.
func others(has []bool, v int) bool {
	for u, x := range has {
		if u != v && x {
			return true
		}
	}
	return false
}

func index(x bool) int {
	if x {
		return 1
	}
	return 0
}
