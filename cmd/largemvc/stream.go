package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// descriptorOf is the number of the open file of this process that a path means, as /dev/stdout, /dev/fd/63 and
// /proc/self/fd/1 do. Such a path is a link, and what it leads to is another thing: a shell that appends to a file has opened
// the file to append to it, which the file's own name does not say; a pipe has no name at all.
func descriptorOf(path string) (number int, ok bool) {
	if !hasDescriptors {
		return 0, false
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return 0, false
	}
	switch path {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	folder, name := filepath.Split(path)
	switch folder {
	case "/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/", fmt.Sprintf("/proc/%d/fd/", os.Getpid()):
		number, err = strconv.Atoi(name)
		return number, err == nil && number >= 0
	}
	return 0, false
}

// underProc reports whether a path lies in /proc, whose links need not lead to what they say.
func underProc(path string) bool {
	path, err := filepath.Abs(path)
	return hasDescriptors && err == nil && strings.HasPrefix(path, "/proc/")
}

// outputPath is a flag.Value for a file to write. What means standard output is called - here, as by everybody else, so that
// all that is said of - holds for it.
type outputPath struct{ words }

func (v outputPath) Set(s string) error {
	if n, ok := descriptorOf(s); ok && n == 1 {
		s = standard
	}
	return v.words.Set(s)
}

// errClosed is the error for an output to a standard stream that was closed. A program that wants its output nowhere may have
// opened /dev/null so itself, which cannot be told from that.
var errClosed = errors.New("which is closed, or leads to /dev/null and is open for reading too: give it a file to write to")

// wasClosed reports whether a standard stream was closed when the process began ('largemvc … >&-'). Go then opens /dev/null in
// its place, to read and write, so that what is written there is lost without an error; shells open it to write alone.
func wasClosed(f *os.File) bool {
	here, err := f.Stat()
	if err != nil {
		return true
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(here, null) && readsToo(f)
}

// openDescriptor makes the output one to an open file of this process.
func (o *output) openDescriptor(number int) error {
	info, err := os.Stat(o.path)
	if err != nil {
		return fmt.Errorf("%s: cannot be written: this program has no open file %d: give it one, as in 'largemvc … %[2]d> "+
			"FILE'", o.path, number)
	}
	if o.opened, err = duplicate(number); err != nil {
		return fmt.Errorf("%s: cannot be written: %w", o.path, err)
	}
	if number <= 2 && wasClosed(o.opened) {
		return fmt.Errorf("%s: cannot be written to: it leads to an open file of this program %w", o.path,
			errors.Join(errClosed, o.opened.Close()))
	}
	o.info, o.stream = info, true
	return nil
}

// through writes to what cannot be replaced by another file: it stays what it is, and has what was written where that fails.
func (o *output) through(encode func(io.Writer) error) (err error) {
	f := o.opened
	if f == nil {
		if f, err = os.OpenFile(o.path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
			return fmt.Errorf("%s: %w", o.path, reason(err))
		}
	}
	w := bufio.NewWriterSize(f, 1<<16)
	if err = encode(w); err == nil {
		err = w.Flush()
	}
	if err = errors.Join(reason(err), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", o.path, err)
	}
	return nil
}
