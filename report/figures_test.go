package report

import (
	"slices"
	"testing"
)

// The map keeps the shape of what it shows, in its middle: the first coordinate goes to the right, the second up.
func TestFit(t *testing.T) {
	x, y := fit([]float64{-1, 1, 3}, []float64{10, 12, 10})
	scale := (mapHeight - 2.*mapMargin) / 2
	if perUnit := (mapWidth - 2.*mapMargin) / 4; perUnit < scale {
		scale = perUnit
	}
	wantX := []float64{mapWidth/2 - 2*scale, mapWidth / 2, mapWidth/2 + 2*scale}
	wantY := []float64{mapHeight/2 + scale, mapHeight/2 - scale, mapHeight/2 + scale}
	if !slices.Equal(x, wantX) || !slices.Equal(y, wantY) {
		t.Errorf("%v, %v, want %v, %v", x, y, wantX, wantY)
	}
}
