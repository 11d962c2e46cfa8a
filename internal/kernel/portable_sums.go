package kernel

// The sums of 16 places in plain Go, eight places of each 16 at a time: the first ones, or the second ones of a slice that
// begins with them.

// half is the number of sums that plain Go keeps in registers.
const half = 8

// sumHalf sets s to the sums over eight of each 16 places of x.
func sumHalf[T Float](s *[half]float64, x []T) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	for len(x) >= half {
		u := (*[half]T)(x)
		s0 += float64(u[0])
		s1 += float64(u[1])
		s2 += float64(u[2])
		s3 += float64(u[3])
		s4 += float64(u[4])
		s5 += float64(u[5])
		s6 += float64(u[6])
		s7 += float64(u[7])
		if len(x) < 2*half {
			break
		}
		x = x[2*half:]
	}
	*s = [half]float64{s0, s1, s2, s3, s4, s5, s6, s7}
}

// squaresHalf is sumHalf for (x − mean)².
func squaresHalf[T Float](s *[half]float64, x []T, mean float64) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	for len(x) >= half {
		u := (*[half]T)(x)
		d0, d1, d2, d3 := float64(u[0])-mean, float64(u[1])-mean, float64(u[2])-mean, float64(u[3])-mean
		s0 += d0 * d0
		s1 += d1 * d1
		s2 += d2 * d2
		s3 += d3 * d3
		d4, d5, d6, d7 := float64(u[4])-mean, float64(u[5])-mean, float64(u[6])-mean, float64(u[7])-mean
		s4 += d4 * d4
		s5 += d5 * d5
		s6 += d6 * d6
		s7 += d7 * d7
		if len(x) < 2*half {
			break
		}
		x = x[2*half:]
	}
	*s = [half]float64{s0, s1, s2, s3, s4, s5, s6, s7}
}

// distanceHalf is sumHalf for (x − y)².
func distanceHalf[T Float](s *[half]float64, x, y []T) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	for len(x) >= half && len(y) >= half {
		u, v := (*[half]T)(x), (*[half]T)(y)
		d0, d1 := float64(u[0])-float64(v[0]), float64(u[1])-float64(v[1])
		d2, d3 := float64(u[2])-float64(v[2]), float64(u[3])-float64(v[3])
		s0 += d0 * d0
		s1 += d1 * d1
		s2 += d2 * d2
		s3 += d3 * d3
		d4, d5 := float64(u[4])-float64(v[4]), float64(u[5])-float64(v[5])
		d6, d7 := float64(u[6])-float64(v[6]), float64(u[7])-float64(v[7])
		s4 += d4 * d4
		s5 += d5 * d5
		s6 += d6 * d6
		s7 += d7 * d7
		if len(x) < 2*half || len(y) < 2*half {
			break
		}
		x, y = x[2*half:], y[2*half:]
	}
	*s = [half]float64{s0, s1, s2, s3, s4, s5, s6, s7}
}

// dotHalf is sumHalf for a·b.
func dotHalf[T Float](s *[half]float64, a, b []T) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	for len(a) >= half && len(b) >= half {
		u, v := (*[half]T)(a), (*[half]T)(b)
		s0 += float64(u[0]) * float64(v[0])
		s1 += float64(u[1]) * float64(v[1])
		s2 += float64(u[2]) * float64(v[2])
		s3 += float64(u[3]) * float64(v[3])
		s4 += float64(u[4]) * float64(v[4])
		s5 += float64(u[5]) * float64(v[5])
		s6 += float64(u[6]) * float64(v[6])
		s7 += float64(u[7]) * float64(v[7])
		if len(a) < 2*half || len(b) < 2*half {
			break
		}
		a, b = a[2*half:], b[2*half:]
	}
	*s = [half]float64{s0, s1, s2, s3, s4, s5, s6, s7}
}

// residualHalf is dotHalf for Σ h·(k − 2y).
func residualHalf[T Float](s *[half]float64, h, k, y []T) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	for len(h) >= half && len(k) >= half && len(y) >= half {
		u, v, w := (*[half]T)(h), (*[half]T)(k), (*[half]T)(y)
		s0 += float64(u[0]) * (float64(v[0]) - 2*float64(w[0]))
		s1 += float64(u[1]) * (float64(v[1]) - 2*float64(w[1]))
		s2 += float64(u[2]) * (float64(v[2]) - 2*float64(w[2]))
		s3 += float64(u[3]) * (float64(v[3]) - 2*float64(w[3]))
		s4 += float64(u[4]) * (float64(v[4]) - 2*float64(w[4]))
		s5 += float64(u[5]) * (float64(v[5]) - 2*float64(w[5]))
		s6 += float64(u[6]) * (float64(v[6]) - 2*float64(w[6]))
		s7 += float64(u[7]) * (float64(v[7]) - 2*float64(w[7]))
		if len(h) < 2*half || len(k) < 2*half || len(y) < 2*half {
			break
		}
		h, k, y = h[2*half:], k[2*half:], y[2*half:]
	}
	*s = [half]float64{s0, s1, s2, s3, s4, s5, s6, s7}
}
