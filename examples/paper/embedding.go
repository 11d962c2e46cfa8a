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
	most := 5000
	if s.quick {
		most = 1500
	}
	representation := func(c largemvc.Config) func(context.Context, *sets.Set) (mat.Matrix, error) {
		return func(ctx context.Context, d *sets.Set) (mat.Matrix, error) {
			r, err := largemvc.Fit(ctx, d.Views, s.configFor(c, d, 1))
			if err != nil {
				return nil, err
			}
			return r.H, nil
		}
	}
	stages := []stage{
		{"raw views", func(_ context.Context, d *sets.Set) (mat.Matrix, error) { return sideBySide(d), nil }},
		{"H of the start, paper preset", representation(largemvc.Config{Preset: largemvc.PresetPaper, Epochs: largemvc.None})},
		{"H trained, paper preset", representation(largemvc.Config{Preset: largemvc.PresetPaper})},
		{"H of the start, default preset", representation(largemvc.Config{Epochs: largemvc.None})},
		{"H trained, default preset", representation(largemvc.Config{})},
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
		d := d.AtMost(most)
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
		caption: fmt.Sprintf("Seed 1, %d epochs, at most %d samples a set (drawn at random, classes in "+
			"proportion). Colours and markers are the true classes. "+
			"t-SNE: Barnes–Hut, θ = 0.5, perplexity 30, 1000 iterations, start from principal components. "+
			"Raw views are standardised per sample and set side by side. ", s.epochs, most) + bothPresets,
		notes: "The paper draws Cifar10 features that cannot be had here, and other methods beside its " +
			"own. t-SNE exaggerates gaps; the PCA panels show how much of them is there in H itself.",
	}
	for _, d := range chosen {
		for _, m := range methods {
			var panels []viz.Scatter
			for _, st := range stages {
				q := got[0]
				got = got[1:]
				panels = append(panels, viz.Scatter{Title: st.name, X: q.X, Y: q.Y, Class: q.Class, Names: d.ClassNames})
			}
			name := "tsne-" + d.Name
			if m.name == "PCA" {
				name = "pca-" + d.Name
			}
			p.figures = append(p.figures, picture{name,
				fmt.Sprintf("%s of %s: raw views, and H of both presets, at the start and trained.", m.name,
					d.Name), embeddingFigure(name, panels)})
		}
	}
	return s.publish(p)
}

// drawable returns the two sets of most samples that have few enough classes for a legend; all that -sets names.
func drawable(s *study) []*sets.Set {
	if s.only != "" {
		return s.sets
	}
	var out []*sets.Set
	for _, d := range s.sets {
		if d.Classes <= 20 {
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
