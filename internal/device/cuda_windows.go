//go:build amd64 && !nogpu

package device

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// libraryOfCUDA is the library of the NVIDIA driver, in the folder of Windows' own libraries.
const libraryOfCUDA = "nvcuda.dll"

// findCUDA returns a function of the library, which it loads at the first call.
func findCUDA(name string) (uintptr, error) {
	library := windows.NewLazySystemDLL(libraryOfCUDA)
	if err := library.Load(); err != nil {
		return 0, fmt.Errorf("%w: %w", errNoCUDA, err)
	}
	f := library.NewProc(name)
	if err := f.Find(); err != nil {
		return 0, err
	}
	return f.Addr(), nil
}
