// Command knownlabels shows what a few known labels are worth: ten labels of each of ten digits, two of them wrong, give all
// other digits their classes, and new digits too. The data are digits of MNIST in three views.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/digits"
)

const (
	classes = 10
	each    = 10 // known labels of a class
	wrong   = 2  // of all known labels
)

func main() {
	samples := flag.Int("samples", 2000, "digits; a fifth are new ones")
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
	old := samples * 4 / 5
	known, mistakes := choose(d.Labels[:old])
	c, err := largemvc.Fit(ctx, d.Views(0, old), largemvc.Config{Clusters: classes, Known: known})
	if err != nil {
		return err
	}
	fresh, err := c.Classify(ctx, d.Views(old, samples))
	if err != nil {
		return err
	}
	named := make([]int, old)
	for i, k := range c.Labels {
		named[i] = c.Classes.Clusters[k]
	}
	none := make([]int, samples-old)
	for i := range none {
		none[i] = -1
	}
	fmt.Fprintf(w, "%d digits, %d with a known label, %d of these wrong\n", old, classes*each, wrong)
	fmt.Fprintf(w, "accuracy without a known label: by class %.3f, by named cluster %.3f\n",
		right(c.Classes.Labels, d.Labels, known), right(named, d.Labels, known))
	fmt.Fprintf(w, "accuracy on %d new digits: by class %.3f\n", len(none), right(fresh.Labels, d.Labels[old:], none))
	sum := 0.0
	for _, p := range fresh.Confidence {
		sum += p
	}
	fmt.Fprintf(w, "their mean confidence: %.3f\n\nknown labels to check:\n", sum/float64(len(none)))
	for k, s := range c.Classes.Suspects {
		if k == 5 {
			break
		}
		fmt.Fprintf(w, "  digit %d: labelled %d, by the other labels %d; it is %d%s\n", s.Sample, s.Known, s.Found,
			d.Labels[s.Sample], map[bool]string{true: ", a mistake of ours"}[mistakes[s.Sample]])
	}
	return nil
}

// choose returns the first labels of each class, −1 for the others, and makes some of them wrong.
func choose(labels []int) (known []int, mistakes map[int]bool) {
	known, mistakes = make([]int, len(labels)), map[int]bool{}
	count := make([]int, classes)
	for i, l := range labels {
		known[i] = -1
		if count[l] < each {
			count[l]++
			known[i] = l
			if count[l] == each && len(mistakes) < wrong {
				known[i], mistakes[i] = (l+1)%classes, true
			}
		}
	}
	return known, mistakes
}

// right returns the share of samples without a known label whose class is right.
func right(found, truth, known []int) float64 {
	hits, of := 0, 0
	for i, l := range found {
		if known[i] >= 0 {
			continue
		}
		if of++; l == truth[i] {
			hits++
		}
	}
	return float64(hits) / float64(of)
}
