package device

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/largemvc/largemvc/internal/engine"
)

// Step is a part of a trial of a device. Each part is meant to run in its own process, so that a hang ends only one of them.
type Step struct {
	Name  string
	Limit time.Duration // more than enough for a working device
	run   func(ctx context.Context, drv Driver, tell func(map[string]any) error) error
}

// Steps returns the parts of a trial whose networks have at most the given number of samples.
func Steps(most int) []Step {
	steps := []Step{
		{"environment", time.Minute, environment}, {"compile", 3 * time.Minute, compile}, {"copies", time.Minute, copies},
		{"ceilings", 2 * time.Minute, ceilings(most)},
	}
	for _, t := range trials {
		if t.samples > most {
			break
		}
		limit := time.Minute + time.Duration(t.samples)*time.Millisecond
		steps = append(steps, Step{fmt.Sprintf("network of %d", t.samples), limit, t.check},
			Step{fmt.Sprintf("kernels of %d", t.samples), limit, t.kernels})
	}
	return steps
}

// Run opens the device and runs the part. It calls tell with each result.
func (s *Step) Run(ctx context.Context, tell func(map[string]any) error) error {
	all := Kinds()
	if len(all) == 0 {
		return ErrNotBuilt
	}
	drv, err := all[0].Open()
	if err != nil {
		return fmt.Errorf("%s: %w", all[0].Name, err)
	}
	return errors.Join(s.run(ctx, drv, tell), drv.Close())
}

// environment reports the device.
func environment(_ context.Context, drv Driver, tell func(map[string]any) error) error {
	major, minor := drv.Capability()
	free, total, err := drv.Memory()
	if err != nil {
		return err
	}
	found := map[string]any{"what": "device", "name": drv.Name(), "capability": fmt.Sprintf("%d.%d", major, minor),
		"bytes": total, "free_bytes": free, "shared_bytes": drv.SharedMemory()}
	if d, ok := drv.(interface{ Version() string }); ok {
		found["cuda"] = d.Version()
	}
	return tell(found)
}

// compile measures how long the driver takes to compile each text.
func compile(_ context.Context, drv Driver, tell func(map[string]any) error) error {
	var errs []error
	for _, t := range []struct {
		name string
		text func() string
	}{
		{"products_float", productsFloat}, {"rows_float", rowsFloat}, {"terms_float", termsFloat}, {"stages_float", stagesFloat},
		{"tensor_float", tensorFloat}, {"products_double", productsDouble}, {"rows_double", rowsDouble},
		{"terms_double", termsDouble}, {"stages_double", stagesDouble}, {"polar_double", polarDouble},
	} {
		text := t.text()
		began := time.Now()
		if _, err := drv.Load(text); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", t.name, err))
			continue
		}
		if err := tell(map[string]any{"what": "compiled " + t.name, "seconds": time.Since(began).Seconds()}); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// copies measures the rate of copies of 64 MiB.
func copies(_ context.Context, drv Driver, tell func(map[string]any) error) error {
	const size, rounds = 64 << 20, 5
	p, err := drv.Alloc("copies", size)
	if err != nil {
		return err
	}
	host, err := drv.Host(size)
	if err != nil {
		return err
	}
	defer drv.FreeHost(host)
	back, err := drv.Host(size)
	if err != nil {
		return err
	}
	defer drv.FreeHost(back)
	for i := range host {
		host[i] = byte(i % 251)
	}
	for _, way := range []struct {
		what   string
		copied func() error
	}{
		{"to the device", func() error { return drv.Upload(p, host) }},
		{"from the device", func() error { return drv.Download(back, p) }},
	} {
		best := math.Inf(1)
		for range rounds {
			began := time.Now()
			if err := way.copied(); err != nil {
				return err
			}
			best = min(best, time.Since(began).Seconds())
		}
		if err := tell(map[string]any{"what": "copy " + way.what, "gb_per_second": size / best / 1e9}); err != nil {
			return err
		}
	}
	if err := errors.Join(drv.Upload(p, host), drv.Download(back, p), drv.Free(p)); err != nil {
		return err
	}
	return tell(map[string]any{"what": "copied bytes are unchanged", "ok": slices.Equal(back, host)})
}

// check compares an epoch, and the products of the stages, with the CPU.
func (t *trial) check(ctx context.Context, drv Driver, tell func(map[string]any) error) error {
	return t.run(ctx, drv, func(c Check) error { return tell(c.Fields()) })
}

// Fields returns the check for JSON.
func (c *Check) Fields() map[string]any {
	switch {
	case math.IsNaN(c.Off):
		return map[string]any{"what": c.What, "seconds": c.Seconds, "cpu_seconds": c.CPU}
	case math.IsInf(c.Off, 0):
		return map[string]any{"what": c.What, "error": "not a number", "allowed": c.Allowed, "ok": false}
	}
	return map[string]any{"what": c.What, "error": c.Off, "allowed": c.Allowed, "cpu_error": c.CPU, "ok": c.OK()}
}

// kernels measures the time of each kernel in an epoch, with the wait after each launch, and a launch that does next to nothing,
// which is nearly all wait.
func (t *trial) kernels(ctx context.Context, drv Driver, tell func(map[string]any) error) error {
	made, err := t.network()
	if err != nil {
		return err
	}
	d := &timed{Driver: drv}
	net, epoch, err := made.begin(ctx, engine.NewParams(&made.spec), onDriver[float32](d))
	if err != nil {
		return err
	}
	err = epoch()
	none, waiting := d.waits()
	err = errors.Join(err, waiting)
	d.took = map[string]*took{} // what is compiled or uploaded once is no part of an epoch
	for range timedEpochs {
		err = errors.Join(err, epoch())
	}
	if err = errors.Join(err, net.Close()); err != nil {
		return err
	}
	d.took[nextToNone] = none
	for _, name := range slices.Sorted(maps.Keys(d.took)) {
		x := d.took[name]
		if err := tell(map[string]any{"what": name, "epochs": timedEpochs, "calls": x.calls, "bytes": x.bytes,
			"seconds": x.seconds}); err != nil {
			return err
		}
	}
	return nil
}

const (
	timedEpochs = 5
	nextToNone  = "a launch of one thread"
)

// timed is a driver that waits for each call and measures its time.
type timed struct {
	Driver
	took map[string]*took
}

type took struct {
	calls   int
	bytes   int64
	seconds float64
}

// waits returns the median of launches that do next to nothing.
func (t *timed) waits() (*took, error) {
	k, err := loadKernels[float32](t.Driver)
	if err != nil {
		return nil, err
	}
	p, err := t.Alloc("one number", granule)
	if err != nil {
		return nil, err
	}
	err = t.Zero(p, granule)
	times := make([]float64, 101)
	for i := 0; i < len(times) && err == nil; i++ {
		t.took = map[string]*took{}
		err = t.time(nextToNone, 0, func() error {
			k.byElement("one_less", 1, p, p, int32(1))
			return k.failed()
		})
		if err == nil {
			times[i] = t.took[nextToNone].seconds
		}
	}
	slices.Sort(times)
	return &took{calls: 1, seconds: times[len(times)/2]}, errors.Join(err, t.Free(p))
}

func (t *timed) time(name string, bytes int, call func() error) error {
	began := time.Now()
	if err := errors.Join(call(), t.Sync()); err != nil {
		return err
	}
	if t.took == nil {
		return nil
	}
	x := t.took[name]
	if x == nil {
		x = &took{}
		t.took[name] = x
	}
	x.calls, x.bytes, x.seconds = x.calls+1, x.bytes+int64(bytes), x.seconds+time.Since(began).Seconds()
	return nil
}

func (t *timed) Launch(m Module, kernel string, l Launch, args ...any) error {
	return t.time(kernel, 0, func() error { return t.Driver.Launch(m, kernel, l, args...) })
}

func (t *timed) Upload(p Ptr, src []byte) error {
	return t.time("copies to the device", len(src), func() error { return t.Driver.Upload(p, src) })
}

func (t *timed) Download(dst []byte, p Ptr) error {
	return t.time("copies from the device", len(dst), func() error { return t.Driver.Download(dst, p) })
}
