package score

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// indexRows is 60×5 with integer entries, so that it is the same in every language: x_ij = i(7j+3) mod 11, plus 8 where
// i and j agree modulo 3.
func indexRows() *mat.Dense {
	x := mat.NewDense(60, 5, nil)
	for i := range 60 {
		for j := range 5 {
			a := float64(i * (7*j + 3) % 11)
			if i%3 == j%3 {
				a += 8
			}
			x.Set(i, j, a)
		}
	}
	return x
}

func TestIndicesAgainstScikitLearn(t *testing.T) {
	x := indexRows()
	// From silhouette_score, calinski_harabasz_score and davies_bouldin_score of scikit-learn 1.2.1.
	for _, test := range []struct {
		name                          string
		label                         func(i int) int
		silhouette, calinski, bouldin float64
	}{
		{"i mod 3", func(i int) int { return i % 3 }, 0.3739729084254025, 39.89673895105126, 0.9953418149447618},
		{"i mod 4", func(i int) int { return i % 4 }, -0.07343514553328787, 0.08458902847879746, 22.316645854503285},
		{"one alone", func(i int) int {
			if i == 0 {
				return 0
			}
			return 1 + i%2
		}, -0.08374721462740567, 0.7406836907049219, 25.12763823624243},
		{"halves", func(i int) int {
			if i < 30 {
				return -7
			}
			return 9
		}, -0.03071091848535195, 0.02873130905421521, 43.210030963995166},
	} {
		labels := make([]int, 60)
		for i := range labels {
			labels[i] = test.label(i)
		}
		s, err := Silhouette(t.Context(), x, labels, SilhouetteConfig{})
		if err != nil || math.Abs(s-test.silhouette) > 1e-12 {
			t.Errorf("%s: silhouette %v, %v; want %v", test.name, s, err, test.silhouette)
		}
		c, err := CalinskiHarabasz(x, labels)
		if err != nil || math.Abs(c-test.calinski) > 1e-12*test.calinski {
			t.Errorf("%s: Caliński-Harabasz %v, %v; want %v", test.name, c, err, test.calinski)
		}
		d, err := DaviesBouldin(x, labels)
		if err != nil || math.Abs(d-test.bouldin) > 1e-12*test.bouldin {
			t.Errorf("%s: Davies-Bouldin %v, %v; want %v", test.name, d, err, test.bouldin)
		}
	}
}

// TestSilhouetteLarge compares with the definition, across blocks, with an offset and repeated rows.
func TestSilhouetteLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	x, labels := mat.NewDense(301, 6, nil), make([]int, 301)
	for i := range labels {
		labels[i] = i % 4
		for j := range 6 {
			x.Set(i, j, 1000+float64(i%4*(j+1)%5)+rng.NormFloat64())
		}
	}
	for i := range 40 {
		x.SetRow(300-i, x.RawRowView(i))
	}
	want := 0.0
	for i, l := range labels {
		sums, sizes := make([]float64, 4), make([]float64, 4)
		for j, k := range labels {
			d := 0.0
			for q := range 6 {
				d += math.Pow(x.At(i, q)-x.At(j, q), 2)
			}
			sums[k] += math.Sqrt(d)
			sizes[k]++
		}
		a, b := sums[l]/(sizes[l]-1), math.Inf(1)
		for k := range sums {
			if k != l {
				b = min(b, sums[k]/sizes[k])
			}
		}
		want += (b - a) / max(a, b) / 301
	}
	for _, workers := range []int{1, 2, 5} {
		got, err := Silhouette(t.Context(), x, labels, SilhouetteConfig{Workers: workers})
		if err != nil || math.Abs(got-want) > 1e-10 {
			t.Errorf("%d workers: %v, %v; want %v", workers, got, err, want)
		}
	}
	all, err := Silhouette(t.Context(), x, labels, SilhouetteConfig{})
	if err != nil {
		t.Fatal(err)
	}
	some, err := Silhouette(t.Context(), x, labels, SilhouetteConfig{Samples: 150, Seed: 1})
	if err != nil || some == all || math.Abs(some-all) > 0.05 {
		t.Errorf("150 of the rows: %v, %v; all: %v", some, err, all)
	}
	again, err := Silhouette(t.Context(), x, labels, SilhouetteConfig{Samples: 150, Seed: 1, Workers: 3})
	if err != nil || again != some {
		t.Errorf("the same 150 rows: %v and %v, %v", some, again, err)
	}
	other, err := Silhouette(t.Context(), x, labels, SilhouetteConfig{Samples: 150, Seed: 2})
	if err != nil || other == some {
		t.Errorf("another seed: %v and %v, %v", some, other, err)
	}
	if more, err := Silhouette(t.Context(), x, labels, SilhouetteConfig{Samples: 1000, Seed: 2}); err != nil || more != all {
		t.Errorf("more samples than rows: %v, %v; want %v", more, err, all)
	}
}

func TestIndicesOfEqualRows(t *testing.T) {
	x, labels := mat.NewDense(4, 2, []float64{1, 2, 1, 2, 1, 2, 1, 2}), []int{0, 0, 1, 1}
	if s, err := Silhouette(t.Context(), x, labels, SilhouetteConfig{}); s != 0 || err != nil {
		t.Errorf("silhouette %v, %v", s, err)
	}
	if c, err := CalinskiHarabasz(x, labels); c != 1 || err != nil {
		t.Errorf("Caliński-Harabasz %v, %v", c, err)
	}
	if d, err := DaviesBouldin(x, labels); d != 0 || err != nil {
		t.Errorf("Davies-Bouldin %v, %v", d, err)
	}
	tenths := mat.NewDense(4, 1, []float64{0.1, 0.1, 0.1, 0.1}) // the mean of three is another number
	if c, err := CalinskiHarabasz(tenths, []int{0, 0, 0, 1}); c != 1 || err != nil {
		t.Errorf("Caliński-Harabasz of tenths %v, %v", c, err)
	}
	if d, err := DaviesBouldin(tenths, []int{0, 0, 0, 1}); d != 0 || err != nil {
		t.Errorf("Davies-Bouldin of tenths %v, %v", d, err)
	}
	x.SetRow(2, []float64{5, 5})
	x.SetRow(3, []float64{5, 5})
	if c, err := CalinskiHarabasz(x, labels); !math.IsInf(c, 1) || err != nil {
		t.Errorf("Caliński-Harabasz of clusters of equal rows: %v, %v", c, err)
	}
}

func TestIndexErrors(t *testing.T) {
	x := mat.NewDense(4, 1, []float64{1, 2, 3, 4})
	for name, test := range map[string]struct {
		x      mat.Matrix
		labels []int
	}{
		"nil":         {nil, nil},
		"NaN":         {mat.NewDense(3, 1, []float64{1, math.NaN(), 2}), []int{0, 0, 1}},
		"few labels":  {x, []int{0, 1, 1}},
		"one cluster": {x, []int{5, 5, 5, 5}},
		"all alone":   {x, []int{1, 2, 3, 4}},
	} {
		if _, err := Silhouette(t.Context(), test.x, test.labels, SilhouetteConfig{}); err == nil {
			t.Errorf("%s: Silhouette gives no error", name)
		}
		if _, err := CalinskiHarabasz(test.x, test.labels); err == nil {
			t.Errorf("%s: CalinskiHarabasz gives no error", name)
		}
		if _, err := DaviesBouldin(test.x, test.labels); err == nil {
			t.Errorf("%s: DaviesBouldin gives no error", name)
		}
	}
	if _, err := Silhouette(t.Context(), x, []int{0, 0, 1, 1}, SilhouetteConfig{Samples: -1}); err == nil {
		t.Error("-1 samples: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Silhouette(ctx, x, []int{0, 0, 1, 1}, SilhouetteConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestSilhouettes wants the silhouettes of all rows, whose mean Silhouette is, and one by its definition.
func TestSilhouettes(t *testing.T) {
	x := mat.NewDense(5, 1, []float64{0, 1, 4, 6, 20})
	labels := []int{7, 7, 2, 2, 5}
	s, err := Silhouettes(context.Background(), x, labels, 2)
	if err != nil {
		t.Fatal(err)
	}
	// Row 0: a = 1, b = (4 + 6)/2; row 2: a = 2, b = (4 + 3)/2; row 4 is alone.
	for i, want := range map[int]float64{0: 0.8, 2: 1.5 / 3.5, 4: 0} {
		if math.Abs(s[i]-want) > 1e-12 {
			t.Errorf("row %d has %v, want %v", i, s[i], want)
		}
	}
	mean, err := Silhouette(context.Background(), x, labels, SilhouetteConfig{})
	if err != nil || math.Abs(mean-(s[0]+s[1]+s[2]+s[3]+s[4])/5) > 1e-12 {
		t.Errorf("the mean is %v, %v", mean, err)
	}
	if _, err := Silhouettes(context.Background(), x, labels, -1); err == nil {
		t.Error("-1 workers are no error")
	}
}
