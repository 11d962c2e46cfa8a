//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime returns the processor time of this process, of all threads together.
func processorTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
