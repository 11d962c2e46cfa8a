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
	choice string // the choice of constants that the row is a candidate of, beside the main row; empty: none
}

const (
	mainRow  = "default preset"      // what the others are compared with
	startRow = "default, no network" // where it starts
)

// notCompared is the baseline that has no row: it is far behind the other k-means.
const notCompared = "k-means, z-scored"

// rows are the lines of the tables. Add one here, and the tables have it.
func rows() []row {
	paper := largemvc.Config{Preset: largemvc.PresetPaper}
	untrained := largemvc.Config{Epochs: largemvc.None}
	reconstruction := largemvc.Config{Neighborhood: largemvc.Neighborhood{Weight: largemvc.None, HeldOutWeight: largemvc.None}}
	unaided := reconstruction // by any term, its start included
	unaided.Epochs = largemvc.None
	paperUntrained := largemvc.Config{Preset: largemvc.PresetPaper, Epochs: largemvc.None}
	out := []row{{name: "k-means, samples standardised", config: always(paperUntrained), part: start}}
	for _, m := range baseline.Methods() {
		if m.Name == notCompared {
			continue
		}
		out = append(out, row{name: m.Name, method: m.Run})
	}
	out = append(out,
		row{name: "paper preset, untrained", config: always(paperUntrained)},
		row{name: "paper preset", config: always(paper)},
		row{name: startRow, config: always(largemvc.Config{}), part: start},
		row{name: "default, untrained", config: always(untrained)},
		row{name: "default, untrained, plain rows of H", config: always(untrained), part: plain},
		row{name: "default, untrained, spectral U√S", config: always(untrained), part: roots},
		row{name: "default, untrained, spectral U", config: always(untrained), part: vectors},
		row{name: "default, no network, start of lowest inertia", config: always(reconstruction), part: start},
		row{name: "default, untrained, start of lowest inertia", config: always(unaided)},
		row{name: "default, reconstruction alone", config: always(reconstruction)},
		row{name: "default, reconstruction alone, plain rows of H", config: always(reconstruction), part: plain},
		row{
			name:   "default, neighbours alone",
			config: always(largemvc.Config{Neighborhood: largemvc.Neighborhood{HeldOutWeight: largemvc.None}}),
		},
		row{
			name:   "default, held-out alone",
			config: always(largemvc.Config{Neighborhood: largemvc.Neighborhood{Weight: largemvc.None}}),
		},
		row{name: mainRow, config: always(largemvc.Config{})},
		row{name: "default, spectral U√S of H", config: always(largemvc.Config{}), part: roots},
		row{name: "default, plain rows of H", config: always(largemvc.Config{}), part: plain},
		row{name: "default, samples standardised alone", config: always(largemvc.Config{Preprocess: largemvc.PreprocessSample})},
		row{name: "default, features standardised alone", config: always(largemvc.Config{Preprocess: largemvc.PreprocessZScore})},
		row{
			name:   "default, all directions",
			config: always(largemvc.Config{Neighborhood: largemvc.Neighborhood{Directions: largemvc.None}}),
		},
		row{
			name:   "default, no smoothing",
			config: always(largemvc.Config{Neighborhood: largemvc.Neighborhood{Steps: largemvc.None}}),
		},
		row{name: "default, landmarks always", config: landmarks},
		row{
			name:   "default, no neighbours",
			config: always(largemvc.Config{Neighborhood: largemvc.Neighborhood{Neighbors: largemvc.None}}),
		},
	)
	return append(out, candidates()...)
}

// candidates are the default preset with other constants: what its own were chosen among.
func candidates() []row {
	var out []row
	add := func(choice, name string, c largemvc.Config) {
		out = append(out, row{name: "default, " + name, config: always(c), choice: choice})
	}
	for _, w := range [][2]float64{{1, 3}, {3, 1}, {1, 1}, {0.3, 3}, {1, 10}} {
		if w != [2]float64{defaultNeighborWeight, defaultHeldOutWeight} {
			add(
				"weights",
				fmt.Sprintf("weights %g and %g", w[0], w[1]),
				largemvc.Config{Neighborhood: largemvc.Neighborhood{Weight: w[0], HeldOutWeight: w[1]}},
			)
		}
	}
	add("neighbours", "7 neighbours", largemvc.Config{Neighborhood: largemvc.Neighborhood{Neighbors: 7}})
	add("neighbours", "15 neighbours", largemvc.Config{Neighborhood: largemvc.Neighborhood{Neighbors: 15}})
	add("epochs", "30 epochs", largemvc.Config{Epochs: 30})
	add("epochs", "200 epochs", largemvc.Config{Epochs: 200})
	return out
}

// The defaults of the weights of a Neighborhood.
const (
	defaultNeighborWeight = 3
	defaultHeldOutWeight  = 3
)

func always(c largemvc.Config) func(int) largemvc.Config {
	return func(int) largemvc.Config { return c }
}

// landmarks is the default preset with landmarks for sets of any size. Large ones have them anyway.
func landmarks(samples int) largemvc.Config {
	if samples > exactUpTo {
		return largemvc.Config{}
	}
	return largemvc.Config{Neighborhood: largemvc.Neighborhood{Exact: largemvc.None}}
}

// exactUpTo is the default of Neighborhood.Exact.
const exactUpTo = 10000

// key names the work that a row needs.
func (r row) key(d *sets.Set, draw, epochs int) string {
	if r.config == nil {
		return fmt.Sprintf("%s | %s | draw %d", d.About(), r.name, draw)
	}
	text := fmt.Sprintf("%s | draw %d | fit", d.About(), draw)
	c := reflect.ValueOf(fitConfig(r.config(d.N), d, draw, epochs))
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

// job is the work of a row on a draw: an order of the rows and a seed.
func (r row) job(d *sets.Set, draw, epochs int) work.Job[outcome] {
	name := fmt.Sprintf("%s, %s, draw %d", d.Name, r.name, draw)
	return work.Job[outcome]{Key: r.key(d, draw, epochs), Name: name, Do: func(ctx context.Context) (outcome, error) {
		d := d.InOrder(draw)
		if r.config != nil {
			return fitted(ctx, d, fitConfig(r.config(d.N), d, draw, epochs))
		}
		began := time.Now()
		labels, err := r.method(ctx, d.Matrices(), d.Classes, uint64(draw))
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
