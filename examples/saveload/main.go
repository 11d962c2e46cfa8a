// Command saveload keeps a trained model in a file and asks it for the clusters of samples that come one at a time.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/synthetic"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer) error {
	folder, err := os.MkdirTemp("", "largemvc")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "model")

	// Today: 500 of 600 samples.
	x, _ := synthetic.Views(1, 600, 5, 0.7, 30, 12)
	c, err := largemvc.Fit(ctx, []largemvc.View{
		largemvc.MatrixView(x[0].Slice(0, 500, 0, 30)),
		largemvc.MatrixView(x[1].Slice(0, 500, 0, 12)),
	}, largemvc.Config{Clusters: 5})
	if err != nil {
		return err
	}
	if err := c.Save(path); err != nil {
		return err
	}

	// Tomorrow: the others, as they come.
	model, err := largemvc.Load(path)
	if err != nil {
		return err
	}
	began := time.Now()
	for i := 500; i < 600; i++ {
		a, err := model.Assign(ctx, []largemvc.View{
			largemvc.DenseView(1, 30, x[0].RawRowView(i)),
			largemvc.DenseView(1, 12, x[1].RawRowView(i)),
		})
		if err != nil {
			return err
		}
		if i < 505 {
			fmt.Fprintf(w, "sample %d: cluster %d, confidence %.2f\n", i, a.Labels[0], a.Confidence[0])
		}
	}
	fmt.Fprintf(w, "%v a sample\n", (time.Since(began) / 100).Round(time.Microsecond))

	// A sample without its first view.
	a, err := model.Assign(ctx, []largemvc.View{
		largemvc.DenseView(1, 30, make([]float64, 30)).WithPresent([]bool{false}),
		largemvc.DenseView(1, 12, x[1].RawRowView(500)),
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "sample 500 by its second view alone: cluster", a.Labels[0])
	_, err = fmt.Fprintln(w, "A saved model gives clusters to samples one at a time, also where a view is absent.")
	return err
}
