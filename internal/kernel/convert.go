package kernel

// Float64s returns a copy of x in float64.
func Float64s[T Float](x []T) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// Widen sets dst to x in float64; the sign of a zero is lost.
func Widen[T Float](dst []float64, x []T) {
	const block = 2048 // stays in a core's first-level cache between the two loops
	for lo := 0; lo < len(x); lo += block {
		hi := min(lo+block, len(x))
		clear(dst[lo:hi])
		AddTo(dst[lo:hi], x[lo:hi])
	}
}

// Convert returns a copy of x in the element type.
func Convert[T Float](x []float64) []T {
	y := make([]T, len(x))
	for i, v := range x {
		y[i] = T(v)
	}
	return y
}
