package rows

import (
	"runtime"
	"runtime/debug"
)

// largeValues is the number of values of the views from which ReturnMemory collects.
const largeValues = 16 << 20

// ReturnMemory collects garbage and returns free memory to the system if the views are large; values is their number of values.
// Without it the heap doubles before Go collects, and the views are most of the heap. A collection costs little, because views
// hold no pointers. Contents of a sync.Pool survive one collection.
func ReturnMemory(values int) {
	if values >= largeValues {
		runtime.GC()
		debug.FreeOSMemory()
	}
}
