package main

import (
	"bytes"
	"os"
	"strconv"
)

// peakRSS returns the largest resident memory of the process so far in bytes, from the kernel.
func peakRSS() (int64, bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(status) {
		fields := bytes.Fields(line)
		if len(fields) == 3 && string(fields[0]) == "VmHWM:" && string(fields[2]) == "kB" {
			kib, err := strconv.ParseInt(string(fields[1]), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}
