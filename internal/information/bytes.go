package information

import (
	"math/bits"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/neighbor"
)

// Bytes is the memory of the regression on n rows of width columns with the default directions, and of the term of the loss
// that uses it, for m clusters, in numbers of size bytes.
func Bytes(n, width, m int, size int64) int64 {
	return int64(n) * int64(kernel.Pad(min(DefaultDirections(n), n, width))+2*kernel.Pad(m)) * size
}

// HeldOutScoreBytes is the memory of the held-out LabelScore of n samples in m clusters: the labels, and the predictions.
func HeldOutScoreBytes(n, m int, size int64) int64 { return 2 * int64(n) * int64(kernel.Pad(m)) * size }

// NeighborBytes is the memory of the neighbours' term for n rows and m clusters: Q, and A·Q of a graph, or for landmarks the
// tables of all chunks in work and of their tree.
func NeighborBytes(n, m, atoms, workers int, size int64) int64 {
	chunks := (n + parallel.MaxChunk - 1) / parallel.MaxChunk
	wide := int64(parallel.Workers(workers))
	parts := 2*wide + 2 + int64(bits.Len(uint(chunks)))
	rows := int64(2)
	if atoms > 0 {
		rows = 1
	}
	return (rows*int64(n)*size + int64(atoms)*(parts*8+(wide+1)*size)) * int64(kernel.Pad(m))
}

// LabelScoreBytes is the memory of a LabelScore of n samples in m clusters.
func LabelScoreBytes(n, m int, size int64) int64 {
	if m <= scoreColumns {
		return int64(n) * int64(2*neighbor.Stride(m)) * size
	}
	return int64(n)*2*scoreColumns*size + int64(m)*int64(m)*2*8
}
