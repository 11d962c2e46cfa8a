package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/progress"
)

// runFit reads the data, fits, writes the labels and prints the report.
func runFit(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, f, err := parseFit(args)
	if errors.Is(err, flag.ErrHelp) {
		return f.help(stdout, aboutFit)
	}
	if err != nil {
		return err
	}
	if o.quiet {
		stderr = io.Discard
	}
	bar := progress.New(stderr, "epoch")
	defer bar.End()
	for _, path := range []string{o.out, o.save, o.config.Checkpoint} {
		if err := checkOut(path); err != nil {
			return err
		}
	}
	epochs := max(o.config.Epochs, 1) // a resumed training may know better
	bar.Show(0, epochs, "reading", 0)
	began := time.Now()
	in, err := read(o)
	if err != nil {
		return err
	}
	reading := time.Since(began)
	bar.Show(0, epochs, "first anchors", time.Second)
	o.config.Progress = func(e largemvc.Epoch) error {
		note := fmt.Sprintf("loss %.5g", e.Loss)
		if e.Restarts > 1 {
			note = fmt.Sprintf("run %d/%d  %s", e.Restart+1, e.Restarts, note)
		}
		bar.Show(e.Epoch, e.Epochs, note, e.Elapsed)
		return nil
	}
	result, ended := train(ctx, o, in)
	bar.End()
	if result == nil {
		if ctx.Err() != nil {
			return errors.New("cancelled before the first epoch; there is no result")
		}
		return ended
	}
	if o.out != "" {
		near, next := centroidDistances(result)
		if err := writeLabels(o.out, result.Labels, near, next); err != nil {
			return err
		}
	}
	if o.save != "" {
		if err := result.Save(o.save); err != nil {
			return err
		}
	}
	r, err := newReport(o, in, result, reading)
	if err != nil {
		return err
	}
	if err := r.print(stdout, o.json); err != nil {
		return err
	}
	if ctx.Err() != nil && ended != nil {
		return fmt.Errorf("cancelled after %d of %d epochs; the result is of that state", result.Epochs, o.config.Epochs)
	}
	return ended
}

// checkOut finds out before the work whether there is a folder for a file to write.
func checkOut(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s: is a folder, not a file to write", path)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: there is no folder %s to write to", path, filepath.Dir(path))
	}
	return nil
}
