// Command missing measures how clusters stand samples that lack views, and how many of those rows that do not belong to
// their samples are named:
//
//	go run ./examples/quality/missing -data ~/sets -out missing
//
// Every figure is a mean over draws; a draw is an order of the rows, a mask and a seed. Labels serve for scores alone. It
// prints a page of tables; finished work is kept in the output folder and not done again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/examples/internal/sets"
	"github.com/largemvc/largemvc/examples/internal/work"
)

// study is what the flags say.
type study struct {
	data, only, out, parts string
	methods                string
	rates                  []float64
	draws, epochs, limit   int
	sameState              bool
	stdout, stderr         io.Writer
}

// part is a question with its tables.
type part struct {
	name string
	run  func(ctx context.Context, s *study, all []*sets.Set) error
}

func parts() []part {
	return []part{{"rates", rates}, {"new", newSamples}, {"reasons", reasons}, {"trust", trusts}, {"used", trustUsed}}
}

func main() { work.Main("missing", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s := &study{stdout: stdout, stderr: stderr}
	f := flag.NewFlagSet("missing", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&s.data, "data", "", "files and folders of multi-view data with labels, separated by commas")
	f.StringVar(&s.only, "sets", "", "names of the sets to use, separated by commas; empty: all")
	f.StringVar(&s.out, "out", "missing", "folder for finished work")
	f.BoolVar(&s.sameState, "same-state", false,
		"take finished work of another build of this program: nothing that it measures has changed")
	f.StringVar(&s.parts, "parts", "", "questions to ask, separated by commas; empty: all of "+names(parts()))
	f.StringVar(&s.methods, "methods", "", "methods to show, by parts of their names, separated by semicolons; empty: all")
	s.rates = []float64{0, 0.1, 0.3, 0.5, 0.7, 0.9}
	f.Func("rates", "shares of the view rows that are absent, separated by commas", s.setRates)
	f.IntVar(&s.draws, "draws", 3, "draws, each an order of the rows, a mask and a seed")
	f.IntVar(&s.epochs, "epochs", 100, "epochs of training")
	f.IntVar(&s.limit, "limit", 5000, "leave out sets of more samples; 0: none")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 || s.data == "" || s.draws < 1 || s.epochs < 1 || s.limit < 0 {
		return errors.New("give -data and positive numbers")
	}
	all, err := sets.OpenAll(ctx, sets.Choice{Path: s.data, Only: s.only, Limit: s.limit, Warn: stderr})
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b *sets.Set) int { return a.N - b.N })
	if err := os.MkdirAll(s.out, 0o777); err != nil {
		return err
	}
	if err := work.OneState(s.out, s.sameState); err != nil {
		return err
	}
	asked := strings.Split(s.parts, ",")
	for _, name := range asked {
		if name != "" && !slices.ContainsFunc(parts(), func(p part) bool { return p.name == name }) {
			return fmt.Errorf("no part %q in %s", name, names(parts()))
		}
	}
	for _, p := range parts() {
		if s.parts == "" || slices.Contains(asked, p.name) {
			if err := p.run(ctx, s, all); err != nil {
				return err
			}
		}
	}
	return nil
}

// setRates takes the value of -rates.
func (s *study) setRates(text string) error {
	s.rates = nil
	for _, part := range strings.Split(text, ",") {
		rate, err := strconv.ParseFloat(part, 64)
		if err != nil || !(rate >= 0 && rate < 1) {
			return fmt.Errorf("%q is no share from 0 to below 1", part)
		}
		s.rates = append(s.rates, rate)
	}
	return nil
}

// chosen returns the methods that -methods names.
func (s *study) chosen() []method {
	return slices.DeleteFunc(methods(), func(m method) bool {
		return !slices.ContainsFunc(strings.Split(s.methods, ";"), func(part string) bool {
			return strings.Contains(m.name, part)
		})
	})
}

func names(all []part) string {
	var out []string
	for _, p := range all {
		out = append(out, p.name)
	}
	return strings.Join(out, ", ")
}

func (s *study) work() string { return filepath.Join(s.out, "work") }
