package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestGarbagePercent(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 100}, {48 << 20, 100}, {96 << 20, 50}, {240 << 20, 20}, {480 << 20, 10}, {1 << 40, 10}, {math.MaxUint64, 10}} {
		if got := garbagePercent(c.live); got != c.want {
			t.Errorf("%d live bytes: %d %%, want %d", c.live, got, c.want)
		}
	}
}

// After a collection the percentage follows the live bytes; a test has few.
func TestPercentFollowsCollections(t *testing.T) {
	debug.SetGCPercent(7)
	afterCollection(7)
	now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		if metrics.Read(now); now[0].Value.Uint64() >= gcPercent {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d %% after collections", now[0].Value.Uint64())
		}
	}
}
