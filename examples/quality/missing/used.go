package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/internal/sets"
	"github.com/largemvc/largemvc/examples/internal/tables"
	"github.com/largemvc/largemvc/examples/internal/work"
)

// distrusted is the trust below which a row is taken to be absent.
const distrusted = 0.5

// damage is what is done to a set: the rows of one view or of all are replaced.
type damage struct {
	name, kind string
	share      float64
	all        bool
}

func damages() []damage {
	out := []damage{{name: "none"}}
	for _, kind := range corruptions {
		for _, share := range []float64{0.1, 0.2, 0.4} {
			out = append(out, damage{fmt.Sprintf("%g of one view, %s", share, kind), kind, share, false},
				damage{fmt.Sprintf("%g of every view, %s", share, kind), kind, share, true})
		}
	}
	return out
}

// withAndWithout are the accuracies of a fit to all rows and of one without those that are not trusted, and the share of these.
type withAndWithout struct{ Plain, Used, Absent float64 }

// trustUsed asks whether a fit without the rows that the trust of a first fit distrusts is better.
func trustUsed(ctx context.Context, s *study, all []*sets.Set) error {
	var jobs []work.Job[withAndWithout]
	list := damages()
	for draw := range s.draws {
		for _, d := range all {
			for _, how := range list {
				name := fmt.Sprintf("%s | trust used | damage %s | draw %d | epochs %d", d.About(), how.name, draw, s.epochs)
				do := func(ctx context.Context) (withAndWithout, error) {
					return usedOnce(ctx, d.InOrder(draw), how, draw, s.epochs)
				}
				jobs = append(jobs, work.Job[withAndWithout]{Key: name, Name: name, Do: do})
			}
		}
	}
	got, err := work.All(ctx, s.work(), s.stderr, "trust used", jobs)
	if err != nil {
		return err
	}
	g := tables.Grid{
		Title:  fmt.Sprintf("ACC (%%) of a fit, and of one without the rows of a trust below %g", distrusted),
		Header: []string{"bad rows"},
	}
	for _, d := range all {
		g.Header = append(g.Header, d.Name)
	}
	g.Header = append(g.Header, "mean")
	for h, how := range list {
		for _, x := range []struct {
			name  string
			value func(withAndWithout) float64
		}{
			{"", func(w withAndWithout) float64 { return w.Plain }},
			{", without", func(w withAndWithout) float64 { return w.Used }},
			{", rows left out (%)", func(w withAndWithout) float64 { return w.Absent }},
		} {
			g.Rows = append(g.Rows, lineOf(how.name+x.name, len(all), s.draws, func(set, draw int) float64 {
				return x.value(got[(draw*len(all)+set)*len(list)+h])
			}))
		}
	}
	s.print(g)
	return nil
}

func usedOnce(ctx context.Context, d *sets.Set, how damage, draw, epochs int) (withAndWithout, error) {
	var out withAndWithout
	for v := 0; v < len(d.Views) && how.share > 0; v++ {
		if how.all || v == draw%len(d.Views) {
			d, _ = corrupt(d, how.kind, v, how.share, rand.New(rand.NewPCG(uint64(draw), uint64(v))))
		}
	}
	config := largemvc.Config{Clusters: d.Classes, Seed: uint64(draw), Epochs: epochs}
	c, err := largemvc.Fit(ctx, d.Views, config)
	if err != nil {
		return out, err
	}
	acc, err := largemvc.Accuracy(d.Labels, c.Labels)
	if err != nil {
		return out, err
	}
	out.Plain, out.Used = 100*acc, 100*acc
	trust, err := c.ViewTrust(ctx, d.Views)
	if err != nil {
		return out, err
	}
	present := whole(d)
	for i, row := range present {
		best := 0
		for v := range trust {
			if trust[v][i] > trust[best][i] {
				best = v
			}
		}
		for v := range row {
			if v != best && trust[v][i] < distrusted { // of every sample a row stays
				row[v] = false
				out.Absent += 100 / float64(d.N*len(d.Views))
			}
		}
	}
	if out.Absent == 0 {
		return out, nil
	}
	views, err := largemvc.Mask(d.Views, present)
	if err != nil {
		return out, err
	}
	if c, err = largemvc.Fit(ctx, views, config); err != nil {
		return out, err
	}
	acc, err = largemvc.Accuracy(d.Labels, c.Labels)
	out.Used = 100 * acc
	return out, err
}
