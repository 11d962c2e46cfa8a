package dataset

import (
	"fmt"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// readView reads one view in the orientation chosen for the file.
func readView[T elem.Float](v *variable, turnedFile bool, o *Options, lim *limits) (View, badValues, error) {
	rows, cols, ok := v.shape2()
	if !ok {
		return View{}, badValues{}, v.errorf("is %s; a view is a matrix", v.shapeString())
	}
	if turnedFile {
		rows, cols = cols, rows
	}
	turned := v.colMajor != turnedFile
	if err := v.prove(turned); err != nil {
		return View{}, badValues{}, err
	}
	b, err := newBuilder[T](v, rows, cols, turned, o.Storage, lim)
	if err != nil {
		return View{}, badValues{}, v.wrap(err)
	}
	if v.kind == sparse {
		m, err := readCompressed(v)
		if err != nil {
			return View{}, badValues{}, v.wrap(err)
		}
		err = b.addCompressed(m, turnedFile)
		if err != nil {
			return View{}, badValues{}, v.wrap(err)
		}
	} else if err := v.stream(b.add); err != nil {
		return View{}, badValues{}, v.wrap(err)
	}
	return b.view(v.name), b.bad, nil
}

// prove reads a numeric variable once without keeping it, where its memory is needed at once (values that do not come in
// the order of the view) and the file may not hold what it promises.
func (v *variable) prove(turned bool) error {
	if v.kind != numeric || v.backed || (!turned && !v.anyOrder) {
		return nil
	}
	return v.wrap(v.stream(func(int, []byte) error { return nil }))
}

// readCompressed reads and checks a sparse matrix.
func readCompressed(v *variable) (*compressed, error) {
	m, err := v.compressed()
	if err != nil {
		return nil, err
	}
	majors, minors := v.dims[1], v.dims[0]
	if m.byRow {
		majors, minors = minors, majors
	}
	if len(m.ptr) != majors+1 || m.ptr[0] != 0 {
		return nil, fmt.Errorf("is a sparse matrix with %d pointers for %d columns", len(m.ptr), majors)
	}
	for k := range majors {
		if m.ptr[k+1] < m.ptr[k] {
			return nil, fmt.Errorf("is a sparse matrix whose pointers decrease at column %d", k)
		}
	}
	if n := m.ptr[majors]; n > len(m.index) || n > len(m.value) {
		return nil, fmt.Errorf("is a sparse matrix that promises %d entries and holds %d", n, min(len(m.index), len(m.value)))
	}
	for k, i := range m.index[:m.ptr[majors]] {
		if i < 0 || i >= minors {
			return nil, fmt.Errorf("is a sparse matrix whose entry %d lies at row %d of %d", k, i, minors)
		}
	}
	return m, nil
}

// readFloats reads all elements of a numeric variable in storage order.
func readFloats(v *variable, lim *limits) ([]float64, error) {
	if v.kind != numeric {
		return nil, v.errorf("holds no plain numbers (%s)", v.class)
	}
	if err := v.prove(false); err != nil {
		return nil, err
	}
	b, err := newBuilder[float64](v, v.elements(), 1, false, AllDense, lim)
	if err != nil {
		return nil, v.wrap(err)
	}
	if err := v.stream(b.add); err != nil {
		return nil, v.wrap(err)
	}
	return b.dense, nil
}

// readMatrix reads a small matrix as rows×cols values, row by row.
func readMatrix(v *variable, lim *limits) ([]float64, error) {
	x, err := readFloats(v, lim)
	if err != nil || !v.colMajor {
		return x, err
	}
	rows, cols, ok := v.shape2()
	if !ok {
		return nil, v.errorf("is %s; a matrix is needed", v.shapeString())
	}
	out := make([]float64, len(x))
	scatter(out, x, 0, max(rows, 1), cols)
	return out, nil
}

// wholeNumbers reads a vector of whole numbers.
func wholeNumbers(v *variable, lim *limits) ([]int, error) {
	if _, ok := v.vectorLen(); !ok {
		return nil, v.errorf("is %s; a vector is needed", v.shapeString())
	}
	x, err := readFloats(v, lim)
	if err != nil {
		return nil, err
	}
	out, err := toInts(x)
	return out, v.wrap(err)
}

// decodeAt decodes the elements of raw to dst[off:].
func decodeAt(dst []float64, off int, raw []byte, t elem.Type) {
	elem.Decode(dst[off:off+len(raw)/t.Size()], raw, t)
}
