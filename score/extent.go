package score

import (
	"math"

	"github.com/largemvc/largemvc/internal/rows"
)

const (
	// Rows whose columns extend from 2^−extentBits to 2^extentBits have squared distances that are neither infinite nor zero.
	extentBits = 300
	// Columns of such values can be added up.
	sumBits = 900
)

// inRange returns rows whose squared distances can be told apart: those given, or where these extend too far or too little the
// same less their first one, times a power of two, which changes no index.
func inRange(x *rows.Dense[float64]) *rows.Dense[float64] {
	largest, widest := rows.Extent(x)
	_, bits := math.Frexp(widest)
	if bits >= -extentBits && bits <= extentBits { // 0 where all rows are equal
		bits = 0
	}
	if bits == 0 && largest < math.Ldexp(1, sumBits) {
		return x
	}
	n, d := x.Dims()
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
