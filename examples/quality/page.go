package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/largemvc/largemvc/examples/internal/sets"
	"github.com/largemvc/largemvc/examples/internal/tables"
	"github.com/largemvc/largemvc/examples/internal/work"
	"github.com/largemvc/largemvc/internal/baseline"
)

// publish writes quality.md, its tables as CSV, and all scores as quality.json.
func (s *study) publish(r *results) error {
	groups := r.groups()
	grids := []tables.Grid{r.means(groups)}
	for _, m := range metrics {
		grids = append(grids, r.perSet(m.name, m.of))
	}
	if known := r.known(); len(known) > 0 {
		grids = append(grids, besideTable(known))
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
	checks := r.checks()
	b.WriteString("### What is asked of the default preset\n\n")
	for _, c := range checks {
		mark := "not met"
		if c.Met {
			mark = "met"
		}
		fmt.Fprintf(&b, "- %s: **%s**\n", c.Text, mark)
	}
	if len(r.notes) > 0 {
		fmt.Fprintf(&b, "\nNotes: %s.\n", strings.Join(r.notes, "; "))
	}
	if err := s.writeJSON(r, groups, checks); err != nil {
		return err
	}
	return work.WriteWhole(filepath.Join(s.out, "quality.md"), []byte(b.String()))
}

// caption says how the figures came about.
func (s *study) caption(r *results) string {
	text := fmt.Sprintf("%d seeds", s.seeds)
	for _, d := range r.sets {
		if d.N >= largeSet && s.seeds > s.largeSeeds {
			text += fmt.Sprintf(" (%d for sets of %d samples and more)", s.largeSeeds, largeSet)
			break
		}
	}
	text += ", ± one standard deviation over the seeds; scores in per cent: ACC by one-to-one matching, " +
		"NMI with the arithmetic mean, ARI. " +
		"One setting for all sets; labels serve for scores alone and choose nothing. Networks are at their " +
		"last epoch. The constants of the default preset were chosen once, by " +
		"means over the eleven smaller sets (" + strings.Join(smallSets, ", ") + ") and " + largeName +
		": what it reaches there is optimistic.\n\n" +
		"“Default” rows are the default preset with one thing changed. “No network” is where it starts: " +
		"k-means on the unit rows of U√S of the smoothed views. " +
		"“Neighbours alone” and “held-out alone” have one of the two terms of the loss; the second, " +
		"without neighbours in it, starts and ends with k-means of lowest inertia. " +
		"“All starts of lowest inertia” has both terms, and such k-means at both ends. “Spectral” is " +
		"k-means on the unit rows of U√S, or U, of H at norm 1 instead of on H. " +
		"Settings of the other methods: k-means of samples standardised (mean 0, variance 1 over the " +
		"features of each view), views concatenated, 10 starts"
	for _, m := range baseline.Methods() {
		if m.Name != notCompared {
			text += fmt.Sprintf("; %s (%s): %s", m.Name, m.Source, m.Settings)
		}
	}
	text += ".\n\nDifferences are paired over sets, the seeds averaged first: the mean of default preset − " +
		"row in points of ACC, on how many sets it is better and worse, and the " +
		"two-sided p of the exact Wilcoxon signed-rank test. Each p stands for itself: none is corrected " +
		"for the number of rows.\n\nSets: "
	for i, d := range r.sets {
		if i > 0 {
			text += "; "
		}
		text += d.Name + ": " + d.Shape()
	}
	return text + "."
}

// means is the table of means over sets, and of differences.
func (r *results) means(groups []group) tables.Grid {
	g := tables.Grid{Name: "quality-means", Title: "Means over sets, and differences from the default preset",
		Header: []string{"row"}}
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

// besideTable is the table of others' figures.
func besideTable(known []beside) tables.Grid {
	g := tables.Grid{
		Name: "quality-others", Title: "ACC (%) beside figures measured outside this program (authors' code, fixed settings)",
		Header: []string{"set", mainRow, "joint k-means", "difference", "best peer, picked by labels", "difference", "which"},
	}
	for _, b := range known {
		line := tables.Line{Name: b.Set, Cells: []tables.Cell{{Mean: b.ACC, Count: 1},
			{Mean: b.KMeans, Count: 1}, {Text: fmt.Sprintf("%+.1f", b.ACC-b.KMeans)}, {}, {}, {}}}
		if b.Peer > 0 {
			line.Cells[3], line.Cells[4], line.Cells[5] = tables.Cell{Mean: b.Peer, Count: 1},
				tables.Cell{Text: fmt.Sprintf("%+.1f", b.ACC-b.Peer)}, tables.Cell{Text: b.Method}
		}
		g.Rows = append(g.Rows, line)
	}
	return g
}

// writeJSON writes every score and what was made of them.
func (s *study) writeJSON(r *results, groups []group, checks []check) error {
	type scored struct {
		Row    string             `json:"row"`
		Scores map[string][]score `json:"scores"` // by set, a score a seed
	}
	out := struct {
		Seeds  int       `json:"seeds"`
		Sets   []string  `json:"sets"`
		Rows   []scored  `json:"rows"`
		Pairs  []pairing `json:"pairs"`
		Checks []check   `json:"checks"`
		Notes  []string  `json:"notes"`
	}{Seeds: s.seeds, Sets: strings.Split(sets.Names(r.sets), ", "), Checks: checks, Notes: r.notes}
	for k, row := range r.rows {
		x := scored{row.name, map[string][]score{}}
		for i, d := range r.sets {
			x.Scores[d.Name] = r.scores[k][i]
		}
		out.Rows = append(out.Rows, x)
		for _, g := range groups {
			if row.name != mainRow {
				out.Pairs = append(out.Pairs, r.pair(k, g))
			}
		}
	}
	data, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return err
	}
	return work.WriteWhole(filepath.Join(s.out, "quality.json"), data)
}
