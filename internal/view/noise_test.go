package view

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The marks of a row are what their description says, whatever the size of its values.
func TestMarks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 40
	row, mean := make([]float64, n), make([]float64, n)
	for _, size := range []float64{1, 1e-3, 1e90} {
		for c := range row {
			mean[c] = rng.NormFloat64() + 0.5
			if row[c] = 0; c%4 > 0 {
				row[c] = size * (mean[c] + rng.NormFloat64() - 2)
			}
		}
		moments := func(x []float64) (mean, std float64) {
			for _, e := range x {
				mean += e / float64(len(x))
			}
			for _, e := range x {
				std += (e - mean) / float64(len(x)) * (e - mean)
			}
			return mean, math.Sqrt(std)
		}
		a, s := moments(row)
		b, of := moments(mean)
		correlation, kurtosis, length, square := 0.0, 0.0, 0.0, 0.0
		for c, x := range row {
			correlation += (x - a) / s * (mean[c] - b) / of / n
			kurtosis += math.Pow((x-a)/s, 4) / n
			length += math.Abs(x) / s
			square += x / s * x / s
		}
		want := []float64{
			correlation, -math.Log1p(-a / of), math.Log(s), math.Log(kurtosis), math.Log(length * length / (n * square)), 0.25,
		}
		for k, x := range Marks(row, mean) {
			if math.Abs(x-want[k]) > 1e-6*max(1, math.Abs(want[k])) {
				t.Errorf("values of size %g: mark %d is %v, want %v", size, k, x, want[k])
			}
		}
	}
	if k := len(Marks(row, mean)); k != MarkCount {
		t.Errorf("%d marks", k)
	}
}

// Marks are finite for all values of a view, the smallest and those whose squares overflow in sum.
func TestMarksOfExtremeValues(t *testing.T) {
	for _, size := range []float64{5e-324, 1e-310, 1e153} {
		row := []float64{size, 0, -size, size}
		for k, x := range Marks(row, []float64{0, 0, 0, 1}) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Errorf("values of size %g: mark %d is %v", size, k, x)
			}
		}
	}
}

// seenRows are rows in memory, of which some are there.
type seenRows struct {
	View
	seen map[int]bool
}

func (s seenRows) Row(i int, dst []float64) { s.seen[i] = true; s.View.Row(i, dst) }

// A look is the mean of rows that are there, and of their values, from among those that are announced.
func TestLook(t *testing.T) {
	const n, d = 60, 3
	x := View{Rows: n, Cols: d, F64: make([]float64, n*d), Present: make([]bool, n)}
	for i := range n {
		x.Present[i] = i%3 > 0
		for c := range d {
			if x.F64[i*d+c] = 1e9; x.Present[i] { // what is not there is not looked at
				x.F64[i*d+c] = float64(c * 10)
			}
		}
	}
	seen := seenRows{x, map[int]bool{}}
	l := NewLook(seen, n, d, 4)
	if !slices.Equal(l.Mean, []float64{0, 10, 20}) || math.Abs(l.value-10) > 1e-9 || math.Abs(l.std-math.Sqrt(200./3)) > 1e-9 {
		t.Errorf("%+v", l)
	}
	announced := LookRows(n, d, 4, true)
	for i := range seen.seen {
		if !x.Present[i] || !slices.Contains(announced, i) {
			t.Errorf("row %d was looked at", i)
		}
	}
	if len(seen.seen) < n/3 {
		t.Errorf("%d rows were looked at", len(seen.seen))
	}
}

// The weakest joint of views is where the strongest links between them leave the fewest samples.
func TestWeakestJoint(t *testing.T) {
	const n = 30
	has := [][]int{{0, 20}, {18, 30}, {0, 10}, {27, 30}} // samples of each view, from and to
	views := make([]View, len(has))
	for v, span := range has {
		views[v] = View{Rows: n, Cols: 1, Present: make([]bool, n)}
		for i := span[0]; i < span[1]; i++ {
			views[v].Present[i] = true
		}
	}
	// Views 0 and 2 have ten samples in common, 1 and 3 three, and 0 and 1 two, which join all.
	j, err := WeakestJoint(nil, views)
	if err != nil || j.Both != 2 || j.Of != n {
		t.Fatalf("%+v, %v", j, err)
	}
	few, rest := slices.Sorted(slices.Values(j.Few)), slices.Sorted(slices.Values(j.Rest))
	if few[0] == 0 {
		few, rest = rest, few
	}
	if !slices.Equal(few, []int{1, 3}) || !slices.Equal(rest, []int{0, 2}) {
		t.Errorf("%+v", j)
	}
}

// Rows that are not there leave their entries.
func TestCompact(t *testing.T) {
	s := &CSR{Ptr: []int{0, 2, 3, 3, 5}, Cols: []int32{1, 4, 0, 2, 3}, F64: make([]float64, 5)}
	ptr, cols := s.Compact([]bool{true, false, true, true})
	if !slices.Equal(ptr, []int{0, 2, 2, 2, 4}) || !slices.Equal(cols, []int32{1, 4, 2, 3}) {
		t.Errorf("%v, %v", ptr, cols)
	}
	if ptr, _ := s.Compact([]bool{true, true, false, true}); &ptr[0] != &s.Ptr[0] {
		t.Error("a copy without need")
	}
}
