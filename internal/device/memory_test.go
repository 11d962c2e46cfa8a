package device

import (
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/simdevice"
)

// TestMemoryIsGivenOnce: what was given back is not given back again in the end, which a driver refuses.
func TestMemoryIsGivenOnce(t *testing.T) {
	m := memory{drv: new(simdevice.Sim)}
	first := m.take(100, "the first")
	if second := m.take(200, "the second"); first == 0 || second == 0 || m.total != 2*granule {
		t.Fatalf("%d and %d, %d bytes in all, %v", first, second, m.total, m.err)
	}
	if err := m.give(first); err != nil {
		t.Fatal(err)
	}
	if err := m.release(); err != nil || len(m.taken) != 0 {
		t.Errorf("%v, %d left", err, len(m.taken))
	}
}
