package main

import (
	"math"
	"testing"
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
