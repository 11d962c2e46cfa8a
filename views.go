package largemvc

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// View is one view of the samples: n rows of d_v features, one row a sample. Make one with MatrixView, Float32View,
// Float64View or SparseView. A View refers to the caller's memory, which Fit reads and, unless Config.Overwrite allows it,
// never changes.
type View struct {
	name       string
	rows, cols int
	matrix     mat.Matrix
	f32        []float32
	f64        []float64
	slice      bool // f32 or f64 is a slice that the caller gave as such
	sparse     *compressed
	present    []bool
	err        error
}

// MatrixView returns the view in a gonum matrix, n×d_v.
func MatrixView(x mat.Matrix) (v View) {
	if x == nil {
		return View{err: errors.New("the matrix is nil")}
	}
	defer func() { // A nil pointer to a matrix, for one.
		if p := recover(); p != nil {
			v = View{err: fmt.Errorf("the size of the matrix cannot be read: %v", p)}
		}
	}()
	n, d := x.Dims()
	v = View{rows: n, cols: d, matrix: x}
	if raw, ok := x.(mat.RawMatrixer); ok {
		if m := raw.RawMatrix(); m.Stride == m.Cols {
			v.matrix, v.f64 = nil, m.Data
		}
	}
	return v
}

// Float32View returns the n×d_v view in x, row-major: feature j of sample i is x[i*d+j].
func Float32View(n, d int, x []float32) View {
	return View{rows: n, cols: d, f32: x, slice: true, err: checkLength(n, d, len(x))}
}

// Float64View returns the n×d_v view in x, row-major.
func Float64View(n, d int, x []float64) View {
	return View{rows: n, cols: d, f64: x, slice: true, err: checkLength(n, d, len(x))}
}

func checkLength(n, d, have int) error {
	if n < 0 || d < 0 || (d > 0 && n > math.MaxInt/d) || have != n*d {
		return fmt.Errorf("%d values for %d×%d", have, n, d)
	}
	return nil
}

// compressed holds the rows of a sparse view: those of row i are ptr[i] ≤ k < ptr[i+1].
type compressed struct {
	ptr  []int
	cols []int32
	f32  []float32 // one of the two
	f64  []float64
}

// value returns entry k.
func (s *compressed) value(k int) float64 {
	if s.f32 != nil {
		return float64(s.f32[k])
	}
	return s.f64[k]
}

// SparseView returns the n×d_v view in compressed rows (CSR): sample i has values[k] in feature cols[k] for rowPtr[i] ≤ k <
// rowPtr[i+1], and zero in all others. rowPtr has n+1 entries, from 0 to the number of values, and the columns increase
// within a row. The view stays sparse in preprocessing, training and prediction; results are those of the same data as a
// dense view, to rounding.
func SparseView[F float32 | float64](n, d int, rowPtr []int, cols []int32, values []F) View {
	v := View{rows: n, cols: d, sparse: &compressed{ptr: rowPtr, cols: cols}}
	switch x := any(values).(type) {
	case []float32:
		v.sparse.f32 = x
	case []float64:
		v.sparse.f64 = x
	}
	v.err = v.sparse.check(n, d, len(values))
	return v
}

// check looks at everything but the values.
func (s *compressed) check(n, d, values int) error {
	switch {
	case n < 0 || d < 0 || d > math.MaxInt32:
		return fmt.Errorf("a sparse view cannot be %d×%d", n, d)
	case len(s.ptr) != n+1:
		return fmt.Errorf("%d row pointers for %d rows, want %d", len(s.ptr), n, n+1)
	case len(s.cols) != values:
		return fmt.Errorf("%d columns for %d values", len(s.cols), values)
	case s.ptr[0] != 0 || s.ptr[n] != values:
		return fmt.Errorf("the row pointers go from %d to %d, want 0 to %d, the number of values", s.ptr[0], s.ptr[n], values)
	}
	for i := range n {
		if s.ptr[i+1] < s.ptr[i] || s.ptr[i+1] > values {
			return fmt.Errorf("the pointer after row %d is %d, that before is %d, and there are %d values", i, s.ptr[i+1], s.ptr[i], values)
		}
		last := int32(-1)
		for _, j := range s.cols[s.ptr[i]:s.ptr[i+1]] {
			if j < 0 || int(j) >= d {
				return fmt.Errorf("row %d has column %d, want 0 to %d", i, j, d-1)
			}
			if j <= last {
				return fmt.Errorf("row %d has column %d after column %d; they must increase", i, j, last)
			}
			last = j
		}
	}
	return nil
}

// Named returns the view with a name for messages and reports.
func (v View) Named(name string) View {
	v.name = name
	return v
}

// WithPresent returns the view with a statement of which samples have it: present[i] says so of sample i. The rows of
// the others are never read; they may hold NaN. nil means all.
func (v View) WithPresent(present []bool) View {
	v.present = present
	return v
}

// Name returns the view's name, "" without one.
func (v View) Name() string { return v.name }

// Dims returns the number of samples and of features.
func (v View) Dims() (n, d int) { return v.rows, v.cols }

// Has says whether sample i has the view.
func (v View) Has(i int) bool { return v.present == nil || v.present[i] }

// Mask returns the views with a presence mask: present[i][v] says whether sample i has view v. A nil mask means that all
// samples have all views.
func Mask(views []View, present [][]bool) ([]View, error) {
	out := append([]View(nil), views...)
	if present == nil {
		for v := range out {
			out[v].present = nil
		}
		return out, nil
	}
	for v := range out {
		out[v].present = make([]bool, len(present))
	}
	for i, row := range present {
		if len(row) != len(views) {
			return nil, fmt.Errorf("largemvc: the mask has %d views for sample %d, want %d", len(row), i, len(views))
		}
		for v, ok := range row {
			out[v].present[i] = ok
		}
	}
	return out, nil
}

// label names view v in messages.
func (v View) label(index int) string {
	if v.name == "" {
		return fmt.Sprintf("view %d", index)
	}
	return fmt.Sprintf("view %d (%s)", index, v.name)
}

// row writes row i to dst, which has d_v elements.
func (v View) row(i int, dst []float64) {
	switch {
	case v.sparse != nil:
		clear(dst)
		for k := v.sparse.ptr[i]; k < v.sparse.ptr[i+1]; k++ {
			dst[v.sparse.cols[k]] = v.sparse.value(k)
		}
	case v.f64 != nil:
		copy(dst, v.f64[i*v.cols:(i+1)*v.cols])
	case v.f32 != nil:
		for j, x := range v.f32[i*v.cols : (i+1)*v.cols] {
			dst[j] = float64(x)
		}
	default:
		for j := range dst {
			dst[j] = v.matrix.At(i, j)
		}
	}
}

// checkShapes checks all of the views of training samples that can be checked without reading their values, and returns n.
func checkShapes(views []View) (int, error) {
	n, err := checkSizes(views)
	if err != nil {
		return 0, err
	}
	return n, checkPresence(views, n)
}

// checkSizes is checkShapes but for what the masks say.
func checkSizes(views []View) (int, error) {
	if len(views) == 0 {
		return 0, fmt.Errorf("largemvc: no views")
	}
	n := views[0].rows
	for v, x := range views {
		switch {
		case x.err != nil:
			return 0, fmt.Errorf("largemvc: %s: %w", x.label(v), x.err)
		case x.matrix == nil && x.f32 == nil && x.f64 == nil && x.sparse == nil:
			return 0, fmt.Errorf("largemvc: %s is empty", x.label(v))
		case x.cols < 1:
			return 0, fmt.Errorf("largemvc: %s has no features", x.label(v))
		case x.rows < 1:
			return 0, fmt.Errorf("largemvc: %s has no samples", x.label(v))
		case x.rows != n:
			return 0, fmt.Errorf("largemvc: %s has %d samples, view 0 has %d", x.label(v), x.rows, n)
		case x.present != nil && len(x.present) != n:
			return 0, fmt.Errorf("largemvc: the presence mask of %s has %d entries for %d samples", x.label(v), len(x.present), n)
		}
	}
	return n, nil
}

// checkPresence refuses views without any sample and samples without any view.
func checkPresence(views []View, n int) error {
	for v, x := range views {
		if x.present != nil && !slices.Contains(x.present, true) {
			return fmt.Errorf("largemvc: no sample has %s", x.label(v))
		}
	}
	return checkSamples(views, n)
}

// checkSamples refuses samples without any view.
func checkSamples(views []View, n int) error {
	for _, x := range views {
		if x.present == nil {
			return nil
		}
	}
	for i := range n {
		if !slices.ContainsFunc(views, func(x View) bool { return x.present[i] }) {
			return fmt.Errorf("largemvc: sample %d has no view: the mask leaves it nothing", i)
		}
	}
	return nil
}

// window returns samples [lo, hi) of the view.
func (v View) window(lo, hi int) View {
	if lo == 0 && hi == v.rows {
		return v
	}
	out := v
	out.rows = hi - lo
	if v.present != nil {
		out.present = v.present[lo:hi]
	}
	switch {
	case v.sparse != nil:
		out.sparse = v.sparse.window(lo, hi)
	case v.f64 != nil:
		out.f64 = v.f64[lo*v.cols : hi*v.cols]
	case v.f32 != nil:
		out.f32 = v.f32[lo*v.cols : hi*v.cols]
	default:
		out.matrix = rowWindow{v.matrix, lo, hi - lo}
	}
	return out
}

func (s *compressed) window(lo, hi int) *compressed {
	first, end := s.ptr[lo], s.ptr[hi]
	out := &compressed{ptr: make([]int, hi-lo+1), cols: s.cols[first:end]}
	for i := range out.ptr {
		out.ptr[i] = s.ptr[lo+i] - first
	}
	if s.f32 != nil {
		out.f32 = s.f32[first:end]
	} else {
		out.f64 = s.f64[first:end]
	}
	return out
}

// rowWindow is some rows of a matrix.
type rowWindow struct {
	of    mat.Matrix
	first int
	rows  int
}

func (w rowWindow) Dims() (int, int) {
	_, d := w.of.Dims()
	return w.rows, d
}

func (w rowWindow) At(i, j int) float64 { return w.of.At(w.first+i, j) }

func (w rowWindow) T() mat.Matrix { return mat.Transpose{Matrix: w} }
