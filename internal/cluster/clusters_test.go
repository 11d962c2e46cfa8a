package cluster

import (
	"math"
	"testing"
)

// A single column at norm 1 is 1 or −1 to the bit: k-means would take rounding for clusters.
func TestUnitRowsOfOneColumn(t *testing.T) {
	h := make([]float64, 16*64)
	for i := range 64 {
		h[16*i] = math.Pow(-1.7, float64(i-32)) / 3
	}
	h[16*5] = 0
	UnitRows(h, 1)
	for i := range 64 {
		if x := h[16*i]; x != 1 && x != -1 && (i != 5 || x != 0) {
			t.Errorf("row %d is %v", i, x)
		}
	}
}
