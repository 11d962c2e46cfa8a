package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/work"
)

// score holds the scores of a labelling, in per cent, and its seconds.
type score struct {
	ACC     float64 `json:"acc"`
	NMI     float64 `json:"nmi"`
	ARI     float64 `json:"ari"`
	Seconds float64 `json:"seconds"`
}

// part says which labelling of a fit a row shows.
type part int

const (
	clusters part = iota // of the fit
	start                // those that the first anchors come from: the same pipeline without the network
	plain                // of k-means on the rows of H as they are
	parts
)

// row is a line of the tables.
type row struct {
	name   string
	config largemvc.Config
	part   part
}

const (
	mainRow  = "default preset"      // what the others are compared with
	startRow = "default, no network" // where it starts
)

// rows are the lines of the tables. Add one here, and the tables have it.
func rows() []row {
	asPaper := presets.Paper.Of(largemvc.Config{})
	paperUntrained := presets.Paper.Of(largemvc.Config{Epochs: largemvc.None})
	reconstruction := neighborhood(largemvc.Neighborhood{Weight: largemvc.None, HeldOutWeight: largemvc.None})
	return []row{
		{name: "k-means, samples standardised", config: paperUntrained, part: start},
		{name: "paper preset", config: asPaper},
		{name: startRow, part: start},
		{name: "default, untrained", config: largemvc.Config{Epochs: largemvc.None}},
		{name: "default, reconstruction alone", config: reconstruction},
		{name: "default, reconstruction alone, plain rows of H", config: reconstruction, part: plain},
		{name: "default, neighbours alone", config: neighborhood(largemvc.Neighborhood{HeldOutWeight: largemvc.None})},
		{name: "default, held-out alone", config: neighborhood(largemvc.Neighborhood{Weight: largemvc.None})},
		{name: mainRow},
		{name: "default, plain rows of H", part: plain},
		{name: "default, no smoothing", config: neighborhood(largemvc.Neighborhood{Steps: largemvc.None})},
		{name: "default, no neighbours", config: neighborhood(largemvc.Neighborhood{Neighbors: largemvc.None})},
	}
}

// neighborhood is the default preset with another Neighborhood.
func neighborhood(n largemvc.Neighborhood) largemvc.Config { return largemvc.Config{Neighborhood: n} }

// key names the work that a row needs.
func (r row) key(d *sets.Set, draw, epochs int) string {
	c, err := json.Marshal(fitConfig(r.config, d, draw, epochs))
	if err != nil {
		panic(err) // the configurations are those of rows, which can be written
	}
	return fmt.Sprintf("%s | draw %d | fit %s", d.About(), draw, c)
}

// fitConfig completes a configuration.
func fitConfig(c largemvc.Config, d *sets.Set, seed, epochs int) largemvc.Config {
	c.Clusters, c.Seed = d.Classes, uint64(seed)
	if c.Epochs == 0 {
		c.Epochs = epochs
	}
	return c
}

// outcome is the result of a piece of work: the labellings of a fit by their part.
type outcome struct {
	Scores [parts]score
	Note   string
}

// job is the work of a row on a draw: an order of the rows and a seed.
func (r row) job(d *sets.Set, draw, epochs int) work.Job[outcome] {
	name := fmt.Sprintf("%s, %s, draw %d", d.Name, r.name, draw)
	return work.Job[outcome]{Key: r.key(d, draw, epochs), Name: name, Do: func(ctx context.Context) (outcome, error) {
		return fitted(ctx, d.InOrder(draw), fitConfig(r.config, d, draw, epochs))
	}}
}

// fitted fits a set and scores all labellings that there are of it.
func fitted(ctx context.Context, d *sets.Set, c largemvc.Config) (outcome, error) {
	var out outcome
	r, err := largemvc.Fit(ctx, d.Views, c)
	var diverged *largemvc.DivergedError
	if errors.As(err, &diverged) && r != nil {
		out.Note = fmt.Sprintf("diverged in epoch %d", diverged.Epoch)
	} else if err != nil {
		return out, err
	}
	took := r.Timings.Total
	k, err := largemvc.KMeans(ctx, r.H, largemvc.KMeansConfig{Clusters: d.Classes, Seed: c.Seed})
	if err != nil {
		return out, err
	}
	labels := [parts][]int{clusters: r.Labels, start: r.StartLabels, plain: k.Labels}
	for p, l := range labels {
		if out.Scores[p], err = evaluate(d, l, took); err != nil {
			return out, err
		}
	}
	out.Scores[start].Seconds = (r.Timings.Prepare + r.Timings.Start).Seconds()
	return out, nil
}

func evaluate(d *sets.Set, labels []int, took time.Duration) (score, error) {
	e, err := largemvc.Evaluate(d.Labels, labels)
	return score{100 * e.ACC, 100 * e.NMI, 100 * e.ARI, took.Seconds()}, err
}
