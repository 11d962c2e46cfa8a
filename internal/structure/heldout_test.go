package structure

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/view"
)

// Held-out labels are those of planted clusters, for any number of goroutines; samples without any view have none.
func TestHeldOut(t *testing.T) {
	views := planted(rand.New(rand.NewPCG(8, 4)), 200, 3, 9, 30, 12)
	for v := range views {
		views[v].Present = make([]bool, 200)
		for i := range 200 {
			views[v].Present[i] = i != 7 && (i+v)%9 != 0
		}
	}
	class := make([]int, 200) // as planted draws them
	r := rand.New(rand.NewPCG(8, 4))
	for i := range class {
		class[i] = r.IntN(3)
	}
	var first *Placed
	for _, workers := range []int{1, 3} {
		o := options(3, 5)
		o.Workers = workers
		p, err := HeldOut(context.Background(), views, o)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = p
		}
		if !reflect.DeepEqual(p, first) {
			t.Errorf("%d workers: other labels than with one", workers)
		}
	}
	var mine, theirs []int
	halves := [2]int{}
	for i, k := range first.Labels {
		if k < 0 != (i == 7) {
			t.Errorf("sample %d has label %d", i, k)
			continue
		}
		if k >= 0 {
			mine, theirs = append(mine, class[i]), append(theirs, k)
			halves[first.Half[i]]++
		}
	}
	if same, err := agreement(mine, theirs); err != nil || same < 0.9 {
		t.Errorf("agreement %g with the planted classes, %v", same, err)
	}
	if halves != [2]int{99, 100} {
		t.Errorf("halves of %v samples", halves)
	}
}

func TestHeldOutIsNotPossible(t *testing.T) {
	for name, views := range map[string][]view.View{
		"few samples":   pair(fewestRows-1, 8, 20, func(i, j int) float64 { return float64(i * j % 7) }),
		"many clusters": pair(11*fewestPerHalf, 8, 20, func(i, j int) float64 { return float64(i * j % 7) }),
		"constant":      pair(200, 8, 20, func(_, _ int) float64 { return 3 }),
	} {
		if p, err := HeldOut(context.Background(), views, options(12, 1)); p != nil || err != nil {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

// The clusters of both halves are numbered alike; a cluster without a partner gives no labels.
func TestJoinedHalves(t *testing.T) {
	seen := []int{0, 2, 3, 4, 5, 6}
	by := [2][]int{{0, 1, 1, 0, 0, 1}, {5, 3, 3, 5, 5, 4}}
	p, err := joinedHalves(7, seen, [2][]int{{0, 1, 5}, {2, 3, 4}}, by)
	if err != nil {
		t.Fatal(err)
	}
	want := &Placed{[]int{0, -1, 1, 1, 0, 0, -1}, []int{0, 0, 0, 1, 1, 1, 0}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%v, want %v", p, want)
	}
}

// Columns and Entries have the values of the rows, in whatever memory they are.
func TestColumnsAndEntries(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 4))
	const n, d = 9, 7
	x := mat.NewDense(n, d, nil)
	short := make([]float32, n*d)
	csr := &view.CSR{Ptr: []int{0}}
	for i := range n {
		for j := range d {
			if r.Float64() < 0.5 {
				a := float32(r.NormFloat64())
				x.Set(i, j, float64(a))
				short[i*d+j] = a
				csr.Cols, csr.F32 = append(csr.Cols, int32(j)), append(csr.F32, a)
			}
		}
		csr.Ptr = append(csr.Ptr, len(csr.Cols))
	}
	present := slices.Repeat([]bool{true}, n)
	present[4] = false
	of := []int{1, 2, 5}
	for name, v := range map[string]view.View{
		"matrix": {Matrix: x}, "float64": {F64: x.RawMatrix().Data}, "float32": {F32: short}, "sparse": {Sparse: csr},
	} {
		v.Rows, v.Cols, v.Present = n, d, present
		some := Columns(v, of)
		row := make([]float64, len(of))
		for i := range n {
			if !v.Has(i) {
				continue
			}
			some.Row(i, row)
			for q, j := range of {
				if row[q] != x.At(i, j) {
					t.Errorf("%s: row %d, column %d is %g, want %g", name, i, j, row[q], x.At(i, j))
				}
			}
		}
		for q, entries := range Entries(v, 2, 6) {
			var want []Entry
			for i := range n {
				if a := x.At(i, 2+q); a != 0 && present[i] {
					want = append(want, Entry{i, a})
				}
			}
			if !slices.Equal(entries, want) {
				t.Errorf("%s: column %d has %v, want %v", name, 2+q, entries, want)
			}
		}
	}
}

// Rows of one prepared view at norm 1 have the squared distance 2 − 2·cos. With few samples all directions are kept.
func TestSquares(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	x := made(12, 5, func(_, _ int) float64 { return r.NormFloat64() })
	o := options(2, 1)
	o.Kind = -1 // as they are, at norm 1
	square, stride, err := Squares(context.Background(), []view.View{x}, o)
	if err != nil {
		t.Fatal(err)
	}
	a, b := mat.NewVecDense(5, nil), mat.NewVecDense(5, nil)
	for i := range 12 {
		for j := range 12 {
			x.Row(i, a.RawVector().Data)
			x.Row(j, b.RawVector().Data)
			want := 2 - 2*mat.Dot(a, b)/mat.Norm(a, 2)/mat.Norm(b, 2)
			if got := float64(square[i*stride+j]); math.Abs(got-want) > 1e-5 {
				t.Errorf("samples %d and %d: %g, want %g", i, j, got, want)
			}
		}
	}
	constant := made(12, 5, func(_, _ int) float64 { return 1 })
	if square, _, err := Squares(context.Background(), []view.View{constant}, options(2, 1)); square != nil || err != nil {
		t.Errorf("constant: %d numbers, %v", len(square), err)
	}
}
