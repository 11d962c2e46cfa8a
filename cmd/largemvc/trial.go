package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/machine"
)

// errTrial says that a trial has found something.
var errTrial = errors.New("the trial found faults: please report the file")

// trialPart is a step of the trial: of the device, or a whole fit.
type trialPart struct {
	name  string
	limit time.Duration
	run   func(ctx context.Context, tell func(map[string]any) error) error
}

// trialParts returns the steps that take at most the given number of samples.
func trialParts(most int) (parts []trialPart) {
	for _, s := range device.Steps(most) {
		parts = append(parts, trialPart{s.Name, s.Limit, s.Run})
	}
	for _, n := range []int{2000, 20000, 60000} {
		for _, on := range []machine.Device{machine.CUDA, machine.CPU} {
			if n <= most {
				run := func(ctx context.Context, tell func(map[string]any) error) error { return trialFit(ctx, n, on, tell) }
				limit := time.Minute + time.Duration(n)*5*time.Millisecond
				parts = append(parts, trialPart{fmt.Sprintf("fit of %d, %v", n, on), limit, run})
			}
		}
	}
	return parts
}

// trialFit fits ten groups by the default preset.
func trialFit(ctx context.Context, n int, on machine.Device, tell func(map[string]any) error) error {
	const groups = 10
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	classes, views := make([]int, n), []largemvc.View{}
	for i := range classes {
		classes[i] = i % groups
	}
	for _, d := range []int{200, 100, 50} {
		centres := make([]float32, groups*d)
		for j := range centres {
			centres[j] = float32(rng.NormFloat64())
		}
		x := make([]float32, n*d)
		for i := range x {
			x[i] = centres[classes[i/d]*d+i%d] + float32(2*rng.NormFloat64())
		}
		views = append(views, largemvc.DenseView(n, d, x))
	}
	began := time.Now()
	c, err := largemvc.Fit(ctx, views, largemvc.Config{Clusters: groups, Machine: machine.Options{Device: on}})
	if err != nil {
		return err
	}
	scores, err := largemvc.Evaluate(classes, c.Labels)
	if err != nil {
		return err
	}
	return tell(map[string]any{"what": "fit", "seconds": time.Since(began).Seconds(), "epochs": c.Epochs, "ari": scores.ARI,
		"loss": c.Loss[len(c.Loss)-1], "ran": c.Ran.Device, "why": c.Ran.Why})
}

// trialStep runs one step and prints its lines.
func trialStep(ctx context.Context, o *deviceOptions, stdout io.Writer) error {
	parts := trialParts(o.samples)
	at := slices.IndexFunc(parts, func(p trialPart) bool { return p.name == o.step })
	if at < 0 {
		names := lists.Texts(parts, func(p trialPart) string { return strconv.Quote(p.name) })
		return usagef("device: no step %q with at most %d samples, want one of %s", o.step, o.samples, strings.Join(names, ", "))
	}
	wrong := false
	err := parts[at].run(ctx, func(found map[string]any) error {
		found["step"] = o.step
		wrong = wrong || found["ok"] == false
		return json.NewEncoder(stdout).Encode(found)
	})
	if err == nil && wrong {
		return errSelftest
	}
	return cancelled(ctx, err)
}

// trial runs each step in a process of its own and adds its lines to the file, each of them on disk before the next one.
func trial(ctx context.Context, o *deviceOptions, stdout io.Writer) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	file, err := os.Create(o.trial)
	if err != nil {
		return err
	}
	put := func(line []byte) error {
		line = append(line, '\n')
		_, err := file.Write(line)
		if err = errors.Join(err, file.Sync()); err != nil {
			return err
		}
		_, err = stdout.Write(line)
		return err
	}
	putFields := func(found map[string]any) error {
		line, err := json.Marshal(found)
		return errors.Join(err, put(line))
	}
	var found error
	var about strings.Builder
	err = runVersion(ctx, nil, &about, io.Discard)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	err = putFields(map[string]any{"what": "program", "version": about.String(), "time": time.Now().UTC().Format(time.RFC3339),
		"compared": "every pass with the CPU; each kernel with the simulator only in go test ./internal/device"})
	for _, p := range trialParts(o.samples) {
		if err != nil || ctx.Err() != nil {
			break
		}
		began := time.Now()
		failed := runPart(ctx, program, p, o.samples, put)
		end := map[string]any{"step": p.name, "what": "end", "seconds": time.Since(began).Seconds(), "ok": failed == nil}
		if failed != nil {
			found, end["failed"] = errTrial, failed.Error()
		}
		err = putFields(end)
	}
	if err = errors.Join(err, file.Close(), ctx.Err()); err != nil {
		return cancelled(ctx, err)
	}
	return found
}

// runPart runs a step in a process and hands over its lines.
func runPart(ctx context.Context, program string, p trialPart, samples int, put func([]byte) error) error {
	ctx, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	c := exec.CommandContext(ctx, program, "device", "-step", p.name, "-samples", strconv.Itoa(samples))
	c.WaitDelay = 5 * time.Second
	if p.name == "compile" { // what was compiled before is not to be found again
		c.Env = append(os.Environ(), "CUDA_CACHE_DISABLE=1")
	}
	var complaint strings.Builder
	c.Stderr = &complaint
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for err == nil && lines.Scan() {
		err = put(lines.Bytes())
	}
	err = errors.Join(err, lines.Err())
	if ended := c.Wait(); errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = errors.Join(err, fmt.Errorf("stopped after %v", p.limit))
	} else if ended != nil {
		err = errors.Join(err, ended)
	}
	if err != nil && complaint.Len() > 0 {
		text := complaint.String()
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(text[max(0, len(text)-2000):]))
	}
	return err
}
