package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"text/tabwriter"

	"github.com/largemvc/largemvc/internal/device"
)

const aboutDevice = `Usage: largemvc device [-selftest]

Lists the GPUs that a fit can use, and for others the reason why it cannot. -selftest runs the kernels on the GPU and
compares them with the CPU. Please report its output together with the output of 'largemvc version'.
`

// deviceOptions is what the flags of device say.
type deviceOptions struct {
	selftest bool
	samples  int
}

// deviceFlags makes the flags of device.
func deviceFlags(o *deviceOptions) *flags {
	f := newFlags("device")
	f.group("Selftest")
	f.bool(&o.selftest, "selftest", "run networks and products on the GPU and compare them with the CPU; the exit status is 1 "+
		"if they\ndiffer")
	f.int(&o.samples, "samples", 60000, "`N`, the most samples of a test; the largest test has 195537 samples of 2672 "+
		"features (2 GB), which the CPU\nalso computes in float64")
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
	if o.selftest {
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
var errSelftest = errors.New("the GPU computes something wrong: please report the lines above, and use -device cpu")

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
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s, compute capability %d.%d, %.2f GiB, beside %d cores\n", drv.Name(), major, minor, gib(total),
		runtime.NumCPU())
	fmt.Fprintln(t, "what\terror\tallowed\tCPU\t")
	var wrong error
	err = device.Selftest(ctx, drv, o.samples, func(c device.Check) error {
		switch {
		case math.IsNaN(c.Off):
			fmt.Fprintf(t, "%s\t%.3g s\t\t%.3g s\t\n", c.What, c.Seconds, c.CPU)
		case c.OK():
			fmt.Fprintf(t, "%s\t%.2g\t%.2g\t%.2g\tok\n", c.What, c.Off, c.Allowed, c.CPU)
		default:
			fmt.Fprintf(t, "%s\t%.2g\t%.2g\t%.2g\twrong\n", c.What, c.Off, c.Allowed, c.CPU)
			wrong = errSelftest
		}
		return nil
	})
	if err = errors.Join(err, drv.Close(), t.Flush()); err != nil {
		return cancelled(ctx, err)
	}
	return wrong
}
