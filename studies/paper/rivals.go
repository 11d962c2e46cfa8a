package main

import (
	"context"
	_ "embed" // of the methods
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
	"github.com/largemvc/largemvc/studies/internal/work"
)

//go:embed rivals.py
var rivalsCode string

//go:embed contrastive.py
var contrastiveCode string

// best is the highest accuracy: of the epoch that labels pick.
func (c course) best() float64 { return slices.Max(c.ACC) }

// rivals compares the presets with deep methods of others, at the last epoch and at the epoch that labels pick.
func rivals(ctx context.Context, s *study) error {
	if s.elsewhere != "" {
		if err := s.export(); err != nil {
			return err
		}
	}
	methods := []network{
		{"default preset", presetCourse(largemvc.Config{})},
		{"paper preset", presetCourse(presets.Paper.Of(largemvc.Config{}))},
		{"network of the paper's published code", publishedNetwork},
		{"TURTLE", rival("turtle")},
		{"CoMVC", rival("comvc")},
		{"SiMVC", rival("simvc")},
		{"MFLVC", contrastive("mflvc")},
		{"CVCL", contrastive("cvcl")},
	}
	last := tables.Grid{Name: "rivals-last", Plain: true, Header: []string{"method, ACC at the last epoch", "mean"}}
	picked := tables.Grid{Name: "rivals-picked", Plain: true, Header: []string{"method, ACC at the epoch that labels pick", "mean"}}
	for _, d := range s.sets {
		last.Header, picked.Header = append(last.Header, d.Name), append(picked.Header, d.Name)
	}
	notes := "The figures of the paper's own network are purities at the epoch that labels pick (experiment protocol). "
	left, err := s.each(ctx, methods, func(name string, got [][]course) {
		last.Rows = append(last.Rows, meanLine(name, got, func(c course) float64 { return c.ACC[len(c.ACC)-1] }))
		picked.Rows = append(picked.Rows, meanLine(name, got, course.best))
	})
	if err != nil {
		return err
	}
	return s.publish(page{
		name: "rivals", title: "Deep methods of others",
		caption: "`studies/paper/rivals.py` and `contrastive.py` have the methods, and say where they differ from the code of " +
			"their authors; " +
			"`studies/paper/published.py` has the network of the paper's published code, whose scores are means of ten k-means. " +
			fmt.Sprintf("Labels pick from the epochs %v of the presets, from each hundredth step of TURTLE, and from all "+
				"epochs of the others, of MFLVC and CVCL after their pretraining. ", protocolEpochs),
		notes: notes + left, tables: []tables.Grid{last, picked},
	})
}

// rival returns what runs a method of rivals.py.
func rival(method string) func(context.Context, *study, *sets.Set, int) (course, error) {
	return func(ctx context.Context, s *study, d *sets.Set, draw int) (course, error) {
		return s.inPython(ctx, d, rivalsCode, method, fmt.Sprint(d.Classes), fmt.Sprint(s.epochs), fmt.Sprint(draw))
	}
}

// contrastive returns what runs a method of contrastive.py, or with -elsewhere reads its results.
func contrastive(method string) func(context.Context, *study, *sets.Set, int) (course, error) {
	return func(ctx context.Context, s *study, d *sets.Set, draw int) (course, error) {
		if s.elsewhere != "" {
			path := filepath.Join(s.elsewhere, fmt.Sprintf("%s-%s-%d.json", method, d.Name, draw))
			text, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w: no %s", errPython, path)
			}
			return readCourse(text, err)
		}
		if err := hasPython(ctx, "torch"); err != nil {
			return course{}, err
		}
		folder, err := os.MkdirTemp("", "rival")
		if err != nil {
			return course{}, err
		}
		defer os.RemoveAll(folder)
		data := filepath.Join(folder, "set.npz")
		if err := d.WriteNPZ(data); err != nil {
			return course{}, err
		}
		python := exec.CommandContext(ctx, "python3", "-", method, fmt.Sprint(draw), data)
		python.Env, python.Stdin, python.Stderr = work.PythonEnv("OMP_NUM_THREADS=1"), strings.NewReader(contrastiveCode), s.stderr
		return readCourse(python.Output())
	}
}

// export writes the data of all draws for contrastive.py on another machine.
func (s *study) export() error {
	for _, d := range s.sets {
		for draw := range s.draws {
			if err := s.draw(d, draw).WriteNPZ(filepath.Join(s.elsewhere, fmt.Sprintf("%s-%d.npz", d.Name, draw))); err != nil {
				return err
			}
		}
	}
	return nil
}
