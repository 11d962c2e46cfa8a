package testutil

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// Allocated is the memory that f takes in all, whether or not it is given back.
func Allocated(f func()) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	f()
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}

// MostHeld returns by how many bytes the heap grows at most while f runs, looked at every millisecond, garbage that is not yet
// collected included. Of work that allocates again and again it says what a machine needs, where Allocated grows with the time.
func MostHeld(f func()) uint64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	held := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := held()
	most := before
	done, looked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looked)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, held())
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	f()
	close(done)
	<-looked
	return max(most, held()) - before
}
