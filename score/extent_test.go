package score

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The indices do not depend on the unit of the values, nor on columns that are the same in all rows, where squared distances
// overflow or vanish.
func TestIndicesOfAnySize(t *testing.T) {
	const n = 60
	x := indexRows()
	labels := make([]int, n)
	for i := range labels {
		labels[i] = i % 3
	}
	indices := func(x mat.Matrix) [3]float64 {
		s, err := Silhouette(t.Context(), x, labels, SilhouetteConfig{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := CalinskiHarabasz(x, labels)
		if err != nil {
			t.Fatal(err)
		}
		b, err := DaviesBouldin(x, labels)
		if err != nil {
			t.Fatal(err)
		}
		return [3]float64{s, c, b}
	}
	want := indices(x)
	wide := mat.NewDense(n, 6, nil)
	for _, factor := range []float64{
		1e-305, 1e-200, 1e-170, 1e-100, 1e-90, 1e-30, 1, 1e30, 1e90, 1e100, 1e160, 1e200, 1e306,
		math.Ldexp(1, -700), math.Ldexp(1, 700),
	} {
		for _, constant := range []float64{0, 3 * factor, math.MaxFloat64} {
			for i := range n {
				for j := range 5 {
					wide.Set(i, j, x.At(i, j)*factor)
				}
				wide.Set(i, 5, constant)
			}
			got := indices(wide)
			for k := range want {
				if !(math.Abs(got[k]-want[k]) <= 1e-9*math.Abs(want[k])) {
					t.Errorf("times %v, constant %v: %v, want %v", factor, constant, got, want)
				}
			}
		}
	}
	for i := range n { // differences that are no number themselves
		for j := range 5 {
			wide.Set(i, j, (x.At(i, j)-9)*1e307)
		}
	}
	if got := indices(wide); !(math.Abs(got[0]-want[0]) < 1e-12) || !(math.Abs(got[1]-want[1]) < 1e-9) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, same := range []float64{0, 1, 1e-300, math.MaxFloat64} {
		for i := range n {
			for j := range 6 {
				wide.Set(i, j, same)
			}
		}
		if got := indices(wide); got != [3]float64{0, 1, 0} {
			t.Errorf("all rows %v: %v", same, got)
		}
	}
}

// brokenMatrix is a matrix of a user's own that panics.
type brokenMatrix struct{ mat.Matrix }

func (brokenMatrix) At(int, int) float64 { panic("it is gone") }

// A panic of a user's matrix is an error.
func TestMatrixThatPanics(t *testing.T) {
	x, labels := brokenMatrix{mat.NewDense(4, 1, nil)}, []int{0, 0, 1, 1}
	_, s := Silhouette(t.Context(), x, labels, SilhouetteConfig{})
	_, c := CalinskiHarabasz(x, labels)
	_, d := DaviesBouldin(x, labels)
	for _, err := range []error{s, c, d} {
		if err == nil || !strings.HasPrefix(err.Error(), "score: reading the matrix: panic: it is gone") {
			t.Errorf("%v", err)
		}
	}
}
