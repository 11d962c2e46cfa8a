//go:build !android && (amd64 || arm64) && !nogpu

package device

import (
	"fmt"
	"strings"

	"github.com/ebitengine/purego"
)

// libraryOfCUDA is the library of the NVIDIA driver.
const libraryOfCUDA = "libcuda.so.1"

// findCUDA returns a function of the library, which it loads at the first call.
func findCUDA(name string) (uintptr, error) {
	library, err := purego.Dlopen(libraryOfCUDA, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return 0, fmt.Errorf("%w: %s", errNoCUDA, strings.TrimSpace(err.Error()))
	}
	return purego.Dlsym(library, name)
}
