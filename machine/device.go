package machine

import "fmt"

// Device selects the device that computes a fit. The zero value selects a GPU if there is one, the fit can run on it, and the
// training is long enough. Otherwise it selects the CPU. The result records the device and the reason (Ran).
//
// A GPU gives other bits than the CPU or another type of GPU. GPUs of one type give the same bits in every fit.
type Device int

const (
	CPU  Device = iota + 1 // the CPU, even if there is a GPU
	CUDA                   // a GPU through CUDA; an error if there is none, or if the fit cannot run on it
)

var deviceNames = []string{"auto", "cpu", "cuda"}

// Known reports whether d is the zero value, CPU or CUDA.
func (d Device) Known() bool { return d >= 0 && int(d) < len(deviceNames) }

// String returns auto, cpu or cuda.
func (d Device) String() string {
	if !d.Known() {
		return fmt.Sprintf("unknown (%d)", int(d))
	}
	return deviceNames[d]
}

// MarshalText returns the name, as String does. An unknown device is an error.
func (d Device) MarshalText() ([]byte, error) {
	if !d.Known() {
		return nil, fmt.Errorf("machine: unknown device %d, want one of %q", int(d), deviceNames)
	}
	return []byte(deviceNames[d]), nil
}

// UnmarshalText sets d to the device named auto, cpu or cuda. Any other name is an error.
func (d *Device) UnmarshalText(text []byte) error {
	for i, name := range deviceNames {
		if name == string(text) {
			*d = Device(i)
			return nil
		}
	}
	return fmt.Errorf("machine: unknown device %q, want one of %q", text, deviceNames)
}

// Ran records where a network was trained, or where new samples were labelled.
type Ran struct {
	Device string `json:"device"` // "CPU", or the name of the GPU; "": unknown
	Why    string `json:"why"`    // the reason in a few words, with the parts of the fit that ran on the CPU nevertheless

	// Storage records where rows and state were kept, and why. It is empty unless Options.MaxMemory, or rows outside memory, left
	// a choice.
	Storage string `json:"storage,omitempty"`
}

// String returns device and reason in one line.
func (r Ran) String() string {
	switch {
	case r.Device == "":
		return "not known"
	case r.Why == "":
		return r.Device
	}
	return r.Device + " (" + r.Why + ")"
}
