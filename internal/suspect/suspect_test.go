package suspect_test

import (
	"math"
	"testing"

	"github.com/largemvc/largemvc/internal/suspect"
)

// table is rows; nil ones are absent.
type table [][]float64

func (t table) Has(i int) bool { return t[i] != nil }

func (t table) Row(i int, dst []float64) { copy(dst, t[i]) }

func (t table) times(f float64) table {
	out := make(table, len(t))
	for i, row := range t {
		for _, x := range row {
			out[i] = append(out[i], float64(float32(f*x)))
		}
	}
	return out
}

func TestTwin(t *testing.T) {
	x := table{{0, 0, 0}, nil, {0, 1.5, -2}, {3, 1e-30, 7}}
	for _, f := range []float64{1, -1, 0.1, 1e6} {
		got, ok := new(suspect.Comparer).Twin(x, x.times(f), 3, []int{0, 1, 2, 3})
		if !ok || math.Abs(got-f) > 1e-6*math.Abs(f) || f == 1 && got != 1 {
			t.Errorf("factor %v, %v, want %v", got, ok, f)
		}
	}
	for name, y := range map[string]table{
		"a value":          {{0, 0, 0}, nil, {0, 1.5, -2}, {3, 2e-30, 7}},
		"a zero":           {{0, 0, 0}, nil, {0, 1.5, -2}, {3, 0, 7}},
		"no zero":          {{0, 1e-9, 0}, nil, {0, 1.5, -2}, {3, 1e-30, 7}},
		"another row":      {{0, 0, 0}, {1, 2, 3}, {0, 1.5, -2}, {3, 1e-30, 7}},
		"not a number":     {{0, 0, 0}, nil, {0, 1.5, math.NaN()}, {3, 1e-30, 7}},
		"too large":        {{0, 0, 0}, nil, {0, 1.5, -2}, {math.Inf(1), 1e-30, 7}},
		"nothing but zero": {{0, 0, 0}, nil, {0, 0, 0}, {0, 0, 0}},
	} {
		if f, ok := new(suspect.Comparer).Twin(x, y, 3, []int{0, 1, 2, 3}); ok {
			t.Errorf("%s: factor %v", name, f)
		}
	}
	if f, ok := new(suspect.Comparer).Twin(x, x, 3, []int{0, 1}); ok {
		t.Errorf("of zeros alone: factor %v", f)
	}
}

func TestDominated(t *testing.T) {
	median, largest := suspect.Scales([]float64{3, 1, 301, 2, 4})
	if median != 3 || largest != 301 || !suspect.Dominated(median, largest, 0.5) {
		t.Error(median, largest)
	}
	if suspect.Dominated(3, 300, 1) || suspect.Dominated(3, 301, 0.49) {
		t.Error("a view is dominated without reason")
	}
}
