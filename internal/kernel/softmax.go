package kernel

import "math"

// Softmax sets row i of dst to the softmax of s_i times the first m columns of row i of a, and the columns behind them to zero.
// Both have the stride ld = Pad(m); s_i ≥ 0. dst may be a.
func Softmax[T Float](dst, a, s []T, m, ld int) {
	n := len(s)
	if n == 0 {
		return
	}
	dst, a = dst[:n*ld], a[:n*ld]
	if active == pathAVX512 && Is32[T]() {
		for ; n > 0; n = len(s) { // A call takes as long as a kernel may hold up the garbage collector.
			c := min(n, max(flatElements/ld, 1))
			callSoftmax(firstSoftmax[active][0], &softmaxArgs{
				dst: at(dst), a: at(a), s: at(s), rows: c, units: ld / 16, last: m - (ld - 16),
			})
			dst, a, s = dst[c*ld:], a[c*ld:], s[c:]
		}
		return
	}
	for i, f := range s {
		x, y := a[i*ld:i*ld+m], dst[i*ld:(i+1)*ld]
		most, sum := x[0], 0.0
		for _, v := range x {
			most = max(most, v)
		}
		for j, v := range x {
			e := math.Exp(float64(f) * (float64(v) - float64(most)))
			sum += e
			y[j] = T(e)
		}
		for j := range x {
			y[j] = T(float64(y[j]) / sum)
		}
		clear(y[m:])
	}
}

// SoftmaxGrad sets row i of dst to s_i·q_i·(d_i − ⟨q_i, d_i⟩), element by element: for the softmax q of z the cotangent of z that
// belongs to the cotangent d of q, times s_i. All have the stride ld, and columns of zeros behind the first m. dst may be q or d.
func SoftmaxGrad[T Float](dst, q, d, s []T, m, ld int) {
	n := len(s)
	if n == 0 {
		return
	}
	dst, q, d = dst[:n*ld], q[:n*ld], d[:n*ld]
	if active == pathAVX512 && Is32[T]() {
		for ; n > 0; n = len(s) {
			c := min(n, max(flatElements/ld, 1))
			callSoftmaxGrad(firstSoftmaxGrad[active][0], &softmaxArgs{
				dst: at(dst), a: at(q), b: at(d), s: at(s), rows: c, units: ld / 16,
			})
			dst, q, d, s = dst[c*ld:], q[c*ld:], d[c*ld:], s[c:]
		}
		return
	}
	for i, f := range s {
		x, y, z := q[i*ld:i*ld+m], d[i*ld:i*ld+m], dst[i*ld:i*ld+m]
		mean := 0.0
		for j, v := range x {
			mean += float64(v) * float64(y[j])
		}
		for j, v := range x {
			z[j] = T(float64(f) * float64(v) * (float64(y[j]) - mean))
		}
		clear(dst[i*ld+m : (i+1)*ld])
	}
}
