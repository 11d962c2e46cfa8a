//go:build !amd64 || noasm

package kernel

// rowProduct adds x·B to y for one row: b is Bᵀ, m rows of len(x). Four sums at a time do not wait for each other; Gonum,
// without assembly, has one and is half as fast.
func rowProduct[T Float](x, b []T, m int, y []T) {
	k := len(x)
	j := 0
	for ; j+4 <= m; j += 4 {
		b0, b1, b2, b3 := b[j*k:], b[(j+1)*k:], b[(j+2)*k:], b[(j+3)*k:]
		b0, b1, b2, b3 = b0[:len(x)], b1[:len(x)], b2[:len(x)], b3[:len(x)]
		var s0, s1, s2, s3 T
		for i, v := range x {
			s0 += v * b0[i]
			s1 += v * b1[i]
			s2 += v * b2[i]
			s3 += v * b3[i]
		}
		y[j] += s0
		y[j+1] += s1
		y[j+2] += s2
		y[j+3] += s3
	}
	for ; j < m; j++ {
		row := b[j*k:][:len(x)]
		s := T(0)
		for i, v := range x {
			s += v * row[i]
		}
		y[j] += s
	}
}
