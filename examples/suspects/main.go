// Command suspects shows which rows of which view to look at: it takes real data, lets samples lack views, exchanges the rows of
// some samples in one view, as a mix-up of records does, and asks a model which rows do not belong to their samples.
//
//	go run ./examples/suspects            # digits of MNIST in three views, from the Go module GoMNIST
//	go run ./examples/suspects -data FILE # a multi-view set with labels
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/examples/digits"
)

const (
	absent  = 0.2  // of the rows of all views
	swapped = 0.05 // of the rows of one view
	shown   = 10
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "suspects:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	f := flag.NewFlagSet("suspects", flag.ContinueOnError)
	path := f.String("data", "", "a multi-view set with labels; empty: digits of MNIST")
	samples := f.Int("samples", 1500, "digits")
	at := f.Int("view", 1, "the view whose rows are exchanged")
	if err := f.Parse(args); err != nil {
		return err
	}
	d, err := open(ctx, *path, *samples)
	if err != nil {
		return err
	}
	if *at < 0 || *at >= len(d.values) {
		return fmt.Errorf("view %d of %d", *at, len(d.values))
	}
	views, t, err := d.mixUp(*at)
	if err != nil {
		return err
	}
	c, err := largemvc.Fit(ctx, views, largemvc.Config{Clusters: d.classes})
	if err != nil {
		return err
	}
	for _, note := range c.Notes {
		fmt.Fprintln(w, "note:", note)
	}
	trust, err := c.ViewTrust(ctx, views)
	if err != nil {
		return err
	}
	s, err := largemvc.Evaluate(d.labels, c.Labels)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %d samples, %d views, %.0f %% of the rows absent, %d rows of view %d exchanged; ACC %.2f\n\n",
		d.name, len(d.labels), len(views), 100*absent, t.moved, t.view, s.ACC)
	t.compare(w, leastTrusted(trust, t.present), trust)
	return nil
}

// truth holds what was done to the data.
type truth struct {
	present [][]bool // by sample and view
	view    int      // the view whose rows were exchanged
	wrong   []bool   // the samples whose rows were exchanged
	moved   int      // their number
}

// mixUp returns the views with absent rows, and with the rows of some samples exchanged in the view at. Those samples have all
// views.
func (d *data) mixUp(at int) ([]largemvc.View, *truth, error) {
	n := len(d.labels)
	present, err := dataset.Drop(n, len(d.values), absent, 1)
	if err != nil {
		return nil, nil, err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	moved := rng.Perm(n)[:int(swapped*float64(n))]
	t := &truth{present: present, view: at, wrong: make([]bool, n), moved: len(moved)}
	values := slices.Clone(d.values)
	values[at] = slices.Clone(values[at])
	for k, i := range moved {
		t.wrong[i] = true
		for v := range present[i] {
			present[i][v] = true
		}
		columns, from := d.columns[at], moved[(k+1)%len(moved)]
		copy(values[at][i*columns:(i+1)*columns], d.values[at][from*columns:(from+1)*columns])
	}
	var views []largemvc.View
	for v, x := range values {
		has := make([]bool, n)
		for i := range has {
			has[i] = present[i][v]
		}
		views = append(views, largemvc.DenseView(n, d.columns[v], x).WithPresent(has))
	}
	return views, t, nil
}

type row struct{ sample, view int }

// leastTrusted returns the present rows of all views, the least trusted first.
func leastTrusted(trust [][]float64, present [][]bool) []row {
	var rows []row
	for v := range trust {
		for i := range trust[v] {
			if present[i][v] {
				rows = append(rows, row{i, v})
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		switch ta, tb := trust[a.view][a.sample], trust[b.view][b.sample]; {
		case ta < tb:
			return -1
		case ta > tb:
			return 1
		}
		return 0
	})
	return rows
}

// compare shows which of the least trusted rows were exchanged. rows are in the order of leastTrusted.
func (t *truth) compare(w io.Writer, rows []row, trust [][]float64) {
	fmt.Fprintln(w, "look at   view   trust   exchanged")
	found := 0
	for k, r := range rows[:t.moved] {
		bad := r.view == t.view && t.wrong[r.sample]
		if bad {
			found++
		}
		if k < shown {
			fmt.Fprintf(w, "row %-5d %4d   %.1e   %v\n", r.sample, r.view, trust[r.view][r.sample], bad)
		}
	}
	fmt.Fprintf(w, "\nOf the %d rows that are trusted least, of %d, %d are exchanged ones.\n", t.moved, len(rows), found)
}

// data are samples with their classes, the values of each view row by row.
type data struct {
	name    string
	classes int
	labels  []int
	columns []int
	values  [][]float32
}

func open(ctx context.Context, path string, samples int) (*data, error) {
	if path == "" {
		d, err := digits.Open(ctx, "", samples, 0)
		if err != nil {
			return nil, err
		}
		return &data{"digits of MNIST", 10, d.Labels, d.Columns, d.Values}, nil
	}
	set, err := dataset.Open(ctx, []string{path}, dataset.Options{Float: 32, Storage: dataset.AllDense})
	if err != nil {
		return nil, err
	}
	if set.Labels == nil || set.Present != nil {
		return nil, fmt.Errorf("%s: want labels, and all views of all samples", path)
	}
	d := &data{name: path, classes: set.Classes(), labels: set.Labels}
	for _, x := range set.Views {
		d.columns, d.values = append(d.columns, x.Cols), append(d.values, x.Float32)
	}
	return d, nil
}
