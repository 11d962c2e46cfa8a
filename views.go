package largemvc

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// View is one view of the samples: n rows of d_v features, one row a sample. Make one with MatrixView, Float32View or Float64View.
// A View refers to the caller's memory, which Fit reads and, unless Config.Overwrite allows it, never changes.
type View struct {
	name       string
	rows, cols int
	matrix     mat.Matrix
	f32        []float32
	f64        []float64
	slice      bool // f32 or f64 is a slice that the caller gave as such
	present    []bool
	err        error
}

// MatrixView returns the view in a gonum matrix, n×d_v.
func MatrixView(x mat.Matrix) View {
	if x == nil {
		return View{err: fmt.Errorf("the matrix is nil")}
	}
	n, d := x.Dims()
	v := View{rows: n, cols: d, matrix: x}
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

// Mask returns the views with a presence mask: present[i][v] says whether sample i has view v.
func Mask(views []View, present [][]bool) ([]View, error) {
	out := append([]View(nil), views...)
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

// checkShapes checks all of the views that can be checked without reading their values, and returns n.
func checkShapes(views []View) (int, error) {
	if len(views) == 0 {
		return 0, fmt.Errorf("largemvc: no views")
	}
	n := views[0].rows
	for v, x := range views {
		switch {
		case x.err != nil:
			return 0, fmt.Errorf("largemvc: %s: %w", x.label(v), x.err)
		case x.matrix == nil && x.f32 == nil && x.f64 == nil:
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
	return n, checkPresence(views, n)
}

// checkPresence refuses samples without any view and views without any sample.
func checkPresence(views []View, n int) error {
	masked := false
	for v, x := range views {
		found := x.present == nil
		for _, ok := range x.present {
			found = found || ok
		}
		if !found {
			return fmt.Errorf("largemvc: no sample has %s", x.label(v))
		}
		masked = masked || x.present != nil
	}
	for i := 0; masked && i < n; i++ {
		any := false
		for _, x := range views {
			any = any || x.Has(i)
		}
		if !any {
			return fmt.Errorf("largemvc: sample %d has no view: the mask leaves it nothing", i)
		}
	}
	return nil
}
