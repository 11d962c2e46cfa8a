package neighbor

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// denseFill is Fill by its definition.
func denseFill(a *mat.Dense, x *mat.Dense, present []bool, steps int) *mat.Dense {
	n, d := x.Dims()
	e := mat.NewVecDense(n, nil)
	out := mat.NewDense(n, d, nil)
	for i, p := range present {
		if p {
			e.SetVec(i, 1)
			out.SetRow(i, x.RawRowView(i))
		}
	}
	for range steps {
		var y mat.Dense
		var share mat.VecDense
		y.Mul(a, out)
		share.MulVec(a, e)
		for i, p := range present {
			if p || !(share.AtVec(i) > 0) {
				continue
			}
			for j := range d {
				out.Set(i, j, y.At(i, j)/share.AtVec(i))
			}
			e.SetVec(i, 1)
		}
	}
	for i, p := range present {
		if p {
			continue
		}
		row := out.RawRowView(i)
		if e.AtVec(i) == 0 {
			for k, q := range present {
				for j := 0; q && j < d; j++ {
					row[j] += x.At(k, j)
				}
			}
		}
		norm := mat.Norm(mat.NewVecDense(d, row), 2)
		for j := range row {
			row[j] /= norm
		}
	}
	return out
}

func checkFill[T Float](t *testing.T, tolerance float64) {
	d := randomData(61, 90, true, 7, 20, 5)
	for name, index := range operators[T](t, d) {
		a := operatorMatrix(t, index.Operator())
		for _, steps := range []int{1, 2, 10} {
			for v := range d.x {
				b := blockOf[T](d, v)
				before := append([]T(nil), b.X...)
				for _, workers := range []int{1, 3} {
					filled, err := Fill(context.Background(), index.Operator(), []Block[T]{b}, steps, workers)
					if err != nil {
						t.Fatal(err)
					}
					present := b.Present
					if present == nil {
						if &filled[0].X[0] != &b.X[0] {
							t.Errorf("%s: a complete view is copied", name)
						}
						continue
					}
					want := denseFill(a, b.matrix(90), present, steps)
					if got := filled[0].matrix(90); far(got, want) > tolerance {
						t.Errorf("%s, view %d, %d steps: off by %v", name, v, steps, far(got, want))
					}
					for i, p := range present {
						for j := 0; p && j < b.Cols; j++ {
							if filled[0].X[i*filled[0].Ld+j] != before[i*b.Ld+j] {
								t.Fatalf("%s: present row %d has changed", name, i)
							}
						}
					}
				}
			}
		}
	}
}

func TestFillEqualsDense(t *testing.T) {
	t.Run("float64", func(t *testing.T) { checkFill[float64](t, 1e-12) })
	t.Run("float32", func(t *testing.T) { checkFill[float32](t, 1e-5) })
}

// Samples that nothing joins to one that has the view get the mean of those that have it, at norm 1.
func TestFillOfUnreachedRows(t *testing.T) {
	links, err := NewLinks(4, 4, []int{0, 1, 2, 3, 4}, []int32{1, 0, 3, 2}, []float64{1, 1, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	b := Block[float64]{X: []float64{3, 0, 0, 4, math.NaN(), 1, 1, 1}, Ld: 2, Cols: 2, Present: []bool{true, true, false, false}}
	filled, err := Fill(context.Background(), must(NewGraph(links)), []Block[float64]{b}, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	f := filled[0]
	for i := 2; i < 4; i++ {
		if math.Abs(f.X[i*f.Ld]-0.6) > 1e-12 || math.Abs(f.X[i*f.Ld+1]-0.8) > 1e-12 {
			t.Errorf("row %d is %v", i, f.X[i*f.Ld:i*f.Ld+2])
		}
	}
	if _, err := Fill(context.Background(), must(NewGraph(links)), []Block[float64]{b}, 0, 1); err == nil {
		t.Error("no error for no steps")
	}
	if _, err := Fill[float64](context.Background(), nil, []Block[float64]{b}, 1, 1); err == nil {
		t.Error("no error for no operator")
	}
}
