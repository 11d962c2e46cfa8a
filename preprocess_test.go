package largemvc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
)

// countRows are n×d counts, three quarters of them zero, with an empty and a constant row, an empty and a constant column.
func countRows(n, d int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 3))
	x := make([]float64, n*d)
	for i := range n {
		for j := range d {
			switch {
			case i == 3 || j == 2:
			case i == 5:
				x[i*d+j] = 2.5
			case rng.IntN(4) == 0:
				x[i*d+j] = float64(1 + rng.IntN(9))
			}
			if j == 4 {
				x[i*d+j] = 7
			}
		}
	}
	return x
}

// literally does what the comment of a Preprocess says, on the present rows, with absent ones zero.
func literally(kind Preprocess, x []float64, n, d int, present []bool) []float64 {
	has := func(i int) bool { return present == nil || present[i] }
	moments := func(count int, at func(k int) float64) (mean, deviation float64) {
		for k := range count {
			mean += at(k) / float64(count)
		}
		for k := range count {
			deviation += (at(k) - mean) * (at(k) - mean) / float64(count)
		}
		return mean, math.Sqrt(deviation)
	}
	out := make([]float64, n*d)
	var rows []int
	for i := range n {
		if has(i) {
			rows = append(rows, i)
		}
	}
	for _, i := range rows {
		row := x[i*d : (i+1)*d]
		switch kind {
		case PerSample:
			mean, deviation := moments(d, func(j int) float64 { return row[j] })
			for j := range row {
				if deviation > 1e-9 {
					out[i*d+j] = (row[j] - mean) / deviation
				}
			}
		case UnitNorm:
			norm := 0.0
			for _, v := range row {
				norm += v * v
			}
			for j := range row {
				if norm > 0 {
					out[i*d+j] = row[j] / math.Sqrt(norm)
				}
			}
		case Raw:
			copy(out[i*d:(i+1)*d], row)
		}
	}
	if kind == Balanced || kind == ZScore {
		for j := range d {
			mean, deviation := moments(len(rows), func(k int) float64 { return x[rows[k]*d+j] })
			if deviation < 1e-9 {
				continue
			}
			for _, i := range rows {
				out[i*d+j] = (x[i*d+j] - mean) / deviation
				if kind == Balanced {
					out[i*d+j] /= math.Sqrt(float64(d))
				}
			}
		}
	}
	return out
}

// sparseOf returns compressed rows of x, with zeros among the entries.
func sparseOf[F float32 | float64](n, d int, x []float64) View {
	ptr, cols, values := []int{0}, []int32(nil), []F(nil)
	for i := range n {
		for j := range d {
			if v := x[i*d+j]; v != 0 || (i+j)%13 == 0 {
				cols, values = append(cols, int32(j)), append(values, F(v))
			}
		}
		ptr = append(ptr, len(cols))
	}
	return SparseView(n, d, ptr, cols, values)
}

func TestPreprocess(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testPreprocess[float32](t, 3e-6) })
	t.Run("float64", func(t *testing.T) { testPreprocess[float64](t, 1e-13) })
}

func testPreprocess[T kernel.Float](t *testing.T, tol float64) {
	const n, d = 1100, 23 // more rows than a goroutine takes at once
	x := countRows(n, d, 1)
	single := make([]float32, len(x))
	for i, v := range x {
		single[i] = float32(v)
	}
	present := make([]bool, n)
	for i := range present {
		present[i] = i%3 != 1
	}
	for kind := PerSample; kind <= Raw; kind++ {
		for name, view := range map[string]View{
			"float64": Float64View(n, d, x), "float32": Float32View(n, d, single), "transposed": MatrixView(mat.DenseCopyOf(mat.NewDense(n, d, x).T()).T()),
			"sparse64": sparseOf[float64](n, d, x), "sparse32": sparseOf[float32](n, d, x),
		} {
			for _, mask := range [][]bool{nil, present} {
				s := &standardiser{kind: kind}
				views := []View{view.WithPresent(mask)}
				if err := s.fit(context.Background(), views, 2); err != nil {
					t.Fatal(err)
				}
				got, err := standardise[T](context.Background(), views, s, 2, false)
				if err != nil {
					t.Fatal(err)
				}
				want := literally(kind, x, n, d, mask)
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
func sameRowsOneByOne[T kernel.Float](t *testing.T, name string, s *standardiser, views []View, trained func(i int, dst []T)) {
	t.Helper()
	x := views[0]
	p := newPreparer[T](s, []int{x.cols})
	var b rowBuffer[T]
	got, want := make([]T, x.cols), make([]T, x.cols)
	const room = 7
	for lo := 0; lo < x.rows; lo += room {
		hi := min(lo+room, x.rows)
		m := p.rows(0, x, lo, hi, room, &b)
		for i := lo; i < hi; i++ {
			m.Row(i-lo, got)
			trained(i, want)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: row %d is %v, in training %v", name, i, got, want)
			}
		}
	}
}

// Rows and columns of equal values are zero after standardisation, whatever the rounding of their mean; so are views.
func TestPreprocessOfConstants(t *testing.T) {
	const n, d = 7, 5
	x := make([]float64, n*d)
	for i := range x {
		x[i] = 0.1 // no mean of such is exact
	}
	for kind, want := range map[Preprocess]string{
		PerSample: "every sample is constant over its features", Balanced: "every feature is constant over the samples",
		ZScore: "every feature is constant over the samples",
	} {
		for name, view := range map[string]View{"dense": Float64View(n, d, x), "sparse": sparseOf[float64](n, d, x)} {
			_, err := Fit(context.Background(), []View{Float64View(n, d, countRows(n, d, 2)), view.Named("v")}, Config{Clusters: 2, Preprocess: kind})
			if err == nil || !strings.Contains(err.Error(), "view 1 (v) has nothing to cluster: "+want) {
				t.Errorf("%v, %s: %v", kind, name, err)
			}
		}
	}
	zero := make([]float64, n*d)
	for kind := PerSample; kind <= Raw; kind++ {
		for name, view := range map[string]View{"dense": Float64View(n, d, zero), "sparse": SparseView(n, d, make([]int, n+1), nil, []float32(nil))} {
			if _, err := Fit(context.Background(), []View{view}, Config{Clusters: 2, Preprocess: kind}); err == nil || !strings.Contains(err.Error(), "view 0 has nothing to cluster") {
				t.Errorf("all zero, %v, %s: %v", kind, name, err)
			}
		}
	}
	_, err := Fit(context.Background(), []View{Float64View(4, 1, []float64{1, 2, 3, 4})}, Config{Clusters: 2, Neighbors: None})
	if err == nil || !strings.Contains(err.Error(), "a single feature: use Preprocess Balanced") {
		t.Errorf("one feature: %v", err)
	}
	// Rows that count are those that are present.
	part := countRows(n, d, 2)
	for i := range n {
		if i%2 == 0 {
			copy(part[i*d:(i+1)*d], x[:d])
		}
	}
	mask := []bool{true, false, true, false, true, false, true}
	views := []View{Float64View(n, d, part).WithPresent(mask), Float64View(n, d, countRows(n, d, 4))}
	if _, err := Fit(context.Background(), views, Config{Clusters: 2, Preprocess: PerSample}); err == nil || !strings.Contains(err.Error(), "view 0 has nothing to cluster") {
		t.Errorf("constant where present: %v", err)
	}
}

// Views that are taken as they are can be too large for the arithmetic.
func TestRawViewsOfLargeValues(t *testing.T) {
	const n, d = 20, 4
	x := countRows(n, d, 5)
	x[17*d+1] = 1e19
	for name, view := range map[string]View{"dense": Float64View(n, d, x), "sparse": sparseOf[float64](n, d, x)} {
		_, err := Fit(context.Background(), []View{view}, Config{Clusters: 2, Preprocess: Raw})
		if err == nil || !strings.Contains(err.Error(), "view 0: row 17 has the norm 1e+19, more than can be reckoned with (1e+18)") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Fit(context.Background(), []View{view}, Config{Clusters: 2, Epochs: 1}); err != nil {
			t.Errorf("%s, standardised: %v", name, err)
		}
	}
}

// Overwrite changes what it may change, and nothing where Fit refuses.
func TestOverwrite(t *testing.T) {
	const n, d = 40, 6
	x := countRows(n, d, 6)
	single := make([]float32, len(x))
	for i, v := range x {
		single[i] = float32(v)
	}
	want := literally(PerSample, x, n, d, nil)
	for _, float := range []Float{Float32, Float64} {
		f32, f64, other := slices.Clone(single), slices.Clone(x), slices.Clone(x)
		sparse := sparseOf[float32](n, d, x)
		values := slices.Clone(sparse.sparse.f32)
		views := []View{Float32View(n, d, f32), Float64View(n, d, f64), MatrixView(mat.NewDense(n, d, other)), sparse}
		before := mustFit(t, views, Config{Clusters: 3, Epochs: 2, Float: float, Rotate: RotateNever, Neighbors: None})
		if !slices.Equal(f32, single) || !slices.Equal(f64, x) || !slices.Equal(other, x) {
			t.Fatal("Fit changed views without Overwrite")
		}
		for _, rotate := range []Rotation{RotateNever, RotateAlways} {
			copy(f32, single)
			copy(f64, x)
			after := mustFit(t, views, Config{Clusters: 3, Epochs: 2, Float: float, Overwrite: true, Rotate: rotate, Neighbors: None})
			if rotate == RotateNever {
				sameMatrix(t, "H", before.H, after.H)
			}
			if !slices.Equal(before.Labels, after.Labels) {
				t.Error("Overwrite changed the labels")
			}
			if !slices.Equal(other, x) || !slices.Equal(sparse.sparse.f32, values) {
				t.Error("Overwrite changed a matrix or a sparse view")
			}
			if (float == Float32) == slices.Equal(f32, single) || (float == Float64) == slices.Equal(f64, x) {
				t.Errorf("float %v: Overwrite changed the other view, or none", float)
			}
			for i, w := range want {
				got := f64[i]
				if float == Float32 {
					got = float64(f32[i])
				}
				if math.Abs(got-w) > 1e-6*(1+math.Abs(w)) {
					t.Fatalf("float %v: element %d was overwritten by %v, want %v", float, i, got, w)
				}
			}
		}
	}

	spoilt := slices.Clone(single)
	spoilt[len(spoilt)-1] = float32(math.NaN())
	for name, test := range map[string]struct {
		last   View
		config Config
	}{
		"NaN":      {Float32View(n, d, spoilt), Config{Clusters: 3}},
		"constant": {Float32View(n, d, make([]float32, n*d)), Config{Clusters: 3}},
		"columns":  {Float32View(n, d, make([]float32, n*d)), Config{Clusters: 3, Preprocess: ZScore}},
		"config":   {Float32View(n, d, single), Config{Clusters: n + 1}},
		"mask":     {Float32View(n, d, single).WithPresent(make([]bool, n)), Config{Clusters: 3}},
	} {
		f32 := slices.Clone(single)
		test.config.Overwrite = true
		if _, err := Fit(context.Background(), []View{Float32View(n, d, f32), test.last}, test.config); err == nil {
			t.Errorf("%s: no error", name)
		}
		if !slices.Equal(f32, single) {
			t.Errorf("%s: Fit refused the views, but had changed them", name)
		}
	}
}
