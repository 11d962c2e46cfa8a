package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/choose"
	"github.com/largemvc/largemvc/internal/progress"
)

const (
	autoWord    = "auto" // in place of a number of clusters
	carefulWord = "careful"
	autoMost    = 20   // the highest number of clusters that is tried
	autoSamples = 2000 // the most samples that are fitted to try one
	autoEpochs  = 30
	autoSeeds   = 3
	autoStream  = 0x6175746f // of the samples, apart from what else is drawn with the same seed
)

// clusterCount is a flag.Value for a number of clusters, or for the word that has the number chosen.
type clusterCount struct {
	n    *int
	auto *bool
}

func (c clusterCount) String() string {
	switch {
	case c.n == nil:
		return ""
	case *c.auto:
		return autoWord
	}
	return strconv.Itoa(*c.n)
}

func (c clusterCount) Set(s string) error {
	*c.n, *c.auto = 0, s == autoWord
	if *c.auto {
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return errors.New("must be a whole number, or " + autoWord)
	}
	*c.n = n
	return nil
}

// choosing has the settings that the command chooses by itself.
type choosing struct {
	start  string
	starts *choose.Starts // what -start careful compared; nil: nothing
	auto   bool           // -clusters auto
	picked *picked        // what came of it; nil: the number was given
}

// picked is how -clusters auto came to its number.
type picked struct {
	Clusters int      `json:"clusters"`
	From     int      `json:"from"` // of the numbers that were tried
	To       int      `json:"to"`
	Samples  int      `json:"samples"` // with which they were
	Clear    bool     `json:"clear"`   // whether the number stands out
	Reasons  []string `json:"reasons"`
}

// String says how sure the number is.
func (p *picked) String() string {
	sure := "stands out"
	if !p.Clear {
		sure = "is a guess: no number stands out"
	}
	return fmt.Sprintf("chosen among %d to %d on %s: %d %s", p.From, p.To, count(p.Samples, "sample"), p.Clusters, sure)
}

// checkAuto refuses -clusters auto and -start careful where not all samples can be fitted several times, or where the number or
// the start is given.
func (o *fitOptions) checkAuto() error {
	asked := "-clusters " + autoWord
	switch {
	case o.start == carefulWord:
		asked = "-start " + carefulWord
	case !o.auto:
		return nil
	}
	for _, other := range []string{"mpi", "from-disk", "resume", "set FitSamples"} {
		if o.given[other] && (other != "set FitSamples" || o.config.FitSamples > 0) {
			return usagef("fit: %s makes several fits in memory, and cannot be given with -%s", asked, other)
		}
	}
	if o.startFile() != "" {
		return usagef("fit: -start %s needs a number of clusters, and cannot be given with %s", o.start, asked)
	}
	return nil
}

// startFile is the file of initial labels, "" where -start names none.
func (o *fitOptions) startFile() string {
	if o.start == carefulWord || o.start == "default" {
		return ""
	}
	return o.start
}

// chooseStart sets the start of -start careful.
func (o *fitOptions) chooseStart(ctx context.Context, in *input, bar *progress.Bar) (err error) {
	bar.Phase("comparison of starts", 0, 1, 0, 0)
	defer bar.End()
	o.config, o.starts, err = choose.Start(ctx, in.views, o.config)
	return err
}

// chooseClusters sets the number of clusters by fits of some samples.
func (o *fitOptions) chooseClusters(ctx context.Context, in *input, bar *progress.Bar) error {
	if err := o.readKnown(ctx, in); err != nil {
		return err
	}
	views, n := in.views, in.samples
	if n > autoSamples {
		some := rand.New(rand.NewPCG(o.config.Seed, autoStream)).Perm(n)[:autoSamples]
		n, views = autoSamples, slices.Clone(views)
		for v, x := range views {
			views[v] = x.Take(some)
		}
	}
	if n < 3 {
		return usagef("fit: -clusters %s chooses from at least 3 samples, and there are %d", autoWord, n)
	}
	from := max(2, len(o.classNames))
	o.picked = &picked{From: from, To: min(from+autoMost-2, n-1), Samples: n}
	config := o.config
	config.Epochs, config.Restarts, config.Anchors, config.FitSamples = autoEpochs, 1, 0, 0
	config.Checkpoint, config.Progress = largemvc.Checkpoint{}, nil
	c := choose.Config{Seeds: autoSeeds}
	for k := o.picked.From; k <= o.picked.To; k++ {
		c.Clusters = append(c.Clusters, k)
	}
	began := time.Now()
	c.Progress = func(done, of int, _ choose.Choice) error {
		elapsed := time.Since(began)
		bar.Phase("numbers of clusters", done, of, elapsed, elapsed*time.Duration(of-done)/time.Duration(done))
		return nil
	}
	found, err := choose.Clusters(ctx, views, config, c)
	bar.End()
	if err != nil {
		return err
	}
	o.picked.Clusters, o.picked.Clear, o.picked.Reasons = found.Suggested, found.Clear, o.reasons(found.Reasons)
	if o.config.Clusters = found.Suggested; o.config.Clusters == 0 {
		return fmt.Errorf("no number of clusters from %d to %d can be suggested: give -clusters a number", from, o.picked.To)
	}
	return nil
}

// start is an initial clustering that -start careful compared.
type start struct {
	Name      string   `json:"name"`
	Evenness  float64  `json:"evenness"`
	HeldOut   *float64 `json:"held_out"`
	Stability *float64 `json:"stability"` // null: it was not needed
	Chosen    bool     `json:"chosen"`
}

func newStarts(s *choose.Starts) (out []start) {
	if s == nil {
		return nil
	}
	for i, c := range s.Candidates {
		out = append(out, start{c.Name, c.Evenness, number(c.HeldOut), number(c.Stability), i == s.Chosen})
	}
	return out
}
