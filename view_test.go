package largemvc

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"

	"gonum.org/v1/gonum/mat"
)

func TestViewsThatAreRefused(t *testing.T) {
	good := DenseView(3, 2, []float64{1, 2, 3, 5, 8, 1})
	var none *mat.Dense
	all := []bool{true, true, true}
	for _, test := range []struct {
		name  string
		views []View
		want  string
	}{
		{"no views", nil, "no views"},
		{"zero value", []View{good, {}}, "view 1 has no values"},
		{"too few values", []View{DenseView(3, 2, make([]float64, 5))}, "view 0: 5 values for 3×2"},
		{"too many values", []View{DenseView(3, 2, make([]float32, 7)).Named("text")}, "view 0 (text): 7 values for 3×2"},
		{"negative size", []View{DenseView[float64](-1, 2, nil)}, "0 values for -1×2"},
		{"a product that overflows", []View{DenseView[float64](math.MaxInt, 4, nil)}, "fit no memory"},
		{"no features", []View{DenseView(3, 0, []float64{})}, "view 0 has no features"},
		{"no samples", []View{DenseView(0, 3, []float64{})}, "view 0 has no samples"},
		{"nil matrix", []View{good, MatrixView(nil)}, "view 1: the matrix is nil"},
		{"nil pointer to a matrix", []View{good, MatrixView(none)}, "view 1: the size of the matrix cannot be read"},
		{
			"other samples", []View{good, DenseView(2, 2, make([]float64, 4)).Named("b")},
			"view 1 (b) has 2 samples, view 0 has 3",
		},
		{"short mask", []View{good, good.WithPresent([]bool{true})}, "presence mask of view 1 has 1 entries for 3 samples"},
		{"view without samples", []View{good, good.WithPresent(make([]bool, 3))}, "no sample has view 1"},
		{
			"sample without views",
			[]View{good.WithPresent([]bool{true, false, true}), good.WithPresent([]bool{true, false, true})},
			"sample 1 has no view",
		},

		{
			"sparse: pointers", []View{SparseView(3, 2, []int{0, 1}, []int32{0}, []float64{1})},
			"view 0: 2 row pointers for 3 rows, want 4",
		},
		{
			"sparse: columns", []View{good, SparseView(3, 2, []int{0, 1, 1, 1}, []int32{0, 1}, []float64{1})},
			"view 1: 2 columns for 1 values",
		},
		{
			"sparse: first pointer", []View{SparseView(3, 2, []int{1, 1, 1, 1}, []int32{0}, []float32{1})},
			"the row pointers go from 1 to 1, want 0 to 1",
		},
		{
			"sparse: last pointer", []View{SparseView(3, 2, []int{0, 1, 1, 2}, []int32{0}, []float32{1})},
			"the row pointers go from 0 to 2, want 0 to 1",
		},
		{
			"sparse: falling pointers",
			[]View{SparseView(3, 2, []int{0, 2, 1, 2}, []int32{0, 1}, []float32{1, 1})},
			"the pointer after row 1 is 1, that before is 2",
		},
		{
			"sparse: pointer beyond",
			[]View{SparseView(3, 2, []int{0, 9, 1, 2}, []int32{0, 1}, []float32{1, 1})},
			"the pointer after row 0 is 9, that before is 0, and there are 2 values",
		},
		{
			"sparse: column beyond", []View{SparseView(3, 2, []int{0, 1, 1, 1}, []int32{2}, []float32{1})},
			"row 0 has column 2, want 0 to 1",
		},
		{
			"sparse: negative column",
			[]View{SparseView(3, 2, []int{0, 0, 1, 1}, []int32{-1}, []float32{1}).Named("w")},
			"view 0 (w): row 1 has column -1",
		},
		{
			"sparse: column twice", []View{SparseView(3, 2, []int{0, 0, 2, 2}, []int32{1, 1}, []float32{1, 1})},
			"row 1 has column 1 after column 1",
		},
		{"sparse: no pointers", []View{SparseView[float32](-1, 2, nil, nil, nil)}, "cannot be -1×2"},
		{
			"sparse: NaN",
			[]View{good, SparseView(3, 2, []int{0, 0, 2, 2}, []int32{0, 1}, []float32{1, float32(math.NaN())})},
			"view 1 has NaN at row 1, column 1",
		},
		{
			"sparse: infinite",
			[]View{SparseView(3, 2, []int{0, 0, 0, 1}, []int32{1}, []float64{math.Inf(-1)}).WithPresent(all)},
			"view 0 has -Inf at row 2, column 1",
		},

		{
			"NaN", []View{good, DenseView(3, 2, []float64{1, 2, 3, 4, math.NaN(), 6}).Named("n")},
			"view 1 (n) has NaN at row 2, column 0",
		},
		{
			"infinite in float32", []View{DenseView(3, 2, []float32{1, 2, float32(math.Inf(1)), 4, 5, 6})},
			"view 0 has +Inf at row 1, column 0",
		},
		{
			"infinite in a matrix",
			[]View{MatrixView(mat.NewDense(2, 3, []float64{1, 2, 3, 4, math.Inf(1), 6}).T())},
			"view 0 has +Inf at row 1, column 1",
		},
		{
			"squares that overflow", []View{good, DenseView(3, 2, []float64{1, 2, 1e200, 4, 5, 6})},
			"view 1: the values of row 1 are so large",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := Fit(context.Background(), test.views, Config{Clusters: 2})
			if err == nil || c != nil || !strings.HasPrefix(err.Error(), "largemvc: ") ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q, want one with %q", err, test.want)
			}
		})
	}
}

func TestMasked(t *testing.T) {
	view := DenseView(3, 2, []float64{1, 2, 3, 5, 8, 1})
	views, err := testutil.Masked([]View{view, view}, [][]bool{{true, false}, {true, true}, {false, true}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][2]bool{{true, false}, {true, true}, {false, true}} {
		if views[0].Has(i) != want[0] || views[1].Has(i) != want[1] {
			t.Errorf("sample %d has %v and %v, want %v", i, views[0].Has(i), views[1].Has(i), want)
		}
	}
	if !view.Has(0) || !view.Has(2) {
		t.Error("the views that the mask was for have it too")
	}
	if views, err = testutil.Masked(views, nil); err != nil || !views[1].Has(0) || !views[0].Has(2) {
		t.Errorf("a nil mask: %v", err)
	}
	if _, err := testutil.Masked(views, [][]bool{{true, true}, {true}, {true, true}}); err == nil ||
		!strings.Contains(err.Error(), "1 views for sample 1, want 2") {
		t.Errorf("a short row of the mask: %v", err)
	}
}

// All kinds of views read the same rows.
func TestViewRows(t *testing.T) {
	x := []float64{0, 2, 0, 3, 0, 0, 0, 0, 0, 4, 5, 6}
	for name, v := range kindsOfHolders(4, 3, x) {
		if n, d := v.Dims(); n != 4 || d != 3 || v.err != nil {
			t.Errorf("%s is %d×%d, %v", name, n, d, v.err)
			continue
		}
		for i := range 4 {
			row := []float64{9, 9, 9}
			v.in.Row(i, row)
			for j, got := range row {
				if got != x[i*3+j] {
					t.Errorf("%s: element (%d, %d) is %v, want %v", name, i, j, got, x[i*3+j])
				}
			}
		}
	}
}

// kindsOfHolders are the same rows, n×d, in all that can hold them.
func kindsOfHolders(n, d int, x []float64) map[string]View {
	single := make([]float32, len(x))
	for i, v := range x {
		single[i] = float32(v)
	}
	dense := mat.NewDense(n, d, x)
	wide := mat.NewDense(n, d+2, nil)
	wide.Slice(0, n, 1, d+1).(*mat.Dense).Copy(dense)
	return map[string]View{
		"float64": DenseView(n, d, x), "float32": DenseView(n, d, single), "matrix": MatrixView(dense),
		"columns of a matrix": MatrixView(wide.Slice(0, n, 1, d+1)), "transposed": MatrixView(mat.DenseCopyOf(dense.T()).T()),
		"sparse": sparseOf[float64](n, d, x), "sparse float32": sparseOf[float32](n, d, x),
	}
}
