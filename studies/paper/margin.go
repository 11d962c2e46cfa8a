package main

import (
	"context"
	"fmt"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/inputs"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
)

// heldOut has how well the smoothed inputs of the other samples predict labels.
type heldOut struct {
	Right, Margin, Information float64 // the share predicted right, in %; score of the label less the next one; I/log c
}

// margins has them for the initial clusters, the clusters of the default preset and the classes.
type margins [3]heldOut

// margin compares the clusters of the default preset with the classes by what can be measured without labels.
func margin(ctx context.Context, s *study) error {
	got, err := eachDraw(ctx, s, "margin", marginsOf)
	if err != nil {
		return err
	}
	g := tables.Grid{Name: "margin", Plain: true, Header: []string{"measure, labels"}}
	for _, d := range s.sets {
		g.Header = append(g.Header, d.Name)
	}
	var above [3]int // of each measure, how many sets have more of it by clusters than by classes
	for m, measure := range []struct {
		name  string
		of    func(heldOut) float64
		scale float64
	}{
		{"predicted right (%)", func(h heldOut) float64 { return h.Right }, 1},
		{"mean margin (%)", func(h heldOut) float64 { return h.Margin }, 100},
		{"information (% of log c)", func(h heldOut) float64 { return h.Information }, 100},
	} {
		means := make([][]float64, 3)
		for of, labels := range []string{"initial clusters", "**clusters of the default preset**", "classes"} {
			line := tables.Line{Name: measure.name + ", " + labels}
			for k := range s.sets {
				var values []float64
				for _, draw := range got[k] {
					values = append(values, measure.scale*measure.of(draw[of]))
				}
				line.Cells = append(line.Cells, tables.MeanOf(values))
				means[of] = append(means[of], tables.MeanOf(values).Mean)
			}
			g.Rows = append(g.Rows, line)
		}
		for k := range s.sets {
			if means[1][k] > means[2][k] {
				above[m]++
			}
		}
	}
	return s.publish(page{
		name: "margin", title: "Why training without labels does not reach the classes", caption: fmt.Sprintf("How well the other "+
			"samples predict a label, by ridge regression on the smoothed inputs of the network that leaves each sample out: the share "+
			"predicted right, the score of the label less the next one, and the mutual information of labels and predictions. The "+
			"clusters were made from these inputs, the classes were not. The clusters have more than the classes on %d (predicted "+
			"right), %d (margin) and %d (information) of %d sets. So a term of the loss that raises one of these measures, the margin "+
			"included, does not lead to the classes.", above[0], above[1], above[2], len(s.sets)),
		notes:  "The paper trains by reconstruction alone and has no such measure.",
		tables: []tables.Grid{g},
	})
}

// marginsOf fits the default preset and measures its clusters on its smoothed inputs.
func marginsOf(ctx context.Context, s *study, d *sets.Set, draw int) (out margins, err error) {
	c := s.configFor(largemvc.Config{NoStructure: true}, d, draw)
	r, err := largemvc.Fit(ctx, d.Views, c)
	if err != nil {
		return out, err
	}
	in, err := smoothed(ctx, d, r.Config())
	if err != nil {
		return out, err
	}
	held, err := information.NewLeaveOneOut(ctx, in.X, information.Regression{})
	if err != nil {
		return out, err
	}
	informative := information.NewHeldOut(0, d.Classes, held, 0).LabelScore()
	for of, labels := range [][]int{r.StartLabels, r.Labels, d.Labels} {
		if out[of].Information, err = informative(ctx, labels); err != nil {
			return out, err
		}
		out[of].Right, out[of].Margin = predicted(held.Parts(), labels, d.Classes)
	}
	return out, nil
}

// smoothed returns the inputs of the network of a fit, with the graph and in the order of the set.
func smoothed(ctx context.Context, d *sets.Set, c largemvc.Config) (*inputs.Inputs[float32], error) {
	views := make([]view.View, len(d.Values))
	for v, m := range d.Values {
		views[v] = view.View{Rows: m.N, Cols: m.D, F32: m.X}
	}
	near := c.Neighborhood
	return inputs.Make[float32](ctx, views, inputs.Options{Smooth: &smooth.Options{
		Kind: prepare.Kind(c.Preprocess), Neighbors: near.Neighbors, Directions: near.Directions, Steps: near.Steps,
		Exact: near.Exact, Seed: c.Seed,
	}})
}

// predicted returns the share of labels that the other samples predict, in %, and their mean margin.
func predicted(p information.RegressionRows[float32], labels []int, classes int) (right, margin float64) {
	n := float64(len(labels))
	sums := make([]float64, p.Rank*classes)
	for i, l := range labels {
		for j := range p.Rank {
			sums[j*classes+l] += p.Weight[j] * float64(p.Y[i*p.Stride+j])
		}
	}
	for i, l := range labels {
		scores := make([]float64, classes)
		for j := range p.Rank {
			for k := range scores {
				scores[k] += float64(p.Y[i*p.Stride+j]) * sums[j*classes+k]
			}
		}
		scores[l] -= float64(p.Leverage[i])
		best := -1
		for k := range scores {
			if k != l && (best < 0 || scores[k] > scores[best]) {
				best = k
			}
		}
		gap := (scores[l] - scores[best]) / float64(p.Rest[i])
		if margin += gap / n; gap > 0 {
			right += 100 / n
		}
	}
	return right, margin
}
