package kernel

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

// rowProductGo adds x·B to y for one row: b is Bᵀ, m rows of len(x) elements with the stride ldb. The sums of four columns
// do not wait for each other, nor do those of the even places and the odd ones; each has the same order whatever m.
func rowProductGo[T Float](x, b []T, ldb, m int, y []T) {
	k := len(x)
	j := 0
	for ; j+4 <= m; j += 4 {
		b0, b1, b2, b3 := b[j*ldb:][:k], b[(j+1)*ldb:][:k], b[(j+2)*ldb:][:k], b[(j+3)*ldb:][:k]
		var s0, s1, s2, s3, t0, t1, t2, t3 T
		i := 0
		for ; i < len(x)-1; i += 2 {
			u, v := x[i], x[i+1]
			s0 += u * b0[i]
			s1 += u * b1[i]
			s2 += u * b2[i]
			s3 += u * b3[i]
			t0 += v * b0[i+1]
			t1 += v * b1[i+1]
			t2 += v * b2[i+1]
			t3 += v * b3[i+1]
		}
		if i < len(x) {
			s0 += x[i] * b0[i]
			s1 += x[i] * b1[i]
			s2 += x[i] * b2[i]
			s3 += x[i] * b3[i]
		}
		z := y[j:][:4]
		z[0] += s0 + t0
		z[1] += s1 + t1
		z[2] += s2 + t2
		z[3] += s3 + t3
	}
	for ; j < m; j++ {
		row := b[j*ldb:][:k]
		var s, t T
		i := 0
		for ; i < len(x)-1; i += 2 {
			s += x[i] * row[i]
			t += x[i+1] * row[i+1]
		}
		if i < len(x) {
			s += x[i] * row[i]
		}
		y[j] += s + t
	}
}

// mulRowsTPortable is MulRowsT, for a C that is zero.
func mulRowsTPortable(n, m, k int, x []float64, ldx int, y []float64, ldy int, c []float64, ldc int) {
	for i := range n {
		rowProductGo(x[i*ldx:i*ldx+k], y, ldy, m, c[i*ldc:i*ldc+m])
	}
}

func rowScalePortable[T Float](dst, src, s []T, ld int) {
	for i, w := range s {
		d, u := dst[i*ld:][:ld], src[i*ld:][:ld]
		for j, v := range u {
			d[j] = w * v
		}
	}
}

func rowAxpyPortable[T Float](dst, src, s []T, ld int) {
	for i, w := range s {
		d, u := dst[i*ld:][:ld], src[i*ld:][:ld]
		for j, v := range u {
			d[j] += w * v
		}
	}
}

func rowDiffAxpyPortable[T Float](dst, a, b, s []T, ld int) {
	for i, w := range s {
		d, u, v := dst[i*ld:][:ld], a[i*ld:][:ld], b[i*ld:][:ld]
		for j := range d {
			d[j] += w * (u[j] - v[j])
		}
	}
}

func rowLerpPortable[T Float](dst, y, z, t []T, ld int) {
	for i, w := range t {
		d, u, v := dst[i*ld:][:ld], y[i*ld:][:ld], z[i*ld:][:ld]
		rest := 1 - w
		for j := range d {
			d[j] = w*u[j] + rest*v[j]
		}
	}
}

func rowLerpAxpyPortable[T Float](dst, a, b, s []T, ld int) {
	for i, w := range s {
		d, u, v := dst[i*ld:][:ld], a[i*ld:][:ld], b[i*ld:][:ld]
		rest := 1 - w
		for j := range d {
			d[j] = d[j] + w*u[j] + rest*v[j]
		}
	}
}

func rowSplitPortable[T Float](first, rest, src, s []T, ld int) {
	for i, w := range s {
		f, r, u := first[i*ld:][:ld], rest[i*ld:][:ld], src[i*ld:][:ld]
		other := 1 - w
		for j, v := range u {
			f[j], r[j] = w*v, other*v
		}
	}
}

func rowDotPortable[T Float](dst []float64, a, b []T, ld int) {
	var s [2 * half]float64
	for i := range dst {
		u, v := a[i*ld:][:ld], b[i*ld:][:ld]
		dotHalf((*[half]float64)(s[:half]), u, v)
		dotHalf((*[half]float64)(s[half:]), u[half:], v[half:])
		dst[i] = fold(&s)
	}
}

func rowResidualPortable[T Float](dst []float64, h, k, y []T, ld int) {
	var s [2 * half]float64
	for i := range dst {
		u, v, w := h[i*ld:][:ld], k[i*ld:][:ld], y[i*ld:][:ld]
		residualHalf((*[half]float64)(s[:half]), u, v, w)
		residualHalf((*[half]float64)(s[half:]), u[half:], v[half:], w[half:])
		dst[i] = fold(&s)
	}
}

func thresholdPortable[T Float](acc, a []T, theta T, w []T, pattern []uint8, ld int, oneSided bool) {
	bytes := ld / 8
	for i, wi := range w {
		pos, neg := pattern[i*2*bytes:][:bytes], pattern[(2*i+1)*bytes:][:bytes]
		c, u := acc[i*ld:][:ld], a[i*ld:][:ld]
		for b := range pos {
			if oneSided {
				neg[b] = 0
				pos[b] = thresholdOneSided((*[8]T)(c), (*[8]T)(u), theta, wi)
			} else {
				pos[b], neg[b] = thresholdTwoSided((*[8]T)(c), (*[8]T)(u), theta, wi)
			}
			c, u = c[8:], u[8:]
		}
	}
}

// thresholdTwoSided treats eight elements and returns their bits. Neither part has a branch: max keeps NaN, and a part is
// active unless max leaves 0.
func thresholdTwoSided[T Float](c, a *[8]T, theta, w T) (up, down uint8) {
	for j, v := range a[:] {
		p, q := max(v-theta, 0), max(-v-theta, 0)
		up, down = up>>1|bit(p != 0)<<7, down>>1|bit(q != 0)<<7
		c[j] += w * (p - q)
	}
	return up, down
}

// thresholdOneSided is thresholdTwoSided with the first part alone.
func thresholdOneSided[T Float](c, a *[8]T, theta, w T) (up uint8) {
	for j, v := range a[:] {
		p := max(v-theta, 0)
		up = up>>1 | bit(p != 0)<<7
		c[j] += w * p
	}
	return up
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
	// The factor of v, by the bit of the first part plus twice the bit of the second.
	slope, byTheta := [4]T{0, 1, 1, 2}, [4]T{0, -1, 1, 0}
	bytes := ld / 8
	for i, wi := range w {
		pos, neg := pattern[i*2*bytes:][:bytes], pattern[(2*i+1)*bytes:][:bytes]
		d, o := dh[i*ld:][:ld], g[i*ld:][:ld]
		for b, up := range pos {
			down := neg[b]
			sums := (*[8]float64)(s[b%2*8:])
			in, out := (*[8]T)(d), (*[8]T)(o)
			for j, e := range in[:] {
				at := up&1 | down&1<<1
				up, down = up>>1, down>>1
				v := wi * e
				out[j] = v * slope[at]
				sums[j] += float64(v * byTheta[at])
			}
			d, o = d[8:], o[8:]
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
