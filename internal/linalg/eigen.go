package linalg

import (
	"math"

	"gonum.org/v1/gonum/blas"
	lapack "gonum.org/v1/gonum/lapack/gonum"
)

// eigen is the memory of a symmetric eigen-decomposition.
type eigen struct {
	a, z         []float64
	d, e, tau, w []float64
}

// maxSweeps bounds the iterations for one eigenvalue; two or three are usual.
const maxSweeps = 60

// eigen sets p.sigma, p.b and p.bt to the eigenvalues and eigenvectors of the symmetric k×k matrix s (stride p.ld), in no
// particular order. It reports false, and leaves them as they are, where the iteration does not converge.
//
// It is LAPACK's reduction to tridiagonal form followed by implicit QL steps on the transposed vectors: a rotation is then
// of two contiguous rows, which is several times faster in Go than the product of two columns.
func (p *Polar) eigen(s []float64) bool {
	k, g := p.k, &p.eig
	for i := range k {
		copy(g.a[i*k:(i+1)*k], s[i*p.ld:])
	}
	g.d[0], g.e[0] = g.a[0], 0
	z := g.z
	if k == 1 {
		z[0] = 1
	} else {
		var impl lapack.Implementation
		impl.Dsytrd(blas.Upper, k, g.a, k, g.d, g.e, g.tau, g.w, len(g.w))
		impl.Dorgtr(blas.Upper, k, g.a, k, g.tau, g.w, len(g.w))
		for i := range k {
			for j := range k {
				z[j*k+i] = g.a[i*k+j]
			}
		}
	}
	if !implicitQL(g.d[:k], g.e[:k], z) {
		return false
	}
	copy(p.sigma, g.d[:k])
	for i := range k {
		for j := range k {
			p.bt[i*p.ld+j] = z[i*k+j]
			p.b[j*p.ld+i] = z[i*k+j]
		}
	}
	return true
}

// implicitQL diagonalises the symmetric tridiagonal matrix with diagonal d and off-diagonal e[:n−1], and applies the
// rotations to the rows of z (n×n).
func implicitQL(d, e, z []float64) bool {
	n := len(d)
	e[n-1] = 0
	for l := range n {
		for sweep := 0; ; sweep++ {
			m := l
			for m < n-1 && math.Abs(e[m]) > 0x1p-53*(math.Abs(d[m])+math.Abs(d[m+1])) {
				m++
			}
			if m == l {
				break
			}
			if sweep == maxSweeps {
				return false
			}
			// Wilkinson's shift, then a bulge chased from m up to l.
			g := (d[l+1] - d[l]) / (2 * e[l])
			g = d[m] - d[l] + e[l]/(g+math.Copysign(math.Hypot(g, 1), g))
			s, c, shift := 1.0, 1.0, 0.0
			i := m - 1
			for ; i >= l; i-- {
				f, b := s*e[i], c*e[i]
				r := math.Sqrt(f*f + g*g)
				e[i+1] = r
				if r == 0 { // the block splits here
					d[i+1] -= shift
					e[m] = 0
					break
				}
				s, c = f/r, g/r
				g = d[i+1] - shift
				r = (d[i]-g)*s + 2*c*b
				shift = s * r
				d[i+1] = g + shift
				g = c*r - b
				rotate(z[i*n:(i+1)*n], z[(i+1)*n:(i+2)*n], c, s)
			}
			if i >= l {
				continue
			}
			d[l] -= shift
			e[l], e[m] = g, 0
		}
	}
	return true
}

// rotate sets x, y to c·x − s·y, s·x + c·y.
func rotate(x, y []float64, c, s float64) {
	y = y[:len(x)]
	for i, u := range x {
		v := y[i]
		x[i], y[i] = c*u-s*v, s*u+c*v
	}
}
