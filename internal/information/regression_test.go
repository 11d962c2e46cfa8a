package information

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// twoViews are n random samples in two views, side by side and as a regression takes them; masked, a third of them have zeros
// in the first.
func twoViews(n int, masked bool) (side *mat.Dense, x []rows.Matrix[float64]) {
	rng, dims, at := rand.New(rand.NewPCG(41, 41)), []int{6, 5}, 0
	side = mat.NewDense(n, 11, nil)
	for v, d := range dims {
		data := make([]float64, n*d)
		for i := range data {
			if masked && v == 0 && i/d%3 == 1 {
				continue
			}
			data[i] = rng.NormFloat64() / float64(1+i%d)
			side.Set(i/d, at+i%d, data[i])
		}
		x, at = append(x, rows.NewDense(n, d, d, data)), at+d
	}
	return side, x
}

// assignments are random values Q, once with the stride of s.
func assignments(s softAssignment[float64], seed uint64) (q []float64, dense *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, seed))
	q, dense = make([]float64, s.n*s.ld), mat.NewDense(s.n, s.m, nil)
	for i := range s.n {
		for j := range s.m {
			q[i*s.ld+j] = rng.NormFloat64()
			dense.Set(i, j, q[i*s.ld+j])
		}
	}
	return q, dense
}

func worst(got []float64, s softAssignment[float64], want *mat.Dense) float64 {
	most := 0.0
	for i := range s.n {
		for j := range s.m {
			most = max(most, math.Abs(got[i*s.ld+j]-want.At(i, j)))
		}
	}
	return most
}

// The prediction is that of n regressions, each without its sample, and its transpose is its adjoint.
func TestLeaveOneOut(t *testing.T) {
	const n, m, penalty = 37, 4, 0.02
	for name, masked := range map[string]bool{"complete": false, "masked": true} {
		side, x := twoViews(n, masked)
		held, err := NewLeaveOneOut(context.Background(), x, Regression{Penalty: penalty})
		if err != nil {
			t.Fatal(err)
		}
		s := newSoftAssignment[float64](nil, 1, n, m, 0.1)
		q, dense := assignments(s, 5)
		d, weights := assignments(s, 6)
		got, err := held.predict(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		want := testutil.LeaveOneOut(side, dense, penalty)
		if e := worst(got, s, want); e > 1e-10 {
			t.Fatalf("%s: the prediction differs by %.1e", name, e)
		}
		back := make([]float64, n*s.ld)
		if err := held.predictT(s, back, d); err != nil {
			t.Fatal(err)
		}
		along := 0.0
		for i := range n {
			for j := range m {
				along += want.At(i, j)*weights.At(i, j) - back[i*s.ld+j]*dense.At(i, j)
			}
		}
		if math.Abs(along) > 1e-10 {
			t.Errorf("%s: the transpose is not the adjoint, by %.1e", name, along)
		}
	}
}

// With fewer directions the prediction is that of the same regressions on the leading singular directions of all samples.
func TestLeaveOneOutDirections(t *testing.T) {
	const n, m, k, penalty = 41, 3, 5, 0.02
	side, x := twoViews(n, false)
	held, err := NewLeaveOneOut(context.Background(), x, Regression{Directions: k, Penalty: penalty})
	if err != nil {
		t.Fatal(err)
	}
	var svd mat.SVD
	if !svd.Factorize(side, mat.SVDThin) {
		t.Fatal("no singular values")
	}
	var v, y mat.Dense
	svd.VTo(&v)
	y.Mul(side, v.Slice(0, v.RawMatrix().Rows, 0, k))
	s := newSoftAssignment[float64](nil, 1, n, m, 0.1)
	q, dense := assignments(s, 8)
	got, err := held.predict(t.Context(), s, q)
	if err != nil {
		t.Fatal(err)
	}
	want := testutil.LeaveOneOut(&y, dense, penalty*math.Pow(mat.Norm(side, 2)/mat.Norm(&y, 2), 2))
	if e := worst(got, s, want); e > 1e-6 { // the directions are found by iteration
		t.Errorf("the prediction differs by %.1e", e)
	}
}
