package device

import (
	"fmt"

	"github.com/largemvc/largemvc/internal/driver"
)

// The types of a driver have their own package, so that test drivers need not import this one.
type (
	Ptr    = driver.Ptr
	Driver = driver.Driver
	Module = driver.Module
	Launch = driver.Launch
)

// ErrNoMemory is driver.ErrNoMemory.
var ErrNoMemory = driver.ErrNoMemory

// MemoryError means that a device has too little memory. Nothing is allocated.
type MemoryError struct {
	What       string
	Need, Free int64 // bytes
	Device     string
	Shared     bool // the shared memory of a block, not of the device
}

// Error returns both figures, in GiB for memory of the device.
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
