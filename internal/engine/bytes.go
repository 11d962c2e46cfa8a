package engine

import (
	"math/bits"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// NetworkBytes is the memory of a network and of a pass that does not grow with the number of samples n: m×d_v matrices for each
// view and layer, and m×m ones. Numbers of the arithmetic have size bytes.
func NetworkBytes(spec *Spec, n int, size int64) int64 {
	m, layers := int64(spec.Anchors), int64(spec.Layers)
	padded := int64(kernel.Pad(spec.Anchors))
	all := (n + ChunkRows(spec, false) - 1) / ChunkRows(spec, false)
	chunks := int64(min(2*parallel.Workers(spec.Workers), all)) // in work, or waiting for addition
	parts := chunks + int64(bits.Len(uint(all)))                // sums in float64, of the chunks and in the tree
	var b int64
	for _, dim := range spec.Dims {
		d := int64(dim)
		k := min(m, d)
		pad := int64(kernel.Pad(int(k)))
		b += 3*m*d*8 + m*d*8 // scratch, P of the start
		b += parts * (m*d + 3*m*m) * 8
		b += chunks * m * d * size // M of a chunk
		b += 3 * padded * d * size // packed P and dM
		b += chunks * 3 * m * m * size
		if spec.Anchored {
			b += layers * (3*m*d + 5*m*d + 7*k*pad + 2*k*k + 3*m*m) * 8 // P, its cotangent and decomposition, C, K, W
		}
	}
	return b + chunks*2*m*m*size
}
