package prepare

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/internal/view"
)

func TestUnitRows(t *testing.T) {
	for _, d := range []int{23, 3} {
		t.Run(fmt.Sprintf("%d features, float32", d), func(t *testing.T) { testUnitRows[float32](t, d, 1e-5) })
		t.Run(fmt.Sprintf("%d features, float64", d), func(t *testing.T) { testUnitRows[float64](t, d, 1e-12) })
	}
}

// testUnitRows checks all that a matrix of unit rows does against the rows written out: every preprocessing, every holder of
// a view, with and without a mask.
func testUnitRows[T kernel.Float](t *testing.T, d int, tol float64) {
	const n = 700 // more rows than a goroutine takes at once
	x := testutil.Counts(n, d, 1)
	present := make([]bool, n)
	for i := range present {
		present[i] = i%3 != 1
	}
	ctx := context.Background()
	for _, kind := range []Kind{PerSample, Balanced, ZScore, UnitNorm, Raw} {
		for _, mask := range [][]bool{nil, present} {
			want := mat.NewDense(n, d, testutil.Standardised(kind.String(), x, n, d, mask))
			length := Length(kind, d)
			if d < 17 && (kind == ZScore || kind == Balanced) { // half the length that rows have on average, as a further feature
				further := mat.NewDense(n, 1, nil)
				for i := range n {
					if half := map[Kind]float64{ZScore: math.Sqrt(float64(d)) / 2, Balanced: 0.5}[kind]; mask == nil || mask[i] {
						further.Set(i, 0, half)
					}
				}
				var both mat.Dense
				both.Augment(want, further)
				want = &both
			}
			_, width := want.Dims()
			for i := range n {
				row := mat.NewVecDense(width, want.RawRowView(i))
				if norm := mat.Norm(row, 2); norm > 0 {
					row.ScaleVec(1/norm, row)
				}
			}
			for name, in := range holders(n, d, x) {
				t.Run(fmt.Sprintf("%v, %s, mask %v", kind, name, mask != nil), func(t *testing.T) {
					in := in
					in.Present = mask
					s, err := Measure(ctx, nil, kind, []view.View{in}, 2)
					if err != nil {
						t.Fatal(err)
					}
					got, err := UnitRows[T](ctx, s, in, 0, length, 2)
					if err != nil {
						t.Fatal(err)
					}
					if a, b := got.Dims(); a != n || b != width {
						t.Fatalf("%d×%d", a, b)
					}
					checkRowsOf(t, got, want, tol)
					// A window's rows have the same bits.
					const lo, hi = 301, 315
					part, err := UnitRows[T](ctx, s, in.Window(lo, hi), 0, length, 1)
					if err != nil {
						t.Fatal(err)
					}
					a, b := make([]T, width), make([]T, width)
					for i := lo; i < hi; i++ {
						got.Row(i, a)
						part.Row(i-lo, b)
						for j := range a {
							if a[j] != b[j] {
								t.Fatalf("element (%d, %d) is %v among all, %v in a window", i, j, a[j], b[j])
							}
						}
					}
				})
			}
		}
	}
}

// Rows of values that float32 hardly holds, or not at all, come to norm 1 like all others, in sparse views as in dense ones.
func TestUnitRowsOfTinyValues(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testUnitRowsOfTinyValues[float32](t, 1e-6) })
	t.Run("float64", func(t *testing.T) { testUnitRowsOfTinyValues[float64](t, 1e-14) })
}

func testUnitRowsOfTinyValues[T kernel.Float](t *testing.T, tol float64) {
	const d = 20
	scales := []float64{1, 1e-25, 1e-29, 1e-31, 1e-37, 1e-40, 1e-44, 1e-60, 1e-150}
	var x []float64
	narrow := &view.CSR{Ptr: []int{0}}
	for i, s := range scales {
		for j := range d {
			x = append(x, s*float64((i+2*j)%5))
			if v := float32(x[len(x)-1]); v != 0 {
				narrow.Cols, narrow.F32 = append(narrow.Cols, int32(j)), append(narrow.F32, v)
			}
		}
		narrow.Ptr = append(narrow.Ptr, len(narrow.Cols))
	}
	views := holders(len(scales), d, x)
	views["sparse of float32"] = view.View{Rows: len(scales), Cols: d, Sparse: narrow}
	for name, in := range views {
		s := &Standardiser{Kind: Raw}
		got, err := UnitRows[T](t.Context(), s, in, 0, 0, 2)
		if err != nil {
			t.Fatal(err)
		}
		row, own, norms := make([]T, d), make([]float64, d), make([]float64, len(scales))
		got.SquaredNorms(0, len(scales), norms)
		for i, scale := range scales {
			got.Row(i, row)
			in.Row(i, own)
			norm := mat.Norm(mat.NewVecDense(d, own), 2)
			if norm == 0 { // a view of float32 does not have these values
				norm = 1
			} else if math.Abs(norms[i]-1) > 10*tol {
				t.Errorf("%s: row %d of about %g has the squared norm %v", name, i, scale, norms[i])
			}
			for j, v := range row {
				if want := own[j] / norm; !(math.Abs(float64(v)-want) <= tol) {
					t.Fatalf("%s: row %d of about %g is %v in column %d, want %v", name, i, scale, v, j, want)
				}
			}
		}
	}
}

// checkRowsOf checks rows, norms and both products of a matrix.
func checkRowsOf[T kernel.Float](t *testing.T, got interface {
	Mul(lo, hi int, b *kernel.Panel[T], y []T, ldy int)
	TMulAdd(lo, hi, k int, a []T, lda int, c []T, ldc int)
	SquaredNorms(lo, hi int, dst []float64)
	Row(i int, dst []T)
}, want *mat.Dense, tol float64) {
	t.Helper()
	n, d := want.Dims()
	row, norms := make([]T, d), make([]float64, n)
	got.SquaredNorms(0, n, norms)
	for i := range n {
		got.Row(i, row)
		square := 0.0
		for j, v := range row {
			w := want.At(i, j)
			square += w * w
			if !(math.Abs(float64(v)-w) <= tol) {
				t.Fatalf("element (%d, %d) is %v, want %v", i, j, v, w)
			}
		}
		if !(math.Abs(norms[i]-square) <= tol) {
			t.Fatalf("the squared norm of row %d is %v, want %v", i, norms[i], square)
		}
	}
	const k, lo, hi = 21, 65, 129 // no multiple of what kernels take at once
	b := mat.NewDense(k, d, nil)
	a := make([]T, (hi-lo)*kernel.Pad(k))
	left := mat.NewDense(hi-lo, k, nil)
	for j := range k {
		for p := range d {
			b.Set(j, p, math.Sin(float64(j*d+p)))
		}
		for i := range hi - lo {
			left.Set(i, j, math.Cos(float64(i*k+j)))
			a[i*kernel.Pad(k)+j] = T(left.At(i, j))
		}
	}
	var panel kernel.Panel[T]
	kernel.PackT(&panel, d, k, b.RawMatrix().Data, d)
	y := make([]T, (hi-lo)*kernel.Pad(k))
	got.Mul(lo, hi, &panel, y, kernel.Pad(k))
	c := make([]T, k*d)
	for i := range c {
		c[i] = 1
	}
	got.TMulAdd(lo, hi, k, a, kernel.Pad(k), c, d)
	var wantY, wantC mat.Dense
	wantY.Mul(want.Slice(lo, hi, 0, d), b.T())
	wantC.Mul(left.T(), want.Slice(lo, hi, 0, d))
	for j := range k {
		for i := range hi - lo {
			if v := float64(y[i*kernel.Pad(k)+j]); !(math.Abs(v-wantY.At(i, j)) <= 20*tol) {
				t.Fatalf("X·B at (%d, %d) is %v, want %v", i, j, v, wantY.At(i, j))
			}
		}
		for p := range d {
			if v := float64(c[j*d+p]); !(math.Abs(v-1-wantC.At(j, p)) <= 100*tol) {
				t.Fatalf("1 + AᵀX at (%d, %d) is %v, want %v", j, p, v, 1+wantC.At(j, p))
			}
		}
	}
}

func TestLength(t *testing.T) {
	for _, test := range []struct {
		kind Kind
		d    int
		want float64
	}{
		{ZScore, 4, 1}, {ZScore, 1, 0.5}, {ZScore, 16, 2}, {ZScore, 17, 0}, {Balanced, 3, 0.5},
		{Balanced, 5, 0.5}, {PerSample, 2, 0}, {Raw, 2, 0},
	} {
		if got := Length(test.kind, test.d); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("%v of %d features: %v, want %v", test.kind, test.d, got, test.want)
		}
	}
}
