package score

import (
	"math"

	"github.com/largemvc/largemvc/internal/rows"
)

const (
	// Rows whose columns extend from 2^−extentBits to 2^extentBits have squared distances that neither overflow nor vanish.
	extentBits = 300
	// Columns whose values are in this range have finite sums.
	sumBits = 900
)

// inRange returns rows whose squared distances neither overflow nor vanish. It returns x, or, if x extends too far or too little,
// its rows less the first one, times a power of two. This changes no index.
func inRange(x *rows.Dense[float64]) *rows.Dense[float64] {
	largest, widest := rows.Extent(x)
	n, d := x.Dims()
	if widest == 0 { // means of equal rows would not be exact
		return rows.NewDense(n, d, d, make([]float64, n*d))
	}
	_, bits := math.Frexp(widest)
	if bits >= -extentBits && bits <= extentBits { // bits is 0 if all rows are equal
		bits = 0
	}
	if bits == 0 && largest < math.Ldexp(1, sumBits) {
		return x
	}
	data, first := make([]float64, n*d), x.View(0)
	for i := range n {
		for j, a := range x.View(i) {
			if bits > 0 { // The difference itself might overflow.
				data[i*d+j] = math.Ldexp(a, -bits) - math.Ldexp(first[j], -bits)
			} else {
				data[i*d+j] = math.Ldexp(a-first[j], -bits)
			}
		}
	}
	return rows.NewDense(n, d, d, data)
}
