package main

import (
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
)

// results are the scores of every row and set, over the draws.
type results struct {
	sets   []*sets.Set
	rows   []row
	scores [][][]score // per row, set and draw
	notes  []string
}

// metrics are what scores are made of.
var metrics = []struct {
	name string
	of   func(score) float64
}{
	{"ACC", func(s score) float64 { return s.ACC }},
	{"NMI", func(s score) float64 { return s.NMI }},
	{"ARI", func(s score) float64 { return s.ARI }},
}

// cell is the mean and the deviation of a row on a set.
func (r *results) cell(row, set int, of func(score) float64) tables.Cell {
	values := make([]float64, len(r.scores[row][set]))
	for i, s := range r.scores[row][set] {
		values[i] = of(s)
	}
	return tables.MeanOf(values)
}

// acc is the mean ACC of a row on each of the chosen sets.
func (r *results) acc(row int, chosen []int) []float64 {
	out := make([]float64, len(chosen))
	for i, set := range chosen {
		out[i] = r.cell(row, set, metrics[0].of).Mean
	}
	return out
}

// mean is the mean of a row over sets, draws averaged first.
func (r *results) mean(row int, chosen []int, of func(score) float64) float64 {
	values := make([]float64, len(chosen))
	for i, set := range chosen {
		values[i] = r.cell(row, set, of).Mean
	}
	return stat.Mean(values, nil)
}

// meanScore is the mean of a row over sets, in every measure.
func (r *results) meanScore(row int, chosen []int) score {
	return score{
		ACC: r.mean(row, chosen, metrics[0].of), NMI: r.mean(row, chosen, metrics[1].of),
		ARI: r.mean(row, chosen, metrics[2].of),
	}
}

// find returns the number of the row of that name, −1 if there is none.
func (r *results) find(name string) int {
	return slices.IndexFunc(r.rows, func(x row) bool { return x.name == name })
}

// pairing compares the main row with another, set by set, draws averaged first.
type pairing struct {
	Row    string
	Group  string
	Mean   float64 // of the differences in ACC, main row − row, in points
	Wins   int     // sets on which the main row is better by more than rounding
	Losses int     // sets on which it is worse
	P      float64 // two-sided, Wilcoxon signed-rank
}

// pair compares the main row with another.
func (r *results) pair(other int, g group) pairing {
	p := pairing{Row: r.rows[other].name, Group: g.name}
	differences := r.acc(r.find(mainRow), g.sets)
	for i, x := range r.acc(other, g.sets) {
		differences[i] -= x
		switch {
		case differences[i] > equalDifferences:
			p.Wins++
		case differences[i] < -equalDifferences:
			p.Losses++
		}
	}
	p.Mean, p.P = stat.Mean(differences, nil), signedRank(differences)
	return p
}
