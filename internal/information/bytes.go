package information

import (
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/neighbor"
)

// Bytes is the memory of the regression on n rows of width columns with the default directions, and of the term of the loss
// that uses it, for m clusters, in numbers of size bytes.
func Bytes(n, width, m int, size int64) int64 {
	return int64(n) * int64(kernel.Pad(min(DefaultDirections(n), n, width))+4*kernel.Pad(m)) * size
}

// LabelScoreBytes is the memory of a LabelScore of n samples in m clusters.
func LabelScoreBytes(n, m int, size int64) int64 {
	return int64(n) * int64(2*neighbor.Stride(m)) * size
}
