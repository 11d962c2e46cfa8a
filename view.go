package largemvc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/internal/view"
)

// View is one view of the samples: n rows of d_v features, one row per sample. Make one with MatrixView, DenseView,
// SparseView or, for rows outside memory, RowsView. A View refers to your memory. Fit reads it, and changes it only with
// Config.Machine.Overwrite.
type View struct {
	in  view.View
	err error
}

// MatrixView returns a view of a gonum matrix (n×d_v).
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
	v.in = view.View{Rows: n, Cols: d, Matrix: x}
	if raw, ok := x.(mat.RawMatrixer); ok {
		if m := raw.RawMatrix(); m.Stride == m.Cols {
			v.in.Matrix, v.in.F64 = nil, m.Data
		}
	}
	return v
}

// DenseView returns a view of the slice x (n×d, row-major): feature j of sample i is x[i*d+j]. With x nil the view has sizes
// and no values: Config.EstimateMemory accepts it, and Fit returns an error.
func DenseView[F float32 | float64](n, d int, x []F) View {
	have := len(x)
	if x == nil && n > 0 && d > 0 && n <= math.MaxInt/d {
		have = n * d
	}
	out := View{view.View{Rows: n, Cols: d, Given: true}, checkLength(n, d, have)}
	switch x := any(x).(type) {
	case []float32:
		out.in.F32 = x
	case []float64:
		out.in.F64 = x
	}
	return out
}

func checkLength(n, d, have int) error {
	if d > 0 && n > math.MaxInt/d {
		return fmt.Errorf("%d×%d values do not fit in memory", n, d)
	}
	if n < 0 || d < 0 || have != n*d {
		return fmt.Errorf("the number of values is %d, want n·d for %d×%d", have, n, d)
	}
	return nil
}

// SparseView returns a view in compressed sparse rows (CSR, n×d). Sample i has values[k] in feature cols[k] for rowPtr[i] ≤ k
// < rowPtr[i+1], and zero in all others. rowPtr has n+1 entries, from 0 to the number of values. Columns increase within a
// row. The view stays sparse in preprocessing, training and prediction. Results equal the results of the same dense view, up
// to rounding.
func SparseView[F float32 | float64](n, d int, rowPtr []int, cols []int32, values []F) View {
	csr := &view.CSR{Ptr: rowPtr, Cols: cols}
	switch x := any(values).(type) {
	case []float32:
		csr.F32 = x
	case []float64:
		csr.F64 = x
	}
	return View{view.View{Rows: n, Cols: d, Sparse: csr}, csr.Check(n, d, len(values))}
}

// RowSource is a matrix of n samples and d features outside memory: rows of a file or a database, or generated rows. Several
// goroutines call its methods at the same time.
type RowSource interface {
	// Dims returns n and d. They must not change.
	Dims() (n, d int)
	// ReadRows fills dst with the rows from first on, one after another. dst holds a whole number of rows, all below n.
	// Reading a row again must give the same values: Fit compares some rows between reads, and returns an *InputError with view
	// and row where they differ. The caller stops at an error and returns it. A read must end soon after
	// ctx is done: the caller waits 0.2 s more for it, returns an error and does not use dst again.
	ReadRows(ctx context.Context, first int, dst []float32) error
}

// RowsView returns a view of rows outside memory, such as files that dataset.OpenRows opens. Predict, Assign and the like
// read them in blocks. The rows are float32 numbers, also for a network in float64.
func RowsView(source RowSource) (v View) {
	if source == nil {
		return View{err: errors.New("the source of the rows is nil")}
	}
	defer func() { // A nil pointer to a source, for one.
		if p := recover(); p != nil {
			v = View{err: fmt.Errorf("the size of the source of the rows cannot be read: %v", p)}
		}
	}()
	n, d := source.Dims()
	return View{in: view.View{Rows: n, Cols: d, Source: source}}
}

// Named returns the view with a name for messages and reports. A model keeps the name. It refuses views with the names of the
// training in another order, and ignores other names.
func (v View) Named(name string) View {
	v.in.Name = name
	return v
}

// WithFeatures returns the view with a name for each feature; nil means no names. A model keeps them, and refuses samples
// with other names of features or another order.
func (v View) WithFeatures(names []string) View {
	v.in.Features = names
	return v
}

// WithPreparation returns the view with a description of how its values were changed before Fit, and the numbers that this takes,
// for example by package dataset/views. A model keeps both, and refuses samples if the first line of their
// description differs.
func (v View) WithPreparation(about string, numbers []float64) View {
	v.in.Prepared = view.Prepared{About: about, Numbers: numbers}
	return v
}

// WithPresent returns the view with a mask: present[i] reports whether sample i has the view; nil means all. Rows of samples
// that lack the view are never read and may hold NaN.
func (v View) WithPresent(present []bool) View {
	v.in.Present = present
	return v
}

// Name returns the name of the view, "" if it has none.
func (v View) Name() string { return v.in.Name }

// FeatureNames returns the names of the features, nil if there are none.
func (v View) FeatureNames() []string { return v.in.Features }

// Dims returns the number of samples and of features.
func (v View) Dims() (n, d int) { return v.in.Rows, v.in.Cols }

// String returns the name and the size.
func (v View) String() string {
	name := v.in.Name
	if name == "" {
		name = "a view"
	}
	return fmt.Sprintf("%s of %s and %s", name, textfile.Count(v.in.Rows, "sample"), textfile.Count(v.in.Cols, "feature"))
}

// Has reports whether sample i has the view.
func (v View) Has(i int) bool { return v.in.Has(i) }

// Row copies row i to dst, and returns dst; if dst is nil, Row allocates it. It panics if there is no such row. The values of
// an absent row are undefined. Row returns NaN if a RowsView cannot be read.
func (v View) Row(dst []float64, i int) []float64 {
	if dst == nil {
		dst = make([]float64, v.in.Cols)
	}
	v.in.Row(i, dst[:v.in.Cols])
	return dst
}

// Take returns the view of some samples, in the given order. It copies the rows, except for a MatrixView, which it refers to.
// It panics if there is no such sample. Rows of a RowsView are read; if that fails, or if v cannot be used, what takes the
// result returns the error.
func (v View) Take(samples []int) View {
	if p := v.in.Present; v.err == nil && p != nil && len(p) != v.in.Rows {
		v.err = fmt.Errorf("the presence mask has %s for %d samples", textfile.Count(len(p), "value"), v.in.Rows)
	}
	if v.err != nil {
		return v
	}
	in, err := v.in.TakeRead(samples)
	return View{in: in, err: err}
}

// Content returns the content of the view in a type of an internal package, and the error of the view if it is not usable. It
// is for the packages of this module.
func (v View) Content() (view.View, error) { return v.in, v.err }

// inner returns the views as the internal packages see them.
func inner(views []View) []view.View {
	out := make([]view.View, len(views))
	for v, x := range views {
		out[v] = x.in
	}
	return out
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
	for v, x := range views {
		if x.err == nil && x.in.Empty() {
			return 0, view.Wrong(v, -1, "largemvc: %s has no values", x.in.Label(v))
		}
	}
	return sizes(views)
}

// sizes checks the sizes of the views and masks, and returns n. The views need no values.
func sizes(views []View) (int, error) {
	if len(views) == 0 {
		return 0, view.Wrong(-1, -1, "largemvc: no views")
	}
	n := views[0].in.Rows
	noText := func(s string) bool { return !utf8.ValidString(s) }
	noNumber := func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
	for v, x := range views {
		p := x.in.Prepared
		switch {
		case x.err != nil:
			return 0, view.Wrong(v, -1, "largemvc: %s: %w", x.in.Label(v), x.err)
		case noText(x.in.Name + p.About), slices.ContainsFunc(x.in.Features, noText), slices.ContainsFunc(p.Numbers, noNumber):
			return 0, view.Wrong(v, -1, "largemvc: %s: names and preparation must be UTF-8 and finite numbers, so that a model "+
				"can keep them", textfile.Printable(x.in.Label(v)))
		case x.in.Cols < 1:
			return 0, view.Wrong(v, -1, "largemvc: %s has no features", x.in.Label(v))
		case x.in.Rows < 1:
			return 0, view.Wrong(v, -1, "largemvc: %s has no samples", x.in.Label(v))
		case x.in.Rows != n:
			return 0, view.Wrong(v, -1, "largemvc: %s has %s, view 0 has %d", x.in.Label(v),
				textfile.Count(x.in.Rows, "sample"), n)
		case x.in.Features != nil && len(x.in.Features) != x.in.Cols:
			return 0, view.Wrong(v, -1,
				"largemvc: %s has %s for %s: give a name for each", x.in.Label(v),
				textfile.Count(len(x.in.Features), "name"), textfile.Count(x.in.Cols, "feature"),
			)
		case x.in.Present != nil && len(x.in.Present) != n:
			return 0, view.Wrong(v, -1,
				"largemvc: the presence mask of %s has %s for %d samples",
				x.in.Label(v), textfile.Count(len(x.in.Present), "value"), n,
			)
		}
	}
	return n, nil
}

// checkPresence refuses views without any sample and samples without any view.
func checkPresence(views []View, n int) error {
	for v, x := range views {
		if x.in.Present != nil && !slices.Contains(x.in.Present, true) {
			return view.Wrong(v, -1, "largemvc: no sample has %s", x.in.Label(v))
		}
	}
	return checkSamples(views, n)
}

// checkSamples refuses samples without any view.
func checkSamples(views []View, n int) error {
	for _, x := range views {
		if x.in.Present == nil {
			return nil
		}
	}
	for i := range n {
		if !slices.ContainsFunc(views, func(x View) bool { return x.in.Present[i] }) {
			return view.Wrong(-1, i, "largemvc: sample %d has no view: leave it out of all views", i)
		}
	}
	return nil
}

// viewList lists views with their numbers of features.
func viewList(names []string, dims []int) string {
	text := make([]string, len(dims))
	for v, d := range dims {
		text[v] = fmt.Sprintf("%s (%s)", cmp.Or(names[v], view.View{}.Label(v)), textfile.Count(d, "feature"))
	}
	return strings.Join(text, ", ")
}
