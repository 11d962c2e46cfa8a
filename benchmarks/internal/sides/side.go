// Package sides runs the sides of a comparison, this library and others, each in a process that computes epochs on request.
package sides

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Side is a child process that runs epochs on request.
type Side struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// Start starts a side and waits until it is ready.
func Start(cmd *exec.Cmd) (*Side, error) {
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Side{cmd: cmd, in: in, out: bufio.NewScanner(out)}
	s.out.Buffer(nil, 1<<20)
	if word, err := s.line(); err != nil || word != "ready" {
		s.Stop()
		return nil, fmt.Errorf("%s did not start: %q, %v", cmd.Path, word, err)
	}
	return s, nil
}

func (s *Side) line() (string, error) {
	if s.out.Scan() {
		return s.out.Text(), nil
	}
	return "", errors.Join(errors.New("no answer"), s.out.Err())
}

// Epochs returns the seconds of n epochs.
func (s *Side) Epochs(n int) ([]float64, error) {
	if _, err := fmt.Fprintf(s.in, "epochs %d\n", n); err != nil {
		return nil, err
	}
	answer, err := s.line()
	if err != nil {
		return nil, err
	}
	var times []float64
	for _, word := range strings.Fields(answer) {
		t, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, err
		}
		times = append(times, t)
	}
	return times, nil
}

// Quit ends the side and returns its peak memory in MiB.
func (s *Side) Quit() (float64, error) {
	if _, err := fmt.Fprintln(s.in, "quit"); err != nil {
		return 0, err
	}
	answer, err := s.line()
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(answer, 64)
}

// Stop ends the process, whatever it does.
func (s *Side) Stop() {
	s.in.Close()
	if s.cmd.ProcessState == nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
	}
}

// Median returns the median, 0 of nothing.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[len(x)/2]
}
