// Command quality measures how good the clusters of the default preset are, and what each of its parts is worth, on
// whatever data sets there are:
//
//	go run -C studies ./quality -quick
//	go run -C studies ./quality -data ~/sets,~/more-sets -out quality
//
// Every figure is a mean over draws, and a draw is an order of the rows and a seed. Labels serve for scores alone.
//
// It writes quality.md with its tables as CSV. Finished work is kept in the output folder
// and not done again; a folder holds the work of one build of this program alone.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/work"
)

// study holds the flags.
type study struct {
	data, only, rows, out, page string
	uneven                      []float64 // shares of the smallest class; empty: the sets as they are
	draws                       int
	epochs, limit               int
	quick                       bool
}

func main() { work.Main("quality", run) }

// parse reads the command line.
func parse(args []string, stderr io.Writer) (*study, error) {
	s := &study{}
	f := flag.NewFlagSet("quality", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&s.data, "data", "", "files and folders of multi-view data with labels (.npz, .mat, …), separated by commas; empty: "+
		"MNIST views made from the Go module GoMNIST")
	f.StringVar(&s.only, "sets", "", "names of the sets to use, separated by commas; empty: all")
	f.StringVar(&s.rows, "rows", "", "rows to show beside the default preset, by their names or parts of names, separated by "+
		"semicolons; empty: all")
	f.StringVar(&s.out, "out", "quality", "folder for tables and finished work")
	f.StringVar(&s.page, "page", "", "file for the page of tables; empty: quality.md in the folder of -out")
	f.IntVar(&s.draws, "draws", 3, "draws of every row, each an order of the rows and a seed")
	f.IntVar(&s.epochs, "epochs", 0, "epochs of training; 0: 30 of the default preset, 100 without neighbours")
	f.IntVar(&s.limit, "limit", 0, "leave out sets of more samples; 0: none")
	f.Func("uneven", "in place of each set, parts of it with classes of uneven sizes: the shares, separated by commas, to which the "+
		"samples kept of a class fall", s.setUneven)
	f.BoolVar(&s.quick, "quick", false, "two draws, and 2,000 digits unless -data says otherwise")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag", f.Arg(0))
	}
	if s.draws < 1 || s.epochs < 0 || s.limit < 0 {
		return nil, fmt.Errorf("%d draws, %d epochs, limit %d", s.draws, s.epochs, s.limit)
	}
	if s.quick {
		s.draws = min(s.draws, 2)
	}
	if s.page == "" {
		s.page = filepath.Join(s.out, "quality.md")
	}
	return s, nil
}

// setUneven takes the value of -uneven.
func (s *study) setUneven(text string) error {
	for _, part := range strings.Split(text, ",") {
		share, err := strconv.ParseFloat(part, 64)
		if err != nil || !(share > 0 && share <= 1) {
			return fmt.Errorf("%q is no share between 0 and 1", part)
		}
		s.uneven = append(s.uneven, share)
	}
	return nil
}

// run does what the command line says.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	began := time.Now()
	s, err := parse(args, stderr)
	if err != nil {
		return err
	}
	chosen, err := s.choose()
	if err != nil {
		return err
	}
	found, err := s.open(ctx, stderr)
	if err != nil {
		return err
	}
	if len(s.uneven) > 0 {
		var parts []*sets.Set
		for _, d := range found {
			for _, share := range s.uneven {
				parts = append(parts, d.Uneven(share))
			}
		}
		found = parts
	}
	if err := os.MkdirAll(s.out, 0o777); err != nil {
		return err
	}
	if err := work.OneState(s.out); err != nil {
		return err
	}
	r, err := s.measure(ctx, found, chosen, stderr)
	if err != nil {
		return err
	}
	if err := s.publish(r); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s (%s)\n", s.page, time.Since(began).Round(time.Second/10))
	return nil
}

// choose returns the rows that -rows names, as a whole or by a part, and the main one.
func (s *study) choose() ([]row, error) {
	all := rows()
	if s.rows == "" {
		return all, nil
	}
	wanted := strings.Split(s.rows, ";")
	for _, w := range wanted {
		if w == "" || !slices.ContainsFunc(all, func(r row) bool { return strings.Contains(r.name, w) }) {
			return nil, fmt.Errorf("no row has %q in its name", w)
		}
	}
	whole := func(w string) bool { return slices.ContainsFunc(all, func(r row) bool { return r.name == w }) }
	return slices.DeleteFunc(slices.Clone(all), func(r row) bool {
		return r.name != mainRow && !slices.ContainsFunc(wanted, func(w string) bool {
			return r.name == w || !whole(w) && strings.Contains(r.name, w)
		})
	}), nil
}

// open opens the data.
func (s *study) open(ctx context.Context, stderr io.Writer) ([]*sets.Set, error) {
	n := sets.AllDigits
	if s.quick {
		n = 2000
	}
	return sets.OpenAll(ctx, sets.Choice{Path: s.data, Digits: n, Only: s.only, Limit: s.limit, Warn: stderr})
}

// measure does the work of all rows on all sets.
func (s *study) measure(ctx context.Context, found []*sets.Set, chosen []row, stderr io.Writer) (*results, error) {
	var jobs []work.Job[outcome]
	for _, d := range found {
		for _, m := range chosen {
			for draw := range s.draws {
				jobs = append(jobs, m.job(d, draw, s.epochs))
			}
		}
	}
	got, err := work.All(ctx, filepath.Join(s.out, "work"), stderr, "quality", jobs)
	if err != nil {
		return nil, err
	}
	r := &results{sets: found, rows: chosen, scores: make([][][]score, len(chosen))}
	for _, d := range found {
		for k, m := range chosen {
			var scores []score
			for draw := range s.draws {
				scores = append(scores, got[0].Scores[m.part])
				if note := got[0].Note; note != "" {
					r.notes = append(r.notes, fmt.Sprintf("%s on %s, draw %d: %s", m.name, d.Name, draw, note))
				}
				got = got[1:]
			}
			r.scores[k] = append(r.scores[k], scores)
		}
	}
	return r, nil
}
