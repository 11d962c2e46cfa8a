package main

import (
	"context"
	"fmt"
	"io"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/choose"
	"github.com/largemvc/largemvc/studies/internal/sets"
)

// tryStarts chooses the start of each set and draw. Where it is not the default's, it prints the scores of fits of both; the
// last line has the mean gain over all sets.
func (t trial) tryStarts(ctx context.Context, w io.Writer) error {
	all, err := sets.OpenAll(ctx, t.sets)
	if err != nil {
		return err
	}
	fmt.Fprint(w, "| set | draw | chosen | default ACC/NMI/ARI | careful |\n|---|---|---|---|---|\n")
	var gain [3]float64
	for _, set := range all {
		for _, draw := range t.draws {
			d := set.InOrder(draw)
			config := largemvc.Config{Clusters: d.Classes, Seed: uint64(draw), NoStructure: true}
			careful, found, err := choose.Start(ctx, d.Views, config)
			if err != nil {
				return fmt.Errorf("%s: %w", d.Name, err)
			}
			if found.Chosen == 0 {
				fmt.Fprintf(w, "| %s | %d | %v | | |\n", d.Name, draw, found)
				continue
			}
			var scores [2]largemvc.Scores
			for i, c := range []largemvc.Config{config, careful} {
				fit, err := largemvc.Fit(ctx, d.Views, c)
				if err != nil {
					return fmt.Errorf("%s: %w", d.Name, err)
				}
				if scores[i], err = largemvc.Evaluate(d.Labels, fit.Labels); err != nil {
					return err
				}
			}
			a, b := scores[0], scores[1]
			for i, x := range []float64{b.ACC - a.ACC, b.NMI - a.NMI, b.ARI - a.ARI} {
				gain[i] += x / float64(len(all)*len(t.draws))
			}
			fmt.Fprintf(w, "| %s | %d | %v | %.1f/%.1f/%.1f | %.1f/%.1f/%.1f |\n", d.Name, draw, found, 100*a.ACC, 100*a.NMI, 100*a.ARI,
				100*b.ACC, 100*b.NMI, 100*b.ARI)
		}
	}
	fmt.Fprintf(w, "\nmean gain over %d sets: %+.2f/%+.2f/%+.2f\n", len(all), 100*gain[0], 100*gain[1], 100*gain[2])
	return nil
}
