package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/internal/sets"
	"github.com/largemvc/largemvc/examples/internal/tables"
	"github.com/largemvc/largemvc/examples/internal/viz"
	"github.com/largemvc/largemvc/examples/internal/work"
)

// found is how a run on corrupted data went.
type found struct {
	WithACC, WithoutACC float64
	// Precision at the recalls k/20, k = 1 … 20, of the corrupted rows when rows are ranked by the trust of the noise
	// module, and by the residual of the network without it.
	With, Without []float64
}

const recallSteps = 20

// corruptions are what becomes of a row of the first view.
var corruptions = []string{"noise", "swapped"}

// noise corrupts rows of one view and asks the network which ones.
func noise(ctx context.Context, s *study) error {
	rates := []float64{0.05, 0.1, 0.2, 0.3, 0.4}
	const shown = 2 // the rate of the precision–recall curves
	chosen := s.small(4)
	var jobs []work.Job[found]
	for _, d := range chosen {
		for _, kind := range corruptions {
			for _, rate := range rates {
				for draw := range s.draws {
					jobs = append(jobs, work.Job[found]{
						Key: fmt.Sprintf("%s | %s | rate %g | draw %d | epochs %d", d.About(), kind, rate, draw, s.epochs),
						Do: func(ctx context.Context) (found, error) {
							return detect(ctx, s, s.draw(d, draw), kind, rate, draw)
						},
					})
				}
			}
		}
	}
	got, err := work.All(ctx, s.path("work"), s.stderr, "noise", jobs)
	if err != nil {
		return err
	}
	curves := viz.Figure{SharedLegend: true, Columns: min(2, len(chosen)), Width: 11}
	accuracies := viz.Figure{SharedLegend: true, Columns: min(2, len(chosen)), Width: 11}
	g := tables.Grid{Name: "noise", Plain: true, Header: []string{"set, ranking"}}
	for _, rate := range rates {
		g.Header = append(g.Header, fmt.Sprintf("%g", rate))
	}
	for _, d := range chosen {
		pr := viz.Lines{Title: d.Name, XLabel: "recall", YLabel: "precision", YMin: 0, YMax: 1.02}
		acc := viz.Lines{Title: d.Name, XLabel: "share of corrupted rows", YLabel: "ACC (%)", Markers: true, XTicks: rates}
		for _, kind := range corruptions {
			ranking := []tables.Line{{Name: d.Name + ", " + kind + ", least trust"},
				{Name: d.Name + ", " + kind + ", longest residual, no module"}}
			scored := []viz.Series{{Name: kind + ", with noise module"}, {Name: kind + ", without (AMvC-Net)"}}
			for k, rate := range rates {
				runs := got[:s.draws]
				got = got[len(runs):]
				var found, acc [2][]float64
				for _, r := range runs {
					found[0], found[1] = append(found[0], 100*mean(r.With)), append(found[1], 100*mean(r.Without))
					acc[0], acc[1] = append(acc[0], r.WithACC), append(acc[1], r.WithoutACC)
				}
				for i := range ranking {
					ranking[i].Cells = append(ranking[i].Cells, tables.MeanOf(found[i]))
					c, series := tables.MeanOf(acc[i]), &scored[i]
					series.X, series.Y = append(series.X, rate), append(series.Y, c.Mean)
					series.Low, series.High = append(series.Low, c.Mean-c.Std), append(series.High, c.Mean+c.Std)
				}
				if k == shown {
					pr.Series = append(pr.Series, precisionCurves(kind, runs)...)
				}
			}
			g.Rows = append(g.Rows, ranking...)
			acc.Series = append(acc.Series, scored...)
		}
		pr.Series = append(pr.Series, viz.Series{Name: "at random", X: []float64{0.05, 1},
			Y: []float64{rates[shown], rates[shown]}})
		curves.Panels, accuracies.Panels = append(curves.Panels, pr), append(accuracies.Panels, acc)
	}
	return s.publish(page{
		name: "noise", title: "What the noise module finds",
		caption: "Average precision (%) of finding corrupted rows, over the share of them, which is the precision of a " +
			"random ranking. All networks here have the paper preset. Rows of the first view, chosen at random, are " +
			"replaced: “noise” by Gaussian noise of the view's own mean and deviation, “swapped” by the row of another " +
			"sample of the set, which is a good row in the wrong place. Samples are standardised after that. Unlike in that " +
			"preset, θ, ρ ≥ 0 and ρ measured in units of the view's median residual, starting at 0.5. Rows are ranked by the " +
			"trust t of the last layer (E = (1−t)(X − HP)), lowest first; without the module by the length of their residual " +
			"X − HP, longest first. Precision is the share of corrupted rows among those ranked highest.",
		notes:  "The paper motivates E by corrupted samples but shows no such experiment.",
		tables: []tables.Grid{g},
		figures: []picture{
			{"noise-precision", fmt.Sprintf("Precision over recall of finding corrupted rows with %g of them corrupted, mean "+
				"over draws, a panel for each set.", rates[shown]), curves},
			{"noise-acc", "ACC with and without the noise module over the share of corrupted rows, a panel for each set; " +
				"bands are one standard deviation.", accuracies},
		},
	})
}

// precisionCurves are the means over the runs.
func precisionCurves(kind string, runs []found) []viz.Series {
	out := []viz.Series{{Name: kind + ", least trust"}, {Name: kind + ", longest residual, no module"}}
	for k := range recallSteps {
		var with, without []float64
		for _, r := range runs {
			with, without = append(with, r.With[k]), append(without, r.Without[k])
		}
		for i, y := range []float64{mean(with), mean(without)} {
			out[i].X, out[i].Y = append(out[i].X, float64(k+1)/recallSteps), append(out[i].Y, y)
		}
	}
	return out
}

func mean(x []float64) float64 { return tables.MeanOf(x).Mean }

// detect corrupts rows of the first view and ranks all rows by what the networks make of them.
func detect(ctx context.Context, s *study, d *sets.Set, kind string, rate float64, draw int) (found, error) {
	dirty, corrupted := corrupt(d, kind, rate, draw)
	views := make([]largemvc.View, len(dirty))
	for v, m := range dirty {
		views[v] = m.View()
	}
	config := s.configFor(largemvc.Config{
		Preset: largemvc.PresetPaper, Preprocess: largemvc.None,
		Represent: &largemvc.SoftThreshold{}, Noise: &largemvc.RowShrink{DataScale: true, Rho0: 0.5},
	}, d, draw)
	with, err := largemvc.Fit(ctx, views, config)
	if err != nil {
		return found{}, err
	}
	config.Noise = &largemvc.NoNoise{}
	without, err := largemvc.Fit(ctx, views, config)
	if err != nil {
		return found{}, err
	}
	doubt, residual := make([]float64, d.N), residuals(dirty[0], without.H, without.P[0])
	// Where ρ exceeds every residual, t is 1 everywhere; the residual of the network itself then orders the rows.
	own := residuals(dirty[0], with.H, with.P[0])
	for i, t := range with.Trust[0] {
		doubt[i] = 1 - t + 1e-9*own[i]
	}
	out := found{With: precision(doubt, corrupted), Without: precision(residual, corrupted)}
	for _, r := range []struct {
		labels []int
		acc    *float64
	}{{with.Labels, &out.WithACC}, {without.Labels, &out.WithoutACC}} {
		acc, err := largemvc.Accuracy(d.Labels, r.labels)
		if err != nil {
			return found{}, err
		}
		*r.acc = 100 * acc
	}
	return out, nil
}

// corrupt returns the views standardised per sample, with a share of the rows of the first corrupted, and says which.
func corrupt(d *sets.Set, kind string, rate float64, seed int) ([]sets.Matrix, []bool) {
	first := d.Values[0]
	sum, square := 0.0, 0.0
	for _, a := range first.X {
		sum += float64(a)
		square += float64(a) * float64(a)
	}
	count := float64(len(first.X))
	centre := sum / count
	deviation := math.Sqrt(max(0, square/count-centre*centre))
	r := rand.New(rand.NewPCG(uint64(seed), 0x6e6f697365))
	dirty := sets.Matrix{N: first.N, D: first.D, X: slices.Clone(first.X)}
	corrupted := make([]bool, d.N)
	for _, i := range r.Perm(d.N)[:int(math.Round(rate*float64(d.N)))] {
		corrupted[i] = true
		row := dirty.RawRow(i)
		if kind == "swapped" {
			copy(row, first.RawRow((i+1+r.IntN(d.N-1))%d.N))
			continue
		}
		for j := range row {
			row[j] = float32(centre + deviation*r.NormFloat64())
		}
	}
	views := standardised(d)
	views[0] = standardise(dirty)
	return views, corrupted
}

// standardised returns the views with every sample of every view at mean 0, variance 1.
func standardised(d *sets.Set) []sets.Matrix {
	out := make([]sets.Matrix, len(d.Values))
	for v, m := range d.Values {
		out[v] = standardise(m)
	}
	return out
}

func standardise(m sets.Matrix) sets.Matrix {
	out := sets.Matrix{N: m.N, D: m.D, X: make([]float32, len(m.X))}
	for i := range m.N {
		centre, square := 0.0, 0.0
		for _, a := range m.RawRow(i) {
			centre += float64(a) / float64(m.D)
		}
		for _, a := range m.RawRow(i) {
			square += (float64(a) - centre) * (float64(a) - centre) / float64(m.D)
		}
		if square <= 1e-12*centre*centre {
			continue
		}
		scale := 1 / math.Sqrt(square)
		for j, a := range m.RawRow(i) {
			out.RawRow(i)[j] = float32((float64(a) - centre) * scale)
		}
	}
	return out
}

// residuals returns ‖x_i − h_i P‖.
func residuals(x sets.Matrix, h mat.Matrix, p *mat.Dense) []float64 {
	out := make([]float64, x.N)
	var fitted mat.Dense
	fitted.Mul(h, p)
	for i := range out {
		sum := 0.0
		for j, a := range x.RawRow(i) {
			e := float64(a) - fitted.At(i, j)
			sum += e * e
		}
		out[i] = math.Sqrt(sum)
	}
	return out
}

// precision ranks the rows, highest score first and of equal scores the first row first, and returns the share of wanted
// ones among those ranked as high as the share k/20 of the wanted ones, k = 1 … 20.
func precision(score []float64, wanted []bool) []float64 {
	order := make([]int, len(score))
	total := 0
	for i := range order {
		order[i] = i
		if wanted[i] {
			total++
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return score[order[a]] > score[order[b]] })
	out := make([]float64, 0, recallSteps)
	hits := 0
	for rank, i := range order {
		if !wanted[i] {
			continue
		}
		hits++
		for len(out) < recallSteps && hits*recallSteps >= (len(out)+1)*total {
			out = append(out, float64(hits)/float64(rank+1))
		}
	}
	return out
}
