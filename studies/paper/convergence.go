package main

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/studies/internal/classical"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
	"github.com/largemvc/largemvc/studies/internal/viz"
	"github.com/largemvc/largemvc/studies/internal/work"
)

// stateEpochs are the epochs after which J and E of the network are measured: 0 is its initial state.
var stateEpochs = []int{0, 1, 2, 5, 10, 20, 35, 50, 75, 100}

// objectiveAlpha is α of the objective.
const objectiveAlpha = 0.01

// way is the course of a training, or of the solver's iterations.
type way struct {
	Loss   []float64 // before each epoch's step, and after the last
	Epochs []int     // at which the following are
	J      []float64
	Noise  []float64 // ‖E‖/‖X‖ over all views
}

// convergence follows the loss, the objective that the network unfolds, and the noise E along training.
func convergence(ctx context.Context, s *study) error {
	chosen := s.small(6)
	curves := []struct {
		name string
		run  func(ctx context.Context, s *study, d *sets.Set) (way, error)
	}{{"paper preset", networkWay}, {"default preset", defaultWay}, {"solver", solverWay}}
	var jobs []work.Job[way]
	for _, d := range chosen {
		for _, k := range curves {
			jobs = append(jobs, work.Job[way]{
				Key: fmt.Sprintf("%s | %s | epochs %d", d.About(), k.name, s.epochs),
				Do:  func(ctx context.Context) (way, error) { return k.run(ctx, s, s.draw(d, 0)) },
			})
		}
	}
	got, err := work.All(ctx, s.path("work"), s.stderr, "convergence", jobs)
	if err != nil {
		return err
	}
	panels := []viz.Lines{
		{Title: "Loss, paper preset", XLabel: "epoch", YLabel: "share of the first"},
		{Title: "Loss, default preset", XLabel: "epoch", YLabel: "loss"},
		{Title: "Objective J, paper preset", XLabel: "epoch", YLabel: "share of J at H = E = 0", Markers: true},
		{Title: "‖E‖ / ‖X‖, paper preset", XLabel: "epoch", YLabel: "ratio", Markers: true},
	}
	g := tables.Grid{Name: "convergence-ends", Header: []string{"set", "loss, paper preset", "loss, default preset",
		"J of the network", "J of the solver", "‖E‖/‖X‖ of the network", "of the solver"}}
	for _, d := range chosen {
		network, preset, solver := got[0], got[1], got[2]
		got = got[3:]
		zero := solver.J[0]
		var epochs, j []float64
		for i, e := range network.Epochs {
			epochs, j = append(epochs, float64(e)), append(j, network.J[i]/zero)
		}
		for i, y := range [][]float64{shares(network.Loss), preset.Loss, j, network.Noise} {
			x := epochs
			if i < 2 {
				x = make([]float64, len(y))
				for t := range x {
					x[t] = float64(t)
				}
			}
			panels[i].Series = append(panels[i].Series, viz.Series{Name: d.Name, X: x, Y: y})
		}
		g.Rows = append(g.Rows, tables.Line{Name: d.Name, Cells: []tables.Cell{
			{Text: firstAndLast(network.Loss)}, {Text: firstAndLast(preset.Loss)},
			{Text: fmt.Sprintf("%.3f → %.3f", j[0], j[len(j)-1])},
			{Text: fmt.Sprintf("1 → %.3f", solver.J[len(solver.J)-1]/zero)},
			{Text: fmt.Sprintf("%.3f → %.3f", network.Noise[0], network.Noise[len(network.Noise)-1])},
			{Text: fmt.Sprintf("%.3f", solver.Noise[0])},
		}})
	}
	figure := viz.Figure{Columns: 2, Width: 11, Height: 8, SharedLegend: true}
	for _, p := range panels {
		figure.Panels = append(figure.Panels, p)
	}
	return s.publish(page{
		name: "convergence", title: "Convergence",
		caption: "The first draw: first → last value, and how often it rises on the way. J = Σ_v (½‖X_v − H P_v − E_v‖² + " +
			"α‖H‖₁ + β_v‖E_v‖₂,₁) with α = 0.01 and β_v the view's median residual at the start, in units of its value at H " +
			"= E = 0, where the classical solver begins; the network begins at anchors of the same start and lowers its own " +
			"loss, not J. In the default preset, whose inputs are smoothed and whose loss has other terms and may be below " +
			"0, J is not defined.",
		notes: "The paper draws the loss alone, which falls within 20 epochs. Its proof is about J under its alternating " +
			"steps, which the trained network does not take; its H step does not always lower J, ours does (see package " +
			"classical).",
		tables: []tables.Grid{g},
		figures: []picture{{"convergence", "Loss of both presets, objective J and size of the noise E along training, a line " +
			"for each set.",
			figure}},
	})
}

// firstAndLast formats the first and the last value, and how often values rise.
func firstAndLast(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	rises := 0
	for t, v := range values {
		if t > 0 && v > values[t-1]+1e-6*math.Abs(values[t-1]) {
			rises++
		}
	}
	return fmt.Sprintf("%.3f → %.3f, %d rises", values[0], values[len(values)-1], rises)
}

// shares returns the values in units of the first.
func shares(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v / values[0]
	}
	return out
}

func defaultWay(ctx context.Context, s *study, d *sets.Set) (way, error) {
	r, err := largemvc.Fit(ctx, d.Views, s.configFor(largemvc.Config{}, d, 0))
	if err != nil {
		return way{}, err
	}
	return way{Loss: r.Loss}, nil
}

// solve runs the classical solver on views standardised per sample.
func solve(ctx context.Context, d *sets.Set, iterations int) (*classical.Result, []sets.Matrix, error) {
	x := standardised(d)
	r, err := classical.Fit[float32](ctx, viewsOf(x), classical.Options{
		Clusters: d.Classes, Alpha: objectiveAlpha, Beta: 1, Iterations: iterations,
	})
	return r, x, err
}

func solverWay(ctx context.Context, s *study, d *sets.Set) (way, error) {
	r, x, err := solve(ctx, d, s.epochs)
	if err != nil {
		return way{}, err
	}
	_, noise := objective(x, r.H, r.P, r.Trust, objectiveAlpha, r.Beta)
	return way{J: r.Objective, Noise: []float64{noise}}, nil
}

// networkWay trains the network to each of some epochs: its weights after an epoch do not depend on later epochs.
func networkWay(ctx context.Context, s *study, d *sets.Set) (way, error) {
	measured, x, err := solve(ctx, d, 1) // for β
	if err != nil {
		return way{}, err
	}
	var out way
	for _, epoch := range stateEpochs {
		if epoch > s.epochs {
			break
		}
		c := s.configFor(presets.Paper.Of(largemvc.Config{Preprocess: largemvc.None}), d, 0)
		if c.Epochs = epoch; epoch == 0 {
			c.Epochs = largemvc.None
		}
		r, err := largemvc.Fit(ctx, viewsOf(x), c)
		if err != nil {
			return way{}, err
		}
		j, noise := objective(x, r.H, r.P, r.Trust, objectiveAlpha, measured.Beta)
		out.Epochs, out.J, out.Noise, out.Loss = append(out.Epochs, epoch), append(out.J, j), append(out.Noise, noise), r.Loss
	}
	return out, nil
}

func viewsOf(x []sets.Matrix) []largemvc.View {
	out := make([]largemvc.View, len(x))
	for v, m := range x {
		out[v] = m.View()
	}
	return out
}

// objective returns J for H, P and the trust t, E = (1−t)(X − HP), and ‖E‖/‖X‖ over all views.
func objective(
	x []sets.Matrix, h mat.Matrix, p []*mat.Dense, trust [][]float64, alpha float64, beta []float64,
) (j, noise float64) {
	n, m := h.Dims()
	for i := range n {
		for k := range m {
			j += alpha * float64(len(x)) * math.Abs(h.At(i, k))
		}
	}
	all, error2 := 0.0, 0.0
	for v, b := range x {
		for i, r := range residuals(b, h, p[v]) {
			t := 1.0
			if trust != nil {
				t = trust[v][i]
			}
			e := math.Abs(1-t) * r
			j += t*t*r*r/2 + beta[v]*e
			error2 += e * e
			for _, a := range b.RawRow(i) {
				all += float64(a) * float64(a)
			}
		}
	}
	return j, math.Sqrt(error2 / all)
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
