package main

import (
	"math"
	"testing"
)

func TestGarbagePercent(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 400}, {1 << 20, 400}, {48 << 20, 100}, {240 << 20, 20}, {480 << 20, 10}, {1 << 40, 10}, {math.MaxUint64, 10}} {
		if got := garbagePercent(c.live); got != c.want {
			t.Errorf("%d live bytes: %d %%, want %d", c.live, got, c.want)
		}
	}
}
