package largemvc

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/score"
)

func TestGoldenMetrics(t *testing.T) {
	for _, c := range testutil.LoadMetrics(t, "testdata/golden") {
		s, err := Evaluate(c.Y, c.P)
		if err != nil {
			t.Fatal(err)
		}
		undefined := func(x *float64) float64 {
			if x == nil {
				return math.NaN()
			}
			return *x
		}
		for name, pair := range map[string][2]float64{
			"ACC":          {s.ACC, c.ACC},
			"purity":       {s.Purity, c.Purity},
			"ARI":          {s.ARI, c.ARI},
			"NMI":          {s.NMI, c.NMIArithmetic},
			"precision":    {s.Precision, undefined(c.Precision)},
			"recall":       {s.Recall, undefined(c.Recall)},
			"F":            {s.F, undefined(c.F)},
			"B³ precision": {s.BCubed.Precision, c.B3Precision},
			"B³ recall":    {s.BCubed.Recall, c.B3Recall},
			"B³ F":         {s.BCubed.F, c.B3F},
			"homogeneity":  {s.Homogeneity, c.Homogeneity},
			"completeness": {s.Completeness, c.Completeness},
			"V":            {s.VMeasure, c.VMeasure},
		} {
			if got, want := pair[0], pair[1]; !(math.Abs(got-want) <= 1e-12 || math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s: %s is %v, want %v", c.Name, name, got, want)
			}
		}
	}
}

func TestSingleMetrics(t *testing.T) {
	y, p := []int{-5, -5, 7, 7, 7, 100}, []int{2, 2, 2, 9, 9, -1}
	s, err := Evaluate(y, p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Evaluate(nil, nil); err == nil {
		t.Error("Evaluate: no error without samples")
	}
	if _, err := Evaluate(nil, []int{1}); err == nil {
		t.Error("Evaluate: no error for different lengths")
	}
	if want := 5.0 / 6; s.ACC != want || s.Purity != want {
		t.Errorf("ACC %v, purity %v, want %v", s.ACC, s.Purity, want)
	}
}

func TestManyLabels(t *testing.T) {
	n := 10000
	y, p := make([]int, n), make([]int, n)
	for i := range y {
		y[i], p[i] = i, -i
	}
	if _, err := Evaluate(y, p); err == nil {
		t.Error("a matching of 10,000 classes to 10,000 clusters is not refused")
	}
	table, err := score.NewContingency(y, p)
	if err != nil {
		t.Fatal(err)
	}
	if v := table.Pairs().ARI(); v != 1 {
		t.Errorf("ARI of equal partitions into single samples: %v", v)
	}
	if v := table.NMI(score.NMIArithmetic); math.Abs(v-1) > 1e-12 {
		t.Errorf("NMI of equal partitions into single samples: %v", v)
	}
}

// TestPairsOfLargeData has products of pair counts beyond an int64.
func TestPairsOfLargeData(t *testing.T) {
	n := 300000
	y, p := make([]int, n), make([]int, n)
	for i := range y {
		y[i], p[i] = i%2, i%2
		if i < 1000 {
			p[i] = 0
		}
	}
	v, err := ariOf(y, p)
	if err != nil || !(v > 0.98 && v < 1) {
		t.Errorf("ARI %v, %v with 500 of 300,000 samples moved", v, err)
	}
}

func TestMetricProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		label := rapid.IntRange(-3, rapid.IntRange(-3, 5).Draw(t, "highest"))
		y := rapid.SliceOfN(label, n, n).Draw(t, "classes")
		p := rapid.SliceOfN(rapid.IntRange(0, 7), n, n).Draw(t, "clusters")
		s, err := Evaluate(y, p)
		if err != nil {
			t.Fatal(err)
		}
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12 || math.IsNaN(a) && math.IsNaN(b) }

		renamed := make([]int, n) // x ↦ 5−3x is one-to-one and reverses the order
		for i, l := range p {
			renamed[i] = 5 - 3*l
		}
		r, err := Evaluate(y, renamed)
		if err != nil {
			t.Fatal(err)
		}
		sv, rv := reflect.ValueOf(s), reflect.ValueOf(r)
		for f := range sv.NumField() {
			if sv.Field(f).Kind() == reflect.Float64 && !near(sv.Field(f).Float(), rv.Field(f).Float()) {
				t.Fatalf("%s depends on the clusters' names: %v and %v", sv.Type().Field(f).Name, sv.Field(f), rv.Field(f))
			}
		}

		q, err := Evaluate(p, y) // the roles exchanged
		if err != nil {
			t.Fatal(err)
		}
		if !near(s.ARI, q.ARI) || !near(s.NMI, q.NMI) || s.ACC != q.ACC || !near(s.Precision, q.Recall) || !near(s.F, q.F) ||
			!near(s.Homogeneity, q.Completeness) || !near(s.VMeasure, q.VMeasure) || !near(s.BCubed.Precision, q.BCubed.Recall) {
			t.Fatalf("not symmetric: %+v and %+v", s, q)
		}

		for _, x := range []float64{s.ACC, s.NMI, s.Purity, s.Homogeneity, s.Completeness, s.VMeasure, s.BCubed.F} {
			if !(x >= 0 && x <= 1) {
				t.Fatalf("not from 0 to 1: %+v", s)
			}
		}
		if s.ARI > 1 || s.ACC > s.Purity || !near(s.NMI, s.VMeasure) && !(s.NMI == 0 || s.NMI == 1) {
			t.Fatalf("inconsistent: %+v", s)
		}

		if f := 2 * s.Precision * s.Recall / (s.Precision + s.Recall); s.Precision+s.Recall > 0 && !near(f, s.F) {
			t.Fatalf("F %v, from precision and recall %v", s.F, f)
		}

		same, err := Evaluate(y, y)
		if err != nil || same.ACC != 1 || !near(same.NMI, 1) || same.ARI != 1 || same.Purity != 1 {
			t.Fatalf("classes against themselves: %+v, %v", same, err)
		}
	})
}

func ExampleEvaluate() {
	classes := []int{0, 0, 0, 1, 1, 1, 2, 2}
	clusters := []int{5, 5, 5, 3, 3, 8, 8, 8} // names do not matter
	s, err := Evaluate(classes, clusters)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("ACC %.3f NMI %.3f ARI %.3f\n", s.ACC, s.NMI, s.ARI)
	// Output: ACC 0.875 NMI 0.779 ARI 0.619
}

func accuracyOf(classes, clusters []int) (float64, error) {
	s, err := Evaluate(classes, clusters)
	return s.ACC, err
}

func nmiOf(classes, clusters []int) (float64, error) {
	s, err := Evaluate(classes, clusters)
	return s.NMI, err
}

func ariOf(classes, clusters []int) (float64, error) {
	s, err := Evaluate(classes, clusters)
	return s.ARI, err
}
