package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/largemvc/largemvc/examples/internal/sets"
	"github.com/largemvc/largemvc/examples/internal/tables"
	"github.com/largemvc/largemvc/examples/internal/work"
)

// question is what a table answers: in each of its cases a few values of every set and draw, a line of the table each.
type question struct {
	title       string
	cases       []string
	lines       []string // what is put behind the name of the case
	fewestViews int      // sets of fewer views are left out
	// do returns the values of a case; d is in the order of the draw.
	do func(ctx context.Context, d *sets.Set, k, draw, epochs int) ([]float64, error)
}

// ask prints the table of a question under its name: of each set the mean over the draws and their deviation, and the mean over
// the sets.
func (s *study) ask(ctx context.Context, name string, q question, all []*sets.Set) error {
	all = slices.DeleteFunc(slices.Clone(all), func(d *sets.Set) bool { return len(d.Views) < q.fewestViews })
	var jobs []work.Job[[]float64]
	for _, d := range all {
		for k, about := range q.cases {
			for draw := range s.draws {
				key := fmt.Sprintf("%s | %s | draw %d | epochs %d", d.About(), about, draw, s.epochs)
				jobs = append(jobs, work.Job[[]float64]{Key: key, Do: func(ctx context.Context) ([]float64, error) {
					return q.do(ctx, d.InOrder(draw), k, draw, s.epochs)
				}})
			}
		}
	}
	got, err := work.All(ctx, s.work(), s.stderr, name, jobs)
	if err != nil {
		return err
	}
	g := tables.Grid{Title: q.title, Header: []string{name}}
	for _, d := range all {
		g.Header = append(g.Header, d.Name)
	}
	g.Header = append(g.Header, "mean")
	for k, about := range q.cases {
		for i, line := range q.lines {
			row, means := tables.Line{Name: about + line}, make([]float64, len(all))
			for set := range all {
				values := make([]float64, s.draws)
				for draw := range values {
					values[draw] = got[(set*len(q.cases)+k)*s.draws+draw][i]
				}
				cell := tables.MeanOf(values)
				row.Cells, means[set] = append(row.Cells, cell), cell.Mean
			}
			row.Cells = append(row.Cells, tables.Cell{Mean: stat.Mean(means, nil), Count: len(all)})
			g.Rows = append(g.Rows, row)
		}
	}
	var b strings.Builder
	g.Markdown(&b)
	_, err = fmt.Fprintln(s.stdout, b.String())
	return err
}
