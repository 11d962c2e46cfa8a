// Package kernel holds the loops that cost: tall-skinny matrix products over row blocks and the elementwise work that
// goes with them, in float32 and float64.
//
// Matrices are row-major slices with an explicit stride. Row state (H, Y and their like, n×m) is stored with the stride
// Pad(m); its columns from m to Pad(m) are zero and stay zero, so that the kernels on it need no tails. Data (X, n×d)
// has any stride and any d, and no kernel reads or writes outside the rows that it was given.
//
// The result of a row never depends on how many rows are handed over together, on where the row lies among them, or on
// its alignment: the same row gives the same bits alone and in any block. (Sums over rows, as in TMulAdd, depend on the
// order of the rows alone.)
package kernel

import "unsafe"

// Float is the element type of data and row state.
type Float interface{ float32 | float64 }

// Is32 reports whether T is float32.
func Is32[T Float]() bool {
	var t T
	return unsafe.Sizeof(t) == 4
}

// Epsilon is the relative rounding error of T.
func Epsilon[T Float]() float64 {
	if Is32[T]() {
		return 0x1p-24
	}
	return 0x1p-53
}

// Pad rounds m up to the stride of row state: a multiple of 16, for both element types.
func Pad(m int) int { return (m + 15) &^ 15 }
