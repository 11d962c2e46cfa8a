package main

import (
	"os"
	"runtime/debug"
)

// gcPercent is how much garbage may lie beside the live memory before it is collected.
//
// Nearly all that lives here is a few large arrays without pointers (the views and the state of the samples), which cost
// the collector nothing to mark: it may run often. With Go's 100, what reading and k-means leave behind may take as much
// memory again as the data before it is given back; at 10 the peak stays within about a tenth of what is in use.
const gcPercent = 10

// boundMemory keeps the process near the memory that it uses, unless the environment says otherwise.
func boundMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
