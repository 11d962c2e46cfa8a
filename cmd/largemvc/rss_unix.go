//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package main

import (
	"runtime"
	"syscall"
)

// peakRSS returns the largest resident memory of the process so far in bytes.
func peakRSS() (int64, bool) {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0, false
	}
	if runtime.GOOS == "darwin" {
		return int64(use.Maxrss), true // bytes there, KiB elsewhere
	}
	return int64(use.Maxrss) << 10, true
}
