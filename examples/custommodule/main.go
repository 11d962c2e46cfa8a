// Command custommodule puts a Noise module of its own into the network and lets Fit do the rest: start, training, checkpoint,
// clusters. The model is saved, loaded and asked for samples that it has not seen; a training that was interrupted goes on. The
// stock network is trained beside it, on the same handwritten digits in three views.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/digits"
)

func main() {
	n := flag.Int("n", 1500, "number of digits to train on")
	epochs := flag.Int("epochs", 30, "steps of the optimiser")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *n, *epochs); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, n, epochs int) error {
	const unseen = 200
	set, err := digits.Open(ctx, "", n+unseen, 0)
	if err != nil {
		return err
	}
	known, fresh := set.Views(0, n), set.Views(n, n+unseen)
	folder, err := os.MkdirTemp("", "custommodule")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)

	stock := largemvc.Config{Clusters: 10, Epochs: epochs}
	own := stock
	own.Noise = &cauchy{First: 0.5} // everything else is the default
	own.Checkpoint = largemvc.Checkpoint{Path: filepath.Join(folder, "state"), Every: 5}
	var fitted *largemvc.Clustering
	for _, c := range []struct {
		name   string
		config largemvc.Config
	}{{"stock", stock}, {"own", own}} {
		if fitted, err = largemvc.Fit(ctx, known, c.config); err != nil {
			return err
		}
		s, err := largemvc.Evaluate(set.Labels[:n], fitted.Labels)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%-5s network: loss %.4f → %.4f, ACC %.3f, NMI %.3f, %.0f ms an epoch\n", c.name, fitted.Loss[0],
			fitted.Loss[len(fitted.Loss)-1], s.ACC, s.NMI, 1000*fitted.Timings.Epoch.Seconds())
	}
	width, _, err := fitted.Parameter("width_0")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "the first width went from 0.5 to %.3f\n", width[0])
	if err := saveAndLoad(ctx, w, filepath.Join(folder, "model"), fitted, fresh); err != nil {
		return err
	}
	if err := interrupt(ctx, w, known, own, fitted); err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, "A module of your own is trained, saved, loaded and resumed as the stock ones are.")
	return err
}

// saveAndLoad labels new samples with a model from a file.
func saveAndLoad(ctx context.Context, w io.Writer, path string, c *largemvc.Clustering, fresh []largemvc.View) error {
	if err := c.Save(path); err != nil {
		return err
	}
	module := &cauchy{} // Load gives it the learned widths
	model, err := largemvc.Load(path, module)
	if err != nil {
		return err
	}
	labels, err := model.Predict(ctx, fresh)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "the loaded model labels %d new digits, the first %v, with a width of %.3f\n", len(labels),
		labels[:8], module.width[0].Value().Data())
	return err
}

// interrupt stops a training half way and goes on from its checkpoint.
func interrupt(
	ctx context.Context, w io.Writer, views []largemvc.View, config largemvc.Config, whole *largemvc.Clustering,
) error {
	stopped := 0
	config.Progress = func(e largemvc.Progress) error {
		if e.Epoch == e.Epochs/2 {
			stopped = e.Epoch
			return largemvc.ErrStop
		}
		return nil
	}
	if _, err := largemvc.Fit(ctx, views, config); err != nil {
		return err
	}
	c, err := largemvc.Resume(ctx, views, config.Checkpoint.Path, func(c *largemvc.Config) {
		c.Noise = &cauchy{First: 0.5} // the file has its learned values, not its code
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "stopped after %d of %d epochs and resumed: the same labels: %t\n", stopped, config.Epochs,
		slices.Equal(c.Labels, whole.Labels))
	return err
}
