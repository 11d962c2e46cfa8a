package dataset

import (
	"fmt"
	"math"

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
	b, err := newBuilder[T](v, rows, cols, turned, o, lim)
	if err != nil {
		return View{}, badValues{}, v.wrap(err)
	}
	if bytesOf[T]() == 4 && v.kind == numeric && v.typ.Kind.Rounds() {
		if b.round, err = newRounding(cols, lim); err != nil {
			return View{}, badValues{}, v.wrap(err)
		}
		defer lim.Give(roundingBytes * int64(cols))
	}
	if v.kind == sparse {
		err = readSparse(v, b, turnedFile)
	} else {
		err = v.stream(b.add)
	}
	if err != nil {
		return View{}, badValues{}, v.wrap(err)
	}
	if b.round != nil {
		b.bad.lossy = b.round.lossy()
	}
	view, err := b.view(v.name)
	if v.parts != nil && v.parts.logical {
		clampOnes(view.Float32)
		clampOnes(view.Float64)
		if view.Sparse != nil {
			clampOnes(view.Sparse.Float32)
			clampOnes(view.Sparse.Float64)
		}
	}
	return view, b.bad, v.wrap(err)
}

// clampOnes makes sums of ones 1.
func clampOnes[T elem.Float](x []T) {
	for i := range x {
		x[i] = min(x[i], 1)
	}
}

// prove reads a numeric variable once without keeping it, where its memory is needed at once (values that do not come in
// the order of the view) and the file may hold fewer than its header gives.
func (v *variable) prove(turned bool) error {
	if v.kind != numeric || v.backed || (!turned && !v.anyOrder) {
		return nil
	}
	return v.wrap(v.stream(func(int, []byte) error { return nil }))
}

// readFloats reads all elements of a numeric variable in storage order.
func readFloats(v *variable, lim *limits) ([]float64, error) {
	if v.kind != numeric {
		return nil, v.errorf("holds no plain numbers (%s)", v.class)
	}
	if err := v.prove(false); err != nil {
		return nil, err
	}
	b, err := newBuilder[float64](v, v.elements(), 1, false, &Options{Storage: AllDense}, lim)
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
	if err := lim.Take("a matrix by rows", 8*int64(len(x))); err != nil {
		return nil, v.wrap(err)
	}
	out := make([]float64, len(x))
	scatter(out, x, 0, max(rows, 1), cols)
	lim.Give(8 * int64(len(x)))
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
	if err := lim.Take("whole numbers", 8*int64(len(x))); err != nil {
		return nil, v.wrap(err)
	}
	out, err := toInts(x)
	return out, v.wrap(err)
}

// toInts turns whole numbers into ints.
func toInts(x []float64) ([]int, error) {
	out := make([]int, len(x))
	for i, v := range x {
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			return nil, fmt.Errorf("has %g where a whole number is needed", v)
		}
		out[i] = int(v)
	}
	return out, nil
}
