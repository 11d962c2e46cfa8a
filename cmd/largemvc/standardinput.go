package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/largemvc/largemvc/dataset"
)

// spooled are the paths of data. Where standard input (-) is one of them, a file with its content stands for it: readers go
// back and forth in a file.
type spooled struct {
	paths  []string
	folder string // of the file; empty without
	file   string
}

// spool reads standard input where it is among the data. It ends with the context, even while nothing comes.
func spool(ctx context.Context, o *dataOptions, stdin io.Reader) (*spooled, error) {
	s := &spooled{paths: o.data}
	at := slices.Index(o.data, standard)
	if at < 0 {
		return s, nil
	}
	if slices.Contains(o.data[at+1:], standard) {
		return nil, usagef("standard input (-) is given twice")
	}
	var err error
	if s.folder, err = os.MkdirTemp("", "largemvc-*"); err != nil {
		return nil, fmt.Errorf("standard input: no copy can be made of it in the folder of temporary files %s (TMPDIR, on "+
			"Windows TMP, names another): %w", os.TempDir(), reason(err))
	}
	s.file = filepath.Join(s.folder, "stdin")
	if err := s.copy(ctx, o, stdin); err != nil {
		s.clean()
		return nil, fmt.Errorf("standard input: %w", err)
	}
	s.paths = slices.Clone(o.data)
	s.paths[at] = s.file
	return s, nil
}

const (
	// A file may unpack to 48 times the memory that its reading may take; the copy of standard input, which lies in the folder
	// of temporary files, may have as many bytes, whatever becomes of them.
	spoolFactor = 48
	spoolMemory = 1024 // MiB, where -max-memory says nothing
	spoolStep   = 200 * time.Millisecond
)

// counted counts the bytes that are read, and ends with an error where they are too many.
type counted struct {
	r       io.Reader
	n       atomic.Int64
	most    int64
	message string
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n.Add(int64(n)) > c.most {
		return n, errors.New(c.message)
	}
	return n, err
}

func (s *spooled) copy(ctx context.Context, o *dataOptions, stdin io.Reader) error {
	memory := cmp.Or(o.maxMemory, spoolMemory)
	in := &counted{r: stdin, most: int64(min(memory, math.MaxInt64>>20/spoolFactor)) << 20 * spoolFactor}
	in.message = fmt.Sprintf("holds more than %d MiB, %d times the memory that reading may take; give more with -max-memory, or "+
		"write it to a file", in.most>>20, spoolFactor)
	f, err := os.OpenFile(s.file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	copied := make(chan error, 1)
	go func() { // a read that waits for input cannot be ended
		_, err := io.Copy(f, in)
		copied <- err
	}()
	err = s.wait(ctx, o, in, copied)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if in.n.Load() == 0 {
		return errors.New("is empty")
	}
	return nil
}

// wait waits for the copy and shows its progress.
func (s *spooled) wait(ctx context.Context, o *dataOptions, in *counted, copied <-chan error) error {
	tick := time.NewTicker(spoolStep)
	defer tick.Stop()
	for {
		select {
		case err := <-copied:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			if o.progress == nil {
				continue
			}
			if err := o.progress(in.n.Load()); err != nil {
				return err
			}
		}
	}
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
	named := func(text string) string { return withFlags(s.named(text)) }
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
