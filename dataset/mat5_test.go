package dataset

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"testing"
)

func checkSampleMAT5(t *testing.T, s *Set) {
	t.Helper()
	sound(t, s)
	if len(s.Views) != 5 {
		t.Fatalf("%d views", len(s.Views))
	}
	for v, d := range []int{3, 2, 9, 6, 4} {
		want := sampleValue(v)
		if v == 2 {
			want = some(v)
		}
		checkView(t, &s.Views[v], 6, d, want)
	}
	if !equalInts(s.Labels, []int{0, 1, 0, 1, 0, 1}) || s.LabelNames[0] != "3" || s.LabelNames[1] != "4" {
		t.Errorf("labels %v, classes %q", s.Labels, s.LabelNames)
	}
}

func TestMAT5(t *testing.T) {
	for _, big := range []bool{false, true} {
		for _, deflate := range []bool{false, true} {
			for _, storage := range []Storage{AsStored, AllDense, AllSparse, SparseIfSmaller} {
				t.Run(fmt.Sprint(big, deflate, storage), func(t *testing.T) {
					checkSampleMAT5(t, mustRead(t, "a.mat", sampleMAT5(big, deflate), Options{Storage: storage, Float: 64}))
				})
			}
		}
	}
}

// TestMAT5Types stores the same values in every type that MATLAB uses for storage.
func TestMAT5Types(t *testing.T) {
	for kind, name := range map[int]string{1: "int8", 2: "uint8", 3: "int16", 4: "uint16", 5: "int32", 6: "uint32",
		7: "single", 9: "double", 12: "int64", 13: "uint64"} {
		for _, deflate := range []bool{false, true} {
			e := newMAT5(kind%2 == 0, deflate)
			e.add(e.matrix("fea", 6, kind, 7, 3, sampleValue(1)))
			e.add(e.matrix("gnd", 6, kind, 1, 7, func(_, j int) float64 { return float64(j % 3) }))
			s := mustRead(t, name, e.bytes(), Options{})
			checkView(t, &s.Views[0], 7, 3, sampleValue(1))
			if !equalInts(s.Labels, []int{0, 1, 2, 0, 1, 2, 0}) {
				t.Errorf("%s: labels %v", name, s.Labels)
			}
		}
	}
}

// TestMAT5Negative reads negative values of the signed types.
func TestMAT5Negative(t *testing.T) {
	for _, kind := range []int{1, 3, 5, 7, 9, 12} {
		e := newMAT5(false, false)
		e.add(e.matrix("X", 6, kind, 3, 2, func(i, j int) float64 { return float64(-i - 2*j) }))
		s := mustRead(t, "a.mat", e.bytes(), Options{})
		checkView(t, &s.Views[0], 3, 2, func(i, j int) float64 { return float64(-i - 2*j) })
	}
}

func TestMAT5Orientation(t *testing.T) {
	const n = 5
	file := func(dims [][2]int, labels int) []byte {
		e := newMAT5(false, true)
		var items [][]byte
		for v, d := range dims {
			items = append(items, e.matrix("", 6, 9, d[0], d[1], sampleValue(v)))
		}
		e.add(e.cell("X", []int{len(items), 1}, items...))
		if labels > 0 {
			e.add(e.matrix("Y", 6, 2, labels, 1, func(i, _ int) float64 { return float64(i % 2) }))
		}
		return e.bytes()
	}
	for _, c := range []struct {
		name   string
		dims   [][2]int
		labels int
		o      Orientation
		turned bool
		words  string // of the error
	}{
		{"rows", [][2]int{{n, 3}, {n, n}, {n, 8}}, n, AutoOrientation, false, ""},
		{"columns with a square view", [][2]int{{3, n}, {n, n}, {8, n}}, n, AutoOrientation, true, ""},
		{"columns without labels", [][2]int{{3, n}, {n, n}}, 0, AutoOrientation, true, ""},
		{"rows without labels", [][2]int{{n, n}, {n, 2}}, 0, AutoOrientation, false, ""},
		{"labels decide between equal shapes", [][2]int{{3, n}, {3, n}}, n, AutoOrientation, true, ""},
		{"equal shapes without labels are rows", [][2]int{{3, n}, {3, n}}, 0, AutoOrientation, false, ""},
		{"by option", [][2]int{{3, n}, {3, n}}, 0, ColumnsAreSamples, true, ""},
		{"all square", [][2]int{{n, n}, {n, n}}, n, AutoOrientation, false, ""},
		{"mixed", [][2]int{{n, 3}, {3, n}}, n, AutoOrientation, false, "X{2} 3×5"},
		{"wrong labels", [][2]int{{n, 3}, {n, 4}}, 7, AutoOrientation, false, "7 labels"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := read("a.mat", file(c.dims, c.labels), Options{Orientation: c.o})
			if c.words != "" {
				wantError(t, err, c.words, "a.mat")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for v, d := range c.dims {
				rows, cols, want := d[0], d[1], sampleValue(v)
				if c.turned {
					turned := want
					rows, cols, want = d[1], d[0], func(i, j int) float64 { return turned(j, i) }
				}
				checkView(t, &s.Views[v], rows, cols, want)
			}
		})
	}
}

// TestMAT5SparseColumns has sparse views of d×n, with unsorted and repeated entries.
func TestMAT5SparseColumns(t *testing.T) {
	e := newMAT5(false, true)
	e.add(e.cell("X", []int{1, 2}, e.sparse("", 7, 4, some(2)),
		e.array("", 5, 0, []int{3, 4}, e.element(5, e.ints(2, 0, 1, 1)), e.element(5, e.ints(0, 2, 2, 4, 4)), e.numbers(9,
			[]float64{5, 6, 7, 8}))))
	for _, storage := range []Storage{AsStored, AllDense} {
		s := mustRead(t, "a.mat", e.bytes(), Options{Storage: storage})
		sound(t, s)
		checkView(t, &s.Views[0], 4, 7, func(i, j int) float64 { return some(2)(j, i) })
		want := map[[2]int]float64{{0, 2}: 5, {0, 0}: 6, {2, 1}: 15}
		checkView(t, &s.Views[1], 4, 3, func(i, j int) float64 { return want[[2]int{i, j}] })
	}
	for _, c := range []struct {
		ir, jc []int
		word   string
	}{
		{[]int{3, 0}, []int{0, 2, 2, 2, 2}, "outside its 3 rows"},
		{[]int{1, 0}, []int{0, 2, 1, 2, 2}, "decrease"},
		{[]int{1, 0}, []int{0, 1, 2, 3, 3}, "pointers give 3 entries, and it has 2 "},
		{[]int{1, 0}, []int{0, 1, 2, 2}, "column pointers"},
	} {
		e := newMAT5(false, true)
		e.add(e.array("X", 5, 0, []int{3, 4}, e.element(5, e.ints(c.ir...)), e.element(5, e.ints(c.jc...)), e.numbers(9,
			[]float64{5, 6})))
		_, err := read("a.mat", e.bytes(), Options{})
		wantError(t, err, "X", c.word)
	}
}

func TestMAT5Incomplete(t *testing.T) {
	s := mustRead(t, "a.mat", incompleteMAT5(), Options{})
	for v, d := range []int{4, 2} {
		lost := []int{1, 4}[v]
		checkView(t, &s.Views[v], 5, d, func(i, j int) float64 {
			if i == lost {
				return 0
			}
			return sampleValue(v)(j, i)
		})
		for i := range 5 {
			if s.Present[i][v] != (i != lost) {
				t.Errorf("sample %d, view %d present: %t", i, v, s.Present[i][v])
			}
		}
	}
}

// TestMAT5IndexContradicts has an index that does not agree with the values.
func TestMAT5IndexContradicts(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name  string
		x     []float64 // one feature of three samples
		index []float64
		words []string // nil: no error
	}{
		{"agree", []float64{1, nan, 3}, []float64{1, 3}, nil},
		{"zeros", []float64{1, 0, 3}, []float64{1, 3}, nil},
		{"named as present", []float64{1, nan, 3}, []float64{1, 2, 3}, []string{"X{1}", "row 1", "index names"}},
		{"has values", []float64{1, 2, 3}, []float64{1, 3}, []string{"X{1}", "row 1", "index does not name"}},
		{"out of range", []float64{1, 2, 3}, []float64{1, 4}, []string{"index{1}", "names sample 4"}},
		{"twice", []float64{1, 2, 3}, []float64{1, 1}, []string{"index{1}", "twice"}},
		{"not whole", []float64{1, 2, 3}, []float64{1.5}, []string{"index{1}", "1.5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newMAT5(false, false)
			one := func(int, int) float64 { return 1 }
			e.add(e.cell("X", []int{1, 2}, e.matrix("", 6, 9, 3, 1, func(i, _ int) float64 { return c.x[i] }), e.matrix("",
				6, 9, 3, 2, one)))
			e.add(e.cell("index", []int{1, 2}, e.matrix("", 6, 9, len(c.index), 1, func(i, _ int) float64 { return c.index[i] }),
				e.matrix("", 6, 9, 3, 1, func(i, _ int) float64 { return float64(i + 1) })))
			s, err := read("a.mat", e.bytes(), Options{})
			path := filepath.Join(t.TempDir(), "a.mat")
			if err := writeBytes(path, e.bytes()); err != nil {
				t.Fatal(err)
			}
			onDisk, wrong := OpenRows(t.Context(), []string{path}, Options{Scratch: t.TempDir()})
			if c.words != nil {
				wantError(t, err, c.words...)
				wantError(t, wrong, c.words...)
				return
			}
			if err := errors.Join(err, wrong); err != nil {
				t.Fatal(err)
			}
			defer onDisk.Close()
			if s.Present[1][0] || !s.Present[0][0] || !s.Present[1][1] || fmt.Sprint(onDisk.Present) != fmt.Sprint(s.Present) {
				t.Errorf("present %v", s.Present)
			}
		})
	}
}

func TestMAT5Unusual(t *testing.T) {
	e := newMAT5(false, true)
	for _, c := range []struct {
		name  string
		add   func(e *mat5Encoder)
		o     Options
		words []string // of the error; nil: reads
	}{
		{"separate variables, numeric order", func(e *mat5Encoder) {
			for _, v := range []int{10, 9, 1} {
				e.add(e.matrix(fmt.Sprint("x", v), 6, 9, 4, 2, sampleValue(v)))
			}
		}, Options{}, nil},
		{"complex", func(e *mat5Encoder) {
			e.add(e.array("X", 6, 8, []int{1, 2}, e.numbers(9, []float64{1, 2}), e.numbers(9, []float64{1, 2})))
		}, Options{}, []string{"X", "complex"}},
		{"three axes", func(e *mat5Encoder) {
			e.add(e.array("X", 6, 0, []int{2, 2, 2}, e.numbers(9, make([]float64, 8))))
		}, Options{}, []string{"X"}},
		{"nothing usable", func(e *mat5Encoder) {
			e.add(e.array("t", 4, 0, []int{1, 1}, e.element(16, []byte("a"))))
		}, Options{}, []string{"t (1×1 char)", "no matrix"}},
		{"unknown name", func(e *mat5Encoder) { e.add(e.matrix("X", 6, 9, 2, 2, sampleValue(0))) },
			Options{Views: []string{"Z"}}, []string{"Z", "X (2×2"}},
		{"empty cell", func(e *mat5Encoder) { e.add(e.cell("X", []int{0, 0})) }, Options{}, []string{"X", "empty"}},
		{"empty view", func(e *mat5Encoder) {
			e.add(e.cell("X", []int{1, 2}, e.matrix("", 6, 9, 2, 2, sampleValue(0)), e.element(14, nil)))
		}, Options{}, []string{"X{2}", "empty"}},
		{"text in the cell", func(e *mat5Encoder) {
			e.add(e.cell("X", []int{1, 1}, e.array("", 4, 0, []int{1, 1}, e.element(16, []byte("a")))))
		}, Options{}, []string{"X{1}", "char"}},
		{"cell in the cell", func(e *mat5Encoder) {
			e.add(e.cell("X", []int{1, 1}, e.cell("", []int{1, 1}, e.matrix("", 6, 9, 2, 2, sampleValue(0)))))
		}, Options{}, []string{"X{1}", "cell"}},
		{"an element of a cell by name", func(e *mat5Encoder) {
			e.add(e.cell("Q", []int{1, 2}, e.matrix("", 6, 9, 4, 3, sampleValue(1)), e.matrix("", 6, 9, 4, 2, sampleValue(1))))
		}, Options{Views: []string{"Q{2}"}}, nil},
		{"labels that disagree", func(e *mat5Encoder) {
			e.add(e.cell("X", []int{1, 1}, e.matrix("", 6, 9, 4, 3, sampleValue(1))))
			e.add(e.cell("truelabel", []int{1, 2}, e.matrix("", 6, 9, 4, 1, sampleValue(1)), e.matrix("", 6, 9, 4, 1,
				sampleValue(2))))
		}, Options{}, []string{"truelabel{2}", "disagree on sample 0"}},
		{"one-hot labels", func(e *mat5Encoder) {
			e.add(e.cell("X", []int{1, 1}, e.matrix("", 6, 9, 4, 2, sampleValue(1))))
			e.add(e.matrix("Y", 6, 2, 4, 2, func(i, j int) float64 {
				if i%2 == j {
					return 1
				}
				return 0
			}))
		}, Options{}, nil},
		{"NaN", func(e *mat5Encoder) {
			e.add(e.matrix("X", 6, 9, 4, 2, func(i, j int) float64 {
				if i == 2 && j == 1 {
					return math.NaN()
				}
				return 1
			}))
		}, Options{}, []string{"X", "row 2", "column 1"}},
		{"infinity", func(e *mat5Encoder) {
			e.add(e.matrix("X", 6, 9, 4, 2, func(i, j int) float64 { return math.Inf(i*j - 1) }))
		}, Options{}, []string{"X", "infinite", "row 0, column 0"}},
		{"too large for float32", func(e *mat5Encoder) {
			e.add(e.matrix("X", 6, 9, 2, 2, func(i, j int) float64 { return 1e39 }))
		}, Options{}, []string{"X", "float32"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			*e = *newMAT5(false, true)
			c.add(e)
			s, err := read("a.mat", e.bytes(), c.o)
			if c.words != nil {
				wantError(t, err, append(c.words, "a.mat")...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			checkView(t, &s.Views[0], 4, 2, sampleValue(1))
			if s.Labels != nil && !equalInts(s.Labels, []int{0, 1, 0, 1}) {
				t.Errorf("labels %v", s.Labels)
			}
		})
	}
}

func TestMAT5Triplets(t *testing.T) {
	for _, base := range []float64{0, 1} {
		rows := [][3]float64{{0, 2, 5}, {3, 0, 7}, {1, 1, -2}, {3, 4, 1}}
		e := newMAT5(false, true)
		e.add(e.cell("X", []int{1, 1}, e.matrix("", 6, 9, len(rows), 3, func(i, j int) float64 {
			if j < 2 {
				return rows[i][j] + base
			}
			return rows[i][j]
		})))
		e.add(e.matrix("Y", 6, 2, 5, 1, func(i, _ int) float64 { return float64(i % 2) }))
		s := mustRead(t, "a.mat", e.bytes(), Options{Triplets: true})
		checkView(t, &s.Views[0], 5, 5, func(i, j int) float64 {
			for _, r := range rows {
				if int(r[0]) == i && int(r[1]) == j {
					return r[2]
				}
			}
			return 0
		})
		_, err := read("a.mat", e.bytes(), Options{})
		wantError(t, err, "Options.Triplets")
	}
}

func TestMAT5Corrupt(t *testing.T) {
	for _, big := range []bool{false, true} {
		for _, deflate := range []bool{false, true} {
			corrupt(t, "a.mat", sampleMAT5(big, deflate))
		}
	}
	corrupt(t, "a.mat", incompleteMAT5())
}
