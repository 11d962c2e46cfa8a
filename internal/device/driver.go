package device

import (
	"fmt"

	"github.com/largemvc/largemvc/internal/driver"
)

// The types of a driver, which has a package of its own so that test drivers need not know this one.
type (
	Ptr    = driver.Ptr
	Driver = driver.Driver
	Module = driver.Module
	Launch = driver.Launch
)

// ErrNoMemory is driver.ErrNoMemory.
var ErrNoMemory = driver.ErrNoMemory

// MemoryError says that a device has not the memory that something takes. Nothing is allocated for it.
type MemoryError struct {
	What       string
	Need, Free int64 // bytes
	Device     string
	Shared     bool // of a block, not of the device
}

// Error names both figures, in GiB for those of the device.
func (e *MemoryError) Error() string {
	if e.Shared {
		return fmt.Sprintf("%s takes %d bytes of a block's shared memory, %s has %d", e.What, e.Need, e.Device, e.Free)
	}
	text := fmt.Sprintf("%s takes %.2f GiB of device memory, %s has %.2f GiB free", e.What, gib(e.Need), e.Device, gib(e.Free))
	if e.Need <= e.Free {
		text += ", but not in one piece"
	}
	return text
}

func gib(b int64) float64 { return float64(b) / (1 << 30) }
