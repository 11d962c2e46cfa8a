package rows

import "math"

// Extent returns the largest absolute value of some rows, and the largest difference of two values of a column, or MaxFloat64
// where that is larger.
func Extent(x *Dense[float64]) (largest, widest float64) {
	n, d := x.Dims()
	if n == 0 {
		return 0, 0
	}
	low, high := make([]float64, d), make([]float64, d)
	copy(low, x.View(0))
	copy(high, x.View(0))
	for i := range n {
		for j, a := range x.View(i) {
			if a < low[j] {
				low[j] = a
			} else if a > high[j] {
				high[j] = a
			}
		}
	}
	for j := range low {
		largest = max(largest, math.Abs(low[j]), math.Abs(high[j]))
		widest = max(widest, min(high[j]-low[j], math.MaxFloat64))
	}
	return largest, widest
}
