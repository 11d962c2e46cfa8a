package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/examples/internal/sets"
	"github.com/largemvc/largemvc/examples/internal/tables"
	"github.com/largemvc/largemvc/examples/internal/viz"
	"github.com/largemvc/largemvc/examples/internal/work"
	"github.com/largemvc/largemvc/internal/baseline"
)

// method clusters a set of which samples lack views.
type method struct {
	name string
	run  func(ctx context.Context, d *sets.Set, present [][]bool, seed, epochs int) ([]int, error)
}

func fitted(c largemvc.Config) func(context.Context, *sets.Set, [][]bool, int, int) ([]int, error) {
	return func(ctx context.Context, d *sets.Set, present [][]bool, seed, epochs int) ([]int, error) {
		views, err := largemvc.Mask(d.Views, present)
		if err != nil {
			return nil, err
		}
		c.Clusters, c.Seed, c.Epochs = d.Classes, uint64(seed), epochs
		r, err := largemvc.Fit(ctx, views, c)
		if err != nil {
			return nil, err
		}
		return r.Labels, nil
	}
}

// methods are the lines of the tables.
func methods() []method {
	out := []method{
		{"default preset", fitted(largemvc.Config{})},
		{"landmarks in place of neighbours", fitted(largemvc.Config{Neighborhood: largemvc.Neighborhood{Exact: largemvc.None}})},
		{"paper preset", fitted(largemvc.Config{Preset: largemvc.PresetPaper})},
	}
	for _, m := range baseline.IncompleteMethods() {
		out = append(out, method{m.Name, func(ctx context.Context, d *sets.Set, present [][]bool, seed, _ int) ([]int, error) {
			return m.Run(ctx, d.Matrices(), present, d.Classes, uint64(seed))
		}})
	}
	return out
}

// possible says whether a set can lack a share of its view rows and keep more than one view for some samples.
func possible(d *sets.Set, rate float64) bool { return rate < 1-1/float64(len(d.Views))-1e-9 }

// rates drops views at random.
func rates(ctx context.Context, s *study, all []*sets.Set) error {
	var jobs []work.Job[float64]
	type place struct{ method, rate, set int }
	at := map[place][]int{}
	for draw := range s.draws {
		for m, method := range s.chosen() {
			for k, d := range all {
				for r, rate := range s.rates {
					if !possible(d, rate) {
						continue
					}
					at[place{m, r, k}] = append(at[place{m, r, k}], len(jobs))
					name := fmt.Sprintf("%s | %s | rate %g | draw %d | epochs %d", d.About(), method.name, rate, draw, s.epochs)
					jobs = append(jobs, work.Job[float64]{Key: name, Name: name, Do: func(ctx context.Context) (float64, error) {
						d := d.InOrder(draw)
						present, err := dataset.Drop(d.N, len(d.Views), rate, uint64(draw))
						if err != nil {
							return 0, err
						}
						labels, err := method.run(ctx, d, present, draw, s.epochs)
						if err != nil {
							return 0, err
						}
						acc, err := largemvc.Accuracy(d.Labels, labels)
						return 100 * acc, err
					}})
				}
			}
		}
	}
	got, err := work.All(ctx, s.work(), s.stderr, "rates", jobs)
	if err != nil {
		return err
	}
	for r, rate := range s.rates {
		g := tables.Grid{Title: fmt.Sprintf("ACC (%%), %g of the view rows absent", rate), Header: []string{"method"}}
		var chosen []int
		for k, d := range all {
			if possible(d, rate) {
				g.Header, chosen = append(g.Header, d.Name), append(chosen, k)
			}
		}
		if len(chosen) == 0 {
			continue
		}
		g.Header = append(g.Header, "mean")
		for m, method := range s.chosen() {
			line := tables.Line{Name: method.name}
			perDraw := make([]float64, s.draws)
			for _, k := range chosen {
				var values []float64
				for draw, j := range at[place{m, r, k}] {
					values = append(values, got[j])
					perDraw[draw] += got[j] / float64(len(chosen))
				}
				line.Cells = append(line.Cells, tables.MeanOf(values))
			}
			line.Cells = append(line.Cells, tables.MeanOf(perDraw))
			g.Rows = append(g.Rows, line)
		}
		s.print(g)
	}
	return s.drawRates(all, func(method, rate, set int) tables.Cell {
		var values []float64
		for _, j := range at[place{method, rate, set}] {
			values = append(values, got[j])
		}
		return tables.MeanOf(values)
	})
}

// drawRates draws the accuracies over the rates into rates.svg, with their values in rates.csv.
func (s *study) drawRates(all []*sets.Set, value func(method, rate, set int) tables.Cell) error {
	g := tables.Grid{Header: []string{"set, method"}}
	figure := viz.Figure{
		Title: "ACC over the share of view rows absent", SharedLegend: true, Columns: min(4, len(all)), Width: 7, Height: 6,
	}
	for _, rate := range s.rates {
		g.Header = append(g.Header, fmt.Sprint(rate))
	}
	for k, d := range all {
		panel := viz.Lines{Title: d.Name, XLabel: "share absent", YLabel: "ACC (%)", Markers: true, XTicks: s.rates}
		for m, method := range s.chosen() {
			line := tables.Line{Name: d.Name + ", " + method.name}
			series := viz.Series{Name: method.name}
			for r, rate := range s.rates {
				c := value(m, r, k)
				line.Cells = append(line.Cells, c)
				if c.Count > 0 {
					series.X, series.Y = append(series.X, rate), append(series.Y, c.Mean)
					series.Low, series.High = append(series.Low, c.Mean-c.Std), append(series.High, c.Mean+c.Std)
				}
			}
			g.Rows = append(g.Rows, line)
			if len(series.X) > 0 {
				panel.Series = append(panel.Series, series)
			}
		}
		if len(panel.Series) > 0 {
			figure.Panels = append(figure.Panels, panel)
		}
	}
	if len(figure.Panels) == 0 {
		return nil
	}
	values, err := g.CSV()
	if err != nil {
		return err
	}
	if err := work.WriteWhole(filepath.Join(s.out, "rates.csv"), values); err != nil {
		return err
	}
	return figure.Save(filepath.Join(s.out, "rates.svg"))
}

func (s *study) print(g tables.Grid) {
	var b strings.Builder
	g.Markdown(&b)
	fmt.Fprintln(s.stdout, b.String())
}

// reason is why rows of a view are absent.
type reason struct {
	name string
	mask func(d *sets.Set, rng *rand.Rand) [][]bool
}

// missingReasons are masks that are not drawn without regard to the classes.
func missingReasons() []reason {
	return []reason{
		{"none is absent", func(d *sets.Set, _ *rand.Rand) [][]bool { return whole(d) }},
		{"as many at random as in the next", func(d *sets.Set, rng *rand.Rand) [][]bool {
			like, out := largestLacks(d, 0, 0.5, rng), whole(d)
			left := 0
			for _, row := range like {
				if !row[0] {
					left++
				}
			}
			for _, i := range rng.Perm(d.N)[:left] {
				out[i][0] = false
			}
			return out
		}},
		{"half of the largest class lacks the first view", func(d *sets.Set, rng *rand.Rand) [][]bool {
			return largestLacks(d, 0, 0.5, rng)
		}},
		{"all of the largest class lacks the first view", func(d *sets.Set, rng *rand.Rand) [][]bool {
			return largestLacks(d, 0, 1, rng)
		}},
		{"half of every class lacks a view of its own", func(d *sets.Set, rng *rand.Rand) [][]bool {
			out := whole(d)
			for _, i := range rng.Perm(d.N)[:d.N/2] {
				out[i][d.Labels[i]%len(d.Views)] = false
			}
			return out
		}},
	}
}

func whole(d *sets.Set) [][]bool {
	out := make([][]bool, d.N)
	for i := range out {
		out[i] = make([]bool, len(d.Views))
		for v := range out[i] {
			out[i][v] = true
		}
	}
	return out
}

// largestLacks takes a view from a share of the largest class.
func largestLacks(d *sets.Set, view int, share float64, rng *rand.Rand) [][]bool {
	sizes, largest := make([]int, d.Classes), 0
	for _, l := range d.Labels {
		sizes[l]++
	}
	for c, size := range sizes {
		if size > sizes[largest] {
			largest = c
		}
	}
	out, left := whole(d), int(share*float64(sizes[largest]))
	for _, i := range rng.Perm(d.N) {
		if d.Labels[i] == largest && left > 0 {
			out[i][view] = false
			left--
		}
	}
	return out
}

// reasons drops views by class.
func reasons(ctx context.Context, s *study, all []*sets.Set) error {
	type scored struct{ ACC, Class float64 } // Class: ACC of the samples that lack a view
	var jobs []work.Job[scored]
	list := missingReasons()
	for draw := range s.draws {
		for _, d := range all {
			for _, why := range list {
				name := fmt.Sprintf("%s | %s | draw %d | epochs %d", d.About(), why.name, draw, s.epochs)
				jobs = append(jobs, work.Job[scored]{Key: name, Name: name, Do: func(ctx context.Context) (scored, error) {
					d := d.InOrder(draw)
					mask := why.mask(d, rand.New(rand.NewPCG(uint64(draw), 19)))
					labels, err := fitted(largemvc.Config{})(ctx, d, mask, draw, s.epochs)
					if err != nil {
						return scored{}, err
					}
					to, err := matching(d.Labels, labels, d.Classes)
					if err != nil {
						return scored{}, err
					}
					hit, of := 0., 0.
					for i, row := range mask {
						for _, p := range row {
							if !p {
								of++
								if to[labels[i]] == d.Labels[i] {
									hit++
								}
							}
						}
					}
					return scored{matched(d.Labels, labels, to), 100 * hit / max(of, 1)}, nil
				}})
			}
		}
	}
	got, err := work.All(ctx, s.work(), s.stderr, "reasons", jobs)
	if err != nil {
		return err
	}
	g := tables.Grid{Title: "ACC (%) of all samples, and of those that lack a view", Header: []string{"absent"}}
	for _, d := range all {
		g.Header = append(g.Header, d.Name)
	}
	g.Header = append(g.Header, "mean")
	for w, why := range list {
		of := func(set, draw int) scored { return got[(draw*len(all)+set)*len(list)+w] }
		g.Rows = append(g.Rows, lineOf(why.name, len(all), s.draws, func(set, draw int) float64 { return of(set, draw).ACC }))
		if w > 0 {
			g.Rows = append(g.Rows, lineOf(why.name+": those", len(all), s.draws, func(set, draw int) float64 {
				return of(set, draw).Class
			}))
		}
	}
	s.print(g)
	return nil
}

// lineOf returns a line of a table: of each set the mean over the draws, and the mean over the sets.
func lineOf(name string, sets, draws int, value func(set, draw int) float64) tables.Line {
	out := tables.Line{Name: name}
	var means []float64
	for set := range sets {
		of := make([]float64, draws)
		for draw := range of {
			of[draw] = value(set, draw)
		}
		out.Cells = append(out.Cells, tables.MeanOf(of))
		means = append(means, stat.Mean(of, nil))
	}
	out.Cells = append(out.Cells, tables.Cell{Mean: stat.Mean(means, nil), Count: 1})
	return out
}
