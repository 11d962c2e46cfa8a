//go:build !amd64 || noasm

package kernel

// tmulPortable is TMulAdd with four rows of X and two columns of A at a time, which saves three of four passes over C and half
// of those over X. Each element of C is summed in the order of the rows.
func tmulPortable[T Float](n, m, d int, a []T, lda int, x []T, ldx int, c []T, ldc int) {
	i := 0
	for ; i+4 <= n; i += 4 {
		x0, x1, x2, x3 := x[i*ldx:][:d], x[(i+1)*ldx:][:d], x[(i+2)*ldx:][:d], x[(i+3)*ldx:][:d]
		a0, a1, a2, a3 := a[i*lda:][:m], a[(i+1)*lda:][:m], a[(i+2)*lda:][:m], a[(i+3)*lda:][:m]
		j := 0
		for ; j < m-1; j += 2 {
			c0, c1 := c[j*ldc:][:d], c[(j+1)*ldc:][:d]
			p0, p1, p2, p3 := a0[j], a1[j], a2[j], a3[j]
			r0, r1, r2, r3 := a0[j+1], a1[j+1], a2[j+1], a3[j+1]
			for q := range c0 {
				u0, u1, u2, u3 := x0[q], x1[q], x2[q], x3[q]
				c0[q] = c0[q] + p0*u0 + p1*u1 + p2*u2 + p3*u3
				c1[q] = c1[q] + r0*u0 + r1*u1 + r2*u2 + r3*u3
			}
		}
		if j < m {
			c0 := c[j*ldc:][:d]
			p0, p1, p2, p3 := a0[j], a1[j], a2[j], a3[j]
			for q, v := range c0 {
				c0[q] = v + p0*x0[q] + p1*x1[q] + p2*x2[q] + p3*x3[q]
			}
		}
	}
	for ; i < n; i++ {
		xi := x[i*ldx:][:d]
		for j, w := range a[i*lda:][:m] {
			cj := c[j*ldc:][:d]
			for q, v := range xi {
				cj[q] += w * v
			}
		}
	}
}

// rowProduct adds x·B to y for one row: b is Bᵀ, m rows of len(x).
func rowProduct[T Float](x, b []T, m int, y []T) { rowProductGo(x, b, len(x), m, y) }
