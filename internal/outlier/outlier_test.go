package outlier

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/view"
)

// clustersOf returns views of n samples of k normal clusters, distance standard deviations apart.
func clustersOf(r *rand.Rand, n, k int, distance float64, widths ...int) (views []view.View) {
	class := make([]int, n)
	for i := range class {
		class[i] = r.IntN(k)
	}
	for _, d := range widths {
		x, centre := make([]float64, n*d), make([]float64, k*d)
		for j := range centre {
			centre[j] = distance * r.NormFloat64() / math.Sqrt(2*float64(d))
		}
		for e := range x {
			x[e] = centre[class[e/d]*d+e%d] + r.NormFloat64()
		}
		views = append(views, view.View{Rows: n, Cols: d, F64: x})
	}
	return views
}

// judged returns which samples are outliers by a reference of at most 600.
func judged(t *testing.T, views []view.View, workers int) ([]float64, []bool) {
	t.Helper()
	n := views[0].Rows
	numbers := rand.New(rand.NewPCG(3, 3)).Perm(n)[:min(n, 600)]
	slices.Sort(numbers)
	some := make([]view.View, len(views))
	for v, x := range views {
		some[v] = x.Take(numbers)
	}
	r, err := New(context.Background(), numbers, some, workers)
	if err != nil {
		t.Fatal(err)
	}
	if r == nil {
		return nil, nil
	}
	far, err := r.Remoteness(context.Background(), 0, views, workers)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]bool, n)
	for i, x := range far {
		out[i] = r.Outlier(x)
	}
	return far, out
}

// sparseOf returns a dense view without its zeros.
func sparseOf(x view.View) view.View {
	s := &view.CSR{Ptr: []int{0}}
	for i := range x.Rows {
		for j, y := range x.F64[i*x.Cols : (i+1)*x.Cols] {
			if y != 0 {
				s.Cols, s.F64 = append(s.Cols, int32(j)), append(s.F64, y)
			}
		}
		s.Ptr = append(s.Ptr, len(s.Cols))
	}
	return view.View{Rows: x.Rows, Cols: x.Cols, Sparse: s, Present: x.Present}
}

// Twenty of 900 samples at 40 standard deviations are found, near one another or not, and hardly any other sample is.
func TestFarSamplesAreFound(t *testing.T) {
	kinds := []struct {
		name string
		move func(r *rand.Rand, row []float64)
	}{
		{"apart", func(r *rand.Rand, row []float64) {
			for j := range row {
				row[j] += 40 * r.NormFloat64()
			}
		}},
		{"together", func(_ *rand.Rand, row []float64) {
			for j := range row {
				row[j] += 40
			}
		}},
		{"in one feature", func(_ *rand.Rand, row []float64) { row[len(row)/2] += 40 }},
		{"in one direction", func(_ *rand.Rand, row []float64) {
			for j := range row {
				row[j] += 40 / math.Sqrt(float64(len(row)))
			}
		}},
	}
	for _, distance := range []float64{0, 5, 9} {
		for _, kind := range kinds {
			for _, sparse := range []bool{false, true} {
				r := rand.New(rand.NewPCG(uint64(distance), 8))
				views := clustersOf(r, 900, 4, distance, 30, 12)
				far := r.Perm(900)[:20]
				for _, i := range far {
					for _, x := range views {
						kind.move(r, x.F64[i*x.Cols:(i+1)*x.Cols])
					}
				}
				if sparse {
					views[0] = sparseOf(views[0])
				}
				_, found := judged(t, views, 2)
				missed, wrong := 0, 0
				for i, out := range found {
					switch planted := slices.Contains(far, i); {
					case planted && !out:
						missed++
					case out && !planted:
						wrong++
					}
				}
				if missed > 0 || wrong > 9 {
					t.Errorf("clusters %g apart, %s, sparse %v: %d missed, %d others marked", distance, kind.name, sparse,
						missed, wrong)
				}
			}
		}
	}
}

func TestCleanSamples(t *testing.T) {
	for name, draw := range map[string]func(r *rand.Rand) float64{
		"normal": (*rand.Rand).NormFloat64, "uniform": (*rand.Rand).Float64, "exponential": (*rand.Rand).ExpFloat64,
		"student":   func(r *rand.Rand) float64 { return r.NormFloat64() / math.Sqrt(r.ExpFloat64()) },
		"lognormal": func(r *rand.Rand) float64 { return math.Exp(2 * r.NormFloat64()) },
		"binary":    func(r *rand.Rand) float64 { return float64(r.IntN(2)) },
	} {
		r := rand.New(rand.NewPCG(4, 8))
		var views []view.View
		for _, d := range []int{3, 20} {
			x := make([]float64, 800*d)
			for e := range x {
				x[e] = draw(r)
			}
			views = append(views, view.View{Rows: 800, Cols: d, F64: x})
		}
		count := 0
		_, found := judged(t, views, 1)
		for _, out := range found {
			if out {
				count++
			}
		}
		t.Log(name, count)
		if count > 16 {
			t.Errorf("%s: %d of 800 clean samples are outliers", name, count)
		}
	}
}

// The number of goroutines changes no bit; samples without a view are compared by the other one. Nothing is known of samples
// without any: they are no outliers.
func TestAbsentViews(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 8))
	views := clustersOf(r, 300, 3, 6, 20, 9)
	for v := range views {
		views[v].Present = make([]bool, 300)
		for i := range 300 {
			views[v].Present[i] = i%4 != v && i != 6
		}
	}
	for j := range 20 {
		views[0].F64[7*20+j] += 40
	}
	one, found := judged(t, views, 1)
	three, _ := judged(t, views, 3)
	if !slices.Equal(one, three) {
		t.Error("the number of goroutines changes the remoteness")
	}
	if !found[7] || found[6] || !math.IsInf(one[6], 1) {
		t.Errorf("remoteness %g of a far sample, %g of a sample without views", one[7], one[6])
	}
}

// A sample whose only view does not vary is compared with nothing. It is no outlier, and does not change which others are.
func TestConstantView(t *testing.T) {
	views := clustersOf(rand.New(rand.NewPCG(2, 8)), 300, 3, 6, 20, 9)
	views[0].Present = make([]bool, 300)
	for i := range 300 {
		views[0].Present[i] = i%4 != 1
	}
	for j := range views[1].F64 {
		views[1].F64[j] = 3
	}
	for j := range 20 {
		views[0].F64[7*20+j] += 40
	}
	if far, found := judged(t, views, 1); !found[7] || found[5] || !math.IsInf(far[5], 1) {
		t.Errorf("a far sample %v, one with the constant view alone %v", found[7], found[5])
	}
}

// Views compared together and one after another, as masks need it, agree but for rounding. Few samples have no pieces.
func TestViewsTogether(t *testing.T) {
	for _, n := range []int{24, 300, 900} {
		views := clustersOf(rand.New(rand.NewPCG(5, 8)), n, 3, 6, 20, 9)
		views[1].F32 = make([]float32, len(views[1].F64))
		for j, x := range views[1].F64 {
			views[1].F32[j] = float32(x)
		}
		views[1].F64 = nil
		got, _ := judged(t, views, 2)
		for v := range views {
			views[v].Present = slices.Repeat([]bool{true}, n)
		}
		want, _ := judged(t, views, 2)
		for i, x := range want {
			if math.Abs(got[i]-x) > 1e-5*x {
				t.Fatalf("of %d samples, sample %d has the remoteness %g, want %g", n, i, got[i], x)
			}
		}
	}
}

// The scale of a view changes nothing, however large or small its values are.
func TestScale(t *testing.T) {
	var first []float64
	for _, e := range []int{0, -900, 900} {
		views := clustersOf(rand.New(rand.NewPCG(2, 8)), 100, 3, 6, 10)
		for i, x := range views[0].F64 {
			views[0].F64[i] = math.Ldexp(x, e)
		}
		got, _ := judged(t, views, 1)
		if first == nil {
			first = got
		}
		for i := range got {
			if math.Abs(got[i]-first[i]) > 1e-4*first[i] {
				t.Fatalf("times 2^%d sample %d has the remoteness %g, want %g", e, i, got[i], first[i])
			}
		}
	}
}

// A sample with NaN, which the fit refuses later, has some remoteness.
func TestNaN(t *testing.T) {
	views := clustersOf(rand.New(rand.NewPCG(2, 9)), 700, 2, 6, 5)
	numbers := make([]int, 600)
	for i := range numbers {
		numbers[i] = i
	}
	x := views[0].F64
	r, err := New(context.Background(), numbers, []view.View{{Rows: 600, Cols: 5, F64: x[:3000]}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	x[650*5+2] = math.NaN()
	far, err := r.Remoteness(context.Background(), 600, []view.View{{Rows: 100, Cols: 5, F64: x[3000:]}}, 1)
	if err != nil || len(far) != 100 {
		t.Errorf("remoteness of %d samples, %v", len(far), err)
	}
}

func TestNothingToJudge(t *testing.T) {
	few := clustersOf(rand.New(rand.NewPCG(2, 8)), fewest-1, 2, 6, 5)
	constant := []view.View{{Rows: 60, Cols: 4, F64: make([]float64, 240)}}
	equal := clustersOf(rand.New(rand.NewPCG(2, 8)), 60, 2, 6, 5)
	for i := range 40 * 5 {
		equal[0].F64[i] = 1
	}
	rng := rand.New(rand.NewPCG(4, 1))
	binary := []view.View{{Rows: 1000, Cols: 4, F64: make([]float64, 4000)}}
	for i := range binary[0].F64 {
		binary[0].F64[i] = float64(rng.IntN(2))
	}
	eight := []view.View{{Rows: 800, Cols: 5, F64: make([]float64, 4000)}, {Rows: 800, Cols: 3, F64: make([]float64, 2400)}}
	for _, x := range eight {
		for i := range 8 * x.Cols {
			x.F64[i] = rng.NormFloat64()
		}
		for i := 8 * x.Cols; i < len(x.F64); i++ {
			x.F64[i] = x.F64[i-8*x.Cols]
		}
	}
	for name, views := range map[string][]view.View{
		"few samples": few, "constant": constant, "sparse and constant": {sparseOf(constant[0])}, "equal": equal,
		"binary": binary, "eight samples": eight,
	} {
		if far, _ := judged(t, views, 1); far != nil {
			t.Errorf("%s: remoteness %v", name, far)
		}
	}
}
