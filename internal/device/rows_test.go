package device

import (
	"fmt"
	"math"
	"testing"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
)

// block is random row state of one odd shape, on the host in float64 and on the device, for the tests of what is done to rows.
type block[T kernel.Float] struct {
	*bench[T]
	n, m, d, ld, ldx int
	a                map[string][]float64
	p                map[string]Ptr
}

func newBlock[T kernel.Float](t testing.TB, n, d, m int) *block[T] {
	b := &block[T]{
		bench: newBench[T](t, &simdevice.Sim{}), n: n, m: m, d: d, ld: stride(m), ldx: padded(d), a: map[string][]float64{},
		p: map[string]Ptr{},
	}
	for _, name := range []string{"h", "k", "y", "dh", "g", "z", "prev"} {
		b.hold(name, b.matrix(n, m, b.ld))
	}
	b.hold("x", b.matrix(n, d, b.ldx))
	b.hold("P", b.matrix(m, d, b.ldx))
	for _, name := range []string{"t", "w", "c", "dt", "r"} {
		b.hold(name, b.vector(n))
	}
	mask := make([]T, n)
	for i := range mask {
		mask[i] = T(b.rng.IntN(2))
	}
	b.hold("b", mask)
	return b
}

func (b *block[T]) hold(name string, x []T) {
	b.a[name], b.p[name] = kernel.Float64s(x), put64(b, x)
}

// near64 is near for what the device has in float64.
func near64(t testing.TB, what string, got, want []float64, tol float64) {
	t.Helper()
	for i, x := range want {
		if e := math.Abs(got[i] - x); !(e <= tol*(1+math.Abs(x))) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], x)
		}
	}
}

// eachRow returns, for every row, the sum of f over the columns of row state.
func (b *block[T]) eachRow(f func(i, at int) float64) []float64 {
	out := make([]float64, b.n)
	for i := range out {
		for j := range b.ld {
			out[i] += f(i, i*b.ld+j)
		}
	}
	return out
}

// eachValue returns f of every element of row state.
func (b *block[T]) eachValue(f func(i, at int) float64) []float64 {
	out := make([]float64, b.n*b.ld)
	for at := range out {
		out[at] = f(at/b.ld, at)
	}
	return out
}

func TestRows(t *testing.T) { eachType(t, testRows[float32], testRows[float64]) }

func testRows[T kernel.Float](t *testing.T) {
	for _, c := range []struct{ n, d, m int }{{1, 1, 1}, {7, 150, 5}, {130, 9, 40}} {
		for name, test := range map[string]func(*block[T], string){
			"residuals": testResiduals[T], "trust": testTrust[T], "noise": testNoise[T], "anchors": testAnchors[T],
			"thresholds": testThresholds[T], "SELU": testSELU[T], "represent": testRepresent[T], "vectors": testVectors[T],
		} {
			test(newBlock[T](t, c.n, c.d, c.m), fmt.Sprintf("%s, %v", name, c))
		}
	}
}

// testResiduals: norms, ‖x − hP‖² from products and directly, and what they add to dH.
func testResiduals[T kernel.Float](b *block[T], what string) {
	n, ld, a := int32(b.n), int32(b.ld), b.a
	norms, q, direct := empty[float64](b, b.n), empty[float64](b, b.n), empty[byte](b, b.n)
	b.k.byRow("squared_norms", b.n, norms, b.p["x"], int32(b.ldx), n, int32(b.d))
	b.k.byRow("residual", b.n, q, direct, norms, b.p["h"], b.p["k"], b.p["y"], n, ld, 1.0)
	b.ran(what)
	xx := make([]float64, b.n)
	for i, x := range a["x"] {
		xx[i/b.ldx] += x * x
	}
	near64(b.t, what+": norms", get[float64](b, norms, b.n), xx, 1e-13)
	want := b.eachRow(func(_, at int) float64 { return a["h"][at] * (a["k"][at] - 2*a["y"][at]) })
	flags := make([]byte, b.n)
	for i := range want {
		if want[i] += xx[i]; want[i] < xx[i] {
			flags[i] = 1
		}
	}
	near64(b.t, what+": residuals", get[float64](b, q, b.n), want, 1e-12)
	for i, f := range get[byte](b, direct, b.n) {
		if f != flags[i] {
			b.t.Fatalf("%s: row %d is direct: %d, want %d", what, i, f, flags[i])
		}
	}
	rest := make([]float64, b.n*b.d) // x − hP
	for i := range b.n {
		for c := range b.d {
			rest[i*b.d+c] = a["x"][i*b.ldx+c]
			for j := range b.m {
				rest[i*b.d+c] -= a["h"][i*b.ld+j] * a["P"][j*b.ldx+c]
			}
		}
		if flags[i] == 1 {
			want[i] = 0
			for _, e := range rest[i*b.d : (i+1)*b.d] {
				want[i] += e * e
			}
		}
	}
	grid := [3]int{ceil(b.n, directRows), 1, 1}
	b.k.launch(b.k.rows, "direct_residual", grid, rowThreads, 0, q, direct, b.p["x"], int32(b.ldx), b.p["h"], ld, b.p["P"], n,
		int32(b.m), int32(b.d))
	b.k.byRow("add_residual", b.n, b.p["dh"], int32(0), b.p["c"], direct, b.p["k"], b.p["y"], n, ld)
	b.k.launch(b.k.rows, "subtract_direct", grid, rowThreads, b.m*size[T](), b.p["dh"], b.p["c"], direct, b.p["x"], int32(b.ldx),
		b.p["h"], ld, b.p["P"], n, int32(b.m), int32(b.d))
	first := empty[T](b, b.n*b.ld)
	b.k.byRow("add_residual", b.n, first, int32(1), b.p["c"], direct, b.p["k"], b.p["y"], n, ld)
	b.ran(what)
	near64(b.t, what+": direct residuals", get[float64](b, q, b.n), want, 40*kernel.Epsilon[T]())
	fresh := b.eachValue(func(i, at int) float64 { return a["c"][i] * float64(1-flags[i]) * (a["k"][at] - a["y"][at]) })
	near(b.t, what+": first share of dH", get[T](b, first, b.n*b.ld), fresh, 8)
	near(b.t, what+": share of dH", get[T](b, b.p["dh"], b.n*b.ld), b.eachValue(func(i, at int) float64 {
		s, j := a["dh"][at]+fresh[at], at%b.ld
		for c := 0; c < b.d && j < b.m && flags[i] == 1; c++ {
			s -= a["c"][i] * rest[i*b.d+c] * a["P"][j*b.ldx+c]
		}
		return s
	}), 4*(b.d+b.m))
}

// testTrust: r, t and the weights of the sums; a NaN stays one.
func testTrust[T kernel.Float](b *block[T], what string) {
	for _, rho := range []float64{0.7, 0, -0.4} {
		for _, masked := range []bool{false, true} {
			q := make([]float64, b.n)
			for i := range q {
				q[i] = b.rng.NormFloat64()
			}
			q[b.n/2] = math.NaN()
			var norm, trust, by, rest = empty[T](b, b.n), empty[T](b, b.n), empty[T](b, b.n), empty[T](b, b.n)
			var mask Ptr
			if masked {
				mask = b.p["b"]
			}
			const slope = 1.05
			b.k.byElement("trust", b.n, norm, trust, by, rest, put64(b, q), mask, int32(b.n), rho, slope)
			loss, factors := empty[float64](b, 2*b.n), empty[T](b, b.n)
			b.k.byElement("loss_terms", b.n, loss+8, int32(2), factors, put64(b, q), mask, int32(b.n), T(3))
			b.k.zero(loss, 8)
			for i := 1; i < b.n; i++ {
				b.k.zero(loss+Ptr(16*i), 8)
			}
			b.ran(what)
			var want [5][]float64
			for i, x := range q {
				r, e, has := math.Sqrt(max(x, 0)), 1.0, 1.0
				if r > max(rho, 0) {
					e = 1 - slope*(r-rho)/r
				}
				if masked {
					has = b.a["b"][i]
				}
				l := max(x, 0)
				if has == 0 {
					l = 0
				}
				for k, v := range []float64{r, e, has * e, has * (1 - e), has * 3} {
					want[k] = append(want[k], v)
				}
				if got := get[float64](b, loss, 2*b.n)[2*i+1]; got != l && !(math.IsNaN(l) && math.IsNaN(got)) {
					b.t.Fatalf("%s: loss %v, want %v", what, got, l)
				}
			}
			for k, p := range []Ptr{norm, trust, by, rest, factors} {
				got := get[T](b, p, b.n)
				if k == 0 && !math.IsNaN(float64(got[b.n/2])) {
					b.t.Fatalf("%s: NaN became %v", what, got[b.n/2])
				}
				got[b.n/2], want[k][b.n/2] = 0, 0
				near(b.t, fmt.Sprintf("%s, ρ %v, masked %v: value %d", what, rho, masked, k), got, want[k], 4)
			}
		}
	}
}

func testNoise[T kernel.Float](b *block[T], what string) {
	const rho, slope = 0.45, 1.05
	c, minus, half, terms := empty[T](b, b.n), empty[T](b, b.n), empty[T](b, b.n), empty[float64](b, b.n)
	b.k.byElement("noise_cotangent", b.n, c, minus, half, terms, int32(1), b.p["r"], b.p["dt"], int32(b.n), rho, slope)
	b.ran(what)
	x, part := make([]float64, b.n), make([]float64, b.n)
	for i, r := range b.a["r"] {
		if r > rho {
			part[i] = b.a["dt"][i] * slope / r
			x[i] = part[i] * rho / (r * r)
		}
	}
	near64(b.t, what, get[float64](b, terms, b.n), part, 1e-13)
	for p, factor := range map[Ptr]float64{c: -1, minus: 1, half: -0.5} {
		want := make([]float64, b.n)
		for i := range want {
			want[i] = factor * x[i]
		}
		near(b.t, what, get[T](b, p, b.n), want, 4)
	}
}

func testAnchors[T kernel.Float](b *block[T], what string) {
	a := b.a
	for _, noisy := range []bool{false, true} {
		dh, dt, trust := put64(b, kernel.Convert[T](a["dh"])), put64(b, kernel.Convert[T](a["dt"])), Ptr(0)
		if noisy {
			trust = b.p["t"]
		}
		b.k.byRow("anchor_cotangent", b.n, dh, dt, b.p["y"], b.p["g"], b.p["h"], trust, b.p["b"], int32(b.n), int32(b.ld))
		b.ran(what)
		along := b.eachRow(func(i, at int) float64 {
			return a["b"][i] * a["h"][at] * (a["y"][at] - a["g"][at]/2) * float64(toInt(noisy))
		})
		for i := range along {
			along[i] += a["dt"][i]
		}
		near(b.t, what+": dt", get[T](b, dt, b.n), along, 4*b.m)
		near(b.t, what+": dH", get[T](b, dh, b.n*b.ld), b.eachValue(func(i, at int) float64 {
			if !noisy {
				return a["dh"][at] + a["b"][i]*a["y"][at]
			}
			return a["dh"][at] + a["b"][i]*(a["t"][i]*a["y"][at]+(1-a["t"][i])*a["g"][at])
		}), 8)
	}
}

func testThresholds[T kernel.Float](b *block[T], what string) {
	pattern := make([]byte, b.n*b.ld/4)
	for i := range pattern {
		pattern[i] = byte(b.rng.IntN(256))
	}
	g, sum, theta := empty[T](b, b.n*b.ld), put64(b, kernel.Convert[T](b.a["z"])), put64(b, make([]float64, b.n))
	b.k.byRow("threshold_cotangent", b.n, g, sum, theta, int32(1), int32(0), b.p["dh"], b.p["w"], put64(b, pattern), int32(b.n),
		int32(b.ld))
	b.ran(what)
	bits := func(at int) (up, down float64) {
		return float64(pattern[at/4] >> (at % 4) & 1), float64(pattern[at/4] >> (4 + at%4) & 1)
	}
	want := b.eachValue(func(i, at int) float64 {
		up, down := bits(at)
		return b.a["w"][i] * b.a["dh"][at] * (up + down)
	})
	near(b.t, what, get[T](b, g, len(want)), want, 2)
	near(b.t, what, get[T](b, sum, len(want)), b.eachValue(func(_, at int) float64 { return want[at] + b.a["z"][at] }), 4)
	near64(b.t, what, get[float64](b, theta, b.n), b.eachRow(func(i, at int) float64 {
		up, down := bits(at)
		return b.a["w"][i] * b.a["dh"][at] * (down - up)
	}), 40*kernel.Epsilon[T]())
}

func testSELU[T kernel.Float](b *block[T], what string) {
	const theta = 0.2
	n, m, ld, s := int32(b.n), int32(b.m), int32(b.ld), engine.SELU
	for _, one := range []float64{0, 1} {
		h, g, sum, terms := empty[T](b, b.n*b.ld), empty[T](b, b.n*b.ld), empty[T](b, b.n*b.ld), empty[float64](b, b.n)
		b.k.byRow("selu_threshold", b.n, h, int32(1), b.p["y"], b.p["w"], theta, int32(one), n, m, ld)
		b.k.byRow("selu_cotangent", b.n, g, sum, terms, int32(1), int32(1), b.p["dh"], b.p["w"], b.p["y"], theta, int32(one), n,
			m, ld)
		b.ran(what)
		inside := func(at int) float64 { return float64(toInt(at%b.ld < b.m)) }
		near(b.t, what, get[T](b, h, b.n*b.ld), b.eachValue(func(i, at int) float64 {
			a := b.a["y"][at]
			return inside(at) * b.a["w"][i] * (s.Value(a-theta) - (1-one)*s.Value(-a-theta))
		}), 4)
		want := b.eachValue(func(i, at int) float64 {
			a := b.a["y"][at]
			return inside(at) * b.a["w"][i] * b.a["dh"][at] * (s.Slope(a-theta) + (1-one)*s.Slope(-a-theta))
		})
		near(b.t, what, get[T](b, g, len(want)), want, 4)
		near(b.t, what, get[T](b, sum, len(want)), want, 4)
		near64(b.t, what, get[float64](b, terms, b.n), b.eachRow(func(i, at int) float64 {
			a := b.a["y"][at]
			return inside(at) * b.a["w"][i] * b.a["dh"][at] * ((1-one)*s.Slope(-a-theta) - s.Slope(a-theta))
		}), 1e-12)
	}
}

func testRepresent[T kernel.Float](b *block[T], what string) {
	a, minus := b.a, b.p["c"]
	dt, carry := empty[T](b, b.n), put64(b, kernel.Convert[T](a["dh"]))
	b.k.byRow("represent_cotangent", b.n, dt, carry, int32(0), b.p["g"], b.p["z"], b.p["y"], b.p["prev"], b.p["t"], b.p["h"],
		minus, int32(b.n), int32(b.ld))
	b.ran(what)
	near(b.t, what+": dt", get[T](b, dt, b.n), b.eachRow(func(_, at int) float64 {
		return a["g"][at]*a["y"][at] - a["z"][at]*a["prev"][at]
	}), 4*b.m)
	near(b.t, what+": carry", get[T](b, carry, b.n*b.ld), b.eachValue(func(i, at int) float64 {
		return a["dh"][at] + (1-a["t"][i])*a["z"][at]
	}), 4)
	near(b.t, what+": dY", get[T](b, b.p["g"], b.n*b.ld), b.eachValue(func(i, at int) float64 {
		return a["t"][i]*a["g"][at] + a["c"][i]*a["h"][at]
	}), 4)
}

func testVectors[T kernel.Float](b *block[T], what string) {
	less := empty[T](b, b.n)
	b.k.byElement("one_less", b.n, less, b.p["t"], int32(b.n))
	poison := empty[T](b, b.n)
	b.k.byElement("scale_add", b.n, poison, T(0), b.p["t"], int64(b.n)) // reads nothing of what it replaces
	both := put64(b, kernel.Convert[T](b.a["w"]))
	b.k.byElement("scale_add", b.n, both, T(3), b.p["t"], int64(b.n))
	b.ran(what)
	for i, x := range b.a["t"] {
		near(b.t, what, get[T](b, less, b.n)[i:i+1], []float64{1 - x}, 1)
		near(b.t, what, get[T](b, poison, b.n)[i:i+1], []float64{x}, 1)
		near(b.t, what, get[T](b, both, b.n)[i:i+1], []float64{x + 3*b.a["w"][i]}, 2)
	}
}

// Direct rows are found wherever they lie in a block of rows, and no others.
func TestDirectRowsAreFound(t *testing.T) {
	for _, at := range []int{0, 7, 8, 63, 64, 130, 191, 192, 199} {
		b := newBlock[float64](t, 200, 3, 2)
		flags, before := make([]byte, b.n), make([]float64, b.n)
		flags[at] = 1
		for i := range before {
			before[i] = -1
		}
		q, direct := put64(b, before), put64(b, flags)
		grid, n := [3]int{ceil(b.n, directRows), 1, 1}, int32(b.n)
		b.k.launch(b.k.rows, "direct_residual", grid, rowThreads, 0, q, direct, b.p["x"], int32(b.ldx), b.p["h"], int32(b.ld),
			b.p["P"], n, int32(b.m), int32(b.d))
		b.k.launch(b.k.rows, "subtract_direct", grid, rowThreads, b.m*8, b.p["dh"], b.p["c"], direct, b.p["x"], int32(b.ldx),
			b.p["h"], int32(b.ld), b.p["P"], n, int32(b.m), int32(b.d))
		b.ran("direct rows")
		was := b.a["dh"]
		for i, x := range get[float64](b, q, b.n) {
			if (x != -1) != (i == at) {
				t.Errorf("row %d is direct: the residual of row %d is %v", at, i, x)
			}
		}
		for i, x := range get[float64](b, b.p["dh"], b.n*b.ld) {
			if row, column := i/b.ld, i%b.ld; (x != was[i]) != (row == at && column < b.m) {
				t.Errorf("row %d is direct: column %d of row %d was %v and is %v", at, column, row, was[i], x)
			}
		}
	}
}
