// Command missing clusters samples that lack some of their views: no row is made up, each sample is described by the views
// that it has.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/examples/synthetic"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer) error {
	x, classes := synthetic.Views(1, 600, 5, 1, 30, 24, 12)
	var complete []largemvc.View
	for _, view := range x {
		complete = append(complete, largemvc.MatrixView(view))
	}
	fmt.Fprintln(w, "absent   ACC   NMI   ARI")
	for _, rate := range []float64{0, 0.1, 0.3, 0.5} {
		// present[i][v] says whether sample i has view v. Here it is drawn at random, every sample keeping a view; with data
		// of your own you know it, or dataset.Open reads it from the file.
		present, err := dataset.Drop(600, len(x), rate, 1)
		if err != nil {
			return err
		}
		views := make([]largemvc.View, len(complete))
		for v, view := range complete {
			has := make([]bool, len(present))
			for i := range has {
				has[i] = present[i][v]
			}
			views[v] = view.WithPresent(has)
		}
		c, err := largemvc.Fit(ctx, views, largemvc.Config{Clusters: 5})
		if err != nil {
			return err
		}
		s, err := largemvc.Evaluate(classes, c.Labels)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%4.0f %%  %.2f  %.2f  %.2f\n", 100*rate, s.ACC, s.NMI, s.ARI)
	}
	_, err := fmt.Fprintln(w,
		"Samples are clustered by the views that they have: the more is absent, the less there is to go by.")
	return err
}
