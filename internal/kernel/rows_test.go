package kernel

import (
	"math"
	"slices"
	"testing"
)

// rowShapes are numbers of rows and strides.
var rowShapes = [][2]int{{0, 16}, {1, 16}, {2, 48}, {7, 16}, {13, 32}, {50, 112}, {96, 16}}

func TestRowMaps(t *testing.T) { onPaths(t, testRowMaps[float32], testRowMaps[float64]) }

func testRowMaps[T Float](t *testing.T) {
	r := generator()
	for _, s := range rowShapes {
		rows, ld := s[0], s[1]
		n := rows * ld
		dst, a, b := normal[T](r, n), shifted(normal[T](r, n), 3), shifted(normal[T](r, n), 5)
		w := normal[T](r, rows)
		if rows > 2 {
			a[ld+3], b[2*ld+1], w[0] = T(math.NaN()), T(math.Inf(1)), 0
		}
		maps := []struct {
			name string
			run  func(dst []T)
			want func(old, a, b, w float64) float64
		}{
			{"RowScale", func(d []T) { RowScale(d, a, w, ld) },
				func(_, a, _, w float64) float64 { return w * a }},
			{"RowAxpy", func(d []T) { RowAxpy(d, a, w, ld) },
				func(old, a, _, w float64) float64 { return old + w*a }},
			{"RowDiffAxpy", func(d []T) { RowDiffAxpy(d, a, b, w, ld) },
				func(old, a, b, w float64) float64 { return old + w*(a-b) }},
			{"RowLerp", func(d []T) { RowLerp(d, a, b, w, ld) },
				func(_, a, b, w float64) float64 { return w*a + (1-w)*b }},
			{"RowLerpAxpy", func(d []T) { RowLerpAxpy(d, a, b, w, ld) },
				func(old, a, b, w float64) float64 { return old + w*a + (1-w)*b }},
			{"RowSplit", func(d []T) { RowSplit(d, make([]T, n), a, w, ld) },
				func(_, a, _, w float64) float64 { return w * a }},
			{"RowSplit's rest", func(d []T) { RowSplit(make([]T, n), d, a, w, ld) },
				func(_, a, _, w float64) float64 { return (1 - w) * a }},
		}
		for _, m := range maps {
			got := shifted(dst, 1)
			m.run(got)
			for i := range got {
				o, av, bv, wv := float64(dst[i]), float64(a[i]), float64(b[i]), float64(w[i/ld])
				size := math.Abs(o) + (1+math.Abs(wv))*(math.Abs(av)+math.Abs(bv))
				within(t, m.name+shape(rows, ld, i), float64(got[i]), m.want(o, av, bv, wv), 2*size*eps[T]())
			}
			for i := range rows { // a row alone
				lo, hi := i*ld, (i+1)*ld
				alone := shifted(dst[lo:hi], i%16)
				one := []T{w[i]}
				switch m.name {
				case "RowScale":
					RowScale(alone, a[lo:hi], one, ld)
				case "RowAxpy":
					RowAxpy(alone, a[lo:hi], one, ld)
				case "RowDiffAxpy":
					RowDiffAxpy(alone, a[lo:hi], b[lo:hi], one, ld)
				case "RowLerpAxpy":
					RowLerpAxpy(alone, a[lo:hi], b[lo:hi], one, ld)
				case "RowSplit":
					RowSplit(alone, make([]T, ld), a[lo:hi], one, ld)
				case "RowSplit's rest":
					RowSplit(make([]T, ld), alone, a[lo:hi], one, ld)
				default:
					RowLerp(alone, a[lo:hi], b[lo:hi], one, ld)
				}
				sameBits(t, m.name, alone, got[lo:hi])
			}
		}
		inPlace := append([]T(nil), a...)
		want := make([]T, n)
		RowScale(want, a, w, ld)
		RowScale(inPlace, inPlace, w, ld)
		sameBits(t, "RowScale in place", inPlace, want)
		RowLerp(want, a, b, w, ld)
		copy(inPlace, b)
		RowLerp(inPlace, a, inPlace, w, ld)
		sameBits(t, "RowLerp in place", inPlace, want)
		rest, restInPlace := make([]T, n), make([]T, n)
		RowSplit(want, rest, a, w, ld)
		copy(inPlace, a)
		RowSplit(inPlace, restInPlace, inPlace, w, ld)
		sameBits(t, "RowSplit in place", inPlace, want)
		sameBits(t, "the rest of RowSplit in place", restInPlace, rest)
	}
}

func TestRowSums(t *testing.T) { onPaths(t, testRowSums[float32], testRowSums[float64]) }

func testRowSums[T Float](t *testing.T) {
	r := generator()
	for _, s := range rowShapes {
		rows, ld := s[0], s[1]
		n := rows * ld
		h, k, y := normal[T](r, n), shifted(normal[T](r, n), 3), shifted(normal[T](r, n), 7)
		if rows > 2 {
			h[ld+5] = T(math.NaN())
			k[2*ld] = T(math.Inf(1))
		}
		dot, res := make([]float64, rows), make([]float64, rows)
		RowDot(dot, h, k, ld)
		RowResidual(res, h, k, y, ld)
		own, likeOwn := make([]float64, rows), make([]float64, rows)
		RowResidual(own, h, h, y, ld)
		RowResidual(likeOwn, h, slices.Clone(h), y, ld)
		sameBits(t, "RowResidual of h twice", own, likeOwn)
		for i := range rows {
			wantDot, wantRes, size := 0.0, 0.0, 0.0
			for j := i * ld; j < (i+1)*ld; j++ {
				hv, kv, yv := float64(h[j]), float64(k[j]), float64(y[j])
				wantDot += hv * kv
				wantRes += hv * (kv - 2*yv)
				size += math.Abs(hv) * (math.Abs(kv) + 2*math.Abs(yv))
			}
			within(t, "RowDot"+shape(rows, ld, i), dot[i], wantDot, 32*size*0x1p-52)
			within(t, "RowResidual"+shape(rows, ld, i), res[i], wantRes, 32*size*0x1p-52)
			lo, hi := i*ld, (i+1)*ld
			one := make([]float64, 2)
			RowDot(one[:1], shifted(h[lo:hi], i%16), k[lo:hi], ld)
			RowResidual(one[1:], shifted(h[lo:hi], i%16), k[lo:hi], y[lo:hi], ld)
			sameBits(t, "a row alone", one, []float64{dot[i], res[i]})
		}
	}
}

func TestThreshold(t *testing.T) { onPaths(t, testThreshold[float32], testThreshold[float64]) }

func testThreshold[T Float](t *testing.T) {
	r := generator()
	nan, inf := T(math.NaN()), T(math.Inf(1))
	for _, s := range rowShapes {
		rows, ld := s[0], s[1]
		n := rows * ld
		for _, theta := range []T{0, 0.3, -0.2} {
			for _, oneSided := range []bool{false, true} {
				acc, a, w := normal[T](r, n), shifted(normal[T](r, n), 3), normal[T](r, rows)
				for i := range a {
					switch i % 29 {
					case 3:
						a[i] = theta
					case 5:
						a[i] = -theta
					case 11:
						a[i] = 0
					case 17:
						a[i] = T(math.Copysign(0, -1))
					}
				}
				if rows > 6 {
					a[2*ld+9], a[3*ld+2], a[4*ld+4] = nan, inf, -inf
				}
				got := shifted(acc, 1)
				bits := make([]uint8, n/4)
				for i := range bits {
					bits[i] = 0xa5
				}
				Threshold(got, a, theta, w, bits, ld, oneSided)
				for i := range got {
					p, q := a[i]-theta, -a[i]-theta
					pos, neg := !(p <= 0), !(q <= 0) && !oneSided
					if !pos {
						p = 0
					}
					if !neg {
						q = 0
					}
					want := float64(acc[i]) + float64(w[i/ld])*float64(p-q)
					size := math.Abs(float64(acc[i])) + math.Abs(want)
					if !agrees(float64(got[i]), want, 2*size*eps[T]()) {
						t.Fatalf("acc[%d] = %v, want %v", i, got[i], want)
					}
					if gp, gn := patternBits(bits, i, ld); gp != pos || gn != neg {
						t.Fatalf("a = %v, θ = %v: bits %v, %v, want %v, %v", a[i], theta, gp, gn, pos, neg)
					}
				}
				for i := range rows {
					lo, hi := i*ld, (i+1)*ld
					alone, b := shifted(acc[lo:hi], i%16), make([]uint8, ld/4)
					Threshold(alone, a[lo:hi], theta, w[i:i+1], b, ld, oneSided)
					sameBits(t, "a row alone", alone, got[lo:hi])
					if string(b) != string(bits[lo/4:hi/4]) {
						t.Fatalf("pattern of row %d alone: %x, want %x", i, b, bits[lo/4:hi/4])
					}
				}
			}
		}
	}
}

// patternBits returns the bits of element i of rows of stride ld.
func patternBits(bits []uint8, i, ld int) (pos, neg bool) {
	row, j := i/ld, i%ld
	return bits[row*ld/4+j/8]>>(j%8)&1 == 1, bits[row*ld/4+ld/8+j/8]>>(j%8)&1 == 1
}

func TestThresholdGrad(t *testing.T) {
	onPaths(t, testThresholdGrad[float32], testThresholdGrad[float64])
}

func testThresholdGrad[T Float](t *testing.T) {
	r := generator()
	for _, s := range rowShapes {
		rows, ld := s[0], s[1]
		n := rows * ld
		dh, w := shifted(normal[T](r, n), 3), normal[T](r, rows)
		bits := make([]uint8, n/4)
		for i := range bits {
			bits[i] = uint8(r.Uint32())
		}
		g := make([]T, n)
		sum := ThresholdGrad(g, dh, w, bits, ld)
		want, size := 0.0, 0.0
		for i := range g {
			pos, neg := patternBits(bits, i, ld)
			v, up, down := w[i/ld]*dh[i], T(0), T(0)
			if pos {
				up = 1
			}
			if neg {
				down = 1
			}
			if g[i] != v*(up+down) {
				t.Fatalf("g[%d] = %v, want %v", i, g[i], v*(up+down))
			}
			want += float64(v * (down - up))
			size += math.Abs(float64(v))
		}
		within(t, "derivative by θ", sum, want, float64(n)*size*0x1p-53)
		inPlace := append([]T(nil), dh...)
		if again := ThresholdGrad(inPlace, inPlace, w, bits, ld); again != sum {
			t.Fatalf("in place: sum %v, want %v", again, sum)
		}
		sameBits(t, "in place", inPlace, g)
		if rows > 0 {
			dh[n-1] = T(math.NaN())
			if v := ThresholdGrad(g, dh, w, bits, ld); !math.IsNaN(v) || !math.IsNaN(float64(g[n-1])) {
				t.Fatalf("NaN was lost: sum %v, g %v", v, g[n-1])
			}
		}
	}
}
