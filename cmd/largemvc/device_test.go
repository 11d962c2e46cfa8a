package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
)

// The tests have the devices that they register, and no card of the machine.
func init() { device.Unregister("CUDA") }

// rough is the simulator with what it gives back changed in the last digits but two.
type rough struct{ simdevice.Sim }

func (s *rough) Download(dst []byte, p device.Ptr) error {
	err := s.Sim.Download(dst, p)
	for i := 1; i < len(dst); i += 4 {
		dst[i] ^= 64
	}
	return err
}

// The command lists what there is, tests it, and says where there is nothing.
func TestDevice(t *testing.T) {
	if len(device.Kinds()) == 0 { // a program without drivers
		status, out, errs := runLine("device")
		if status != exitOK || errs != "" || !strings.Contains(out, "no GPU can be used") ||
			!strings.Contains(out, "docs/gpu.md") {
			t.Errorf("without a driver: %d, %q, %q", status, out, errs)
		}
		status, _, errs = runLine("device", "-selftest")
		if status != exitError || !strings.Contains(errs, "no GPU can be tested") {
			t.Errorf("selftest without a driver: %d, %q", status, errs)
		}
	}
	for name, x := range map[string]struct {
		drv  device.Driver
		want []string
		ends int
	}{
		"sound": {
			&simdevice.Sim{}, []string{"the simulator, compute capability 8.0, 16.00 GiB", "float32: gradients", " ok\n"}, exitOK,
		},
		"wrong": {&rough{}, []string{"wrong"}, exitError},
	} {
		device.Register("TEST", func() (device.Driver, error) { return x.drv, nil })
		if status, out, _ := runLine("device"); status != exitOK ||
			!strings.Contains(out, "TEST: the simulator, compute capability 8.0, 16.00 GiB of memory, 16.00 GiB free\n") {
			t.Errorf("%s: the list is %q, status %d", name, out, status)
		}
		status, out, errs := runLine("device", "-selftest", "-samples", "100")
		device.Unregister("TEST")
		if status != x.ends {
			t.Errorf("%s: status %d, %q", name, status, errs)
		}
		for _, want := range x.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
		if x.ends == exitOK && strings.Contains(out, "wrong") {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}

// Each step of a trial prints a line of JSON for each finding, and so does the selftest with -json. A wrong device is status 1.
func TestTrialSteps(t *testing.T) {
	for name, x := range map[string]struct {
		args []string
		drv  device.Driver
		want []string // of the first and the last lines
		ends int
	}{
		"device": {[]string{"-step", "environment"}, &simdevice.Sim{}, []string{"device", "device"}, exitOK},
		"texts": {
			[]string{"-step", "compile"}, &simdevice.Sim{}, []string{"compiled products_float", "compiled polar_double"}, exitOK,
		},
		"copies": {
			[]string{"-step", "copies"}, &simdevice.Sim{}, []string{"copy to the device", "copied bytes are unchanged"}, exitOK,
		},
		"ceilings": {
			[]string{"-step", "ceilings"}, &simdevice.Sim{},
			[]string{"times_transposed_small, float32", "times_transposed_small, float64"}, exitOK,
		},
		"kernels":  {[]string{"-step", "kernels of 77"}, &simdevice.Sim{}, []string{"a launch of one thread", "trust"}, exitOK},
		"wrong":    {[]string{"-step", "network of 77"}, &rough{}, []string{"77 × 43, m = 7, float32: loss", ""}, exitError},
		"selftest": {[]string{"-selftest", "-json"}, &simdevice.Sim{}, []string{"77 × 43, m = 7, float32: loss", ""}, exitOK},
	} {
		device.Register("TEST", func() (device.Driver, error) { return x.drv, nil })
		status, out, errs := runLine(append([]string{"device", "-samples", "100"}, x.args...)...)
		device.Unregister("TEST")
		if status != x.ends {
			t.Errorf("%s: status %d, %s", name, status, errs)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		for i, want := range x.want {
			var found struct{ What string }
			if err := json.Unmarshal([]byte(lines[i*(len(lines)-1)]), &found); err != nil || want != "" && found.What != want {
				t.Errorf("%s: %q where %q is expected, %v", name, found.What, want, err)
			}
		}
	}
	status, _, errs := runLine("device", "-step", "nosuch")
	if status != exitUsage || !strings.Contains(errs, `"kernels of 5000"`) {
		t.Errorf("an unknown step: %d, %s", status, errs)
	}
}

// predict -device takes samples through the network of a model on a GPU, in memory and from disk, with the labels of the CPU, and
// says so; without one, cuda is an error and auto the CPU.
func TestPredictDevice(t *testing.T) {
	folder := t.TempDir()
	data, model := writeSet(t, 40, false), filepath.Join(folder, "model.safetensors")
	if status, _, errs := runLine("fit", "-data", data, "-clusters", "2", "-epochs", "2", "-preset", "paper", "-device", "cpu",
		"-save", model); status != exitOK {
		t.Fatal(errs)
	}
	predict := func(args ...string) (labels []int, device, why, errs string) {
		t.Helper()
		status, out, errs := runLine(append([]string{"predict", "-model", model, "-data", data, "-json"}, args...)...)
		if status != exitOK {
			return nil, "", "", errs
		}
		var p prediction
		if err := json.Unmarshal([]byte(out), &p); err != nil {
			t.Fatal(err)
		}
		return p.Labels, p.Device, p.DeviceWhy, errs
	}
	want, device0, why, errs := predict()
	if want == nil || device0 != "CPU" || !strings.HasPrefix(why, "the default; ") {
		t.Fatalf("labels %v on %s (%s), %s", want, device0, why, errs)
	}
	if len(device.Kinds()) == 0 { // a program without drivers
		labels, _, _, errs := predict("-device", "cuda")
		if labels != nil || !strings.Contains(errs, "cannot be labelled on a GPU") {
			t.Errorf("without a driver: %v, %q", labels, errs)
		}
		if labels, at, why, _ := predict("-device", "auto"); !slices.Equal(labels, want) || at != "CPU" || why == "" {
			t.Errorf("without a driver auto ran on %s (%s)", at, why)
		}
	}
	device.Register("TEST", func() (device.Driver, error) { return &simdevice.Sim{}, nil })
	defer device.Unregister("TEST")
	if labels, at, _, errs := predict("-device", "cuda"); !slices.Equal(labels, want) || at != "the simulator" {
		t.Errorf("labels %v on %s, want %v; %s", labels, at, want, errs)
	}
	if status, out, errs := runLine("predict", "-model", model, "-data", data, "-device", "auto"); status != exitOK ||
		!strings.Contains(out, "the simulator (which is there)") {
		t.Errorf("%d, %q, %q", status, out, errs)
	}
}
