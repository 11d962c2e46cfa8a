package rows

import "runtime"

// largeValues is the number of values of the views from which CollectGarbage collects.
const largeValues = 16 << 20

// CollectGarbage collects garbage if the views are large; values is their number of values. Without it the heap doubles before
// Go collects, and the views are most of the heap. A collection costs little, because views hold no pointers. Contents of a
// sync.Pool survive one collection. The memory stays with the process, which needs it again: to give it back and get it again
// took a tenth of a fit.
func CollectGarbage(values int) {
	if values >= largeValues {
		runtime.GC()
	}
}
