package neighbor

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// landmarkIndex builds an index of landmarks.
func landmarkIndex[T Float](t testing.TB, d *dataset, workers int) *Index[T] {
	t.Helper()
	x, err := Build(context.Background(), viewsOf[T](t, d), testSpaces,
		Config{ExactUpTo: -1, Landmarks: 24, Nearest: 4, Seed: 3, Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// linksByBruteForce is B of an index's landmarks as the formulas say, with the sums of weights of the samples of d.
func linksByBruteForce[T Float](d *dataset, x *Index[T]) *mat.Dense {
	s := x.State()
	b := mat.NewDense(d.n, len(s.Spaces)*len(s.Landmarks[0].Scale), nil)
	cover := make([]float64, d.n)
	from := 0
	for q, l := range s.Landmarks {
		m := len(l.Scale)
		marks := &dataset{n: m, dims: d.dims, x: make([][]float64, len(d.dims)), present: make([][]bool, len(d.dims))}
		for i, v := range s.Spaces[q].Views {
			for _, c := range l.Centroids[i] {
				marks.x[v] = append(marks.x[v], float64(c))
			}
		}
		z := mat.NewDense(d.n, m, nil)
		for i := range d.n {
			var all []found
			for j := range m {
				if f := d.distance(marks, s.Spaces[q].Views, i, j); !math.IsInf(f, 1) {
					all = append(all, found{int32(j), f})
				}
			}
			if len(all) == 0 {
				continue
			}
			slices.SortFunc(all, byDistance)
			cover[i] += s.Spaces[q].Weight / 4
			sum := 0.0
			for _, f := range all[:l.Nearest] {
				sum += all[l.Nearest].square - f.square
			}
			for _, f := range all[:l.Nearest] {
				z.Set(i, int(f.index), (all[l.Nearest].square-f.square)/sum)
			}
		}
		for j := range m {
			scale := math.Sqrt(mat.Sum(z.ColView(j)))
			for i := 0; i < d.n && scale > 0; i++ {
				b.Set(i, from+j, math.Sqrt(s.Spaces[q].Weight/4)*z.At(i, j)/scale)
			}
		}
		from += m
	}
	for i := range d.n {
		for j := 0; j < from && cover[i] > 0; j++ {
			b.Set(i, j, b.At(i, j)/math.Sqrt(cover[i]))
		}
	}
	return b
}

func TestLandmarkLinksEqualTheFormula(t *testing.T) {
	for _, masks := range []bool{false, true} {
		d := randomData(11, 500, masks, 4, 9)
		links := landmarkIndex[float64](t, d, 2).Operator().(*Factor).Links()
		if e := far(matrixOf(links), linksByBruteForce(d, landmarkIndex[float64](t, d, 1))); e > 1e-9 {
			t.Errorf("masks %t: float64 differs by %.1e", masks, e)
		}
		x := landmarkIndex[float32](t, d, 2)
		if e := far(matrixOf(x.Operator().(*Factor).Links()), linksByBruteForce(d, x)); e > 1e-5 {
			t.Errorf("masks %t: float32 differs by %.1e", masks, e)
		}
	}
}

// TestFactorIsDoublyStochastic: without masks the rows of A = B·Bᵀ have the sum 1, and its eigenvalues are from 0 to 1.
func TestFactorIsDoublyStochastic(t *testing.T) {
	a := operatorMatrix(t, landmarkIndex[float64](t, randomData(12, 300, false, 4, 9), 2).Operator())
	for i := range 300 {
		if s := mat.Sum(a.RowView(i)); math.Abs(s-1) > 1e-12 {
			t.Fatalf("the sum of row %d is %v", i, s)
		}
	}
	if low, high := spectrum(t, a); low < -1e-12 || high > 1+1e-12 {
		t.Errorf("eigenvalues from %v to %v", low, high)
	}
	masked := operatorMatrix(t, landmarkIndex[float64](t, randomData(12, 300, true, 4, 9), 2).Operator())
	if low, high := spectrum(t, masked); low < -1e-12 || high > 1+1e-12 {
		t.Errorf("with masks, eigenvalues from %v to %v", low, high)
	}
}

func TestLandmarksOfEqualSamples(t *testing.T) {
	d := randomData(13, 120, false, 4, 9)
	for _, x := range d.x {
		for i := range x {
			x[i] = 0.25
		}
	}
	x := landmarkIndex[float32](t, d, 2)
	b := matrixOf(x.Operator().(*Factor).Links())
	a := operatorMatrix(t, x.Operator())
	for i := range d.n {
		if s := mat.Sum(a.RowView(i)); math.Abs(s-1) > 1e-12 {
			t.Fatalf("the sum of row %d is %v", i, s)
		}
		if !mat.Equal(b.RowView(i), b.RowView(0)) {
			t.Fatalf("the links of sample %d differ from those of its equals", i)
		}
	}
}

// Three far groups: every group has landmarks of its own, and no sample is linked outside its group.
func TestLandmarksFindGroups(t *testing.T) {
	d := randomData(14, 600, false, 3, 5)
	for v, x := range d.x {
		for i := range x {
			x[i] = float64(float32(x[i] + 100*float64((i/d.dims[v])%3)))
		}
	}
	a := operatorMatrix(t, landmarkIndex[float32](t, d, 2).Operator())
	for i := range d.n {
		for j := range d.n {
			if i%3 != j%3 && a.At(i, j) != 0 {
				t.Fatalf("samples %d and %d of two groups have the entry %v", i, j, a.At(i, j))
			}
		}
	}
}

func TestLandmarksDoNotDependOnWorkers(t *testing.T) {
	d := randomData(15, 700, true, 4, 30)
	one := landmarkIndex[float32](t, d, 1).Operator().(*Factor).Links()
	six := landmarkIndex[float32](t, d, 6).Operator().(*Factor).Links()
	if !slices.Equal(one.col, six.col) || !slices.Equal(one.val, six.val) || !slices.Equal(one.ptr, six.ptr) {
		t.Error("the links differ")
	}
}

// TestProductsDoNotDependOnWorkers: more samples than a chunk of a factor's sums has.
func TestProductsDoNotDependOnWorkers(t *testing.T) {
	d := randomData(16, 5000, false, 3, 4)
	x := landmarkIndex[float32](t, d, 2)
	ld := Stride(70)
	in, out := make([]float32, d.n*ld), make([]float32, d.n*ld)
	for i := range in {
		in[i] = float32(math.Sin(float64(i)))
	}
	want := make([]float32, d.n*ld)
	ctx := context.Background()
	if err := Mul(ctx, x.Operator(), 1, want, in, ld); err != nil {
		t.Fatal(err)
	}
	if err := Mul(ctx, x.Operator(), 5, out, in, ld); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(out, want) {
		t.Error("the product differs")
	}
	in64, out64 := make([]float64, len(in)), make([]float64, len(in))
	for i, v := range in {
		in64[i] = float64(v)
	}
	if err := Mul(ctx, x.Operator(), 5, out64, in64, ld); err != nil {
		t.Fatal(err)
	}
	for i, v := range out64 {
		if math.Abs(v-float64(out[i])) > 1e-5 {
			t.Fatalf("element %d is %v in float64 and %v in float32", i, v, out[i])
		}
	}
	if err := Mul(ctx, x.Operator(), 1, want, in, 70); err == nil {
		t.Error("a stride of 70 is taken")
	}
	if err := Mul(ctx, x.Operator(), 1, want[1:], in, ld); err == nil {
		t.Error("a short result is taken")
	}
}

func TestBuildRefuses(t *testing.T) {
	d := randomData(17, 50, false, 3, 4)
	views := viewsOf[float32](t, d)
	for name, c := range map[string]Config{
		"neighbours": {Neighbors: -1}, "rest": {Rest: math.Inf(1)}, "large": {Rest: 1.7e308},
		"landmarks": {ExactUpTo: -1, Landmarks: 51},
		"one":       {ExactUpTo: -1, Landmarks: 1}, "nearest": {ExactUpTo: -1, Landmarks: 9, Nearest: 9},
	} {
		if x, err := Build(context.Background(), views, testSpaces, c); err == nil || x != nil {
			t.Errorf("%s: %v, %v", name, x, err)
		}
	}
	if _, err := Build(context.Background(), views, []Space{{Views: []int{0}, Weight: -1}}, Config{}); err == nil {
		t.Error("a negative weight is taken")
	}
	tiny := must(Build(context.Background(), viewsOf[float32](t, d.rows(1, 2)), testSpaces, Config{ExactUpTo: -1}))
	if n := tiny.Operator().Len(); n != 2 {
		t.Errorf("%d samples, want 2", n)
	}
}

func TestDefaultLandmarks(t *testing.T) {
	for n, want := range map[int]int{1: 1, 30: 30, 100: 40, 400: 100, 100000: 1000} {
		if got := DefaultLandmarks(n); got != want {
			t.Errorf("%d samples: %d landmarks, want %d", n, got, want)
		}
	}
}

// TestShuffled: the first numbers of a shuffle are those of a shuffle of all.
func TestShuffled(t *testing.T) {
	for _, c := range [][2]int{{1, 1}, {10, 10}, {1000, 7}, {1000, 999}, {50_000, 20_000}} {
		n, count := c[0], c[1]
		order, rng := make([]int, n), rand.New(rand.NewPCG(1, 2))
		for i := range order {
			order[i] = i
		}
		for i := range count {
			j := i + rng.IntN(n-i)
			order[i], order[j] = order[j], order[i]
		}
		if got, _ := shuffled(rand.New(rand.NewPCG(1, 2)), n, count); !slices.Equal(got, order[:count]) {
			t.Errorf("%d of %d: other numbers", count, n)
		}
	}
}
