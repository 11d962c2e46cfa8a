// Command ownmatrices clusters matrices that are in memory, and then samples that were not there in training.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/synthetic"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer) error {
	// 700 samples of 5 classes, described by 30 numbers in one view and 12 in another: gonum matrices, one row a sample. The
	// first 600 are for training.
	x, classes := synthetic.Views(1, 700, 5, 0.7, 30, 12)
	old := []largemvc.View{largemvc.MatrixView(x[0].Slice(0, 600, 0, 30)), largemvc.MatrixView(x[1].Slice(0, 600, 0, 12))}
	later := []largemvc.View{largemvc.MatrixView(x[0].Slice(600, 700, 0, 30)), largemvc.MatrixView(x[1].Slice(600, 700, 0, 12))}

	c, err := largemvc.Fit(ctx, old, largemvc.Config{Clusters: 5})
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "cluster sizes:", c.Sizes)
	fmt.Fprintln(w, "clusters of the first samples:", c.Labels[:10])

	labels, err := c.Predict(ctx, later)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "clusters of later samples:", labels[:10])

	s, err := largemvc.Evaluate(classes[600:], labels)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "A model of 600 samples gives 100 new ones to its clusters; these agree with the true classes to "+
		"ACC %.2f, NMI %.2f, ARI %.2f.\n", s.ACC, s.NMI, s.ARI)
	return err
}
