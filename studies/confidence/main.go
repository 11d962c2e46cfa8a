// Command confidence measures whether the confidence of a sample predicts how often its label is found again, and how many
// samples are marked as outliers. It uses noise, planted clusters, and data sets with labels.
//
//	go run -C studies ./confidence -draws 3 -first 1
//	go run -C studies ./confidence -data FOLDER,FOLDER -digits 10000 -first 1
//
// A draw is a seed and, for a data set, an order of its rows. Each set is fitted, then fitted with another seed. Then each half
// of it is fitted alone and labels the other half. The command prints a line for each set, and the figures of all sets in ten
// bins of confidence.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/score"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/work"
)

func main() { work.Main("confidence", run) }

// study holds the values of the flags.
type study struct {
	data, only    string
	draws, first  int
	limit, digits int
	samples       int
	progress      io.Writer
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s := study{progress: stderr}
	f := flag.NewFlagSet("confidence", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&s.data, "data", "", "files and folders of labelled sets, with commas; default noise and planted clusters")
	f.StringVar(&s.only, "only", "", "names of the sets or kinds, separated by commas; default all")
	f.IntVar(&s.draws, "draws", 1, "number of draws of each set")
	f.IntVar(&s.first, "first", 0, "number of the first draw")
	f.IntVar(&s.limit, "limit", 10000, "largest number of samples of a set")
	f.IntVar(&s.digits, "digits", 0, "number of MNIST digits to add to -data; 0: none")
	f.IntVar(&s.samples, "samples", 600, "number of samples of noise and planted clusters")
	if err := f.Parse(args); err != nil {
		return err
	}
	var all []*outcome
	each := func(d *sets.Set, draw int) error {
		o, err := measure(ctx, d, draw)
		if err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		fmt.Fprintln(s.progress, d.Name, d.Classes, draw)
		all = append(all, o)
		return nil
	}
	var err error
	if s.data == "" {
		err = s.made(each)
	} else {
		err = s.opened(ctx, each)
	}
	if err != nil {
		return err
	}
	printSets(stdout, all)
	printBins(stdout, all)
	return nil
}

// made calls do for noise and planted clusters.
func (s *study) made(do func(d *sets.Set, draw int) error) error {
	for _, kind := range kinds {
		if s.only != "" && !slices.Contains(strings.Split(s.only, ","), kind.name) {
			continue
		}
		for _, k := range []int{2, 3, 5, 10} {
			for draw := s.first; draw < s.first+s.draws; draw++ {
				r := rand.New(rand.NewPCG(uint64(draw), uint64(k)))
				if err := do(kind.draw(r, s.samples, k), draw); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// opened calls do for the sets of files.
func (s *study) opened(ctx context.Context, do func(d *sets.Set, draw int) error) error {
	found, err := sets.OpenAll(ctx, sets.Choice{Path: s.data, Only: s.only, Limit: s.limit, Warn: s.progress})
	if err != nil {
		return err
	}
	if s.digits > 0 {
		d, err := sets.Digits(ctx, s.digits)
		if err != nil {
			return err
		}
		found = append(found, d)
	}
	for _, d := range found {
		for draw := s.first; draw < s.first+s.draws; draw++ {
			if err := do(d.InOrder(draw), draw); err != nil {
				return err
			}
		}
	}
	return nil
}

// outcome holds the figures of one draw of a set.
type outcome struct {
	set       *sets.Set
	structure score.Judgement
	// Of each sample: its confidence, and whether it has the corresponding label in fits of a half without it, with another seed,
	// and among the classes.
	confidence            []float64
	halves, seed, classes []bool
	chance                float64 // the share of samples that have it by chance in fits of halves
	outliers              float64 // share of the samples
}

// measure fits a set, and parts of it.
func measure(ctx context.Context, d *sets.Set, draw int) (*outcome, error) {
	config := largemvc.Config{Clusters: d.Classes, Seed: uint64(draw)}
	c, err := largemvc.Fit(ctx, d.Views, config)
	if err != nil {
		return nil, err
	}
	if c.Confidence == nil {
		return nil, fmt.Errorf("no confidence: structure %v", c.Structure)
	}
	o := &outcome{set: d, structure: c.Structure.Judgement, confidence: c.Confidence, halves: make([]bool, d.N)}
	for _, far := range c.Outlier {
		if far {
			o.outliers += 1 / float64(d.N)
		}
	}
	all := numbers(d.N)
	config.NoStructure = true
	config.Seed += 1000
	other, err := largemvc.Fit(ctx, d.Views, config)
	if err != nil {
		return nil, err
	}
	if o.seed, _, err = compare(c.Labels, all, other.Labels, all, other.Labels); err != nil {
		return nil, err
	}
	if o.classes, _, err = compare(c.Labels, all, d.Labels, all, d.Labels); err != nil {
		return nil, err
	}
	order := rand.New(rand.NewPCG(uint64(draw), 77)).Perm(d.N)
	parts := [2][]int{order[:d.N/2], order[d.N/2:]}
	for s, in := range parts {
		out := parts[1-s]
		config.Seed++
		half, err := largemvc.Fit(ctx, d.Pick(in).Views, config)
		if err != nil {
			return nil, err
		}
		labels, err := half.Predict(ctx, d.Pick(out).Views)
		if err != nil {
			return nil, err
		}
		again, chance, err := compare(c.Labels, in, half.Labels, out, labels)
		if err != nil {
			return nil, err
		}
		for k, i := range out {
			o.halves[i] = again[k]
		}
		o.chance += chance * float64(len(out)) / float64(d.N)
	}
	return o, nil
}

// compare matches the labels of the samples in to their given labels, one to one. It reports which samples of out have the given
// label that corresponds to their own. chance is their share if the labels were exchanged at random.
func compare(labels, in, given, out, placed []int) (same []bool, chance float64, err error) {
	own := make([]int, len(in))
	for k, i := range in {
		own[k] = labels[i]
	}
	table, err := score.NewContingency(own, given)
	if err != nil {
		return nil, 0, err
	}
	to, err := table.Match()
	if err != nil {
		return nil, 0, err
	}
	same = make([]bool, len(out))
	have, get := map[int]int{}, map[int]int{}
	for k, i := range out {
		have[labels[i]]++
		if l, ok := to[placed[k]]; ok {
			get[l]++
			same[k] = l == labels[i]
		}
	}
	pairs := 0
	for l, count := range have {
		pairs += count * get[l]
	}
	return same, float64(pairs) / float64(len(out)*len(out)), nil
}

func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
