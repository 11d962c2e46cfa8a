//go:build cuda

package largemvc

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/cuda"
	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/testrig/fake"
	"github.com/largemvc/largemvc/machine"
)

// registered are the kinds of devices that this program has.
var registered []device.Kind

// card says that there is a real card, which the tests then use. It is asked before the tests put one of the simulator there.
var card = cuda.Missing() == ""

// Without a card, the tests have one of the simulator, for Gorgonia's machines. Fits are on the CPU unless a test asks for the
// card: the simulator is slow.
func init() {
	if !card {
		fake.Install(fake.Ampere)
		cuda.Register()
	}
	registered = device.Kinds()
	device.Unregister("CUDA")
}

// TestCUDAFit: a whole fit through gorgonia.org/cu, with a loss term of Gorgonia's own operations, whose gradients by H and by a
// parameter take part, has the losses and the labels of the CPU.
func TestCUDAFit(t *testing.T) {
	if len(registered) != 1 {
		t.Fatalf("kinds of devices: %v", registered)
	}
	device.Register(registered[0].Name, registered[0].Open)
	defer device.Unregister(registered[0].Name)
	views, config := shallow()
	config.ExtraLoss = func(net Network) (*Node, error) {
		h, err := net.H(1)
		if err != nil {
			return nil, err
		}
		term, err := gorgonia.Mean(must(gorgonia.Square(h)))
		if err != nil {
			return nil, err
		}
		theta := net.Learnables()[0]
		return gorgonia.Add(term, must(gorgonia.Square(theta)))
	}
	want, got := mustFit(t, views, on(machine.CPU, config)), mustFit(t, views, on(machine.CUDA, config))
	if !slices.Equal(got.Labels, want.Labels) {
		t.Errorf("labels %v, on the CPU %v", got.Labels, want.Labels)
	}
	for e, x := range want.Loss {
		if math.Abs(got.Loss[e]-x) > 1e-4*math.Abs(x) {
			t.Errorf("epoch %d: the loss is %v, on the CPU %v", e, got.Loss[e], x)
		}
	}
	if got.Ran.Device == "CPU" || want.Ran.Device != "CPU" {
		t.Errorf("ran on %v and %v", got.Ran, want.Ran)
	}
	plain := config
	plain.ExtraLoss = nil
	if without := mustFit(t, views, on(machine.CPU, plain)); without.Loss[len(without.Loss)-1] == want.Loss[len(want.Loss)-1] {
		t.Error("the term takes no part")
	}
}
