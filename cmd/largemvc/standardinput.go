package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/dataset"
)

// spooled are the paths of data. Where standard input (-) is one of them, a file with its content stands for it: readers go
// back and forth in a file.
type spooled struct {
	paths  []string
	folder string // of the file; empty without
	file   string
}

// spool reads standard input where it is among the paths.
func spool(paths []string, stdin io.Reader) (*spooled, error) {
	s := &spooled{paths: paths}
	at := slices.Index(paths, standard)
	if at < 0 {
		return s, nil
	}
	if slices.Contains(paths[at+1:], standard) {
		return nil, usagef("standard input (-) is given twice")
	}
	var err error
	if s.folder, err = os.MkdirTemp("", "largemvc-*"); err != nil {
		return nil, err
	}
	s.file = filepath.Join(s.folder, "stdin")
	if err := s.copy(stdin); err != nil {
		s.clean()
		return nil, fmt.Errorf("standard input: %w", err)
	}
	s.paths = slices.Clone(paths)
	s.paths[at] = s.file
	return s, nil
}

func (s *spooled) copy(stdin io.Reader) error {
	f, err := os.OpenFile(s.file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, stdin)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if n == 0 {
		return errors.New("is empty")
	}
	return nil
}

// clean removes the copy. Nothing is lost with it.
func (s *spooled) clean() {
	if s.folder != "" {
		_ = os.RemoveAll(s.folder)
	}
}

// named is a text in which standard input has its name in place of its copy.
func (s *spooled) named(text string) string {
	if s.file == "" {
		return text
	}
	return strings.ReplaceAll(text, s.file, "standard input")
}

// rename does the same for an error.
func (s *spooled) rename(err error) error {
	if err == nil || s.file == "" {
		return err
	}
	return errors.New(s.named(err.Error()))
}

// renameReading does the same for what was read, and names flags in place of options.
func (s *spooled) renameReading(r *dataset.Reading) {
	named := func(text string) string { return flagNames.Replace(s.named(text)) }
	for v := range r.Views {
		r.Views[v].Source = named(r.Views[v].Source)
	}
	for i := range r.LeftOut {
		r.LeftOut[i].File, r.LeftOut[i].Why = named(r.LeftOut[i].File), named(r.LeftOut[i].Why)
	}
	for _, texts := range [][]string{r.Notes, r.Warnings} {
		for i := range texts {
			texts[i] = named(texts[i])
		}
	}
	r.Labels, r.IDs, r.Mask = named(r.Labels), named(r.IDs), named(r.Mask)
}
