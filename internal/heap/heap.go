// Package heap gives memory back between the stages of a fit.
package heap

import (
	"runtime"
	"runtime/debug"
)

// large is the number of values of views from which memory is collected between stages.
const large = 16 << 20

// Collect has the memory of a stage collected and given back to the system where the views, of so many values, are large: left
// to itself the collector lets the heap, most of which are the views, double first. It takes the time of marking what has
// pointers, which is next to nothing of them. What a sync.Pool holds outlives one collection.
func Collect(values int) {
	if values >= large {
		runtime.GC()
		debug.FreeOSMemory()
	}
}
