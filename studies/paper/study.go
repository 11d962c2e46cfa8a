package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
	"github.com/largemvc/largemvc/studies/internal/work"
)

// study holds the flags and the data sets.
type study struct {
	data, only, out, page string
	elsewhere             string // folder of the results of another machine
	draws, tableDraws     int
	epochs                int
	limit                 int
	quick                 bool
	several               bool // more than one experiment runs

	stderr io.Writer
	sets   []*sets.Set
	drawn  struct { // the set that was last drawn
		from *sets.Set
		draw int
		set  *sets.Set
	}
	pages []page // published so far
}

func (s *study) register(f *flag.FlagSet) {
	f.StringVar(&s.data, "data", "", "files, or folders of them, of multi-view data with labels, separated by commas (.npz, "+
		".mat, …); empty: MNIST views made from the Go module GoMNIST")
	f.StringVar(&s.only, "sets", "", "names of the sets to use, separated by commas; default the sets that suit the experiment")
	f.StringVar(&s.out, "out", "results", "folder for tables, figures and finished work; several experiments may run into one "+
		"folder at a time")
	f.StringVar(&s.page, "page", "", "a Markdown file that gets the experiments, their figures and data in a folder of "+
		"its name; what it holds above its first section is kept")
	f.StringVar(&s.elsewhere, "elsewhere", "", "of rivals: a folder with METHOD-SET-DRAW.json, which contrastive.py "+
		"printed on another machine; the program writes the data for it there, SET-DRAW.npz")
	f.IntVar(&s.draws, "draws", 3, "draws of every setting; a draw is an order of the rows, a seed and, where there is one, "+
		"a mask")
	f.IntVar(&s.tableDraws, "table-draws", 10, "draws of the experiment table")
	f.IntVar(&s.epochs, "epochs", 100, "the most epochs of training; the default preset has 30")
	f.IntVar(&s.limit, "limit", 0, "leave out sets of more samples; default 0: no limit")
	f.BoolVar(&s.quick, "quick", false, "few draws, epochs and samples, on MNIST views unless -data says "+
		"otherwise: minutes in place of hours")
}

// prepare checks the flags and opens the data.
func (s *study) prepare(ctx context.Context) error {
	if s.draws < 1 || s.tableDraws < 1 || s.epochs < 1 || s.limit < 0 {
		return fmt.Errorf("%d draws, %d of the table, %d epochs, limit %d", s.draws, s.tableDraws, s.epochs, s.limit)
	}
	if s.quick {
		s.draws, s.tableDraws, s.epochs = min(s.draws, 2), min(s.tableDraws, 2), min(s.epochs, 30)
	}
	if err := os.MkdirAll(s.out, 0o777); err != nil {
		return err
	}
	if err := work.OneState(s.out); err != nil {
		return err
	}
	n := sets.AllDigits
	if s.quick {
		n = 3000
	}
	var err error
	s.sets, err = sets.OpenAll(ctx, sets.Choice{Path: s.data, Digits: n, Only: s.only, Limit: s.limit, Warn: s.stderr})
	return err
}

func (s *study) path(name string) string { return filepath.Join(s.out, name) }

// draw returns the set in the order of a draw.
func (s *study) draw(d *sets.Set, draw int) *sets.Set {
	if last := &s.drawn; last.set == nil || last.from != d || last.draw != draw {
		last.from, last.draw, last.set = d, draw, d.InOrder(draw)
	}
	return s.drawn.set
}

// eachDraw does a piece of work on each draw of each set, and returns the results by set and draw.
func eachDraw[R any](
	ctx context.Context, s *study, name string, do func(ctx context.Context, s *study, d *sets.Set, draw int) (R, error),
) ([][]R, error) {
	var jobs []work.Job[R]
	for _, d := range s.sets {
		for draw := range s.draws {
			jobs = append(jobs, work.Job[R]{
				Key: fmt.Sprintf("%s | %s | draw %d | epochs %d", d.About(), name, draw, s.epochs),
				Do:  func(ctx context.Context) (R, error) { return do(ctx, s, s.draw(d, draw), draw) },
			})
		}
	}
	all, err := work.All(ctx, s.path("work"), s.stderr, name, jobs)
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(all, s.draws)), nil
}

// meanLine is the line of a figure, from its runs by set and draw: its mean over the sets that have runs, and of each set the mean over
// the draws.
func meanLine[R any](name string, runs [][]R, of func(R) float64) tables.Line {
	line := tables.Line{Name: name, Cells: make([]tables.Cell, 1)}
	var means []float64
	for _, draws := range runs {
		values := make([]float64, len(draws))
		for i, r := range draws {
			values[i] = of(r)
		}
		c := tables.MeanOf(values)
		if line.Cells = append(line.Cells, c); c.Count > 0 {
			means = append(means, c.Mean)
		}
	}
	line.Cells[0] = tables.Cell{Text: fmt.Sprintf("%.1f", tables.MeanOf(means).Mean)}
	return line
}

// small returns the k sets that are cheapest to run, in their usual order; of a single experiment, all sets that -sets names.
func (s *study) small(k int) []*sets.Set {
	if s.only != "" && !s.several || len(s.sets) <= k {
		return s.sets
	}
	cost := func(d *sets.Set) int {
		sum := 0
		for _, v := range d.Views {
			_, width := v.Dims()
			sum += width
		}
		return sum * d.N * d.Classes
	}
	var out []*sets.Set
	for _, d := range s.sets {
		cheaper := 0
		for _, other := range s.sets {
			if cost(other) < cost(d) {
				cheaper++
			}
		}
		if cheaper < k {
			out = append(out, d)
		}
	}
	return out
}

// model is a network of this library with the name of its row.
type model struct {
	name   string
	config largemvc.Config // Clusters, Seed and, unless it says None, Epochs are filled in
}

// models are the rows of this library in the tables.
func models() []model {
	return []model{
		{"LargeMvC-Net, default preset", largemvc.Config{}},
		{"default preset, untrained", largemvc.Config{Epochs: largemvc.None}},
		{"LargeMvC-Net, paper preset", presets.Paper.Of(largemvc.Config{})},
		{"paper preset, untrained", presets.Paper.Of(largemvc.Config{Epochs: largemvc.None})},
	}
}

// configFor completes a configuration for a set and a draw.
func (s *study) configFor(c largemvc.Config, d *sets.Set, draw int) largemvc.Config {
	c.Clusters, c.Seed = d.Classes, uint64(draw)
	if c.Epochs == 0 {
		c.Epochs = min(s.epochs, c.WithDefaults().Epochs)
	}
	return c
}

// protocolText describes the common protocol of all experiments.
func (s *study) protocolText() string {
	return fmt.Sprintf("Figures are means over %d draws of each setting, unless noted; a draw is an order of the rows, a seed "+
		"and, where views or rows are taken away, a mask. At most %s; the default preset has 30. ACC is by one-to-one "+
		"matching, NMI with the arithmetic mean. Labels are used for scores alone, except in rows that say so. "+
		"Our networks are used as their presets have them, at the last epoch. The **default preset** sees every view in two "+
		"standardisations, smoothed along a graph of the samples' neighbours, and has terms for neighbours and for held-out "+
		"prediction in its loss; the **paper preset** is the network of the paper, without neighbours, on views standardised "+
		"per sample and started by a joint k-means.", s.draws, textfile.Count(s.epochs, "epoch"))
}
