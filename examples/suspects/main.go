// Command suspects shows which rows of which view to look at: it takes real data, lets samples lack views, exchanges the rows of
// some samples in one view, as a mix-up of records does, and asks a model which rows do not belong to their samples.
// The data are digits of MNIST in three views.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/examples/digits"
)

const (
	absent    = 0.2  // of the rows of all views
	exchanged = 1    // the view whose rows are exchanged
	swapped   = 0.05 // of its rows
	shown     = 10
)

func main() {
	samples := flag.Int("samples", 1500, "digits")
	flag.Parse()
	if err := run(context.Background(), *samples, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, samples int, w io.Writer) error {
	d, err := digits.Open(ctx, "", samples, 0)
	if err != nil {
		return err
	}
	views, t, err := mixUp(d)
	if err != nil {
		return err
	}
	c, err := largemvc.Fit(ctx, views, largemvc.Config{Clusters: 10})
	if err != nil {
		return err
	}
	trust, err := c.ViewTrust(ctx, views)
	if err != nil {
		return err
	}
	s, err := largemvc.Evaluate(d.Labels, c.Labels)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d digits in %d views, %.0f %% of the rows absent, %d rows of view %d exchanged; ACC %.2f\n\n",
		samples, len(views), 100*absent, t.moved, exchanged, s.ACC)
	t.compare(w, leastTrusted(trust, t.present), trust)
	return nil
}

// truth holds what was done to the data.
type truth struct {
	present [][]bool // by sample and view
	wrong   []bool   // the samples whose rows were exchanged
	moved   int      // their number
}

// mixUp returns the views with absent rows, and with the rows of some samples exchanged in one view. Those samples have
// all views.
func mixUp(d *digits.Digits) ([]largemvc.View, *truth, error) {
	n, columns := len(d.Labels), d.Columns[exchanged]
	present, err := dataset.Drop(n, len(d.Values), absent, 1)
	if err != nil {
		return nil, nil, err
	}
	moved := rand.New(rand.NewPCG(1, 2)).Perm(n)[:int(swapped*float64(n))]
	t := &truth{present: present, wrong: make([]bool, n), moved: len(moved)}
	given := slices.Clone(d.Values[exchanged])
	for k, i := range moved {
		t.wrong[i] = true
		for v := range present[i] {
			present[i][v] = true
		}
		from := moved[(k+1)%len(moved)]
		copy(d.Values[exchanged][i*columns:(i+1)*columns], given[from*columns:(from+1)*columns])
	}
	views := d.Views(0, n)
	for v := range views {
		has := make([]bool, n)
		for i := range has {
			has[i] = present[i][v]
		}
		views[v] = views[v].WithPresent(has)
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
		return cmp.Compare(trust[a.view][a.sample], trust[b.view][b.sample])
	})
	return rows
}

// compare shows which of the least trusted rows were exchanged. rows are in the order of leastTrusted.
func (t *truth) compare(w io.Writer, rows []row, trust [][]float64) {
	fmt.Fprintln(w, "look at   view   trust   exchanged")
	found := 0
	for k, r := range rows[:t.moved] {
		bad := r.view == exchanged && t.wrong[r.sample]
		if bad {
			found++
		}
		if k < shown {
			fmt.Fprintf(w, "row %-5d %4d   %.1e   %v\n", r.sample, r.view, trust[r.view][r.sample], bad)
		}
	}
	fmt.Fprintf(w, "\nOf the %d rows that are trusted least, of %d, %d are exchanged ones.\n", t.moved, len(rows), found)
}
