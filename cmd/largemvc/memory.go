package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The garbage that may lie beside the live memory before it is collected: gcPercent of it or leastGarbage bytes, whichever is
// more, but at most Go's own mostPercent of it.
//
// Nearly all memory of a fit of many samples is a few large arrays without pointers (the views and the state of the samples),
// which cost the collector nothing to mark: it may run often. With 100 %, what reading and k-means leave behind may take as much
// memory again as the data. With 10 %, a fit of few samples takes as much time for collections as for all else.
const (
	gcPercent    = 10
	mostPercent  = 100
	leastGarbage = 48 << 20
)

// boundMemory keeps the process near the memory that it uses, unless the environment says otherwise.
func boundMemory() {
	if os.Getenv("GOGC") == "" {
		afterCollection(mostPercent)
	}
}

// afterCollection sets the percentage after each collection from now on. Before the next one it has the value set.
func afterCollection(set int) {
	object := new(*byte) // has a pointer: of objects without, the collector may free some later
	runtime.AddCleanup(object, func(set int) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		percent := garbagePercent(live[0].Value.Uint64())
		if percent != set {
			debug.SetGCPercent(percent)
		}
		afterCollection(percent)
	}, set)
}

// garbagePercent is the percentage for a number of live bytes.
func garbagePercent(live uint64) int {
	return int(min(max(gcPercent, leastGarbage*100/max(live, 1)), mostPercent))
}
