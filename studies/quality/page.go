package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/studies/internal/tables"
	"github.com/largemvc/largemvc/studies/internal/work"
)

// publish writes the page, and its tables as CSV.
func (s *study) publish(r *results) error {
	groups := r.groups()
	grids := []tables.Grid{r.means(groups)}
	if g, ok := r.trainingTable(groups); ok {
		grids = append(grids, g)
	}
	for _, m := range metrics {
		grids = append(grids, r.perSet(m.name, m.of))
	}
	grids = append(grids, r.seconds())

	var b strings.Builder
	fmt.Fprintf(&b, "# Quality of the clusters\n\n%s\n\n", s.caption(r))
	for _, g := range grids {
		g.Markdown(&b)
		data, err := g.CSV()
		if err != nil {
			return err
		}
		if err := work.WriteWhole(filepath.Join(s.out, g.Name+".csv"), data); err != nil {
			return err
		}
	}
	if len(r.notes) > 0 {
		fmt.Fprintf(&b, "Notes: %s.\n", strings.Join(r.notes, "; "))
	}
	return work.WriteWhole(s.page, []byte(tables.Wrap(b.String())))
}

// caption says how the figures came about.
func (s *study) caption(r *results) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", textfile.Count(s.draws, "draw"))
	b.WriteString(
		`, each a random order of the rows and a seed, ± one standard deviation over the draws; scores in per cent:
ACC by one-to-one matching, NMI with the arithmetic mean, ARI. All rows are of one build of the program. One setting for all
sets; labels serve for scores alone
and choose nothing. The constants of the default preset were chosen on these sets.

“Default” rows are the default preset with one thing changed. “No network” is where it starts: k-means on the
unit rows of U√S of the smoothed
views. “Neighbours alone” and “held-out alone” have one of the two terms of the loss. k-means is of samples standardised (mean 0, variance 1 over
the features of each view), views concatenated, 10 starts.

Differences are paired over sets, the draws averaged first: the mean of default preset − row in points of ACC,
on how many sets it is better and
worse, and the two-sided p of the exact Wilcoxon signed-rank test. Each p stands for itself: none is corrected
for the number of rows.

Sets: `)
	for i, d := range r.sets {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(d.Name + ": " + d.Shape())
	}
	b.WriteString(".")
	return b.String()
}

// means is the table of means over sets, and of differences.
func (r *results) means(groups []group) tables.Grid {
	g := tables.Grid{
		Name: "quality-means", Title: "Means over sets, and differences from the default preset",
		Header: []string{"row"},
	}
	for _, x := range groups {
		for _, m := range metrics {
			g.Header = append(g.Header, fmt.Sprintf("%s, %s", m.name, x.name))
		}
		g.Header = append(g.Header, "default − row", "better–worse", "p")
	}
	for k := range r.rows {
		line := tables.Line{Name: r.label(k)}
		for _, x := range groups {
			for _, m := range metrics {
				line.Cells = append(line.Cells, tables.Cell{Mean: r.mean(k, x.sets, m.of), Count: 1})
			}
			if k == r.find(mainRow) {
				line.Cells = append(line.Cells, tables.Cell{}, tables.Cell{}, tables.Cell{})
				continue
			}
			p := r.pair(k, x)
			line.Cells = append(line.Cells, tables.Cell{Text: fmt.Sprintf("%+.2f", p.Mean)},
				tables.Cell{Text: fmt.Sprintf("%d–%d", p.Wins, p.Losses)}, tables.Cell{Text: fmt.Sprintf("%.3f", p.P)})
		}
		g.Rows = append(g.Rows, line)
	}
	g.Rank()
	return g
}

// trainingTable shows the gain of training over the initial clusters.
func (r *results) trainingTable(groups []group) (tables.Grid, bool) {
	g := tables.Grid{
		Name: "quality-training", Title: "What training adds to its own start",
		Header: []string{"sets", "ACC", "NMI", "ARI", "better–worse", "p (sign test)",
			"sets that lose more than 1.5 in ACC and in NMI"},
	}
	for _, x := range groups {
		t, ok := r.trained(x)
		if !ok {
			return g, false
		}
		harmed := strings.Join(t.Harmed, ", ")
		if harmed == "" {
			harmed = "none"
		}
		line := tables.Line{Name: x.name}
		for _, d := range []float64{t.Gain.ACC, t.Gain.NMI, t.Gain.ARI} {
			line.Cells = append(line.Cells, tables.Cell{Text: fmt.Sprintf("%+.2f", d)})
		}
		line.Cells = append(line.Cells, tables.Cell{Text: fmt.Sprintf("%d–%d", t.Better, t.Worse)},
			tables.Cell{Text: fmt.Sprintf("%.4f", t.P)}, tables.Cell{Text: harmed})
		g.Rows = append(g.Rows, line)
	}
	return g, true
}

// label is a row's name, the main one in bold.
func (r *results) label(k int) string {
	if r.rows[k].name == mainRow {
		return "**" + mainRow + "**"
	}
	return r.rows[k].name
}

// perSet is the table of a score on every set.
func (r *results) perSet(name string, of func(score) float64) tables.Grid {
	g := tables.Grid{Name: "quality-" + strings.ToLower(name), Title: name + " (%)", Header: []string{"row"}}
	for k := range r.rows {
		g.Rows = append(g.Rows, r.line(k, of))
	}
	for _, d := range r.sets {
		g.Header = append(g.Header, d.Name)
	}
	g.Rank()
	return g
}

// seconds is the table of the time of one run. Further labellings of a fit take none of their own.
func (r *results) seconds() tables.Grid {
	g := tables.Grid{Name: "quality-seconds", Title: "Seconds of one run", Header: []string{"row"}}
	for k, row := range r.rows {
		if row.part == clusters || row.part == start {
			g.Rows = append(g.Rows, r.line(k, func(x score) float64 { return x.Seconds }))
		}
	}
	for _, d := range r.sets {
		g.Header = append(g.Header, d.Name)
	}
	return g
}

// line is a row over the sets.
func (r *results) line(k int, of func(score) float64) tables.Line {
	out := tables.Line{Name: r.label(k)}
	for i := range r.sets {
		out.Cells = append(out.Cells, r.cell(k, i, of))
	}
	return out
}
