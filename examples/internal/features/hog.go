package features

import (
	"fmt"
	"math"
)

// HOG is the histogram of oriented gradients (N. Dalal and B. Triggs, CVPR 2005): in each cell of the image a histogram of
// the directions of the gradient, opposite ones being the same, in which a pixel counts as much as its gradient is long,
// shared between the two nearest directions and the four nearest cells. Blocks of neighbouring cells, which overlap, are
// scaled to length 1, cut at 0.2 and scaled again, so that contrast does not count.
type HOG struct {
	grid
	bins, block int
}

// clipHOG is where a component of a block is cut ("L2-Hys" in the paper).
const clipHOG = 0.2

// NewHOG returns the descriptor of images of the given size in pixels, with square cells of cell pixels and square blocks of
// block cells.
func NewHOG(width, height, cell, block, bins int) (*HOG, error) {
	g, err := newGrid(width, height, cell)
	if err != nil {
		return nil, err
	}
	if block < 1 || block > min(g.nx, g.ny) || bins < 1 {
		return nil, fmt.Errorf("features: blocks of %d×%d cells of %d directions, there are %d×%d cells",
			block, block, bins, g.nx, g.ny)
	}
	return &HOG{grid: g, bins: bins, block: block}, nil
}

// Len is bins times the number of cells of all blocks.
func (h *HOG) Len() int {
	return h.bins * h.block * h.block * (h.nx - h.block + 1) * (h.ny - h.block + 1)
}

// Describe writes the histograms, block by block, in it cell by cell.
func (h *HOG) Describe(dst []float32, pixels []uint8) {
	cells := h.cells(pixels)
	at := 0
	row := h.block * h.bins
	block := make([]float64, h.block*row)
	for y := range h.ny - h.block + 1 {
		for x := range h.nx - h.block + 1 {
			for i := range h.block {
				copy(block[i*row:(i+1)*row], cells[((y+i)*h.nx+x)*h.bins:])
			}
			normalise(block)
			for i, v := range block {
				block[i] = min(v, clipHOG)
			}
			normalise(block)
			for i, v := range block {
				dst[at+i] = float32(v)
			}
			at += len(block)
		}
	}
}

// cells returns the histograms of all cells.
func (h *HOG) cells(pixels []uint8) []float64 {
	cells := make([]float64, h.nx*h.ny*h.bins)
	at := func(x, y int) float64 {
		return float64(pixels[min(max(y, 0), h.height-1)*h.width+min(max(x, 0), h.width-1)])
	}
	for y := range h.ny * h.cell {
		y0, wy := share(y, h.cell)
		for x := range h.nx * h.cell {
			dx, dy := at(x+1, y)-at(x-1, y), at(x, y+1)-at(x, y-1)
			length := math.Hypot(dx, dy)
			if length == 0 {
				continue
			}
			angle := math.Atan2(dy, dx) / math.Pi // modulo 1
			if angle < 0 {
				angle++
			}
			direction := angle*float64(h.bins) - 0.5 // bin k is centred at k
			below := math.Floor(direction)
			upper := direction - below
			k := (int(below) + h.bins) % h.bins
			x0, wx := share(x, h.cell)
			for i, w := range [2]float64{1 - wy, wy} {
				for j, u := range [2]float64{1 - wx, wx} {
					if y0+i < 0 || y0+i >= h.ny || x0+j < 0 || x0+j >= h.nx {
						continue
					}
					c := cells[((y0+i)*h.nx+x0+j)*h.bins:]
					c[k] += w * u * length * (1 - upper)
					c[(k+1)%h.bins] += w * u * length * upper
				}
			}
		}
	}
	return cells
}

// share returns the first of the two cells along an axis whose centres are nearest to a pixel, and the second one's share.
func share(pixel, cell int) (first int, second float64) {
	p := (float64(pixel)+0.5)/float64(cell) - 0.5
	f := math.Floor(p)
	return int(f), p - f
}

// normalise scales x to length 1; what is negligible beside the range of pixels becomes nearly zero.
func normalise(x []float64) {
	sum := 1e-10
	for _, v := range x {
		sum += v * v
	}
	s := 1 / math.Sqrt(sum)
	for i := range x {
		x[i] *= s
	}
}
