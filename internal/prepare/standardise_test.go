package prepare

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/internal/view"
)

// holders are x in memory of every kind.
func holders(n, d int, x []float64) map[string]view.View {
	single := make([]float32, len(x))
	for i, v := range x {
		single[i] = float32(v)
	}
	out := map[string]view.View{
		"float64":    {Rows: n, Cols: d, F64: x},
		"float32":    {Rows: n, Cols: d, F32: single},
		"transposed": {Rows: n, Cols: d, Matrix: mat.DenseCopyOf(mat.NewDense(n, d, x).T()).T()},
	}
	ptr, cols, values := testutil.Compressed[float64](n, d, x)
	out["sparse64"] = view.View{Rows: n, Cols: d, Sparse: &view.CSR{Ptr: ptr, Cols: cols, F64: values}}
	ptr, cols, narrow := testutil.Compressed[float32](n, d, x)
	out["sparse32"] = view.View{Rows: n, Cols: d, Sparse: &view.CSR{Ptr: ptr, Cols: cols, F32: narrow}}
	return out
}

func TestStandardise(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testStandardise[float32](t, 3e-6) })
	t.Run("float64", func(t *testing.T) { testStandardise[float64](t, 1e-13) })
}

func testStandardise[T kernel.Float](t *testing.T, tol float64) {
	const n, d = 1100, 23 // more rows than a goroutine takes at once
	x := testutil.Counts(n, d, 1)
	present := make([]bool, n)
	for i := range present {
		present[i] = i%3 != 1
	}
	for _, kind := range []Kind{PerSample, Balanced, ZScore, UnitNorm, Raw} {
		for name, in := range holders(n, d, x) {
			for _, mask := range [][]bool{nil, present} {
				in.Present = mask
				views := []view.View{in}
				s, err := Measure(context.Background(), nil, kind, views, 2)
				if err != nil {
					t.Fatal(err)
				}
				got, err := Standardise[T](context.Background(), nil, views, s, 2, false)
				if err != nil {
					t.Fatal(err)
				}
				want := testutil.Standardised(kind.String(), x, n, d, mask)
				row := make([]T, d)
				for i := range n {
					got[0].Row(i, row)
					for j, v := range row {
						if w := want[i*d+j]; !(math.Abs(float64(v)-w) <= tol*(1+math.Abs(w))) {
							t.Fatalf("%v, %s, mask %v: element (%d, %d) is %v, want %v", kind, name, mask != nil, i, j, v, w)
						}
					}
				}
				sameRowsOneByOne(t, fmt.Sprintf("%v, %s", kind, name), s, views, got[0].Row)
			}
		}
	}
}

// sameRowsOneByOne checks that new samples get the bits of the training samples.
func sameRowsOneByOne[T kernel.Float](
	t *testing.T, name string, s *Standardiser, views []view.View, trained func(i int, dst []T),
) {
	t.Helper()
	x := views[0]
	p := NewRows[T](s, []int{x.Cols})
	var b Buffer[T]
	got, want := make([]T, x.Cols), make([]T, x.Cols)
	const room = 7
	for lo := 0; lo < x.Rows; lo += room {
		hi := min(lo+room, x.Rows)
		m, err := p.Take(context.Background(), views, lo, hi, room, &b)
		if err != nil {
			t.Fatal(err)
		}
		for i := lo; i < hi; i++ {
			m[0].Row(i-lo, got)
			trained(i, want)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: row %d is %v, in training %v", name, i, got, want)
			}
		}
	}
}

// Rows of float32 that stay that have the bits of those that are widened, standardised and rounded, for every kind and width.
func TestNarrowRowsHaveTheBitsOfWideOnes(t *testing.T) {
	for _, kind := range []Kind{Raw, PerSample, UnitNorm, Balanced, ZScore} {
		for _, d := range []int{1, 5, 16, 31, 210, 784} {
			const n = 40
			x := view.View{Rows: n, Cols: d, F32: make([]float32, n*d)}
			for i := range x.F32 {
				x.F32[i] = float32(math.Sin(float64(7*i)))*float32(i%11) + 0.3
			}
			clear(x.F32[3*d : 4*d]) // a row that is constant
			s, err := Measure(context.Background(), nil, kind, []view.View{x}, 1)
			if err != nil {
				t.Fatal(err)
			}
			got, want, wide := make([]float32, d), make([]float32, d), make([]float64, d)
			for i := range n {
				denseRow(s, x, 0, i, got, wide)
				x.Row(i, wide)
				s.Apply(0, wide)
				for j, a := range wide {
					want[j] = float32(a)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%v, %d features: row %d is %v, want %v", kind, d, i, got, want)
				}
			}
		}
	}
}
