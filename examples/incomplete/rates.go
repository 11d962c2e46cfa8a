package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/examples/internal/sets"
	"github.com/largemvc/largemvc/examples/internal/tables"
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
	return nil
}

func (s *study) print(g tables.Grid) {
	var b strings.Builder
	g.Markdown(&b)
	fmt.Fprintln(s.stdout, b.String())
}

// both are the accuracies of the samples of a fit and of new ones, with the clusters matched to classes on the former, and that
// of the new ones with a matching of their own.
type both struct{ Fitted, New, Own float64 }

// newSamples fits four fifths of a set and predicts the last one, with as many views missing in both, and with none.
func newSamples(ctx context.Context, s *study, all []*sets.Set) error {
	var jobs []work.Job[both]
	wanted := []float64{0}
	for _, rate := range s.rates {
		if rate <= 0.5 { // which sets of three views permit
			wanted = append(wanted, rate)
		}
	}
	for draw := range s.draws {
		for _, d := range all {
			for _, rate := range wanted {
				name := fmt.Sprintf(
					"%s | new samples, both matchings | rate %g | draw %d | epochs %d", d.About(), rate, draw, s.epochs,
				)
				jobs = append(jobs, work.Job[both]{Key: name, Name: name, Do: func(ctx context.Context) (both, error) {
					return predicted(ctx, d.InOrder(draw), rate, draw, s.epochs)
				}})
			}
		}
	}
	got, err := work.All(ctx, s.work(), s.stderr, "new samples", jobs)
	if err != nil {
		return err
	}
	g := tables.Grid{
		Title: "ACC (%) of the fitted four fifths, and of the new fifth with clusters matched to classes on the former and by " +
			"themselves",
		Header: []string{"absent"},
	}
	for _, d := range all {
		g.Header = append(g.Header, d.Name)
	}
	g.Header = append(g.Header, "mean")
	for r, rate := range wanted {
		of := func(set, draw int) both { return got[(draw*len(all)+set)*len(wanted)+r] }
		for _, x := range []struct {
			name  string
			value func(both) float64
		}{
			{"fitted", func(b both) float64 { return b.Fitted }}, {"new", func(b both) float64 { return b.New }},
			{"new, matched by themselves", func(b both) float64 { return b.Own }},
		} {
			g.Rows = append(g.Rows, lineOf(fmt.Sprintf("%g, %s", rate, x.name), len(all), s.draws, func(set, draw int) float64 {
				return x.value(of(set, draw))
			}))
		}
	}
	s.print(g)
	return nil
}

func predicted(ctx context.Context, d *sets.Set, rate float64, draw, epochs int) (both, error) {
	parts := [2]*sets.Set{d.Pick(upTo(0, 4*d.N/5)), d.Pick(upTo(4*d.N/5, d.N))}
	var views [2][]largemvc.View
	for i, p := range parts {
		if rate == 0 {
			views[i] = p.Views
			continue
		}
		present, err := dataset.Drop(p.N, len(p.Views), rate, uint64(2*draw+i))
		if err != nil {
			return both{}, err
		}
		if views[i], err = largemvc.Mask(p.Views, present); err != nil {
			return both{}, err
		}
	}
	c, err := largemvc.Fit(ctx, views[0], largemvc.Config{Clusters: d.Classes, Seed: uint64(draw), Epochs: epochs})
	if err != nil {
		return both{}, err
	}
	labels, err := c.Predict(ctx, views[1])
	if err != nil {
		return both{}, err
	}
	to, err := matching(parts[0].Labels, c.Labels)
	if err != nil {
		return both{}, err
	}
	own, err := matching(parts[1].Labels, labels)
	if err != nil {
		return both{}, err
	}
	return both{
		matched(parts[0].Labels, c.Labels, to), matched(parts[1].Labels, labels, to), matched(parts[1].Labels, labels, own),
	}, nil
}

func upTo(lo, hi int) []int {
	var out []int
	for i := lo; i < hi; i++ {
		out = append(out, i)
	}
	return out
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
					to, err := matching(d.Labels, labels)
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
