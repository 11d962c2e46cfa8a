package baseline

import "math"

// simplexFit finds the weights z ≥ 0, Σz = 1 that minimise zᵀAz − 2bᵀz for a positive definite m×m matrix A, by an
// active-set method: P. Wolfe's nearest point in a polytope (Math. Programming 11, 1976) in terms of A and b. It ends at
// the minimum, up to rounding, after finitely many steps. One is needed per goroutine.
type simplexFit struct {
	m      int
	a      []float64 // m×m
	active []int     // the indices with weight
	chol   []float64 // lower triangle of the Cholesky factor of A on the active indices, stride m
	rows   int       // rows of it that are up to date
	u      []float64
	one    []float64
	slope  []float64
}

func newSimplexFit(m int, a []float64) *simplexFit {
	f := &simplexFit{m: m, a: a}
	f.chol = make([]float64, m*m)
	f.active = make([]int, 0, m)
	for _, p := range []*[]float64{&f.u, &f.one, &f.slope} {
		*p = make([]float64, m)
	}
	return f
}

// solve sets z (length m) to the minimiser for b.
func (f *simplexFit) solve(b, z []float64) {
	m := f.m
	best := 0
	for i := 1; i < m; i++ {
		if f.a[i*m+i]-2*b[i] < f.a[best*m+best]-2*b[best] {
			best = i
		}
	}
	clear(z)
	z[best] = 1
	f.active, f.rows = append(f.active[:0], best), 0
	scale := 0.0
	for i := range m {
		scale = max(scale, math.Abs(f.a[i*m+i]), math.Abs(b[i]))
	}
	for range 20 * m {
		// Half the gradient is Az − b; at the minimum it is equal on the active indices and not smaller elsewhere.
		level := 0.0
		for i := range m {
			f.slope[i] = -b[i]
		}
		for _, j := range f.active {
			row := f.a[j*m : (j+1)*m]
			for i, a := range row {
				f.slope[i] += z[j] * a
			}
		}
		for _, j := range f.active {
			level += z[j] * f.slope[j]
		}
		enter, lowest := -1, level-1e-10*scale
		for i, s := range f.slope {
			if z[i] == 0 && s < lowest {
				enter, lowest = i, s
			}
		}
		if enter < 0 {
			return
		}
		f.active = append(f.active, enter)
		if !f.settle(b, z) {
			return
		}
	}
}

// settle moves z to the minimum over the affine hull of the active indices, dropping those that reach 0 on the way. It
// reports whether the move changed anything.
func (f *simplexFit) settle(b, z []float64) bool {
	for {
		f.affine(b)
		step, leave := 1.0, -1
		for k, j := range f.active {
			if f.u[k] < 0 {
				if t := z[j] / (z[j] - f.u[k]); t < step {
					step, leave = t, k
				}
			}
		}
		for k, j := range f.active {
			z[j] += step * (f.u[k] - z[j])
		}
		if leave < 0 {
			return true
		}
		entered := f.active[len(f.active)-1]
		z[f.active[leave]] = 0
		kept := f.active[:0]
		for k, j := range f.active {
			if z[j] > 0 {
				kept = append(kept, j)
			} else {
				z[j] = 0
				f.rows = min(f.rows, k)
			}
		}
		f.active = kept
		if z[entered] == 0 && step == 0 {
			return false // rounding: the entered index cannot be given weight
		}
	}
}

// affine sets u to the minimiser over the active indices under Σu = 1 alone: u = A⁻¹(b − λ1).
func (f *simplexFit) affine(b []float64) {
	k, m := len(f.active), f.m
	for ; f.rows < k; f.rows++ {
		r, i := f.rows, f.active[f.rows]
		for c, j := range f.active[:r+1] {
			s := f.a[i*m+j]
			for t, l := range f.chol[c*m : c*m+c] {
				s -= f.chol[r*m+t] * l
			}
			if r == c {
				f.chol[r*m+r] = math.Sqrt(max(s, 1e-14*f.a[i*m+i]))
			} else {
				f.chol[r*m+c] = s / f.chol[c*m+c]
			}
		}
	}
	for r, i := range f.active {
		f.u[r], f.one[r] = b[i], 1
	}
	f.substitute(f.u[:k])
	f.substitute(f.one[:k])
	sumU, sumOne := 0.0, 0.0
	for r := range k {
		sumU, sumOne = sumU+f.u[r], sumOne+f.one[r]
	}
	lambda := (sumU - 1) / sumOne
	for r := range k {
		f.u[r] -= lambda * f.one[r]
	}
}

// substitute solves with the Cholesky factor and its transpose.
func (f *simplexFit) substitute(x []float64) {
	k, m := len(x), f.m
	for r := range k {
		sum := x[r]
		for t, l := range f.chol[r*m : r*m+r] {
			sum -= l * x[t]
		}
		x[r] = sum / f.chol[r*m+r]
	}
	for r := k - 1; r >= 0; r-- {
		x[r] /= f.chol[r*m+r]
		for t, l := range f.chol[r*m : r*m+r] {
			x[t] -= l * x[r]
		}
	}
}
