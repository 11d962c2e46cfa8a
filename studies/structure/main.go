// Command structure measures how often the judgement whether there are clusters errs: on noise of many kinds, on planted
// clusters, and on data sets with labels.
//
//	go run -C studies ./structure -draws 10
//	go run -C studies ./structure -data FOLDER,FOLDER -draws 10
//
// A draw is a seed and, of a set, an order of its rows. With -data it prints the judgements of each set beside the NMI of the
// clusters of a default fit, which runs once for each set, and the time of both. Without it, it prints the judgements of each
// kind of noise, and the share of draws that is more than noise if the least excess is chosen on the other kinds. -missing removes
// rows of views, -mismatched gives the rows of each view an order of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/structure"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/work"
)

func main() { work.Main("structure", run) }

// study holds the values of the flags.
type study struct {
	data, only          string
	draws, first, limit int
	few, mismatched     bool
	missing             float64
}

// shapes are the numbers of samples, clusters and views that noise is made with.
var shapes = [][3]int{
	{200, 3, 2}, {200, 7, 1}, {400, 2, 2}, {400, 5, 3}, {400, 15, 2}, {800, 3, 1}, {800, 10, 2}, {200, 20, 4}, {600, 4, 2},
	{5000, 10, 2}, {20000, 20, 6}, {40, 2, 2}, {60, 3, 1}, {100, 5, 3}, {1500, 2, 2},
}

// shapesOfFew are shapes of fewer samples than a local dimension needs.
var shapesOfFew = [][3]int{{40, 2, 2}, {30, 2, 1}, {36, 3, 2}, {41, 4, 3}}

// outcome is one judgement.
type outcome struct {
	name            string
	n, k, views     int
	draw            int
	result          *structure.Result
	took            time.Duration
	nmi             float64 // of the clusters of a fit
	fit             time.Duration
	planted, absent bool // whether clusters were planted; whether there are known classes
}

// run does what the command line says.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var s study
	f := flag.NewFlagSet("structure", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&s.data, "data", "", "files and folders of sets with labels, separated by commas; empty: noise")
	f.StringVar(&s.only, "only", "", "names of the sets or of the kinds of noise, separated by commas; empty: all")
	f.IntVar(&s.draws, "draws", 3, "draws of each set, and of each kind and shape of noise")
	f.IntVar(&s.first, "first", 0, "number of the first draw")
	f.IntVar(&s.limit, "limit", 10000, "the most samples of a set")
	f.BoolVar(&s.few, "few", false, "make noise of 30 to 41 samples alone")
	f.BoolVar(&s.mismatched, "mismatched", false, "with -data: the rows of each view have an order of its own")
	f.Float64Var(&s.missing, "missing", 0, "with -data: share of the view rows that are removed")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.data == "" && (s.mismatched || s.missing > 0) || s.mismatched && s.missing > 0 {
		return errors.New("-mismatched and -missing need -data, and exclude each other")
	}
	var all []outcome
	var err error
	if s.data == "" {
		all, err = s.noise(ctx, stderr)
	} else {
		all, err = s.sets(ctx, stderr)
	}
	if err != nil {
		return err
	}
	printTable(stdout, all)
	if s.data == "" {
		printLeftOut(stdout, all)
	} else {
		printAgreement(stdout, all)
	}
	return nil
}

// wants says whether a name was asked for.
func (s *study) wants(name string) bool {
	return s.only == "" || slices.Contains(strings.Split(s.only, ","), name)
}

// noise judges noise and planted clusters.
func (s *study) noise(ctx context.Context, log io.Writer) (out []outcome, err error) {
	shapes := shapes
	if s.few {
		shapes = shapesOfFew
	}
	for _, f := range families {
		if !s.wants(f.name) {
			continue
		}
		for _, shape := range shapes {
			for draw := s.first; draw < s.first+s.draws; draw++ {
				n, k := shape[0], shape[1]
				var views []view.View
				for _, x := range f.make(rand.New(rand.NewPCG(uint64(draw), uint64(n*k))), n, k, shape[2]) {
					views = append(views, view.View{Rows: n, Cols: len(x) / n, F64: x})
				}
				o := outcome{name: f.name, k: k, draw: draw, planted: f.planted, absent: true}
				if o, err = judged(ctx, o, views); err != nil {
					return nil, fmt.Errorf("%s: %w", f.name, err)
				}
				out = append(out, o)
			}
		}
		fmt.Fprintln(log, f.name)
	}
	return out, nil
}

// sets judges sets with labels.
func (s *study) sets(ctx context.Context, log io.Writer) (out []outcome, err error) {
	found, err := sets.OpenAll(ctx, sets.Choice{Path: s.data, Only: s.only, Limit: s.limit, Warn: log})
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		got, err := s.set(ctx, d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
		out = append(out, got...)
		fmt.Fprintln(log, d.Name)
	}
	return out, nil
}

// set judges all draws of a set.
func (s *study) set(ctx context.Context, d *sets.Set) (out []outcome, err error) {
	ordered, x, err := s.draw(d, s.first)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	c, err := largemvc.Fit(ctx, x, largemvc.Config{Clusters: d.Classes, NoStructure: true})
	if err != nil {
		return nil, err
	}
	fit := time.Since(began)
	scores, err := largemvc.Evaluate(ordered.Labels, c.Labels)
	if err != nil {
		return nil, err
	}
	for draw := s.first; draw < s.first+s.draws; draw++ {
		_, drawn, err := s.draw(d, draw)
		if err != nil {
			return nil, err
		}
		var views []view.View
		for _, x := range drawn {
			in, err := x.Content()
			if err != nil {
				return nil, err
			}
			views = append(views, in)
		}
		o, err := judged(ctx, outcome{name: d.Name, k: d.Classes, draw: draw, nmi: scores.NMI, fit: fit}, views)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// draw returns a set in the order of a draw, and its views as they are judged.
func (s *study) draw(d *sets.Set, draw int) (*sets.Set, []largemvc.View, error) {
	ordered := d.InOrder(draw)
	if s.missing > 0 {
		present, err := dataset.Drop(d.N, len(d.Views), s.missing, uint64(draw))
		if err != nil {
			return nil, nil, err
		}
		return ordered, ordered.Masked(present), nil
	}
	views := slices.Clone(ordered.Views)
	if s.mismatched {
		rng := rand.New(rand.NewPCG(uint64(draw), 3))
		for v, values := range ordered.Values {
			views[v] = values.Pick(rng.Perm(d.N)).View()
		}
	}
	return ordered, views, nil
}

// judged sets the judgement of an outcome.
func judged(ctx context.Context, o outcome, views []view.View) (outcome, error) {
	began := time.Now()
	var err error
	o.n, o.views = views[0].Rows, len(views)
	options := structure.Options{Kind: prepare.Both, Neighbors: 10, Steps: 6, Clusters: o.k, Seed: uint64(o.draw)}
	chosen, some := structure.Choose(o.n, options), make([]view.View, len(views))
	for v, x := range views {
		some[v] = x.Take(chosen)
	}
	o.result, err = structure.Judge(ctx, some, options)
	o.took = time.Since(began)
	return o, err
}
