package main

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// memoryCounters is PROCESS_MEMORY_COUNTERS.
type memoryCounters struct {
	size, pageFaults                   uint32
	peakWorkingSet, workingSet         uintptr
	quotaPeakPagedPool, quotaPagedPool uintptr
	quotaPeakNonPaged, quotaNonPaged   uintptr
	pagefile, peakPagefile             uintptr
}

var processMemory = windows.NewLazySystemDLL("kernel32.dll").NewProc("K32GetProcessMemoryInfo")

// peakRSS returns the largest working set of the process so far in bytes.
func peakRSS() (int64, bool) {
	if processMemory.Find() != nil {
		return 0, false
	}
	c := memoryCounters{size: uint32(unsafe.Sizeof(memoryCounters{}))}
	ok, _, _ := processMemory.Call(uintptr(windows.CurrentProcess()), uintptr(unsafe.Pointer(&c)), uintptr(c.size))
	return int64(c.peakWorkingSet), ok != 0
}
