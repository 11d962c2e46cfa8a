package main

import (
	"context"
	"fmt"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/internal/sets"
	"github.com/largemvc/largemvc/examples/internal/viz"
	"github.com/largemvc/largemvc/examples/internal/work"
	"github.com/largemvc/largemvc/internal/tsne"
)

// plane is the points of one panel.
type plane struct {
	X, Y  []float64
	Class []int
}

// stage is what is drawn: something made of a set, with a row for every sample.
type stage struct {
	name string
	make func(ctx context.Context, d *sets.Set) (mat.Matrix, error)
}

// embedding draws the raw views, and H of both presets, at the start and trained.
func embedding(ctx context.Context, s *study) error {
	representation := func(c largemvc.Config) func(context.Context, *sets.Set) (mat.Matrix, error) {
		return func(ctx context.Context, d *sets.Set) (mat.Matrix, error) {
			r, err := largemvc.Fit(ctx, d.Views, s.configFor(c, d, 0))
			if err != nil {
				return nil, err
			}
			return r.H, nil
		}
	}
	stages := []stage{
		{"raw views", func(_ context.Context, d *sets.Set) (mat.Matrix, error) { return sideBySide(d), nil }},
		{"H, paper preset", representation(largemvc.Config{Preset: largemvc.PresetPaper})},
		{"H of the start, default", representation(largemvc.Config{Epochs: largemvc.None})},
		{"H, default preset", representation(largemvc.Config{})},
	}
	methods := []struct {
		name  string
		place func(ctx context.Context, x mat.Matrix) (*mat.Dense, error)
	}{
		{"t-SNE", func(ctx context.Context, x mat.Matrix) (*mat.Dense, error) {
			r, err := tsne.Embed(ctx, x, tsne.Config{Seed: 1})
			if err != nil {
				return nil, err
			}
			return r.Y, nil
		}},
		{"PCA", func(ctx context.Context, x mat.Matrix) (*mat.Dense, error) { return tsne.PCA(ctx, x, 2, 1, 0) }},
	}
	chosen := drawable(s)
	var jobs []work.Job[plane]
	for _, d := range chosen {
		d := s.draw(d.AtMost(mostPoints), 0)
		for _, m := range methods {
			for _, st := range stages {
				jobs = append(jobs, work.Job[plane]{
					Key: fmt.Sprintf("%s | %s | %s | epochs %d", d.About(), m.name, st.name, s.epochs),
					Do: func(ctx context.Context) (plane, error) {
						x, err := st.make(ctx, d)
						if err != nil {
							return plane{}, err
						}
						y, err := m.place(ctx, x)
						if err != nil {
							return plane{}, err
						}
						return plane{mat.Col(nil, 0, y), mat.Col(nil, 1, y), d.Labels}, nil
					},
				})
			}
		}
	}
	got, err := work.All(ctx, s.path("work"), s.stderr, "tsne", jobs)
	if err != nil {
		return err
	}
	p := page{
		name: "tsne", title: "Representations in the plane",
		caption: fmt.Sprintf("The first draw, at most %d samples a set. Colours and markers are the true classes. "+
			"t-SNE: Barnes–Hut, θ = 0.5, perplexity 30, 1000 iterations, start from principal components. "+
			"Raw views are standardised per sample and set side by side.", mostPoints),
		notes: "The paper draws Cifar10 features that cannot be had here, and other methods beside its own. t-SNE " +
			"exaggerates gaps; the PCA panels show how much of them is there in H itself.",
	}
	for _, d := range chosen {
		figure := viz.Figure{Heading: d.Name, SharedLegend: true, Columns: len(stages), Width: 9, Height: 8}
		for _, m := range methods {
			for _, st := range stages {
				q := got[0]
				got = got[1:]
				figure.Panels = append(figure.Panels,
					viz.Scatter{Title: fmt.Sprintf("%s: %s", m.name, st.name), X: q.X, Y: q.Y, Class: q.Class,
						Names: d.ClassNames})
			}
		}
		p.figures = append(p.figures, picture{"tsne-" + d.Name, fmt.Sprintf("t-SNE, above, and PCA, below, of %s: raw views, "+
			"H of the "+
			"trained paper preset, and H of the default preset at the start and trained.", d.Name), figure})
	}
	return s.publish(p)
}

// mostPoints are the samples that can be drawn, and the files of the figures kept small.
const mostPoints = 1000

// drawable returns the two sets of most samples, of those that can be drawn whole and have few enough classes for a legend; all
// that -sets names.
func drawable(s *study) []*sets.Set {
	if s.only != "" {
		return s.sets
	}
	var out []*sets.Set
	for _, d := range s.sets {
		if d.Classes <= 20 && d.N <= mostPoints {
			out = append(out, d)
		}
	}
	sort.SliceStable(out, func(a, b int) bool { return out[a].N > out[b].N })
	if len(out) == 0 {
		out = s.sets
	}
	return out[:min(2, len(out))]
}

// sideBySide is the concatenation of the views, every sample of every view at mean 0, variance 1.
func sideBySide(d *sets.Set) *mat.Dense {
	width := 0
	for _, m := range d.Values {
		_, w := m.Dims()
		width += w
	}
	out, views := mat.NewDense(d.N, width, nil), standardised(d)
	for i := range d.N {
		row := out.RawRowView(i)
		for _, m := range views {
			for j, a := range m.RawRow(i) {
				row[j] = float64(a)
			}
			row = row[m.D:]
		}
	}
	return out
}
