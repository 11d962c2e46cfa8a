package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"

	"github.com/largemvc/largemvc/internal/device"
)

const aboutDevice = `Usage: largemvc device [-selftest [-json] | -trial FILE | -step NAME]

Lists the GPUs that a fit can use. For a GPU that it cannot use, it prints the reason. -selftest runs the kernels on the
GPU and compares the results with the CPU. -trial does that and more, for a report about a card. Each step of a trial is a
separate process with a time limit, and writes each result to FILE at once.
`

// deviceOptions holds the flags of device.
type deviceOptions struct {
	selftest, json bool
	trial, step    string
	samples        int
}

// deviceFlags makes the flags of device.
func deviceFlags(o *deviceOptions) *flags {
	f := newFlags("device")
	f.group("Tests")
	f.bool(&o.selftest, "selftest", "run networks and products on the GPU and compare them with the CPU; the exit status is 1 "+
		"if they\ndiffer")
	f.bool(&o.json, "json", "print a line of JSON for each check of the selftest")
	f.string(&o.trial, "trial", "`FILE` for the results of a trial, as lines of JSON: the card, compilation, copies, checks, "+
		"times of kernels and of\nfits")
	f.string(&o.step, "step", "`NAME` of the only step of the trial to run; its lines go to standard output")
	f.int(&o.samples, "samples", 60000, "`N`, the most samples of a test. The largest test has 195537 samples of 2672 features "+
		"(2 GB); the CPU computes it\ntoo, in float64")
	return f
}

// runDevice lists devices, or tests one.
func runDevice(ctx context.Context, args []string, stdout, _ io.Writer) error {
	o := &deviceOptions{}
	f := deviceFlags(o)
	if done, err := f.start(args, stdout, aboutDevice, ""); done || err != nil {
		return err
	}
	if o.samples < 1 {
		return usagef("device: -samples is %d, want at least 1", o.samples)
	}
	switch {
	case o.step != "":
		return trialStep(ctx, o, stdout)
	case o.trial != "":
		return trial(ctx, o, stdout)
	case o.selftest:
		return selftest(ctx, o, stdout)
	}
	found := device.List()
	if len(found) == 0 {
		_, err := fmt.Fprintf(stdout, "no GPU can be used: %v\n", device.ErrNotBuilt)
		return err
	}
	for _, l := range found {
		text := fmt.Sprintf("%s: no GPU can be used: %v", l.Kind, l.Err)
		if l.Err == nil {
			text = fmt.Sprintf("%s: %s, compute capability %d.%d, %.2f GiB of memory, %.2f GiB free", l.Kind, l.Name,
				l.Major, l.Minor, gib(l.Total), gib(l.Free))
		}
		if _, err := fmt.Fprintln(stdout, text); err != nil {
			return err
		}
	}
	return nil
}

func gib(bytes int64) float64 { return float64(bytes) / (1 << 30) }

// errSelftest says that a device computes something wrong.
var errSelftest = errors.New("the GPU computes wrong results: please report the lines above, and use -device cpu")

// selftest runs the kernels on the device and prints what is found.
func selftest(ctx context.Context, o *deviceOptions, stdout io.Writer) error {
	drv, err := device.Open()
	if err != nil {
		return fmt.Errorf("no GPU can be tested: %w", err)
	}
	major, minor := drv.Capability()
	_, total, err := drv.Memory()
	if err != nil {
		return errors.Join(err, drv.Close())
	}
	say := func(format string, args ...any) error {
		_, err := fmt.Fprintf(stdout, format, args...)
		return err
	}
	if !o.json {
		if err := say("%s, compute capability %d.%d, %.2f GiB, beside %d cores\n"+selftestLine, drv.Name(), major, minor,
			gib(total), runtime.NumCPU(), "what", "error", "allowed", "CPU", ""); err != nil {
			return errors.Join(err, drv.Close())
		}
	}
	var wrong error
	err = device.Selftest(ctx, drv, o.samples, func(c device.Check) error {
		number := func(x float64) string { return fmt.Sprintf("%.2g", x) }
		found := "ok"
		if !c.OK() {
			wrong, found = errSelftest, "wrong"
		}
		switch {
		case o.json:
			return json.NewEncoder(stdout).Encode(c.Fields())
		case math.IsNaN(c.Off):
			return say(selftestLine, c.What, number(c.Seconds)+" s", "", number(c.CPU)+" s", "")
		}
		return say(selftestLine, c.What, number(c.Off), number(c.Allowed), number(c.CPU), found)
	})
	if err = errors.Join(err, drv.Close()); err != nil {
		return cancelled(ctx, err)
	}
	return wrong
}

// selftestLine is a line of the selftest, which is printed as soon as it is known.
const selftestLine = "%-52s  %-9s  %-9s  %-9s  %s\n"
