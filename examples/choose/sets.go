package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/choose"
	"github.com/largemvc/largemvc/examples/internal/sets"
)

// mostNumbers is the highest number of clusters that is tried. Sets of as many classes, or more, are left out.
const mostNumbers = 13

// trySets suggests numbers of clusters for sets of which the number of classes is known, and has no part in it.
func trySets(ctx context.Context, which sets.Choice, most int, draw uint64, w io.Writer) error {
	all, err := sets.OpenAll(ctx, which)
	if err != nil {
		return err
	}
	names := []string{"suggested", "eigengap", "silhouette"}
	var exact, near [3]int
	tried := 0
	fmt.Fprintf(w, "| set | rows | classes | %s | %s | %s | stands out |\n|---|---|---|---|---|---|---|\n",
		names[0], names[1], names[2])
	for _, d := range all {
		if d.Classes >= mostNumbers {
			continue
		}
		order := rand.New(rand.NewPCG(draw, 77)).Perm(d.N)
		part := d.Pick(order[:min(d.N, most)])
		config := choose.Config{Seeds: 1, Halves: largemvc.None}
		for k := 2; k <= mostNumbers; k++ {
			config.Clusters = append(config.Clusters, k)
		}
		found, err := choose.Clusters(ctx, part.Views, largemvc.Config{Epochs: 15}, config)
		if err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		fmt.Fprintf(w, "| %s | %d | %d ", d.Name, part.N, d.Classes)
		for i, k := range []int{found.Suggested, found.ByGap, found.BySilhouette} {
			switch k - d.Classes {
			case 0:
				exact[i]++
				fmt.Fprintf(w, "| **%d** ", k)
			case 1, -1:
				near[i]++
				fmt.Fprintf(w, "| %d ", k)
			default:
				fmt.Fprintf(w, "| (%d) ", k)
			}
		}
		fmt.Fprintf(w, "| %v |\n", found.Clear)
		tried++
	}
	fmt.Fprintln(w)
	for i, name := range names {
		fmt.Fprintf(w, "%s: the number of classes on %d of %d sets, one away on %d\n", name, exact[i], tried, near[i])
	}
	return nil
}
