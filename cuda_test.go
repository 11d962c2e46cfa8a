//go:build cuda

package largemvc

import (
	"github.com/largemvc/largemvc/internal/cuda"
	"github.com/largemvc/largemvc/internal/cuda/fake"
	"github.com/largemvc/largemvc/internal/device"
)

// Without a card, the tests have one of the simulator, for Gorgonia's machines. Fits are on the CPU unless a test asks for the
// card: the simulator is slow.
func init() {
	if cuda.Missing() != "" {
		fake.Install(fake.Ampere)
		cuda.Register()
	}
	device.Unregister("CUDA")
}
