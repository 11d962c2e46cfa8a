package kernel

import "math"

// The functions below work on what the noise module has one value of in a row: the squared norm of a residual, its norm and
// the trust. They are computed in float64, each as if it stood alone.

// AddNorms adds norms to the row values q, and reports whether any sum is less than share times its norm.
func AddNorms(q, norms []float64, share float64) bool {
	norms = norms[:len(q)]
	found := false
	if whole := len(q) &^ 15; whole > 0 && active != pathPortable {
		args := shrinkArgs{a: at(norms), dst: at(q), units: whole / 16, scale: share}
		callAddNorms(firstAddNorms[active][kind[float64]()], &args)
		found, q, norms = args.found != 0, q[whole:], norms[whole:]
	}
	for i, x := range norms {
		q[i] += x
		found = found || q[i] < share*x
	}
	return found
}

// Shrink sets norm to r = √max(q, 0) and trust to t = 1 − slope·(r−ρ)/r where r > ρ and r > 0, elsewhere to 1.
func Shrink[T Float](norm, trust []T, q []float64, rho, slope float64) {
	norm, trust = norm[:len(q)], trust[:len(q)]
	bound, rest, scale := max(rho, 0), 1-slope, slope*rho
	if whole := len(q) &^ 15; whole > 0 && active != pathPortable {
		args := shrinkArgs{
			a: at(q), dst: at(norm), dst2: at(trust), units: whole / 16, bound: bound, rest: rest,
			scale: scale,
		}
		callShrink(firstShrink[active][kind[T]()], &args)
		norm, trust, q = norm[whole:], trust[whole:], q[whole:]
	}
	for i, x := range q {
		if x < 0 { // NaN stays
			x = 0
		}
		r, t := math.Sqrt(x), 1.0
		if r > bound {
			t = rest + scale/r
		}
		norm[i], trust[i] = T(r), T(t)
	}
}

// ShrinkGrad is the backward pass of Shrink by way of q: where r > ρ and r > 0 it sets dq to 2·(derivative by q) = −dt·slope·ρ/r³
// and minus to −dq, elsewhere both to 0. It returns the derivative by ρ, Σ dt·slope/r, and whether there was any such row. The
// sum is taken as by Sum.
func ShrinkGrad[T Float](dq, minus, norm, dt []T, rho, slope float64) (sum float64, any bool) {
	n := len(norm)
	dq, minus, dt = dq[:n], minus[:n], dt[:n]
	args := shrinkArgs{bound: max(rho, 0), rest: rho, scale: slope}
	if whole := n &^ 15; whole > 0 && active != pathPortable {
		args.a, args.b, args.dst, args.dst2, args.units = at(norm), at(dt), at(dq), at(minus), whole/16
		callShrinkGrad(firstShrinkGrad[active][kind[T]()], &args)
		dq, minus, norm, dt = dq[whole:], minus[whole:], norm[whole:], dt[whole:]
	}
	any = args.found != 0
	for i, e := range norm {
		r := float64(e)
		if !(r > args.bound) {
			dq[i], minus[i] = 0, 0
			continue
		}
		any = true
		inverse := 1 / r
		part := float64(dt[i]) * slope * inverse
		args.sums[i%16] += part
		x := part * rho * inverse * inverse
		dq[i], minus[i] = T(0-x), T(x) // 0−x, as in assembly: no −0
	}
	return fold(&args.sums), any
}
