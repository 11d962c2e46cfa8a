package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/choose"
	"github.com/largemvc/largemvc/studies/internal/sets"
)

// mostNumbers is the highest number of clusters that is tried. Sets of as many classes, or more, are left out.
const mostNumbers = 12

// trial says how numbers of clusters are suggested for sets whose classes are known, and have no part in it.
type trial struct {
	sets  sets.Choice
	rows  int     // of a set at most, drawn at random
	share float64 // of the rows of a set that are drawn at most
	draws []int   // the numbers of the draws
}

// judges are what names a number of clusters.
var judges = []struct {
	name string
	of   func(*choose.Choices) int
}{
	{"suggested", func(c *choose.Choices) int { return c.Suggested }},
	{"eigengap", func(c *choose.Choices) int { return c.ByGap }},
	{"silhouette", func(c *choose.Choices) int { return c.BySilhouette }},
}

// tally counts how near a judge came to the numbers of classes.
type tally struct{ exact, near, distance int }

func (t *tally) add(k, classes int) {
	d := max(k-classes, classes-k)
	t.distance += d
	switch d {
	case 0:
		t.exact++
	case 1:
		t.near++
	}
}

// answer is the text of a number of clusters in the table: bold if it equals the number of classes, in brackets if it is more
// than one away.
func answer(k, classes int) string {
	switch k - classes {
	case 0:
		return fmt.Sprintf("**%d**", k)
	case 1, -1:
		return fmt.Sprint(k)
	default:
		return fmt.Sprintf("(%d)", k)
	}
}

// try suggests numbers of clusters for all sets and draws, and prints what came out.
func (t trial) try(ctx context.Context, w io.Writer) error {
	all, err := sets.OpenAll(ctx, t.sets)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(d *sets.Set) bool { return d.Classes >= mostNumbers })
	for _, draw := range t.draws {
		fmt.Fprintf(w, "Draw %d:\n\n| set | rows | classes | %s | %s | %s | stands out |\n|---|---|---|---|---|---|---|\n",
			draw, judges[0].name, judges[1].name, judges[2].name)
		tallies, clear := make([]tally, len(judges)), tally{}
		outstanding := 0
		for _, d := range all {
			order := rand.New(rand.NewPCG(uint64(draw), 77)).Perm(d.N)
			part := d.Pick(order[:min(t.rows, int(t.share*float64(d.N)))])
			found, err := t.choices(ctx, part, draw)
			if err != nil {
				return fmt.Errorf("%s: %w", d.Name, err)
			}
			fmt.Fprintf(w, "| %s | %d | %d ", d.Name, part.N, d.Classes)
			for i, judge := range judges {
				k := judge.of(found)
				tallies[i].add(k, d.Classes)
				fmt.Fprintf(w, "| %s ", answer(k, d.Classes))
			}
			stands := "no"
			if found.Clear {
				stands = "yes"
				outstanding++
				clear.add(found.Suggested, d.Classes)
			}
			fmt.Fprintf(w, "| %s |\n", stands)
		}
		fmt.Fprintln(w)
		for i, judge := range judges {
			x := tallies[i]
			fmt.Fprintf(w, "%s: the number of classes or one away on %d of %d sets, the number itself on %d; %.2f away in the "+
				"mean\n",
				judge.name, x.exact+x.near, len(all), x.exact, float64(x.distance)/float64(len(all)))
		}
		fmt.Fprintf(w, "stands out: on %d sets, of which the number of classes or one away on %d, the number itself on %d\n\n",
			outstanding, clear.exact+clear.near, clear.exact)
	}
	return nil
}

// choices tries all numbers of clusters on a part of a set.
func (t trial) choices(ctx context.Context, part *sets.Set, draw int) (*choose.Choices, error) {
	config := choose.Config{Seeds: 1}
	for k := 2; k <= mostNumbers; k++ {
		config.Clusters = append(config.Clusters, k)
	}
	return choose.Clusters(ctx, part.Views, largemvc.Config{Epochs: 15, Seed: uint64(draw)}, config)
}
