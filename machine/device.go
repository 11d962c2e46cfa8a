package machine

import "fmt"

// Device is where a fit does its work. The zero value takes a GPU where the program has a driver for one, there is one, and
// the fit can run on it; else the CPU. What ran, and why, is in the result.
//
// A GPU does not give the bits of the CPU, nor those of another kind of GPU; for one kind of GPU they are the same in every run.
type Device int

const (
	CPU  Device = iota + 1 // the processors, whatever else there is
	CUDA                   // a GPU through CUDA; without one, or where the fit cannot run on it, an error
)

var deviceNames = []string{"auto", "cpu", "cuda"}

// Known says whether there is such a device.
func (d Device) Known() bool { return d >= 0 && int(d) < len(deviceNames) }

// String returns auto, cpu or cuda.
func (d Device) String() string {
	if !d.Known() {
		return fmt.Sprintf("unknown (%d)", int(d))
	}
	return deviceNames[d]
}

// MarshalText returns the name.
func (d Device) MarshalText() ([]byte, error) {
	if !d.Known() {
		return nil, fmt.Errorf("machine: unknown device %d, want one of %q", int(d), deviceNames)
	}
	return []byte(deviceNames[d]), nil
}

// UnmarshalText reads a name.
func (d *Device) UnmarshalText(text []byte) error {
	for i, name := range deviceNames {
		if name == string(text) {
			*d = Device(i)
			return nil
		}
	}
	return fmt.Errorf("machine: unknown device %q, want one of %q", text, deviceNames)
}

// Ran says where a network was trained, or new samples went through it.
type Ran struct {
	Device string `json:"device"` // "CPU", or the name of the device; "": it is not known
	Why    string `json:"why"`    // in a few words; what else of the fit was left to the CPU too

	// Storage says where rows and state were kept, and why, where Options.MaxMemory or rows outside memory left a choice;
	// else "".
	Storage string `json:"storage,omitempty"`
}

// String returns both.
func (r Ran) String() string {
	switch {
	case r.Device == "":
		return "not known"
	case r.Why == "":
		return r.Device
	}
	return r.Device + " (" + r.Why + ")"
}
