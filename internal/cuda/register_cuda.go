//go:build cuda

package cuda

import "gorgonia.org/gorgonia"

// The kernels are known to every machine that is made from here on. Without a device they are not: an elementwise operation is
// then computed on the CPU where Gorgonia knows how, and otherwise its error names the kernel that is missing.
func init() {
	if Missing() == "" {
		Register()
	}
}

// Register makes the elementwise kernels known to Gorgonia's machines.
func Register() {
	for _, l := range elementwise() {
		gorgonia.AddToStdLib(l.name, l.text, l.kernels())
	}
}
