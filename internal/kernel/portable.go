package kernel

import "math"

// Panel is the right-hand side B (k×m) of Mul, packed for the kernels.
type Panel[T Float] struct {
	k, m int
	data []T // k×m, row-major (the portable form)
}

// Dims returns the size of B: k rows, m columns.
func (p *Panel[T]) Dims() (k, m int) { return p.k, p.m }

// Pack sets p to the k×m matrix b with stride ldb, reusing p's memory.
func Pack[T, S Float](p *Panel[T], k, m int, b []S, ldb int) {
	p.k, p.m = k, m
	if cap(p.data) < k*m {
		p.data = make([]T, k*m)
	}
	p.data = p.data[:k*m]
	for i := range k {
		for j := range m {
			p.data[i*m+j] = T(b[i*ldb+j])
		}
	}
}

// PackT sets p to the transpose of b (m×k with stride ldb), reusing p's memory.
func PackT[T, S Float](p *Panel[T], k, m int, b []S, ldb int) {
	p.k, p.m = k, m
	if cap(p.data) < k*m {
		p.data = make([]T, k*m)
	}
	p.data = p.data[:k*m]
	for i := range k {
		for j := range m {
			p.data[i*m+j] = T(b[j*ldb+i])
		}
	}
}

// Mul computes Y = X·B for n rows of X (stride ldx, k columns) into Y (stride ldy ≥ Pad(m)); with add, Y += X·B.
// The columns of Y from m to Pad(m) become zero (with add: stay as they are).
func Mul[T Float](n int, x []T, ldx int, b *Panel[T], y []T, ldy int, add bool) {
	for i := range n {
		xi, yi := x[i*ldx:i*ldx+b.k], y[i*ldy:i*ldy+Pad(b.m)]
		if !add {
			clear(yi)
		}
		for p, a := range xi {
			for j, v := range b.data[p*b.m : (p+1)*b.m] {
				yi[j] += a * v
			}
		}
	}
}

// TMulAdd computes C += Aᵀ·X over n rows: A has m columns (stride lda), X has d (stride ldx), C is m×d (stride ldc).
func TMulAdd[T Float](n, m, d int, a []T, lda int, x []T, ldx int, c []T, ldc int) {
	for i := range n {
		xi := x[i*ldx : i*ldx+d]
		for j, w := range a[i*lda : i*lda+m] {
			cj := c[j*ldc : j*ldc+d]
			for q, v := range xi {
				cj[q] += w * v
			}
		}
	}
}

// RowScale sets row i of dst to s[i]·(row i of src): len(s) rows with stride ld.
func RowScale[T Float](dst, src, s []T, ld int) {
	for i, w := range s {
		for j, v := range src[i*ld : (i+1)*ld] {
			dst[i*ld+j] = w * v
		}
	}
}

// RowAxpy adds s[i]·(row i of src) to row i of dst.
func RowAxpy[T Float](dst, src, s []T, ld int) {
	for i, w := range s {
		for j, v := range src[i*ld : (i+1)*ld] {
			dst[i*ld+j] += w * v
		}
	}
}

// RowDiffAxpy adds s[i]·(row i of a − row i of b) to row i of dst.
func RowDiffAxpy[T Float](dst, a, b, s []T, ld int) {
	for i, w := range s {
		for j := i * ld; j < (i+1)*ld; j++ {
			dst[j] += w * (a[j] - b[j])
		}
	}
}

// RowLerp sets row i of dst to t[i]·(row i of y) + (1−t[i])·(row i of z). dst may be y or z.
func RowLerp[T Float](dst, y, z, t []T, ld int) {
	for i, w := range t {
		for j := i * ld; j < (i+1)*ld; j++ {
			dst[j] = w*y[j] + (1-w)*z[j]
		}
	}
}

// RowDot sets dst[i] to the inner product of row i of a and row i of b, summed in float64.
func RowDot[T Float](dst []float64, a, b []T, ld int) {
	for i := range dst {
		s := 0.0
		for j := i * ld; j < (i+1)*ld; j++ {
			s += float64(a[j]) * float64(b[j])
		}
		dst[i] = s
	}
}

// RowResidual sets dst[i] to Σ_j h_ij (k_ij − 2 y_ij), summed in float64: with k = H·K and y = X·Pᵀ it is what must be
// added to ‖x_i‖² to give ‖x_i − h_i P‖².
func RowResidual[T Float](dst []float64, h, k, y []T, ld int) {
	for i := range dst {
		s := 0.0
		for j := i * ld; j < (i+1)*ld; j++ {
			s += float64(h[j]) * (float64(k[j]) - 2*float64(y[j]))
		}
		dst[i] = s
	}
}

// Threshold adds w[i]·S_θ(a_ij) to acc_ij, S_θ(a) = max(a−θ, 0) − max(−a−θ, 0), or its first part alone if oneSided, and
// records where each part is active: bit j%8 of pattern[i·ld/4 + j/8] for the first part and of
// pattern[i·ld/4 + ld/8 + j/8] for the second.
func Threshold[T Float](acc, a []T, theta T, w []T, pattern []uint8, ld int, oneSided bool) {
	for i, wi := range w {
		pos := pattern[i*ld/4 : i*ld/4+ld/8]
		neg := pattern[i*ld/4+ld/8 : i*ld/4+ld/4]
		clear(pos)
		clear(neg)
		for j := range ld {
			v := a[i*ld+j]
			s := T(0)
			if v > theta {
				s += v - theta
				pos[j/8] |= 1 << (j % 8)
			}
			if !oneSided && -v > theta {
				s -= -v - theta
				neg[j/8] |= 1 << (j % 8)
			}
			acc[i*ld+j] += wi * s
		}
	}
}

// ThresholdGrad is the backward pass of Threshold: with the cotangent dh of acc it sets g_ij = w[i]·dh_ij·(pos+neg) and
// returns Σ_ij w[i]·dh_ij·(neg−pos), the derivative by θ, where pos and neg are the bits of pattern. The sum is taken in
// float64 row by row.
func ThresholdGrad[T Float](g, dh, w []T, pattern []uint8, ld int) float64 {
	total := 0.0
	for i, wi := range w {
		pos := pattern[i*ld/4 : i*ld/4+ld/8]
		neg := pattern[i*ld/4+ld/8 : i*ld/4+ld/4]
		row := 0.0
		for j := range ld {
			p, q := T(pos[j/8]>>(j%8)&1), T(neg[j/8]>>(j%8)&1)
			v := wi * dh[i*ld+j]
			g[i*ld+j] = v * (p + q)
			row += float64(v * (q - p))
		}
		total += row
	}
	return total
}

// Sum returns Σ x_j in float64.
func Sum[T Float](x []T) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v)
	}
	return s
}

// SumSquares returns Σ (x_j − mean)² in float64.
func SumSquares[T Float](x []T, mean float64) float64 {
	s := 0.0
	for _, v := range x {
		d := float64(v) - mean
		s += d * d
	}
	return s
}

// SquaredDistance returns Σ (x_j − y_j)² in float64.
func SquaredDistance[T Float](x, y []T) float64 {
	s := 0.0
	for j, v := range x {
		d := float64(v) - float64(y[j])
		s += d * d
	}
	return s
}

// Affine sets dst_j = scale·(src_j − shift), computed in float64 and rounded once. dst may be src.
func Affine[T Float](dst, src []T, scale, shift float64) {
	for j, v := range src {
		dst[j] = T(scale * (float64(v) - shift))
	}
}

// AddTo adds src to the float64 sums dst, element by element.
func AddTo[T Float](dst []float64, src []T) {
	for j, v := range src {
		dst[j] += float64(v)
	}
}

// Largest returns the index of the largest of the first m elements of x, the first of equal ones; NaN never wins.
func Largest[T Float](x []T) int {
	best, at := math.Inf(-1), 0
	for j, v := range x {
		if float64(v) > best {
			best, at = float64(v), j
		}
	}
	return at
}
