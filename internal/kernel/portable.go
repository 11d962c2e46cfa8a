package kernel

import "math"

// mulPortable is Mul row by row with inner products, for a panel that holds Bᵀ.
func mulPortable[T Float](n int, x []T, ldx int, b *Panel[T], y []T, ldy int, add bool) {
	for i := range n {
		yi := y[i*ldy : i*ldy+Pad(b.m)]
		if !add {
			clear(yi)
		}
		rowProduct(x[i*ldx:i*ldx+b.k], b.data, b.m, yi)
	}
}

// mulRowsTPortable is MulRowsT with four sums for each element, which do not wait for each other.
func mulRowsTPortable(n, m, k int, x []float64, ldx int, y []float64, ldy int, c []float64, ldc int) {
	for i := range n {
		for j := range m {
			u, v := x[i*ldx:i*ldx+k], y[j*ldy:j*ldy+k]
			var s0, s1, s2, s3 float64
			for ; len(u) >= 4 && len(v) >= 4; u, v = u[4:], v[4:] {
				s0 += u[0] * v[0]
				s1 += u[1] * v[1]
				s2 += u[2] * v[2]
				s3 += u[3] * v[3]
			}
			for q, e := range u {
				s0 += e * v[q]
			}
			c[i*ldc+j] = (s0 + s1) + (s2 + s3)
		}
	}
}

// tmulPortable is TMulAdd with four rows at a time, which saves three of four passes over C. Each element of C is summed
// in the order of the rows.
func tmulPortable[T Float](n, m, d int, a []T, lda int, x []T, ldx int, c []T, ldc int) {
	i := 0
	for ; i+4 <= n; i += 4 {
		x0, x1, x2, x3 := x[i*ldx:], x[(i+1)*ldx:], x[(i+2)*ldx:], x[(i+3)*ldx:]
		for j := range m {
			cj := c[j*ldc : j*ldc+d]
			x0, x1, x2, x3 := x0[:len(cj)], x1[:len(cj)], x2[:len(cj)], x3[:len(cj)]
			a0, a1, a2, a3 := a[i*lda+j], a[(i+1)*lda+j], a[(i+2)*lda+j], a[(i+3)*lda+j]
			for q, v := range cj {
				cj[q] = v + a0*x0[q] + a1*x1[q] + a2*x2[q] + a3*x3[q]
			}
		}
	}
	for ; i < n; i++ {
		xi := x[i*ldx : i*ldx+d]
		for j, w := range a[i*lda : i*lda+m] {
			cj := c[j*ldc : j*ldc+d]
			for q, v := range xi {
				cj[q] += w * v
			}
		}
	}
}

func rowScalePortable[T Float](dst, src, s []T, ld int) {
	for i, w := range s {
		d := dst[i*ld : (i+1)*ld]
		for j, v := range src[i*ld : (i+1)*ld] {
			d[j] = w * v
		}
	}
}

func rowAxpyPortable[T Float](dst, src, s []T, ld int) {
	for i, w := range s {
		d := dst[i*ld : (i+1)*ld]
		for j, v := range src[i*ld : (i+1)*ld] {
			d[j] += w * v
		}
	}
}

func rowDiffAxpyPortable[T Float](dst, a, b, s []T, ld int) {
	for i, w := range s {
		for j := i * ld; j < (i+1)*ld; j++ {
			dst[j] += w * (a[j] - b[j])
		}
	}
}

func rowLerpPortable[T Float](dst, y, z, t []T, ld int) {
	for i, w := range t {
		for j := i * ld; j < (i+1)*ld; j++ {
			dst[j] = w*y[j] + (1-w)*z[j]
		}
	}
}

func rowLerpAxpyPortable[T Float](dst, a, b, s []T, ld int) {
	for i, c := range s {
		for j := i * ld; j < (i+1)*ld; j++ {
			dst[j] += c * a[j]
			dst[j] += (1 - c) * b[j]
		}
	}
}

func rowSplitPortable[T Float](first, rest, src, s []T, ld int) {
	for i, c := range s {
		for j := i * ld; j < (i+1)*ld; j++ {
			first[j], rest[j] = c*src[j], (1-c)*src[j]
		}
	}
}

func rowDotPortable[T Float](dst []float64, a, b []T, ld int) {
	for i := range dst {
		var s [16]float64
		for j := i * ld; j < (i+1)*ld; j += 16 {
			u, v := a[j:j+16], b[j:j+16]
			for l := range s {
				s[l] += float64(u[l]) * float64(v[l])
			}
		}
		dst[i] = fold(&s)
	}
}

func rowResidualPortable[T Float](dst []float64, h, k, y []T, ld int) {
	for i := range dst {
		var s [16]float64
		for j := i * ld; j < (i+1)*ld; j += 16 {
			u, v, w := h[j:j+16], k[j:j+16], y[j:j+16]
			for l := range s {
				s[l] += float64(u[l]) * (float64(v[l]) - 2*float64(w[l]))
			}
		}
		dst[i] = fold(&s)
	}
}

func thresholdPortable[T Float](acc, a []T, theta T, w []T, pattern []uint8, ld int, oneSided bool) {
	for i, wi := range w {
		pos := pattern[i*ld/4 : i*ld/4+ld/8]
		neg := pattern[i*ld/4+ld/8 : i*ld/4+ld/4]
		for b := range pos {
			at := i*ld + 8*b
			var up, down uint8
			c := acc[at : at+8]
			for j, v := range a[at : at+8] {
				p, q := max(v-theta, 0), max(-v-theta, 0) // NaN stays NaN
				if oneSided {
					q = 0
				}
				up |= bit(p != 0) << j
				down |= bit(q != 0) << j
				c[j] += wi * (p - q)
			}
			pos[b], neg[b] = up, down
		}
	}
}

// bit is 1 for true, without a branch.
func bit(b bool) uint8 {
	var v uint8
	if b {
		v = 1
	}
	return v
}

func thresholdGradPortable[T Float](g, dh, w []T, pattern []uint8, ld int) float64 {
	var s [16]float64
	for i, wi := range w {
		pos := pattern[i*ld/4 : i*ld/4+ld/8]
		neg := pattern[i*ld/4+ld/8 : i*ld/4+ld/4]
		for j := range ld {
			p, q := T(pos[j/8]>>(j%8)&1), T(neg[j/8]>>(j%8)&1)
			v := wi * dh[i*ld+j]
			g[i*ld+j] = v * (p + q)
			s[j%16] += float64(v * (q - p))
		}
	}
	return fold(&s)
}

// portableChains is the number of independent sums of peakPortable.
const portableChains = 12

// peakPortable is the loop of PeakFMA in Go. It returns a sum to keep the work alive.
func peakPortable[T Float](turns int) T {
	var s [portableChains]T
	x, y := T(1), T(0)
	for range turns {
		for j := range s {
			s[j] += x * y
		}
	}
	return s[0]
}

// Largest returns the index of the largest element of x, the first of equal ones; NaN never wins. It is 0 where there is
// none.
func Largest[T Float](x []T) int {
	best, at := math.Inf(-1), 0
	for j, v := range x {
		if float64(v) > best {
			best, at = float64(v), j
		}
	}
	return at
}
