package device

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/simdevice"
)

// The selftest of a sound device finds nothing wrong, and tells of every outcome; one whose sums are off in the fourth digit is
// found out, and columns that there are not are an error.
func TestSelftest(t *testing.T) {
	var seen []string
	tell := func(c Check) error {
		seen = append(seen, c.What)
		if !c.OK() {
			t.Errorf("%s is %v off, %v is allowed", c.What, c.Off, c.Allowed)
		}
		return nil
	}
	if err := Selftest(t.Context(), &simdevice.Sim{}, 100, tell); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(seen, "\n")
	for _, want := range []string{"77 × 43, m = 7, float32: gradients", "float64: H", "seconds an epoch", "projection", "Gram",
		"nearest"} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing is said of %q:\n%s", want, all)
		}
	}
	wrong := 0
	if err := Selftest(t.Context(), &inexact{}, 100, func(c Check) error {
		if !c.OK() {
			wrong++
		}
		return nil
	}); err == nil || wrong < 4 {
		t.Errorf("%d findings on a device that is wrong, %v", wrong, err)
	}
	if bad := (Check{Off: math.Inf(1), Allowed: 1}); bad.OK() {
		t.Error("an infinite error is fine")
	}
}

// The step measures each kernel of the device, and finds a device with wrong products.
func TestCeilings(t *testing.T) {
	const small, tensor, pass = "times_transposed_small, ", "tensor_times_narrow, float32", "one_less, read and written"
	for _, c := range []struct {
		drv  Driver
		want []string
		ok   bool
	}{
		{&simdevice.Sim{}, []string{small + "float32", tensor, pass, small + "float64"}, true},
		{&simdevice.Sim{Target: "sm_70"}, []string{small + "float32", pass, small + "float64"}, true},
		{&inexact{}, []string{small + "float32", tensor, pass, small + "float64"}, false},
	} {
		var seen []string
		err := ceilings(15)(t.Context(), c.drv, func(found map[string]any) error {
			what := found["what"].(string)
			seen = append(seen, what)
			rate, product := found["tflops"].(float64)
			if !product {
				rate = found["gb_per_second"].(float64)
			} else if found["ok"] != c.ok || found["rows"] != 15 {
				t.Errorf("%s: %v", what, found)
			}
			if halves, ok := found["tflops_of_halves"]; ok != (what == tensor) || ok && halves != 3*rate || !(rate > 0) {
				t.Errorf("%s: rates %v", what, found)
			}
			return nil
		})
		if err != nil || !slices.Equal(seen, c.want) {
			t.Errorf("measured %q, want %q, %v", seen, c.want, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ceilings(15)(ctx, &simdevice.Sim{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled step: %v", err)
	}
}

// inexact is the simulator with what it gives back changed a little.
type inexact struct{ simdevice.Sim }

func (s *inexact) Download(dst []byte, p Ptr) error {
	err := s.Sim.Download(dst, p)
	for i := 6; i < len(dst); i += 8 { // of a float64, and of every other float32
		dst[i] ^= 1
	}
	return err
}
