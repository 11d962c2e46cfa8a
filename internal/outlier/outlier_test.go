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
