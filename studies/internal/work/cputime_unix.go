//go:build unix

package work

import (
	"syscall"
	"time"
)

// ProcessorTime returns the processor time of this process, of all threads together.
func ProcessorTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
