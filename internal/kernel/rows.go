package kernel

import "unsafe"

// The functions below work on row state: rows with a stride ld that is a multiple of 16, ld elements each.

// at is the address of the first element of s, or nil.
func at[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

// portableRows reports whether rows of stride ld are left to plain Go.
func portableRows(rows, ld int) bool { return active == pathPortable || rows == 0 || ld == 0 }

// RowScale sets row i of dst to s[i]·(row i of src): len(s) rows with stride ld. dst may be src.
func RowScale[T Float](dst, src, s []T, ld int) {
	n := len(s) * ld
	dst, src = dst[:n], src[:n]
	if portableRows(len(s), ld) {
		rowScalePortable(dst, src, s, ld)
		return
	}
	args := rowArgs{dst: at(dst), a: at(src), b: at(src), s: at(s), rows: len(s), units: ld / 16}
	callRowScale(firstRowScale[active][kind[T]()], &args)
}

// RowAxpy adds s[i]·(row i of src) to row i of dst.
func RowAxpy[T Float](dst, src, s []T, ld int) {
	n := len(s) * ld
	dst, src = dst[:n], src[:n]
	if portableRows(len(s), ld) {
		rowAxpyPortable(dst, src, s, ld)
		return
	}
	args := rowArgs{dst: at(dst), a: at(src), b: at(src), s: at(s), rows: len(s), units: ld / 16}
	callRowAxpy(firstRowAxpy[active][kind[T]()], &args)
}

// RowDiffAxpy adds s[i]·(row i of a − row i of b) to row i of dst.
func RowDiffAxpy[T Float](dst, a, b, s []T, ld int) {
	n := len(s) * ld
	dst, a, b = dst[:n], a[:n], b[:n]
	if portableRows(len(s), ld) {
		rowDiffAxpyPortable(dst, a, b, s, ld)
		return
	}
	args := rowArgs{dst: at(dst), a: at(a), b: at(b), s: at(s), rows: len(s), units: ld / 16}
	callRowDiffAxpy(firstRowDiffAxpy[active][kind[T]()], &args)
}

// RowLerp sets row i of dst to t[i]·(row i of y) + (1−t[i])·(row i of z). dst may be y or z.
func RowLerp[T Float](dst, y, z, t []T, ld int) {
	n := len(t) * ld
	dst, y, z = dst[:n], y[:n], z[:n]
	if portableRows(len(t), ld) {
		rowLerpPortable(dst, y, z, t, ld)
		return
	}
	args := rowArgs{dst: at(dst), a: at(y), b: at(z), s: at(t), rows: len(t), units: ld / 16}
	callRowLerp(firstRowLerp[active][kind[T]()], &args)
}

// RowLerpAxpy adds s[i]·(row i of a) + (1−s[i])·(row i of b) to row i of dst.
func RowLerpAxpy[T Float](dst, a, b, s []T, ld int) {
	n := len(s) * ld
	dst, a, b = dst[:n], a[:n], b[:n]
	if portableRows(len(s), ld) {
		rowLerpAxpyPortable(dst, a, b, s, ld)
		return
	}
	args := rowArgs{dst: at(dst), a: at(a), b: at(b), s: at(s), rows: len(s), units: ld / 16}
	callRowLerpAxpy(firstRowLerpAxpy[active][kind[T]()], &args)
}

// RowSplit sets row i of first to s[i]·(row i of src) and row i of rest to (1−s[i])·(row i of src).
func RowSplit[T Float](first, rest, src, s []T, ld int) {
	n := len(s) * ld
	first, rest, src = first[:n], rest[:n], src[:n]
	if portableRows(len(s), ld) {
		rowSplitPortable(first, rest, src, s, ld)
		return
	}
	args := rowArgs{dst: at(first), a: at(src), b: at(rest), s: at(s), rows: len(s), units: ld / 16}
	callRowSplit(firstRowSplit[active][kind[T]()], &args)
}

// RowDot sets dst[i] to the inner product of row i of a and row i of b, summed in float64: 16 sums, element j in sum j%16,
// folded in halves.
func RowDot[T Float](dst []float64, a, b []T, ld int) {
	n := len(dst) * ld
	a, b = a[:n], b[:n]
	if portableRows(len(dst), ld) {
		rowDotPortable(dst, a, b, ld)
		return
	}
	args := rowArgs{dst: at(dst), a: at(a), b: at(b), s: at(a), rows: len(dst), units: ld / 16}
	callRowDot(firstRowDot[active][kind[T]()], &args)
}

// RowResidual sets dst[i] to Σ_j h_ij (k_ij − 2 y_ij), summed in float64 as in RowDot: with k = H·K and y = X·Pᵀ it is what
// must be added to ‖x_i‖² to give ‖x_i − h_i P‖².
func RowResidual[T Float](dst []float64, h, k, y []T, ld int) {
	n := len(dst) * ld
	h, k, y = h[:n], k[:n], y[:n]
	if portableRows(len(dst), ld) {
		rowResidualPortable(dst, h, k, y, ld)
		return
	}
	args := rowArgs{dst: at(dst), a: at(h), b: at(k), s: at(y), rows: len(dst), units: ld / 16}
	callRowResidual(firstRowResidual[active][kind[T]()], &args)
}

// Threshold adds w[i]·S_θ(a_ij) to acc_ij, S_θ(a) = max(a−θ, 0) − max(−a−θ, 0), or its first part alone if oneSided, and
// records where each part is active: bit j%8 of pattern[i·ld/4 + j/8] for the first part and of
// pattern[i·ld/4 + ld/8 + j/8] for the second. Where a_ij or θ is NaN, acc_ij becomes NaN and the part counts as active.
func Threshold[T Float](acc, a []T, theta T, w []T, pattern []uint8, ld int, oneSided bool) {
	n := len(w) * ld
	acc, a, pattern = acc[:n], a[:n], pattern[:n/4]
	if portableRows(len(w), ld) {
		thresholdPortable(acc, a, theta, w, pattern, ld, oneSided)
		return
	}
	args := rowArgs{dst: at(acc), a: at(a), s: at(w), rows: len(w), units: ld / 16, bits: at(pattern)}
	*(*T)(unsafe.Pointer(&args.theta)) = theta
	if !oneSided {
		args.negative = ^uint64(0)
	}
	callThreshold(firstThreshold[active][kind[T]()], &args)
}

// ThresholdGrad is the backward pass of Threshold: with the cotangent dh of acc it sets g_ij = w[i]·dh_ij·(pos+neg) and
// returns Σ_ij w[i]·dh_ij·(neg−pos), the derivative by θ, where pos and neg are the bits of pattern. The sum is taken in
// float64 over all rows: 16 sums, column j in sum j%16, each in the order of the rows, folded in halves. g may be dh.
func ThresholdGrad[T Float](g, dh, w []T, pattern []uint8, ld int) float64 {
	n := len(w) * ld
	g, dh, pattern = g[:n], dh[:n], pattern[:n/4]
	if portableRows(len(w), ld) {
		return thresholdGradPortable(g, dh, w, pattern, ld)
	}
	args := rowArgs{dst: at(g), a: at(dh), s: at(w), rows: len(w), units: ld / 16, bits: at(pattern)}
	callThresholdGrad(firstThresholdGrad[active][kind[T]()], &args)
	return args.sum
}
