package budget

import (
	"math"
	"syscall"
)

// machineMemory is the memory of the machine in bytes.
func machineMemory() int64 {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil || uint64(info.Totalram)*uint64(info.Unit) > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit))
}
