package main

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

// side is a child process that runs epochs on request.
type side struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// startSide starts a side and waits until it is ready.
func startSide(cmd *exec.Cmd) (*side, error) {
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
	s := &side{cmd: cmd, in: in, out: bufio.NewScanner(out)}
	s.out.Buffer(nil, 1<<20)
	if word, err := s.line(); err != nil || word != "ready" {
		s.stop()
		return nil, fmt.Errorf("%s did not start: %q, %v", cmd.Path, word, err)
	}
	return s, nil
}

func (s *side) line() (string, error) {
	if s.out.Scan() {
		return s.out.Text(), nil
	}
	return "", errors.Join(errors.New("no answer"), s.out.Err())
}

// epochs returns the seconds of n epochs.
func (s *side) epochs(n int) ([]float64, error) {
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

// quit ends the side and returns its peak memory in MiB.
func (s *side) quit() (float64, error) {
	if _, err := fmt.Fprintln(s.in, "quit"); err != nil {
		return 0, err
	}
	answer, err := s.line()
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(answer, 64)
}

// stop ends the process, whatever it does.
func (s *side) stop() {
	s.in.Close()
	if s.cmd.ProcessState == nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
	}
}

// median returns the median, 0 of nothing.
func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[len(x)/2]
}
