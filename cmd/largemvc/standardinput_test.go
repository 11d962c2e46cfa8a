package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestStandardInputIsBounded: the copy of standard input is no larger than the limit of memory explains, and is not left behind.
func TestStandardInputIsBounded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	o := &dataOptions{data: []string{standard}, maxMemory: 1}
	_, err := spool(context.Background(), o, zeros{})
	if err == nil || !strings.Contains(err.Error(), "standard input: holds more than 48 MiB") ||
		!strings.Contains(err.Error(), "-max-memory") {
		t.Error(err)
	}
	s, err := spool(context.Background(), o, strings.NewReader("1,2\n"))
	if err != nil || contents(t, s.file) != "1,2\n" {
		t.Fatal(err)
	}
	s.clean()
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left", err, left)
	}
}

// TestStandardInputWithoutFolder: where the folder of temporary files cannot be written, the error says what it is for and what
// names another.
func TestStandardInputWithoutFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "nothing")
	t.Setenv("TMPDIR", folder)
	t.Setenv("TMP", folder)
	_, err := spool(context.Background(), &dataOptions{data: []string{standard}}, strings.NewReader("1,2\n"))
	if err == nil {
		t.Fatal("a copy is made nowhere")
	}
	for _, want := range []string{"standard input: no copy", folder + " (TMPDIR"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestStandardInputEnds: the context ends the wait for input that does not come, and for one that has no end; progress is told.
func TestStandardInputEnds(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	silent, keep := io.Pipe()
	defer keep.Close()
	for name, in := range map[string]io.Reader{"silent": silent, "endless": io.LimitReader(slow{}, 1<<40)} {
		ctx, cancel := context.WithCancel(context.Background())
		told := 0
		o := &dataOptions{data: []string{standard}, progress: func(int64) error {
			if told++; told == 2 {
				cancel()
			}
			return nil
		}}
		done := make(chan error, 1)
		go func() {
			_, err := spool(ctx, o, in)
			done <- err
		}()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) || told < 2 {
				t.Errorf("%s: %v after %d reports", name, err, told)
			}
		case <-time.After(time.Minute): // a wait that does not end
			t.Errorf("%s: the context does not end it", name)
		}
		cancel()
	}
}

// slow has a byte every millisecond.
type slow struct{}

func (slow) Read(p []byte) (int, error) {
	time.Sleep(time.Millisecond)
	p[0] = '1'
	return 1, nil
}
