package main

import (
	"context"
	"fmt"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/score"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
)

// freshRates are shares of absent rows that sets of three views permit.
var freshRates = [4]float64{0, 0.1, 0.3, 0.5}

// freshRows are the rows of the table at each rate.
var freshRows = [3]string{"samples of the fit", "new samples", "new samples, in a fit of all"}

// freshScores are accuracies in % by rate, in the order of freshRows.
type freshScores [len(freshRates)][len(freshRows)]float64

// fresh fits four fifths of a set and labels the last fifth.
func fresh(ctx context.Context, s *study) error {
	runs, err := eachDraw(ctx, s, "new samples", onNew)
	if err != nil {
		return err
	}
	g := tables.Grid{Name: "fresh", Plain: true, Header: []string{"absent: samples", "mean"}}
	for _, d := range s.sets {
		g.Header = append(g.Header, d.Name)
	}
	for r, rate := range freshRates {
		for k, name := range freshRows {
			of := func(scores freshScores) float64 { return scores[r][k] }
			g.Rows = append(g.Rows, meanLine(fmt.Sprintf("%g: %s", rate, name), runs, of))
		}
	}
	return s.publish(page{name: "fresh", title: "New samples", caption: freshCaption, notes: "The paper has no new samples.",
		tables: []tables.Grid{g}})
}

const freshCaption = "ACC (%) of the default preset. The fit sees four fifths of a set, and labels the last fifth. *Absent* is the share of " +
	"all sample–view pairs that is absent, in both parts. Clusters are matched to classes by the samples of the fit alone; in a fit " +
	"of all, by the same samples. So a matching never sees the classes of new samples."

// onNew scores a draw.
func onNew(ctx context.Context, s *study, d *sets.Set, draw int) (out freshScores, err error) {
	cut := 4 * d.N / 5
	rows := make([]int, d.N)
	for i := range rows {
		rows[i] = i
	}
	fit := func(d *sets.Set, present [][]bool) (*largemvc.Clustering, error) {
		return largemvc.Fit(ctx, d.Masked(present), s.configFor(largemvc.Config{NoStructure: true}, d, draw))
	}
	old, young := d.Pick(rows[:cut]), d.Pick(rows[cut:])
	for r, rate := range freshRates {
		present, err := dataset.Drop(cut, len(d.Views), rate, uint64(2*draw))
		if err != nil {
			return out, err
		}
		ofNew, err := dataset.Drop(d.N-cut, len(d.Views), rate, uint64(2*draw+1))
		if err != nil {
			return out, err
		}
		c, err := fit(old, present)
		if err != nil {
			return out, err
		}
		labels, err := c.Predict(ctx, young.Masked(ofNew))
		if err != nil {
			return out, err
		}
		whole, err := fit(d, append(present, ofNew...))
		if err != nil {
			return out, err
		}
		for k, m := range [len(freshRows)]struct{ by, of, classes []int }{
			{c.Labels, c.Labels, old.Labels}, {c.Labels, labels, young.Labels}, {whole.Labels[:cut], whole.Labels[cut:], young.Labels},
		} {
			if out[r][k], err = matched(m.by, old.Labels, m.of, m.classes, d.Classes); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// matched returns the share of labels in the class of their cluster, in %. Clusters and classes are matched one to one by other
// labels and their classes.
func matched(by, byClasses, labels, classes []int, size int) (float64, error) {
	cost := make([][]float64, size)
	for c := range cost {
		cost[c] = make([]float64, size)
	}
	for i, c := range by {
		cost[c][byClasses[i]]--
	}
	to, _, err := score.Assignment(cost)
	if err != nil {
		return 0, err
	}
	hits := 0
	for i, c := range labels {
		hits += index(to[c] == classes[i])
	}
	return 100 * float64(hits) / float64(len(labels)), nil
}
