// Command quickstart clusters handwritten digits by three views of them, and compares the clusters with those of k-means:
//
//	go run ./examples/quickstart
//
// The digits are MNIST, which comes with a Go module, so nothing needs to be downloaded by hand.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/digits"
	"github.com/largemvc/largemvc/report"
)

const clusters = 10 // how many kinds of digits there are; the kinds themselves serve for the scores and nothing else

func main() {
	n := flag.Int("n", 10_000, "number of `images`, from 10 to 60000")
	epochs := flag.Int("epochs", 30, "training `steps`")
	seed := flag.Uint64("seed", 0, "`seed` of everything random")
	path := flag.String("report", "", "`file` to write a report to, one HTML page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	config := largemvc.Config{Clusters: clusters, Epochs: *epochs, Seed: *seed}
	if err := run(ctx, *n, config, *path, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, n int, config largemvc.Config, path string, w io.Writer) error {
	if n < clusters || n > digits.All {
		return fmt.Errorf("-n is %d, want %d to %d", n, clusters, digits.All)
	}
	set, err := digits.Open(ctx, "", n, 0)
	if err != nil {
		return err
	}
	views := set.Views(0, n)
	fmt.Fprintf(w, "MNIST: %d images of handwritten digits in three views: %d pixels, %d histograms of gradients (HOG),\n"+
		"%d histograms of local binary patterns (LBP). Training takes %d steps.\n\n",
		n, set.Columns[0], set.Columns[1], set.Columns[2], config.Epochs)

	c, err := largemvc.Fit(ctx, views, config) // this line is the library
	if err != nil {
		return err
	}
	began := time.Now()
	means, err := largemvc.KMeans(ctx, sideBySide(set, n), largemvc.KMeansConfig{Clusters: clusters, Seed: config.Seed})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%-34s     ACC     NMI     ARI  seconds\n", "method")
	for _, x := range []struct {
		name   string
		labels []int
		took   time.Duration
	}{
		{"LargeMvC-Net", c.Labels, c.Timings.Total},
		{"  initial clustering", c.StartLabels, c.Timings.Prepare + c.Timings.Start},
		{"k-means, features standardised", means.Labels, time.Since(began)},
	} {
		s, err := largemvc.Evaluate(set.Labels, x.labels)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%-34s  %4.1f %%  %4.1f %%  %4.1f %%  %7.1f\n", x.name, 100*s.ACC, 100*s.NMI, 100*s.ARI, x.took.Seconds())
	}
	fmt.Fprint(w, "\n"+
		"ACC is the share of images in the cluster of their digit; NMI and ARI compare clusters and digits, too. No method\n"+
		"uses the digits. docs/expect.md has mean scores of 28 data sets.\n\n"+
		"Next: your own matrices in Go  go run ./examples/ownmatrices\n"+
		"      your own files           go run ./cmd/largemvc fit -data FILE -clusters C\n")
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	o := report.Options{Title: "Handwritten digits", Data: "MNIST", Views: views, Classes: set.Labels}
	return errors.Join(report.Write(ctx, f, c, o), f.Close())
}

// sideBySide returns the features of all views in one matrix, each at mean 0 and variance 1.
func sideBySide(set *digits.Digits, n int) mat.Matrix {
	out := mat.NewDense(n, set.Columns[0]+set.Columns[1]+set.Columns[2], nil)
	column, at := make([]float64, n), 0
	for v, columns := range set.Columns {
		for j := range columns {
			for i := range column {
				column[i] = float64(set.Values[v][i*columns+j])
			}
			mean, deviation := stat.PopMeanStdDev(column, nil)
			floats.AddConst(-mean, column)
			if deviation > 0 { // a constant feature becomes 0
				floats.Scale(1/deviation, column)
			}
			out.SetCol(at+j, column)
		}
		at += columns
	}
	return out
}
