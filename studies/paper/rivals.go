package main

import (
	"context"
	_ "embed" // of the methods
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
)

//go:embed rivals.py
var rivalsCode string

// best is the highest accuracy: of the epoch that labels pick.
func (c course) best() float64 { return slices.Max(c.ACC) }

// rivals compares the presets with deep methods of others, at the last epoch and at the epoch that labels pick.
func rivals(ctx context.Context, s *study) error {
	methods := []struct {
		name string
		run  func(ctx context.Context, s *study, d *sets.Set, draw int) (course, error)
	}{
		{"default preset", presetCourse(largemvc.Config{})},
		{"paper preset", presetCourse(presets.Paper.Of(largemvc.Config{}))},
		{"network of the paper's published code", publishedNetwork},
		{"TURTLE", rival("turtle")},
		{"CoMVC", rival("comvc")},
		{"SiMVC", rival("simvc")},
	}
	last := tables.Grid{Name: "rivals-last", Plain: true, Header: []string{"method, ACC at the last epoch", "mean"}}
	picked := tables.Grid{Name: "rivals-picked", Plain: true, Header: []string{"method, ACC at the epoch that labels pick", "mean"}}
	for _, d := range s.sets {
		last.Header, picked.Header = append(last.Header, d.Name), append(picked.Header, d.Name)
	}
	notes := "The paper compares with other methods at the epoch that labels pick, by purity under the name ACC. "
	for _, m := range methods {
		got, err := s.courses(ctx, m.name, m.run)
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, errPython) {
			notes += fmt.Sprintf("%s was left out: %v. ", m.name, err)
			continue
		}
		if err != nil {
			return err
		}
		last.Rows = append(last.Rows, meanLine(m.name, got, func(c course) float64 { return c.ACC[len(c.ACC)-1] }))
		picked.Rows = append(picked.Rows, meanLine(m.name, got, course.best))
	}
	return s.publish(page{
		name: "rivals", title: "Deep methods of others",
		caption: "`studies/paper/rivals.py` has the methods, from their papers and their authors' code, with its departures; " +
			"`studies/paper/published.py` has the network of the paper's published code, whose scores are means of ten k-means. " +
			fmt.Sprintf("Labels pick from the epochs %v of the presets, from each hundredth step of TURTLE, and from all "+
				"epochs of the others. ", protocolEpochs) + "Not run: MFLVC and CVCL, which take minutes to an hour a run on one core.",
		notes: notes, tables: []tables.Grid{last, picked},
	})
}

// rival returns what runs a method of rivals.py.
func rival(method string) func(context.Context, *study, *sets.Set, int) (course, error) {
	return func(ctx context.Context, s *study, d *sets.Set, draw int) (course, error) {
		return s.inPython(ctx, d, rivalsCode, method, fmt.Sprint(d.Classes), fmt.Sprint(s.epochs), fmt.Sprint(draw))
	}
}
