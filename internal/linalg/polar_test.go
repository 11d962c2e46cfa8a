package linalg

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

func random(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// withValues returns an m×d matrix with the given singular values (min(m, d) of them).
func withValues(rng *rand.Rand, m, d int, sigma []float64) []float64 {
	var left, right mat.QR
	left.Factorize(mat.NewDense(m, m, random(rng, m*m)))
	right.Factorize(mat.NewDense(d, d, random(rng, d*d)))
	var u, v, out mat.Dense
	left.QTo(&u)
	right.QTo(&v)
	s := mat.NewDense(m, d, nil)
	for i, x := range sigma {
		s.Set(i, i, x)
	}
	out.Product(&u, s, v.T())
	return out.RawMatrix().Data
}

// difference is the largest absolute difference, relative to the largest entry of want.
func difference(got, want []float64) float64 {
	return floats.Distance(got, want, math.Inf(1)) / max(floats.Norm(want, math.Inf(1)), 1e-300)
}

// orthogonality is the largest entry of P·Pᵀ − I (m ≤ d) or PᵀP − I (m > d).
func orthogonality(m, d int, p []float64) float64 {
	x := mat.NewDense(m, d, p)
	var g mat.Dense
	if m <= d {
		g.Mul(x, x.T())
	} else {
		g.Mul(x.T(), x)
	}
	for i := range min(m, d) {
		g.Set(i, i, g.At(i, i)-1)
	}
	return floats.Norm(g.RawMatrix().Data, math.Inf(1))
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("../../testdata/golden/procrustes_*.npz")
	if err != nil || len(files) != 22 {
		t.Fatalf("%d golden Procrustes files, want 22 (%v)", len(files), err)
	}
	var p Polar
	for _, file := range files {
		z := testutil.LoadNPZ(t, file)
		m, d := z["M"].Shape[0], z["M"].Shape[1]
		got, grad := make([]float64, m*d), make([]float64, m*d)
		if err := p.Factor(m, d, z["M"].Float64s(), got); err != nil {
			t.Fatal(err)
		}
		p.Grad(z["G"].Float64s(), grad)
		eP, eM := difference(got, z["P"].Float64s()), difference(grad, z["dM"].Float64s())
		t.Logf("%s %d×%d: P %.1e dM %.1e", filepath.Base(file), m, d, eP, eM)
		if eP > 1e-9 || eM > 1e-9 {
			t.Errorf("%s: relative error %.1e in P, %.1e in dM", filepath.Base(file), eP, eM)
		}
		var loaded Polar
		if err := loaded.Load(m, d, z["M"].Float64s(), got); err != nil {
			t.Fatal(err)
		}
		loaded.Grad(z["G"].Float64s(), grad)
		if e := difference(grad, z["dM"].Float64s()); e > 1e-9 {
			t.Errorf("%s: relative error %.1e in dM after Load", filepath.Base(file), e)
		}
	}
}

// TestAgainstSVD compares with gonum's singular value decomposition from well to badly conditioned matrices: over the Gram
// matrix alone, its polish and the full decomposition.
func TestAgainstSVD(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, shape := range [][2]int{{1, 1}, {1, 9}, {9, 1}, {5, 5}, {7, 50}, {50, 7}, {31, 64}} {
		m, d := shape[0], shape[1]
		for _, condition := range []float64{1, 5, 50, 1e3, 5e4, 1e6, 1e8} {
			t.Run(fmt.Sprintf("%dx%d/%.0e", m, d, condition), func(t *testing.T) {
				sigma := make([]float64, min(m, d))
				for i := range sigma {
					sigma[i] = 3 * math.Pow(condition, -float64(i)/float64(max(len(sigma)-1, 1)))
				}
				M := withValues(rng, m, d, sigma)
				var svd mat.SVD
				svd.Factorize(mat.NewDense(m, d, M), mat.SVDThin)
				var u, v, want mat.Dense
				svd.UTo(&u)
				svd.VTo(&v)
				want.Mul(&u, v.T())
				got := make([]float64, m*d)
				var p Polar
				if err := p.Factor(m, d, M, got); err != nil {
					t.Fatal(err)
				}
				// A perturbation of M by 2⁻⁵³ moves P by that times the condition.
				if e := difference(got, want.RawMatrix().Data); e > 1e-14*(10+condition) {
					t.Errorf("P differs by %.1e", e)
				}
				if e := orthogonality(m, d, got); e > 1e-13 {
					t.Errorf("P is orthonormal to %.1e only", e)
				}
				G, dM := random(rng, m*d), make([]float64, m*d)
				p.Grad(G, dM)
				if e := difference(dM, gradBySVD(m, d, &u, &v, svd.Values(nil), G)); e > 1e-14*(100+10*condition) {
					t.Errorf("dM differs by %.1e", e)
				}
			})
		}
	}
}

// gradBySVD is the formula of Grad, written out.
func gradBySVD(m, d int, b, c *mat.Dense, sigma, g []float64) []float64 {
	G := mat.NewDense(m, d, g)
	var q, gc, bg, out, x mat.Dense
	gc.Mul(G, c)
	q.Mul(b.T(), &gc)
	bg.Mul(b.T(), G)
	k := mat.NewDense(len(sigma), len(sigma), nil)
	for i := range sigma {
		for j := range sigma {
			k.Set(i, j, (q.At(i, j)-q.At(j, i))/(sigma[i]+sigma[j]))
		}
	}
	out.Product(b, k, c.T())
	inv := mat.NewDiagDense(len(sigma), nil)
	for i, s := range sigma {
		inv.SetDiag(i, 1/s)
	}
	var left, right mat.Dense
	x.Product(b, b.T(), &gc)
	left.Sub(&gc, &x)
	x.Reset()
	x.Product(&left, inv, c.T())
	out.Add(&out, &x)
	x.Reset()
	x.Product(&bg, c, c.T())
	right.Sub(&bg, &x)
	x.Reset()
	x.Product(b, inv, &right)
	out.Add(&out, &x)
	return out.RawMatrix().Data
}

// TestGradFiniteDifferences: central differences of ⟨G, P(M)⟩, random matrices and repeated singular values.
func TestGradFiniteDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for _, shape := range [][2]int{{1, 1}, {1, 4}, {4, 1}, {3, 8}, {8, 3}, {5, 5}, {6, 7}} {
		m, d := shape[0], shape[1]
		same := make([]float64, min(m, d))
		for i := range same {
			same[i] = 2
		}
		for name, M := range map[string][]float64{"random": random(rng, m*d), "repeated": withValues(rng, m, d, same)} {
			t.Run(fmt.Sprintf("%s/%dx%d", name, m, d), func(t *testing.T) {
				G, dM := random(rng, m*d), make([]float64, m*d)
				var p Polar
				f := func(x []float64) float64 {
					P := make([]float64, m*d)
					if err := p.Factor(m, d, x, P); err != nil {
						t.Fatal(err)
					}
					return floats.Dot(G, P)
				}
				want := fd.Gradient(nil, f, M, &fd.Settings{Formula: fd.Central, Step: 1e-5})
				f(M)
				p.Grad(G, dM)
				if e := floats.Distance(dM, want, math.Inf(1)); e > 1e-7*(1+floats.Norm(want, math.Inf(1))) {
					t.Errorf("gradient differs from central differences by %.1e", e)
				}
			})
		}
	}
}

// TestNoFullRank: with zero and nearly zero singular values P is orthonormal, maximises ⟨P, M⟩, and is the same again; the
// gradient is finite and bounded by the floor.
func TestNoFullRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, shape := range [][2]int{{5, 12}, {12, 5}, {6, 6}} {
		m, d := shape[0], shape[1]
		for rank := range min(m, d) {
			for _, tail := range []float64{0, 1e-300, 1e-15, 1e-12, 1e-8} {
				sigma := make([]float64, min(m, d))
				for i := range sigma {
					if sigma[i] = tail; i < rank {
						sigma[i] = float64(i + 1)
					}
				}
				M := withValues(rng, m, d, sigma)
				P, again := make([]float64, m*d), make([]float64, m*d)
				p := Polar{Floor: 1e-5}
				if err := p.Factor(m, d, M, P); err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("%d×%d rank %d tail %g", m, d, rank, tail)
				if e := orthogonality(m, d, P); e > 1e-13 {
					t.Errorf("%s: orthonormal to %.1e only", name, e)
				}
				if got, want := floats.Dot(P, M), floats.Sum(sigma); math.Abs(got-want) > 1e-13*want {
					t.Errorf("%s: ⟨P, M⟩ = %g, want the sum of the singular values %g", name, got, want)
				}
				G, dM := random(rng, m*d), make([]float64, m*d)
				p.Grad(G, dM)
				bound := 3 * floats.Norm(G, 2) / (1e-5 * max(float64(rank), tail)) // σ_max is rank, or tail
				if norm := floats.Norm(dM, 2); math.IsNaN(norm) || norm > bound {
					t.Errorf("%s: gradient of norm %g, bound %g", name, norm, bound)
				}
				var other Polar
				if err := other.Factor(m, d, M, again); err != nil || floats.Distance(P, again, 1) != 0 {
					t.Errorf("%s: a second factorisation differs (%v)", name, err)
				}
			}
		}
	}
}

// TestDeadRows: anchors without a sample (zero rows of M) get unit vectors outside the span of the others, and leave the
// polar factor of the others alone.
func TestDeadRows(t *testing.T) {
	M := []float64{
		0, 0, 0, 0,
		3, 0, 4, 0,
		0, 0, 0, 0,
	}
	want := []float64{
		0, 1, 0, 0,
		0.6, 0, 0.8, 0,
		0, 0, 0, 1,
	}
	P := make([]float64, len(M))
	var p Polar
	if err := p.Factor(3, 4, M, P); err != nil {
		t.Fatal(err)
	}
	if e := difference(P, want); e > 1e-14 {
		t.Errorf("P = %v, want %v", P, want)
	}
}

func TestZero(t *testing.T) {
	for _, shape := range [][2]int{{2, 3}, {3, 2}, {2, 2}, {1, 1}} {
		m, d := shape[0], shape[1]
		P, dM := make([]float64, m*d), make([]float64, m*d)
		var p Polar
		if err := p.Factor(m, d, make([]float64, m*d), P); err != nil {
			t.Fatal(err)
		}
		for i := range m {
			for j := range d {
				want := 0.0
				if i == j {
					want = 1
				}
				if P[i*d+j] != want {
					t.Errorf("%d×%d: P of the zero matrix has %g at %d, %d", m, d, P[i*d+j], i, j)
				}
			}
		}
		dM[0] = 7
		p.Grad(append([]float64(nil), P...), dM)
		if floats.Norm(dM, 1) != 0 {
			t.Errorf("%d×%d: gradient %v at the zero matrix, want 0", m, d, dM)
		}
	}
}

// TestScale: P does not depend on the scale of M, exactly for powers of two, and the gradient goes with its inverse.
func TestScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	M, G := random(rng, 4*9), random(rng, 4*9)
	P, dM := make([]float64, len(M)), make([]float64, len(M))
	var p Polar
	if err := p.Factor(4, 9, M, P); err != nil {
		t.Fatal(err)
	}
	p.Grad(G, dM)
	for _, scale := range []float64{0x1p-900, 0x1p-3, 0x1p900} {
		N, Q, dN := make([]float64, len(M)), make([]float64, len(M)), make([]float64, len(M))
		floats.ScaleTo(N, scale, M)
		if err := p.Factor(4, 9, N, Q); err != nil {
			t.Fatal(err)
		}
		p.Grad(G, dN)
		floats.Scale(scale, dN)
		if floats.Distance(P, Q, 1) != 0 || floats.Distance(dM, dN, 1) != 0 {
			t.Errorf("scaled by %g: P or the gradient is another", scale)
		}
	}
}

func TestErrors(t *testing.T) {
	var p Polar
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		M, P := make([]float64, 6), make([]float64, 6)
		M[4] = bad
		if err := p.Factor(2, 3, M, P); err == nil {
			t.Errorf("no error for %v", bad)
		}
	}
	for _, c := range [][4]int{{0, 3, 0, 0}, {3, 0, 0, 0}, {-1, -1, 1, 1}, {2, 3, 5, 6}, {2, 3, 6, 5}} {
		if err := p.Factor(c[0], c[1], make([]float64, c[2]), make([]float64, c[3])); err == nil {
			t.Errorf("no error for sizes %v", c)
		}
	}
}

// TestProperties: random shapes and spectra, in place, with one Polar for all.
func TestProperties(t *testing.T) {
	var p Polar
	rapid.Check(t, func(t *rapid.T) {
		m, d := rapid.IntRange(1, 12).Draw(t, "m"), rapid.IntRange(1, 12).Draw(t, "d")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		sigma := make([]float64, min(m, d))
		for i := range sigma {
			sigma[i] = math.Pow(10, -rapid.Float64Range(0, 4).Draw(t, "exponent"))
		}
		M := withValues(rng, m, d, sigma)
		P := append([]float64(nil), M...)
		if err := p.Factor(m, d, P, P); err != nil {
			t.Fatal(err)
		}
		if e := orthogonality(m, d, P); e > 1e-13 {
			t.Fatalf("orthonormal to %.1e only", e)
		}
		// P is polar where M·Pᵀ (PᵀM if tall) is symmetric with the singular values for eigenvalues.
		if got, want := floats.Dot(P, M), floats.Sum(sigma); math.Abs(got-want) > 1e-13*want {
			t.Fatalf("⟨P, M⟩ = %.17g, want %.17g", got, want)
		}
		// P does not change along M itself: ⟨dM, M⟩ = 0. Its derivative is a symmetric operator: ⟨G₂, dM(G₁)⟩ = ⟨G₁, dM(G₂)⟩.
		g1, g2 := random(rng, m*d), random(rng, m*d)
		d1, d2 := make([]float64, m*d), append([]float64(nil), g2...)
		p.Grad(g1, d1)
		p.Grad(d2, d2)
		scale := floats.Norm(g1, 2) * floats.Norm(g2, 2) / floats.Min(sigma)
		if e := floats.Dot(d1, M); math.Abs(e) > 1e-11*scale {
			t.Fatalf("⟨dM, M⟩ = %g", e)
		}
		if e := floats.Dot(g2, d1) - floats.Dot(g1, d2); math.Abs(e) > 1e-11*scale {
			t.Fatalf("the derivative is not symmetric: %g", e)
		}
	})
}

// TestAllocations: a repeated call does not allocate (the full decomposition, used where M has no full rank, does).
func TestAllocations(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	M, P := random(rng, 7*50), make([]float64, 7*50)
	var p Polar
	if n := testing.AllocsPerRun(10, func() {
		if err := p.Factor(7, 50, M, P); err != nil {
			t.Fatal(err)
		}
		p.Grad(M, P)
	}); n != 0 {
		t.Errorf("%g allocations a call", n)
	}
}

func BenchmarkPolar(b *testing.B) {
	rng := rand.New(rand.NewPCG(6, 1))
	for _, shape := range [][2]int{{7, 500}, {10, 784}, {31, 784}, {100, 944}} {
		m, d := shape[0], shape[1]
		M, P := random(rng, m*d), make([]float64, m*d)
		var p Polar
		name := fmt.Sprintf("%dx%d", m, d)
		b.Run("factor/"+name, func(b *testing.B) {
			for b.Loop() {
				if err := p.Factor(m, d, M, P); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("grad/"+name, func(b *testing.B) {
			for b.Loop() {
				p.Grad(M, P)
			}
		})
		b.Run("svd/"+name, func(b *testing.B) {
			for b.Loop() {
				var svd mat.SVD
				svd.Factorize(mat.NewDense(m, d, M), mat.SVDThin)
			}
		})
	}
}

// TestEmptyColumns: columns of zeros leave the completed polar factor as it is without them.
func TestEmptyColumns(t *testing.T) {
	M := []float64{
		0, 1, -2, 0, 3, 1,
		0, -1, 2, 0, -3, -1,
		0, 2, 0, 0, 1, 5,
	}
	kept := []int{1, 2, 4, 5}
	var part []float64
	for i := range 3 {
		for _, j := range kept {
			part = append(part, M[i*6+j])
		}
	}
	P, without := make([]float64, 18), make([]float64, 12)
	var p Polar
	if err := errors.Join(p.Factor(3, 6, M, P), p.Factor(3, 4, part, without)); err != nil {
		t.Fatal(err)
	}
	want := make([]float64, 18)
	for k, v := range without {
		want[k/4*6+kept[k%4]] = v
	}
	if e := difference(P, want); e > 1e-12 {
		t.Errorf("P = %v, want %v", P, want)
	}
}

// TestPrepare: with eigenvectors computed beside the caller, a gradient has the same bits, after a factor without one too.
func TestPrepare(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	const m, d = 8, 20
	M, G := withValues(rng, m, d, []float64{900, 400, 100, 90, 50, 4, 2, 1}), random(rng, m*d)
	want, got, p := make([]float64, m*d), make([]float64, m*d), make([]float64, m*d)
	plain, ahead := Polar{}, Polar{Wide: &host{}}
	for i, polar := range []*Polar{&plain, &ahead, &ahead} {
		if err := polar.Factor(m, d, M, p); err != nil {
			t.Fatal(err)
		}
		if polar.Prepare(); i == 1 {
			continue // no gradient is wanted
		}
		if err := polar.Grad(G, got); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			copy(want, got)
		}
	}
	if !slices.Equal(got, want) {
		t.Error("other bits")
	}
}

func TestFinishNeedsBegin(t *testing.T) {
	var p Polar
	if err := p.Finish(make([]float64, 6)); err == nil {
		t.Error("a factor of no matrix")
	}
	if err := p.Begin(2, 3, make([]float64, 6)); err != nil {
		t.Fatal(err)
	}
	if err := p.Finish(make([]float64, 5)); err == nil {
		t.Error("a factor of another size")
	}
}
