package main

import (
	"fmt"
	"io"
	"slices"
)

// printSets writes a line for each draw of a set.
func printSets(w io.Writer, all []*outcome) {
	fmt.Fprintln(w, "| data | samples | clusters | structure | median confidence | mean confidence | found again by halves | "+
		"with another seed | in the class of the cluster | outliers % |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for _, o := range all {
		sorted := slices.Sorted(slices.Values(o.confidence))
		fmt.Fprintf(w, "| %s | %d | %d | %v | %.2f | %.2f | %.2f | %.2f | %.2f | %.1f |\n", o.set.Name, o.set.N, o.set.Classes,
			o.structure, sorted[len(sorted)/2], meanOf(o.confidence), o.excess(share(o.halves)), share(o.seed), share(o.classes),
			100*o.outliers)
	}
}

// bins is the number of bins of confidence.
const bins = 10

// printBins writes the reliability of confidence. Every draw of a set counts the same.
func printBins(w io.Writer, all []*outcome) {
	var weight, confidence, halves, seed, classes [bins]float64
	for _, o := range all {
		one := 1 / float64(o.set.N)
		for i, x := range o.confidence {
			b := min(int(x*bins), bins-1)
			weight[b] += one
			confidence[b] += one * x
			halves[b] += one * o.excess(number(o.halves[i]))
			seed[b] += one * number(o.seed[i])
			classes[b] += one * number(o.classes[i])
		}
	}
	fmt.Fprintln(w, "\n| confidence | samples % | mean confidence | found again by halves | with another seed | "+
		"in the class of the cluster |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for b, n := range weight {
		if n == 0 {
			continue
		}
		fmt.Fprintf(w, "| %.1f to %.1f | %.1f | %.2f | %.2f | %.2f | %.2f |\n", float64(b)/bins, float64(b+1)/bins,
			100*n/float64(len(all)), confidence[b]/n, halves[b]/n, seed[b]/n, classes[b]/n)
	}
}

// excess returns how much more than by chance a share is: 1 for 1, 0 for the share by chance.
func (o *outcome) excess(share float64) float64 { return (share - o.chance) / (1 - o.chance) }

// share returns the part of the samples that are marked.
func share(marked []bool) float64 {
	sum := 0.0
	for _, m := range marked {
		sum += number(m)
	}
	return sum / float64(len(marked))
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func meanOf(x []float64) float64 {
	sum := 0.0
	for _, y := range x {
		sum += y / float64(len(x))
	}
	return sum
}
