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
	rates                  []float64
	draws, epochs, limit   int
	sameState              bool
	stdout, stderr         io.Writer
}

// partNames are the questions that -parts chooses among.
var partNames = []string{"new", "reasons", "trust"}

func (s *study) question(part string) question {
	switch part {
	case "new":
		return newSamples(s.rates)
	case "reasons":
		return reasons()
	default:
		return trusts()
	}
}

func main() { work.Main("missing", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s := &study{stdout: stdout, stderr: stderr}
	if err := s.parse(args); err != nil {
		return err
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
	for _, name := range strings.Split(s.parts, ",") {
		if err := s.ask(ctx, name, s.question(name), all); err != nil {
			return err
		}
	}
	return nil
}

// parse reads the command line.
func (s *study) parse(args []string) error {
	f := flag.NewFlagSet("missing", flag.ContinueOnError)
	f.SetOutput(s.stderr)
	f.StringVar(&s.data, "data", "", "files and folders of multi-view data with labels, separated by commas")
	f.StringVar(&s.only, "sets", "", "names of the sets to use, separated by commas; empty: all")
	f.StringVar(&s.out, "out", "missing", "folder for finished work")
	f.BoolVar(&s.sameState, "same-state", false,
		"take finished work of another build of this program: nothing that it measures has changed")
	f.StringVar(&s.parts, "parts", strings.Join(partNames, ","), "questions to ask, separated by commas")
	s.rates = []float64{0, 0.1, 0.3, 0.5}
	f.Func("rates", "of new: shares of the view rows that are absent, separated by commas", s.setRates)
	f.IntVar(&s.draws, "draws", 3, "draws, each an order of the rows, a mask and a seed")
	f.IntVar(&s.epochs, "epochs", 100, "epochs of training")
	f.IntVar(&s.limit, "limit", 5000, "leave out sets of more samples; 0: none")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 || s.data == "" || s.draws < 1 || s.epochs < 1 || s.limit < 0 {
		return errors.New("give -data and positive numbers")
	}
	for _, name := range strings.Split(s.parts, ",") {
		if !slices.Contains(partNames, name) {
			return fmt.Errorf("no part %q among %s", name, strings.Join(partNames, ", "))
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

func (s *study) work() string { return filepath.Join(s.out, "work") }
