package main

import (
	"context"
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/information/term"
	"github.com/largemvc/largemvc/internal/inputs"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/smoothing"
	"github.com/largemvc/largemvc/studies/internal/tables"
)

// filtered has the accuracies of a draw in %, and the γ that the filter learned in its first and in its last layer. Plain and Filter
// begin at the initial clusters of the default preset, then at a k-means of the views as they are.
type filtered struct {
	Start, Default float64
	Plain, Filter  [2]float64
	First, Last    float64
}

// gamma0 is the γ of every layer before training.
const gamma0 = 5

// filter compares the default preset, whose views are smoothed before training, with a network that smooths inside.
func filter(ctx context.Context, s *study) error {
	got, err := eachDraw(ctx, s, "filter", filterOf)
	if err != nil {
		return err
	}
	g := tables.Grid{Name: "filter", Header: []string{"network", "mean"}}
	for _, row := range []struct {
		name string
		of   func(filtered) float64
	}{
		{"initial clusters of the default preset", func(f filtered) float64 { return f.Start }},
		{"**default preset**", func(f filtered) float64 { return f.Default }},
		{"views not smoothed, no filter", func(f filtered) float64 { return f.Plain[0] }},
		{"**views not smoothed, filter in every layer**", func(f filtered) float64 { return f.Filter[0] }},
		{"begun at k-means of the views, no filter", func(f filtered) float64 { return f.Plain[1] }},
		{"begun at k-means of the views, filter", func(f filtered) float64 { return f.Filter[1] }},
		{"γ of layer 1 after training", func(f filtered) float64 { return f.First }},
		{"γ of the last layer after training", func(f filtered) float64 { return f.Last }},
	} {
		g.Rows = append(g.Rows, meanLine(row.name, got, row.of))
	}
	for _, d := range s.sets {
		g.Header = append(g.Header, d.Name)
	}
	return s.publish(page{
		name: "filter", title: "Smoothing inside the network", caption: "ACC (%). The filter (I + γ(I−A))⁻¹ of package " +
			"`studies/internal/smoothing` acts on H and on (X − E)·Pᵀ in every layer, with a learnable γ that begins at " +
			fmt.Sprintf("%d. The networks on views that are not smoothed see them standardised per sample, and have the two terms ", gamma0) +
			"and the graph A of the default preset in their loss. The first two begin at its initial clusters, so they differ in " +
			"where they smooth; the others begin at a joint k-means of their own views.",
		notes: "The paper has no graph.", tables: []tables.Grid{g},
	})
}

// filterOf runs the networks on one draw.
func filterOf(ctx context.Context, s *study, d *sets.Set, draw int) (out filtered, err error) {
	c := s.configFor(largemvc.Config{NoStructure: true}, d, draw)
	r, err := largemvc.Fit(ctx, d.Views, c)
	if err != nil {
		return out, err
	}
	accuracy := accuracyOn(d)
	if out.Start, err = accuracy(r.StartLabels); err != nil {
		return out, err
	}
	if out.Default, err = accuracy(r.Labels); err != nil {
		return out, err
	}
	in, err := smoothed(ctx, d, r.Config())
	if err != nil {
		return out, err
	}
	c.Preprocess = largemvc.PreprocessSample
	if c.ExtraLoss, err = defaultTerms(ctx, in, r.Config()); err != nil {
		return out, err
	}
	c.Neighborhood = largemvc.Neighborhood{Neighbors: largemvc.None}
	for begin, labels := range [][]int{nil, r.StartLabels} {
		c.StartLabels = labels
		for _, to := range []*float64{&out.Plain[1-begin], &out.Filter[1-begin]} {
			c.Represent = nil
			if to == &out.Filter[1-begin] {
				c.Represent = &smoothing.Represent{Graph: in.Graph, Gamma0: gamma0}
			}
			if r, err = largemvc.Fit(ctx, d.Views, c); err != nil {
				return out, err
			}
			if *to, err = accuracy(r.Labels); err != nil {
				return out, err
			}
		}
	}
	for name, to := range map[string]*float64{"gamma_1": &out.First, fmt.Sprint("gamma_", r.Config().Layers): &out.Last} {
		value, _, err := r.Parameter(name)
		if err != nil {
			return out, err
		}
		*to = value[0]
	}
	for _, to := range []*float64{
		&out.Start, &out.Default, &out.Plain[0], &out.Plain[1], &out.Filter[0], &out.Filter[1],
	} {
		*to *= 100
	}
	return out, nil
}

// defaultTerms returns the terms that the loss of the configuration has for the inputs, as an ExtraLoss.
func defaultTerms(
	ctx context.Context, in *inputs.Inputs[float32], c largemvc.Config,
) (func(net largemvc.Network) (*gorgonia.Node, error), error) {
	held, err := information.NewLeaveOneOut(ctx, in.X, information.Regression{})
	return func(net largemvc.Network) (*gorgonia.Node, error) {
		h, err := net.H(c.Layers)
		if err != nil {
			return nil, err
		}
		near, err := term.Neighbors[float32](0, h, in.Graph, 0)
		if err != nil {
			return nil, err
		}
		far, err := term.HeldOut(0, h, held, 0)
		if err != nil {
			return nil, err
		}
		if near, err = op.Scale[float32]("weighted neighbours", near, c.Neighborhood.Weight); err != nil {
			return nil, err
		}
		if far, err = op.Scale[float32]("weighted held out", far, c.Neighborhood.HeldOutWeight); err != nil {
			return nil, err
		}
		return op.Sum[float32]("both terms", near, far)
	}, err
}
