package engine

import "github.com/largemvc/largemvc/internal/kernel"

// StateBytes is the memory of a shard's row state for n rows of elements of the given size. start is the number of n×m matrices
// of a given initial state: H, and one for E of each view.
func StateBytes(s *Spec, n, size, start int, training bool) int64 {
	views, layers, ld := len(s.Dims), s.Layers, kernel.Pad(s.Anchors)
	states := layers + start // H
	if s.Anchored {
		states += layers * views // Y
	} else {
		states += views
	}
	if training {
		states++ // dH
		if s.Represent == SELU {
			states += layers * views // A
		}
	}
	perRow := int64(states*ld*size) + int64(views)*8 + int64(size)
	if s.Represent == ReLU {
		perRow += int64(layers * views * ld / 4)
	}
	if s.Noise {
		perRow += int64(layers * views * (2*size + 1))
	}
	if training {
		perRow += int64(views * size)
	}
	return perRow * int64(n)
}

// SparedBytes is the part of StateBytes in spare memory: n rows in each of some arrays with the given columns.
func SparedBytes(s *Spec, n, size int, spare []int) int64 {
	ld, states := kernel.Pad(s.Anchors), len(s.Dims)
	if s.Anchored {
		states *= s.Layers
	}
	room := 0
	for _, columns := range spare {
		room += columns / ld
	}
	return int64(min(room, states)) * int64(n) * int64(ld*size)
}
