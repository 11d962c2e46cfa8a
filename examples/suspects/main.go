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
	"github.com/largemvc/largemvc/examples/internal/sets"
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
	if *at < 0 || *at >= len(d.Values) {
		return fmt.Errorf("view %d of %d", *at, len(d.Values))
	}
	// The mask says which views a sample has; samples of which rows are exchanged have all.
	rng := rand.New(rand.NewPCG(1, 2))
	present, err := dataset.Drop(d.N, len(d.Values), absent, 1)
	if err != nil {
		return err
	}
	moved := rng.Perm(d.N)[:int(swapped*float64(d.N))]
	values, wrong := slices.Clone(d.Values), make([]bool, d.N)
	values[*at].X = slices.Clone(values[*at].X)
	for k, i := range moved {
		wrong[i] = true
		for v := range present[i] {
			present[i][v] = true
		}
		x := values[*at]
		copy(x.X[i*x.D:(i+1)*x.D], d.Values[*at].RawRow(moved[(k+1)%len(moved)]))
	}
	var views []largemvc.View
	for _, m := range values {
		views = append(views, m.View())
	}
	if views, err = largemvc.Mask(views, present); err != nil {
		return err
	}

	c, err := largemvc.Fit(ctx, views, largemvc.Config{Clusters: d.Classes})
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
	s, err := largemvc.Evaluate(d.Labels, c.Labels)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %d samples, %d views, %.0f %% of the rows absent, %d rows of view %d exchanged; ACC %.2f\n\n",
		d.Name, d.N, len(views), 100*absent, len(moved), *at, s.ACC)
	type row struct{ sample, view int }
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
	fmt.Fprintln(w, "look at   view   trust   exchanged")
	found := 0
	for k, r := range rows[:len(moved)] {
		bad := r.view == *at && wrong[r.sample]
		if bad {
			found++
		}
		if k < shown {
			fmt.Fprintf(w, "row %-5d %4d   %.1e   %v\n", r.sample, r.view, trust[r.view][r.sample], bad)
		}
	}
	fmt.Fprintf(w, "\nof the %d rows that are trusted least, of %d, %d are exchanged ones\n", len(moved), len(rows), found)
	return nil
}

func open(ctx context.Context, path string, samples int) (*sets.Set, error) {
	if path == "" {
		return sets.Digits(ctx, "", samples, 0)
	}
	all, err := sets.OpenAll(ctx, sets.Choice{Path: path, Warn: os.Stderr})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}
