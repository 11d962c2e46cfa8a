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
	clear(dst[:len(x)])
	AddTo(dst, x)
}

// Convert returns a copy of x in the element type.
func Convert[T Float](x []float64) []T {
	y := make([]T, len(x))
	for i, v := range x {
		y[i] = T(v)
	}
	return y
}
