package features

import "math/bits"

// LBP is the histogram of local binary patterns (T. Ojala, M. Pietikäinen and T. Mäenpää, PAMI 24, 2002): the eight
// neighbours of a pixel, in a ring, are 1 where they are at least as bright and 0 else. A ring with at most two changes
// between 0 and 1 is an edge, a corner, a spot or flat, told apart by its number of ones, 0 to 8, however it is turned; all other
// rings are one class, the tenth. In each cell the classes are counted, as shares of its pixels.
type LBP struct{ grid }

// patterns is the number of classes of a ring of eight.
const patterns = 10

// NewLBP returns the descriptor of images of the given size in pixels, with square cells of cell pixels.
func NewLBP(width, height, cell int) (*LBP, error) {
	g, err := newGrid(width, height, cell)
	if err != nil {
		return nil, err
	}
	return &LBP{g}, nil
}

// Len is ten times the number of cells.
func (l *LBP) Len() int { return patterns * l.nx * l.ny }

// Describe writes the shares, cell by cell.
func (l *LBP) Describe(dst []float32, pixels []uint8) {
	clear(dst[:l.Len()])
	one := 1 / float32(l.cell*l.cell)
	for y := range l.ny * l.cell {
		for x := range l.nx * l.cell {
			cell := (y/l.cell)*l.nx + x/l.cell
			dst[cell*patterns+l.class(pixels, x, y)] += one
		}
	}
}

// class returns the class of the ring around a pixel; outside the image the border goes on.
func (l *LBP) class(pixels []uint8, x, y int) int {
	centre := pixels[y*l.width+x]
	ring := uint8(0)
	for i, d := range [8][2]int{{1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}, {0, -1}, {1, -1}} {
		u, v := min(max(x+d[0], 0), l.width-1), min(max(y+d[1], 0), l.height-1)
		if pixels[v*l.width+u] >= centre {
			ring |= 1 << i
		}
	}
	if bits.OnesCount8(ring^bits.RotateLeft8(ring, 1)) > 2 {
		return patterns - 1
	}
	return bits.OnesCount8(ring)
}
