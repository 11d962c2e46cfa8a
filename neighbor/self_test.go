package neighbor

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// What does not fit the graph is an error.
func TestAloneErrors(t *testing.T) {
	data := randomData(5, 20, false, 7, 4)
	index, err := Build(t.Context(), viewsOf[float64](t, data), Spaces([]int{0, 1}), Config{Neighbors: 4})
	if err != nil {
		t.Fatal(err)
	}
	op := index.Operator()
	for _, x := range []struct {
		steps, sample int
		want          string
	}{
		{-1, 0, "-1 steps"}, {maxSteps + 1, 0, "1001 steps"},
		{2, -1, "sample -1"}, {2, 20, "sample 20 does not exist: there are 20 samples"},
	} {
		got, err := SelfWeights[float64](t.Context(), op, x.steps, 1, []int{x.sample}, nil)
		if got != nil || err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%d steps, sample %d: %v, %v", x.steps, x.sample, got, err)
		}
	}
	ld := Stride(7)
	filters, err := Smooth(t.Context(), op, []Block[float64]{{X: make([]float64, 20*ld), Ld: ld, Cols: 7}}, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	row := Block[float64]{X: make([]float64, ld), Ld: ld, Cols: 7}
	if err := filters[0].Alone(op, []int{20}, []float64{0}, row); err == nil || !strings.Contains(err.Error(), "sample 20") {
		t.Error(err)
	}
	if err := filters[0].Alone(op, []int{1}, nil, row); err == nil || !strings.Contains(err.Error(), "0 own weights") {
		t.Error(err)
	}
}

// TestAlone compares the rows that a sample would get as a new one with those of the dense filter whose diagonal is what a new
// sample keeps of itself.
func TestAlone(t *testing.T) {
	const n, cols = 50, 7
	data := randomData(5, n, false, cols, 4)
	samples := []int{3, 0, 49, 17, 18, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12,
		13, 14, 15, 16, 32, 33}
	for name, exactUpTo := range map[string]int{"exact": n, "landmarks": -1} {
		views := viewsOf[float64](t, data)
		index, err := Build(context.Background(), views, Spaces([]int{0, 1}), Config{ExactUpTo: exactUpTo, Neighbors: 4})
		if err != nil {
			t.Fatal(err)
		}
		a := make([]float64, n*Stride(n))
		eye := make([]float64, n*Stride(n))
		for i := range n {
			eye[i*Stride(n)+i] = 1
		}
		if err := index.Operator().Mul64(context.Background(), 1, a, eye, Stride(n)); err != nil {
			t.Fatal(err)
		}
		half := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				half.Set(i, j, (a[i*Stride(n)+j]+eye[i*Stride(n)+j])/2)
			}
		}
		for _, steps := range []int{0, 1, 2, 6, 7} {
			var power mat.Dense
			power.Pow(half, steps)
			self, err := SelfWeights[float64](context.Background(), index.Operator(), steps, 2, samples, nil)
			if err != nil {
				t.Fatal(err)
			}
			ld := Stride(cols)
			some, all := make([]float64, len(samples)*ld), make([]float64, n*ld)
			x := mat.NewDense(n, cols, data.x[0])
			for i := range n {
				copy(all[i*ld:], x.RawRowView(i))
			}
			for r, i := range samples {
				copy(some[r*ld:], x.RawRowView(i))
			}
			blocks := []Block[float64]{{X: all, Ld: ld, Cols: cols}}
			filters, err := Smooth(context.Background(), index.Operator(), blocks, steps, 1)
			if err != nil {
				t.Fatal(err)
			}
			alone := Block[float64]{X: some, Ld: ld, Cols: cols}
			if err := filters[0].Alone(index.Operator(), samples, self, alone); err != nil {
				t.Fatal(err)
			}
			for r, i := range samples {
				share := math.Ldexp(1, -steps)
				if want := power.At(i, i) - share; math.Abs(self[r]-want) > 1e-14 {
					t.Errorf("%s, %d steps: sample %d has the weight %g, want %g", name, steps, i, self[r], want)
				}
				power.Set(i, i, share)
				var want mat.VecDense
				want.MulVec(x.T(), power.RowView(i))
				for j := range cols {
					if got := some[r*ld+j]; math.Abs(got-want.AtVec(j)) > 1e-12 {
						t.Errorf("%s, %d steps: column %d of sample %d is %g, want %g", name, steps, j, i, got, want.AtVec(j))
					}
				}
			}
		}
	}
}
