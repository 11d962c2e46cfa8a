// Package features describes grey images by histograms: of gradients (HOG) and of local binary patterns (LBP). They are
// two further views of the same images besides their pixels.
package features

import (
	"context"
	"fmt"

	"github.com/largemvc/largemvc/internal/parallel"
)

// Descriptor turns an image of a fixed size into a vector. It is safe for concurrent use.
type Descriptor interface {
	// Len is the length of the vector.
	Len() int
	// Describe writes the vector of an image (row by row) to dst, which has Len elements.
	Describe(dst []float32, pixels []uint8)
}

var (
	_ Descriptor = (*HOG)(nil)
	_ Descriptor = (*LBP)(nil)
	_ Descriptor = Pixels(0)
)

// Pixels is the image itself, as this number of values from 0 to 1.
type Pixels int

// Len is the number of pixels.
func (p Pixels) Len() int { return int(p) }

// Describe writes the pixels.
func (p Pixels) Describe(dst []float32, pixels []uint8) {
	for i, v := range pixels[:p] {
		dst[i] = float32(v) / 255
	}
}

// All describes images of equal size, which follow each other in pixels, and returns the n×Len matrix, row-major.
func All(ctx context.Context, d Descriptor, pixels []uint8, n, workers int) ([]float32, error) {
	if n < 1 || len(pixels) < n || len(pixels)%n != 0 {
		return nil, fmt.Errorf("features: %d pixels for %d images", len(pixels), n)
	}
	size, k := len(pixels)/n, d.Len()
	out := make([]float32, n*k)
	const chunk = 64
	err := parallel.For(ctx, workers, (n+chunk-1)/chunk, func(_, c int) error {
		for i := c * chunk; i < min((c+1)*chunk, n); i++ {
			d.Describe(out[i*k:(i+1)*k], pixels[i*size:(i+1)*size])
		}
		return nil
	})
	return out, err
}

// grid is an image cut into cells of cell×cell pixels; what is left over at the right and the bottom is not used.
type grid struct {
	width, height, cell int
	nx, ny              int // cells
}

func newGrid(width, height, cell int) (grid, error) {
	g := grid{width: width, height: height, cell: cell}
	if cell < 1 || width < cell || height < cell {
		return g, fmt.Errorf("features: cells of %d pixels in an image of %d×%d", cell, width, height)
	}
	g.nx, g.ny = width/cell, height/cell
	return g, nil
}
