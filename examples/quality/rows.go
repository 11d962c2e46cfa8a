package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/internal/sets"
	"github.com/largemvc/largemvc/examples/internal/work"
	"github.com/largemvc/largemvc/internal/baseline"
)

// score is what one labelling is worth, in per cent, and the seconds that it took.
type score struct {
	ACC     float64 `json:"acc"`
	NMI     float64 `json:"nmi"`
	ARI     float64 `json:"ari"`
	Seconds float64 `json:"seconds"`
}

// part says which labelling of a fit a row shows.
type part int

const (
	clusters part = iota // those of the fit
	start                // those that the first anchors come from: the same pipeline without the network
	plain                // of k-means on the rows of H as they are
	roots                // of k-means on the unit rows of U√S of H
	vectors              // of k-means on the unit rows of U of H
	parts
)

// row is a line of the tables.
type row struct {
	name   string
	config func(samples int) largemvc.Config // of a fit; nil: of method
	part   part
	method baseline.Func
}

// mainRow is the row that the others are compared with.
const mainRow = "default preset"

// notCompared is the baseline that has no row: it is far behind the other k-means.
const notCompared = "k-means, z-scored"

// rows are the lines of the tables. Add one here, and the tables have it.
func rows() []row {
	paper := largemvc.Config{Preset: largemvc.Paper}
	untrained := largemvc.Config{Epochs: largemvc.NoTraining}
	reconstruction := largemvc.Config{NeighborWeight: largemvc.None, HeldOutWeight: largemvc.None}
	unaided := reconstruction // by any term, its start included
	unaided.Epochs = largemvc.NoTraining
	paperUntrained := largemvc.Config{Preset: largemvc.Paper, Epochs: largemvc.NoTraining}
	out := []row{{"k-means, samples standardised", always(paperUntrained), start, nil}}
	for _, m := range baseline.Methods() {
		if m.Name == notCompared {
			continue
		}
		out = append(out, row{m.Name, nil, clusters, m.Run})
	}
	return append(out,
		row{"paper preset, untrained", always(paperUntrained), clusters, nil},
		row{"paper preset", always(paper), clusters, nil},
		row{"default, no network", always(untrained), start, nil},
		row{"default, untrained", always(untrained), clusters, nil},
		row{"default, untrained, plain rows of H", always(untrained), plain, nil},
		row{"default, untrained, spectral U√S", always(untrained), roots, nil},
		row{"default, untrained, spectral U", always(untrained), vectors, nil},
		row{"default, no network, start of lowest inertia", always(reconstruction), start, nil},
		row{"default, untrained, start of lowest inertia", always(unaided), clusters, nil},
		row{"default, reconstruction alone", always(reconstruction), clusters, nil},
		row{"default, reconstruction alone, plain rows of H", always(reconstruction), plain, nil},
		row{"default, neighbours alone", always(largemvc.Config{HeldOutWeight: largemvc.None}), clusters, nil},
		row{"default, held-out alone", always(largemvc.Config{NeighborWeight: largemvc.None}), clusters, nil},
		row{mainRow, always(largemvc.Config{}), clusters, nil},
		row{"default, all starts of lowest inertia", always(largemvc.Config{LowestInertia: true}), clusters, nil},
		row{"default, spectral U√S of H", always(largemvc.Config{}), roots, nil},
		row{"default, plain rows of H", always(largemvc.Config{}), plain, nil},
		row{"default, samples standardised alone", always(largemvc.Config{Preprocess: largemvc.PerSample}), clusters, nil},
		row{"default, features standardised alone", always(largemvc.Config{Preprocess: largemvc.ZScore}), clusters, nil},
		row{"default, all directions", always(largemvc.Config{Directions: largemvc.None}), clusters, nil},
		row{"default, no smoothing", always(largemvc.Config{FilterSteps: largemvc.None}), clusters, nil},
		row{"default, landmarks always", landmarks, clusters, nil},
		row{"default, no neighbours", always(largemvc.Config{Neighbors: largemvc.None}), clusters, nil},
	)
}

func always(c largemvc.Config) func(int) largemvc.Config {
	return func(int) largemvc.Config { return c }
}

// landmarks is the default preset with landmarks for sets of any size. Large ones have them anyway.
func landmarks(samples int) largemvc.Config {
	if samples > exactUpTo {
		return largemvc.Config{}
	}
	return largemvc.Config{ExactNeighbors: largemvc.None}
}

// exactUpTo is the default of Config.ExactNeighbors.
const exactUpTo = 10000

// key names the work that a row needs.
func (r row) key(d *sets.Set, seed, epochs int) string {
	if r.config == nil {
		return fmt.Sprintf("%s | %s | seed %d", d.About(), r.name, seed)
	}
	text := d.About() + " | fit"
	c := reflect.ValueOf(fitConfig(r.config(d.N), d, seed, epochs))
	for i := range c.NumField() {
		if !c.Field(i).IsZero() {
			text += fmt.Sprintf(" %s %v", c.Type().Field(i).Name, c.Field(i))
		}
	}
	return text
}

// fitConfig completes a configuration.
func fitConfig(c largemvc.Config, d *sets.Set, seed, epochs int) largemvc.Config {
	c.Clusters, c.Seed = d.Classes, uint64(seed)
	if c.Epochs == 0 {
		c.Epochs = epochs
	}
	return c
}

// outcome is what a piece of work gives: the labellings of a fit by their part, or those of another method as the first.
type outcome struct {
	Scores [parts]score
	Note   string
}

// job is the work of a row.
func (r row) job(d *sets.Set, seed, epochs int) work.Job[outcome] {
	name := fmt.Sprintf("%s, %s, seed %d", d.Name, r.name, seed)
	return work.Job[outcome]{Key: r.key(d, seed, epochs), Name: name, Do: func(ctx context.Context) (outcome, error) {
		if r.config != nil {
			return fitted(ctx, d, fitConfig(r.config(d.N), d, seed, epochs))
		}
		began := time.Now()
		labels, err := r.method(ctx, d.Matrices(), d.Classes, uint64(seed))
		if err != nil {
			return outcome{}, err
		}
		var out outcome
		out.Scores[clusters], err = evaluate(d, labels, time.Since(began))
		return out, err
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
	for _, p := range []struct {
		part  part
		power float64
	}{{roots, 0.5}, {vectors, 0}} {
		if labels[p.part], err = spectralReadOut(ctx, r.H, d.Classes, p.power, c.Seed); err != nil {
			return out, err
		}
	}
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
