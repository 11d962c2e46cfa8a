package score

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

func TestContingency(t *testing.T) {
	c, err := NewContingency([]int{3, 3, -1, 3}, []int{0, 8, 8, 0})
	if err != nil {
		t.Fatal(err)
	}
	classes, classSizes := c.Classes()
	clusters, clusterSizes := c.Clusters()
	if !slices.Equal(classes, []int{-1, 3}) || !slices.Equal(classSizes, []int{1, 3}) ||
		!slices.Equal(clusters, []int{0, 8}) || !slices.Equal(clusterSizes, []int{2, 2}) ||
		!reflect.DeepEqual(c.Counts(), [][]int{{0, 1}, {2, 1}}) || c.Samples() != 4 {
		t.Errorf("%+v", c)
	}
}

func TestContingencyErrors(t *testing.T) {
	for name, labels := range map[string][2][]int{"none": {nil, nil}, "lengths": {{1, 2}, {1}}} {
		if _, err := NewContingency(labels[0], labels[1]); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	n := 10000
	y, p := make([]int, n), make([]int, n)
	for i := range y {
		y[i], p[i] = i, -i
	}
	table, err := NewContingency(y, p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Match(); err == nil {
		t.Error("a matching of 10,000 classes to 10,000 clusters is not refused")
	}
	if _, err := table.Accuracy(); err == nil {
		t.Error("the accuracy of 10,000 classes and 10,000 clusters is not refused")
	}
}

func TestMatch(t *testing.T) {
	table, err := NewContingency([]int{-5, -5, 7, 7, 7, 7}, []int{2, 2, 2, 9, 9, 4})
	if err != nil {
		t.Fatal(err)
	}
	got, err := table.Match()
	if want := map[int]int{2: -5, 9: 7}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if acc, err := table.Accuracy(); acc != 4.0/6 || err != nil {
		t.Errorf("accuracy %v, %v; want 4/6", acc, err)
	}
	if purity := table.Purity(); purity != 5.0/6 {
		t.Errorf("purity %v, want 5/6", purity)
	}
	if got, err := new(Contingency).Match(); len(got) > 0 || err != nil {
		t.Errorf("empty: %v, %v", got, err)
	}
}

// TestGoldenTable covers what largemvc.Evaluate does not return; its own test covers the rest.
func TestGoldenTable(t *testing.T) {
	for _, c := range testutil.LoadMetrics(t, "../testdata/golden") {
		table, err := NewContingency(c.Y, c.P)
		if err != nil {
			t.Fatal(err)
		}
		if p := table.Pairs(); p != (PairCounts{c.TP, c.FP, c.FN, c.TN}) {
			t.Errorf("%s: pairs %+v", c.Name, p)
		}
		for average, want := range map[NMIAverage]float64{
			NMIArithmetic: c.NMIArithmetic, NMIGeometric: c.NMIGeometric, NMIMax: c.NMIMax, NMIMin: c.NMIMin,
		} {
			if got := table.NMI(average); !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("%s: NMI with the mean %v is %v, want %v", c.Name, average, got, want)
			}
		}
		b, want := table.BCubed(), [3]float64{c.B3Precision, c.B3Recall, c.B3F}
		for i, got := range [3]float64{b.Precision, b.Recall, b.F} {
			if !(math.Abs(got-want[i]) <= 1e-12) {
				t.Errorf("%s: B-cubed %+v, want %v", c.Name, b, want)
			}
		}
	}
}

func TestPairProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		label := rapid.IntRange(-3, rapid.IntRange(-3, 5).Draw(t, "highest"))
		y := rapid.SliceOfN(label, n, n).Draw(t, "classes")
		p := rapid.SliceOfN(rapid.IntRange(0, 7), n, n).Draw(t, "clusters")
		var counts PairCounts // by looking at every pair
		for i := range n {
			for j := range i {
				switch {
				case y[i] == y[j] && p[i] == p[j]:
					counts.TP++
				case p[i] == p[j]:
					counts.FP++
				case y[i] == y[j]:
					counts.FN++
				default:
					counts.TN++
				}
			}
		}
		table, err := NewContingency(y, p)
		if err != nil {
			t.Fatal(err)
		}
		if table.Pairs() != counts {
			t.Fatalf("pairs %+v, want %+v", table.Pairs(), counts)
		}
		want := float64(counts.TP+counts.TN) / float64(n*(n-1)/2)
		if rand := counts.Rand(); n > 1 && math.Abs(rand-want) > 1e-12 {
			t.Fatalf("Rand index %v of %+v", rand, counts)
		}
		if _, clusters := table.Dims(); clusters == 1 && counts.FP+counts.TP != int64(n*(n-1)/2) {
			t.Fatalf("%+v of one cluster of %d", counts, n)
		}
	})
}

func TestNMIAverageString(t *testing.T) {
	for a, want := range map[NMIAverage]string{
		NMIArithmetic: "arithmetic", NMIGeometric: "geometric", NMIMax: "max", NMIMin: "min",
	} {
		if a.String() != want {
			t.Errorf("%d is called %q, want %q", int(a), a, want)
		}
	}
}
