package dataset

import (
	"math"
	"strings"
	"testing"
)

// TestSplitMatrix makes several views of the columns of one matrix, however it is stored.
func TestSplitMatrix(t *testing.T) {
	value := func(i, j int) float64 { return float64(10*i + j) }
	byRow, byColumn := make([]float64, 0, 24), make([]float64, 0, 24)
	for i := range 4 {
		for j := range 6 {
			byRow = append(byRow, value(i, j))
		}
	}
	for j := range 6 {
		for i := range 4 {
			byColumn = append(byColumn, value(i, j))
		}
	}
	names := Array{"X.features", nil, []string{"c0", "c1", "c2", "c3", "area", "edge"}}
	table := []TableView{{"colour", []string{"0-3"}}, {"shape", []string{"5", "1"}}}
	named := []TableView{{"colour", []string{"c*"}}, {"shape", []string{"edge", "c1"}}}
	other := Array{"other", []int{4, 2}, []float64{1, 2, 3, 4, 5, 6, 7, 8}}
	matrix, turned := Array{"X", []int{4, 6}, byRow}, Array{"X", []int{6, 4}, byColumn}
	for name, c := range map[string]struct {
		arrays []Array
		o      Options
	}{
		"dense":      {[]Array{matrix}, Options{Table: table}},
		"float64":    {[]Array{matrix}, Options{Table: table, Float: 64}},
		"sparse":     {[]Array{matrix}, Options{Table: table, Storage: AllSparse}},
		"turned":     {[]Array{turned}, Options{Table: table, Orientation: ColumnsAreSamples}},
		"names":      {[]Array{matrix, names}, Options{Table: named}},
		"one of two": {[]Array{matrix, other}, Options{Table: table, Views: []string{"X"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustRead(t, "t.npz", npzBytes(t, false, c.arrays...), c.o)
			sound(t, s)
			if len(s.Views) != 2 || s.Views[0].Name != "colour" || s.Views[1].Name != "shape" {
				t.Fatalf("views %v", s.Reading.Views)
			}
			checkView(t, &s.Views[0], 4, 4, value)
			checkView(t, &s.Views[1], 4, 2, func(i, k int) float64 { return value(i, []int{5, 1}[k]) })
			if len(c.arrays) == 2 && c.o.Views == nil && strings.Join(s.Views[1].Features, " ") != "edge c1" {
				t.Errorf("features %q", s.Views[1].Features)
			}
			left, want := s.Reading.LeftOut, "columns 4 of X"
			if c.o.Table[0].Columns[0] == "c*" {
				want = "columns area of X"
			}
			if len(left) == 0 || left[0].What != want {
				t.Errorf("left out %v, want %s", left, want)
			}
			if !strings.Contains(s.Reading.Views[0].Source, "columns of X in t.npz") {
				t.Errorf("from %s", s.Reading.Views[0].Source)
			}
		})
	}
	for _, c := range []struct {
		arrays []Array
		o      Options
		words  []string
	}{
		{[]Array{matrix}, Options{Table: []TableView{{"a", []string{"4-6"}}}}, []string{"X", "4-6", "columns 0 to 5", "view a"}},
		{[]Array{matrix}, Options{Table: []TableView{{"a", []string{"area"}}}}, []string{"no column area"}},
		{[]Array{{"X0", []int{4, 6}, byRow}, {"X1", []int{4, 6}, byRow}}, Options{Table: table},
			[]string{"one matrix", "there are 2", "Options.Views"}},
		{[]Array{{"X", []int{4, 3}, byRow[:12]}}, Options{Table: table, Triplets: true}, []string{"triplets"}},
	} {
		_, err := read("t.npz", npzBytes(t, false, c.arrays...), c.o)
		wantError(t, err, c.words...)
	}
}

// TestSplitMatrixNaN: a NaN is named by its place in the matrix, and none in columns that are not read is an error.
func TestSplitMatrixNaN(t *testing.T) {
	data := npzBytes(t, false, Array{"X", []int{3, 3}, []float64{1, 2, math.NaN(), 4, 5, 6, 7, 8, 9}})
	s := mustRead(t, "t.npz", data, Options{Table: []TableView{{"a", []string{"0-1"}}}})
	checkView(t, &s.Views[0], 3, 2, func(i, j int) float64 { return float64(3*i + j + 1) })
	_, err := read("t.npz", data, Options{Table: []TableView{{"a", []string{"1-2"}}}})
	wantError(t, err, "row 0, column 1", "column 2 of X", "1 of 3 rows and 1 of 2 columns")
}
