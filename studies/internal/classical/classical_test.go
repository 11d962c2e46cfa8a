package classical

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// blobViews are the views of testutil.Blobs.
func blobViews(n, c int, noise float64, seed uint64, dims ...int) ([]largemvc.View, []int) {
	x, classes := testutil.Blobs(n, c, noise, seed, dims...)
	out := make([]largemvc.View, len(x))
	for v, d := range dims {
		out[v] = largemvc.DenseView(n, d, x[v])
	}
	return out, classes
}

// denseProblem is a classical problem with every matrix written out.
type denseProblem struct {
	x, p, e []*mat.Dense
	has     []func(i int) bool
	h       *mat.Dense
	alpha   float64
	beta    []float64
}

// newDenseProblem copies complete views, or those with a mask, whose absent rows become 0.
func newDenseProblem(views []largemvc.View, p []*mat.Dense, m int, alpha float64, beta []float64) *denseProblem {
	n, _ := views[0].Dims()
	d := &denseProblem{h: mat.NewDense(n, m, nil), alpha: alpha, beta: beta}
	for v, w := range views {
		in, err := w.Content()
		if err != nil {
			panic(err)
		}
		x := mat.NewDense(n, in.Cols, nil)
		for i := range n {
			if w.Has(i) {
				in.Row(i, x.RawRowView(i))
			}
		}
		d.x = append(d.x, x)
		d.e = append(d.e, mat.NewDense(n, in.Cols, nil))
		d.p = append(d.p, mat.DenseCopyOf(p[v]))
		d.has = append(d.has, w.Has)
	}
	return d
}

// rest returns X − E − HP of a view, 0 where it is absent, and with keepE X − HP.
func (d *denseProblem) rest(v int, keepE bool) *mat.Dense {
	var r mat.Dense
	r.Mul(d.h, d.p[v])
	r.Sub(d.x[v], &r)
	if !keepE {
		r.Sub(&r, d.e[v])
	}
	n, _ := r.Dims()
	for i := range n {
		if !d.has[v](i) {
			clear(r.RawRowView(i))
		}
	}
	return &r
}

func (d *denseProblem) objective() float64 {
	n, m := d.h.Dims()
	j := 0.0
	for v := range d.x {
		r := d.rest(v, false)
		for i := range n {
			if !d.has[v](i) {
				continue
			}
			f := mat.Norm(r.RowView(i), 2)
			j += f * f / 2
			if e := mat.Norm(d.e[v].RowView(i), 2); e > 0 {
				j += d.beta[v] * e
			}
			for k := range m {
				j += d.alpha * math.Abs(d.h.At(i, k))
			}
		}
	}
	return j
}

// stepH returns the H after its update.
func (d *denseProblem) stepH() *mat.Dense {
	n, m := d.h.Dims()
	out := mat.DenseCopyOf(d.h)
	for v := range d.x {
		var g mat.Dense
		g.Mul(d.rest(v, false), d.p[v].T())
		for i := range n {
			present := 0.0
			for _, has := range d.has {
				if has(i) {
					present++
				}
			}
			for k := range m {
				out.Set(i, k, out.At(i, k)+g.At(i, k)/present)
			}
		}
	}
	out.Apply(func(_, _ int, x float64) float64 { return max(x-d.alpha, 0) }, out)
	return out
}

func (d *denseProblem) updateE() {
	for v := range d.x {
		r := d.rest(v, true)
		n, _ := r.Dims()
		for i := range n {
			row := r.RawRowView(i)
			s := max(1-d.beta[v]/mat.Norm(r.RowView(i), 2), 0)
			for j, x := range row {
				d.e[v].Set(i, j, s*x)
			}
		}
	}
}

// stepP returns the P of a view after its update.
func (d *denseProblem) stepP(t *testing.T, v int) *mat.Dense {
	t.Helper()
	m, cols := d.p[v].Dims()
	present := mat.DenseCopyOf(d.h)
	n, _ := present.Dims()
	for i := range n {
		if !d.has[v](i) {
			clear(present.RawRowView(i))
		}
	}
	var corr mat.Dense
	if cols >= m {
		var clean mat.Dense
		clean.Sub(d.x[v], d.e[v])
		corr.Mul(present.T(), &clean)
	} else {
		var gram, part mat.Dense
		gram.Mul(present.T(), present)
		var eigen mat.EigenSym
		if !eigen.Factorize(mat.NewSymDense(m, gram.RawMatrix().Data), false) {
			t.Fatal("no eigenvalues")
		}
		corr.Mul(present.T(), d.rest(v, false))
		part.Scale(eigen.Values(nil)[m-1], d.p[v])
		corr.Add(&corr, &part)
	}
	out := make([]float64, m*cols)
	var polar linalg.Polar
	if err := polar.Factor(m, cols, mat.DenseCopyOf(&corr).RawMatrix().Data, out); err != nil {
		t.Fatal(err)
	}
	return mat.NewDense(m, cols, out)
}

func mustFit[T kernel.Float](t testing.TB, views []largemvc.View, o Options) *Result {
	t.Helper()
	r, err := Fit[T](context.Background(), views, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// neverRises fails the test where an objective rises by more than a share of scale.
func neverRises(t *testing.T, name string, j []float64, tolerance, scale float64) {
	t.Helper()
	if len(j) < 2 {
		t.Errorf("%s: %d objectives", name, len(j))
	}
	for k := 1; k < len(j); k++ {
		if !(j[k] <= j[k-1]+tolerance*scale) {
			t.Errorf("%s: J rises from %.12g to %.12g in iteration %d", name, j[k-1], j[k], k)
		}
	}
}

// classicalCases are shapes with wide views, narrow ones (d < m), and both.
var classicalCases = []struct {
	name   string
	n, m   int
	dims   []int
	masked bool
	alpha  float64
	beta   float64
}{
	{"wide", 60, 4, []int{9, 14}, false, 0.3, 1},
	{"narrow", 50, 8, []int{3, 5}, false, 0.1, 0.7},
	{"mixed, one view square", 300, 6, []int{6, 2, 20}, false, 0, 0.5},
	{"mixed with a mask", 80, 5, []int{3, 12, 7}, true, 0.2, 0.6},
	{"no noise", 40, 4, []int{8, 3}, false, 0.05, math.Inf(1)},
}

func TestClassicalAgainstDenseSteps(t *testing.T) {
	for _, test := range classicalCases {
		t.Run(test.name, func(t *testing.T) {
			views, classes := blobViews(test.n, test.m, 0.8, 5, test.dims...)
			if test.masked {
				var err error
				if views, err = testutil.Masked(views, testutil.Absent(test.n, len(views), 0.4, 1)); err != nil {
					t.Fatal(err)
				}
			}
			o := Options{Clusters: test.m, Alpha: test.alpha, Beta: test.beta, Labels: classes, Iterations: 12}
			r := mustFit[float64](t, views, o)
			if len(r.Objective) != 13 {
				t.Fatalf("%d objectives", len(r.Objective))
			}
			var p []*mat.Dense
			for v, w := range views {
				sums := mat.NewDense(test.m, test.dims[v], nil)
				row := make([]float64, test.dims[v])
				for i, k := range classes {
					if w.Has(i) {
						in, err := w.Content()
						if err != nil {
							t.Fatal(err)
						}
						in.Row(i, row)
						for j, x := range row {
							sums.Set(k, j, sums.At(k, j)+x)
						}
					}
				}
				out := make([]float64, test.m*test.dims[v])
				var polar linalg.Polar
				if err := polar.Factor(test.m, test.dims[v], sums.RawMatrix().Data, out); err != nil {
					t.Fatal(err)
				}
				p = append(p, mat.NewDense(test.m, test.dims[v], out))
			}
			d := newDenseProblem(views, p, test.m, test.alpha, r.Beta)
			first := d.objective()
			for k := range 12 {
				if j := d.objective(); !(math.Abs(j-r.Objective[k]) <= 1e-9*first) {
					t.Fatalf("J after %d iterations is %.12g, step by step %.12g", k, r.Objective[k], j)
				}
				d.h = d.stepH()
				d.updateE()
				for v := range d.p {
					d.p[v] = d.stepP(t, v)
				}
			}
			d.updateE()
			if j := d.objective(); !(math.Abs(j-r.Objective[12]) <= 1e-9*first) {
				t.Errorf("the last J is %.12g, step by step %.12g", r.Objective[12], j)
			}
			for v := range d.p {
				if !mat.EqualApprox(d.p[v], r.P[v], 1e-7) {
					t.Errorf("P of view %d differs", v)
				}
			}
			if !mat.EqualApprox(d.h, r.H, 1e-7) {
				t.Error("H differs")
			}
			neverRises(t, "float64", r.Objective, 1e-12, first)
		})
	}
}

func TestClassicalNeverRises(t *testing.T) {
	for seed := range uint64(8) {
		for _, test := range classicalCases {
			rng := rand.New(rand.NewPCG(seed, 9))
			views := make([]largemvc.View, len(test.dims))
			for v, d := range test.dims {
				x := make([]float64, test.n*d)
				for i := range x {
					x[i] = rng.NormFloat64() * math.Exp(rng.NormFloat64()) // heavy tails: E has work
				}
				views[v] = largemvc.DenseView(test.n, d, x)
			}
			if test.masked {
				var err error
				if views, err = testutil.Masked(views, testutil.Absent(test.n, len(views), 0.5, seed)); err != nil {
					t.Fatal(err)
				}
			}
			o := Options{Clusters: test.m, Alpha: test.alpha, Beta: test.beta, Seed: seed, Iterations: 40}
			j := mustFit[float32](t, views, o).Objective
			neverRises(t, test.name+", float32", j, 1e-6, j[0])
			j = mustFit[float64](t, views, o).Objective
			neverRises(t, test.name+", float64", j, 1e-12, j[0])
		}
	}
}

func TestClassicalEndsAtAFixedPoint(t *testing.T) {
	for _, test := range classicalCases {
		if math.IsInf(test.beta, 1) || test.n > 100 { // the large one takes long
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			views, _ := blobViews(test.n, test.m, 0.3, 7, test.dims...)
			if test.masked {
				var err error
				if views, err = testutil.Masked(views, testutil.Absent(test.n, len(views), 0.4, 1)); err != nil {
					t.Fatal(err)
				}
			}
			r := mustFit[float64](t, views, Options{Clusters: test.m, Alpha: test.alpha, Beta: test.beta, Iterations: 5000})
			d := newDenseProblem(views, r.P, test.m, test.alpha, r.Beta)
			d.h.Copy(r.H)
			d.updateE()
			// E is D_β(X − HP) exactly, as the trusts say.
			for v := range d.x {
				residual := d.rest(v, true)
				for i, trust := range r.Trust[v] {
					if !d.has[v](i) {
						if trust != 1 {
							t.Fatalf("trust of the absent sample %d of view %d is %v", i, v, trust)
						}
						continue
					}
					if want := min(1, r.Beta[v]/mat.Norm(residual.RowView(i), 2)); math.Abs(trust-want) > 1e-9 {
						t.Fatalf("trust of view %d, sample %d is %v, want %v", v, i, trust, want)
					}
				}
			}
			if j := d.objective(); !(math.Abs(j-r.Objective[5000]) <= 1e-10*r.Objective[0]) {
				t.Errorf("J is %v, from H, P and trust %v", r.Objective[5000], j)
			}
			// H is a fixed point of its update: the optimality condition of the problem in H.
			var diff mat.Dense
			diff.Sub(d.stepH(), d.h)
			if gap := mat.Norm(&diff, 2) / mat.Norm(d.h, 2); gap > 1e-4 {
				t.Errorf("the update of H moves it by %.2g", gap)
			}
			if mat.Min(d.h) < 0 {
				t.Errorf("H has the entry %v", mat.Min(d.h))
			}
			for v := range d.p {
				diff.Reset()
				diff.Sub(d.stepP(t, v), d.p[v])
				if gap := mat.Norm(&diff, 2) / mat.Norm(d.p[v], 2); gap > 1e-3 {
					t.Errorf("the update of P moves that of view %d by %.2g", v, gap)
				}
				var gram mat.Dense
				if test.dims[v] >= test.m {
					gram.Mul(d.p[v], d.p[v].T())
				} else {
					gram.Mul(d.p[v].T(), d.p[v])
				}
				for i := range min(test.dims[v], test.m) {
					gram.Set(i, i, gram.At(i, i)-1)
				}
				if e := mat.Norm(&gram, 2); e > 1e-10 {
					t.Errorf("P of view %d is orthonormal to %.2g", v, e)
				}
			}
		})
	}
}
