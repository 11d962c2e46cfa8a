package main

import (
	"fmt"
	"io"

	"github.com/largemvc/largemvc"
)

// compare prints the table of scores.
func compare(w io.Writer, digits []int, table []outcome) error {
	fmt.Fprintln(w)
	fmt.Fprintf(w, "%-48s     ACC     NMI     ARI  seconds\n", "method")
	for _, o := range table {
		s, err := largemvc.Evaluate(digits, o.labels)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%-48s  %4.1f %%  %4.1f %%  %4.1f %%  %7.1f\n", o.name, 100*s.ACC, 100*s.NMI, 100*s.ARI, o.seconds)
	}
	_, err := fmt.Fprint(w, `
ACC is the share of images in the cluster of their digit (best one-to-one matching), NMI and ARI compare the two partitions;
100 % is perfect. No method has seen a digit's name. What a network adds is the difference to where it starts. By
default the views are smoothed along a graph of each image's neighbours before the first step, and the loss asks neighbours
to share a cluster and clusters to be told from the images; the paper has neither. This is one data set and one seed:
studies/quality has many.
`)
	return err
}

// sizes prints each cluster with the digit that is most frequent in it.
func sizes(w io.Writer, digits []int, c *largemvc.Clustering) {
	fmt.Fprintf(w, "\nThe clusters of the defaults:\n")
	for k, size := range c.Sizes {
		var count [clusters]int
		for i, l := range c.Labels {
			if l == k {
				count[digits[i]]++
			}
		}
		most := 0
		for d, n := range count {
			if n > count[most] {
				most = d
			}
		}
		fmt.Fprintf(w, "  %d: %5d images, %3d %% of them the digit %d\n", k, size, 100*count[most]/size, most)
	}
}

const next = `
What to try next:
  go run ./examples/quickstart -seed 1         another start: how much of a score is luck?
  go run ./examples/quickstart -n 60000        all of MNIST: a few minutes
  go run ./cmd/largemvc fit -h                 your own files: largemvc fit -data FILE.npz -clusters C
  go run ./examples/ownmatrices                your own matrices in Go: ten lines
  go run -C studies ./quality -quick           what each part of the defaults is worth
The programs in examples/ show one thing each: a module or a loss of your own, samples that lack views, a model saved and loaded.
`
