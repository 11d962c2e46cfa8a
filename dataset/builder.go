package dataset

import (
	"fmt"
	"math"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// growth is the largest factor between the memory taken for elements that are not known to be in the file and the
// elements that have arrived. The final slice is made when 1/growth of it is there, so that little is copied.
const growth = 32

// builder collects the elements of one view as they arrive, dense or as triplets.
type builder[T elem.Float] struct {
	rows, cols int
	turned     bool // elements arrive along the view's columns
	typ        elem.Type
	lim        *limits

	dense  []T
	asCSR  bool
	most   int // entries from which on a sparse view becomes dense
	ri, ci []int32
	val    []T

	block []T // decoded elements of one run
	bad   badValues
}

// badValues remembers the values of a view that are no finite numbers.
type badValues struct {
	nan        []int32 // NaN of each row, nil without any
	hasInf     bool
	infR, infC int
}

func (b *badValues) note(rows, r, c int, x float64) {
	if !math.IsNaN(x) {
		if !b.hasInf {
			b.hasInf, b.infR, b.infC = true, r, c
		}
		return
	}
	if b.nan == nil {
		b.nan = make([]int32, rows)
	}
	b.nan[r]++
}

// newBuilder prepares a view of rows×cols. Their product is known to fit.
func newBuilder[T elem.Float](v *variable, rows, cols int, turned bool, st Storage, lim *limits) (*builder[T], error) {
	b := &builder[T]{rows: rows, cols: cols, turned: turned, typ: v.typ, lim: lim, most: math.MaxInt}
	switch {
	case st == AllSparse:
		b.asCSR = true
	case st == SparseIfSmaller || (st == AsStored && v.kind == sparse):
		b.asCSR = true
		if st == SparseIfSmaller {
			b.most = int(sparseShare * float64(rows) * float64(cols))
		}
	}
	if b.asCSR {
		if cols > math.MaxInt32 || rows > math.MaxInt32 {
			return nil, fmt.Errorf("is %d×%d, too large for a sparse view", rows, cols)
		}
		// Rows without entries take nothing in the file, nor do columns in a matrix by rows. Neither may be out of all
		// proportion: somebody is going to make an array of that length.
		if v.kind == sparse && (!lim.unbacked(8*int64(rows)) || !lim.unbacked(int64(cols))) {
			return nil, fmt.Errorf("promises %d×%d in a file of %s", rows, cols, size(lim.file))
		}
		return b, lim.take(8 * int64(rows))
	}
	if err := b.takeDense(); err != nil {
		return nil, err
	}
	if v.backed || v.anyOrder || v.kind == sparse || turned {
		b.dense = make([]T, rows*cols)
	}
	return b, nil
}

func (b *builder[T]) takeDense() error {
	n, ok := elem.Product(math.MaxInt/16, int64(b.rows), int64(b.cols))
	if !ok {
		n = math.MaxInt / 16
	}
	var t T
	return b.lim.take(n * int64(width(t)))
}

func width[T elem.Float](t T) int {
	if _, ok := any(t).(float32); ok {
		return 4
	}
	return 8
}

// grow makes room for the elements before end.
func (b *builder[T]) grow(end int) {
	if end <= len(b.dense) {
		return
	}
	total := b.rows * b.cols
	n := min(4*end, total/growth+1<<13)
	if total/growth <= end {
		n = total
	}
	b.dense = append(make([]T, 0, n), b.dense...)[:n]
}

// add takes the elements from off on, in storage order.
func (b *builder[T]) add(off int, raw []byte) error {
	if ctx := b.lim.ctx; ctx != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	n := len(raw) / b.typ.Size()
	if off < 0 || off+n > b.rows*b.cols {
		return fmt.Errorf("holds more elements than its shape")
	}
	if !b.asCSR && !b.turned {
		b.grow(off + n)
		dst := b.dense[off : off+n]
		elem.Decode(dst, raw, b.typ)
		b.check(off, dst)
		return nil
	}
	if cap(b.block) < n {
		b.block = make([]T, n)
	}
	x := b.block[:n]
	elem.Decode(x, raw, b.typ)
	b.check(off, x)
	if !b.asCSR {
		scatter(b.dense, x, off, b.rows, b.cols)
		return nil
	}
	for i, value := range x {
		if value != 0 {
			r, c := b.place(off + i)
			if err := b.put(r, c, value); err != nil {
				return err
			}
			if !b.asCSR { // it has just become dense: the rest of the run goes there
				return b.addDense(off+i+1, x[i+1:])
			}
		}
	}
	return nil
}

// addDense stores decoded elements in a view that turned dense while a run was being read.
func (b *builder[T]) addDense(off int, x []T) error {
	if b.turned {
		scatter(b.dense, x, off, b.rows, b.cols)
	} else {
		copy(b.dense[off:], x)
	}
	return nil
}

// scatter writes elements that run along the columns of the view.
func scatter[T elem.Float](dense, x []T, off, rows, cols int) {
	r, c := off%rows, off/rows
	at := r*cols + c
	for _, v := range x {
		dense[at] = v
		at += cols
		if r++; r == rows {
			r, c = 0, c+1
			at = c
		}
	}
}

// place is the row and column of element k in storage order.
func (b *builder[T]) place(k int) (r, c int) {
	if b.turned {
		return k % b.rows, k / b.rows
	}
	return k / b.cols, k % b.cols
}

// check notes the values that are no finite numbers.
func (b *builder[T]) check(off int, x []T) {
	if !b.typ.Kind.IsFloat() {
		return
	}
	for i, v := range x {
		if v-v != 0 {
			r, c := b.place(off + i)
			b.bad.note(b.rows, r, c, float64(v))
		}
	}
}

// put adds one entry to a sparse view, or sets it in a dense one.
func (b *builder[T]) put(r, c int, x T) error {
	if !b.asCSR {
		b.dense[r*b.cols+c] += x
		return nil
	}
	if len(b.val) == cap(b.val) {
		// Room for the entries twice: triplets now, compressed rows at the end.
		if err := b.lim.take(int64(max(len(b.val), 1<<10)) * int64(8+width(x))); err != nil {
			return err
		}
		n := 2 * max(len(b.val), 1<<10)
		b.ri = append(make([]int32, 0, n), b.ri...)
		b.ci = append(make([]int32, 0, n), b.ci...)
		b.val = append(make([]T, 0, n), b.val...)
	}
	b.ri, b.ci, b.val = append(b.ri, int32(r)), append(b.ci, int32(c)), append(b.val, x)
	if len(b.val) > b.most {
		return b.densify()
	}
	return nil
}

// densify turns a view that proved too full for CSR into a dense one. A quarter of the elements have arrived by then.
func (b *builder[T]) densify() error {
	if err := b.takeDense(); err != nil {
		return err
	}
	b.dense = make([]T, b.rows*b.cols)
	for k, x := range b.val {
		b.dense[int(b.ri[k])*b.cols+int(b.ci[k])] += x
	}
	b.asCSR, b.ri, b.ci, b.val = false, nil, nil, nil
	return nil
}

// addCompressed takes a sparse matrix; its rows and columns are those of the file.
func (b *builder[T]) addCompressed(m *compressed, turned bool) error {
	for major := range len(m.ptr) - 1 {
		for k := m.ptr[major]; k < m.ptr[major+1]; k++ {
			r, c := m.index[k], major
			if m.byRow != turned {
				r, c = c, r
			}
			x := T(m.value[k])
			if x == 0 {
				continue
			}
			if x-x != 0 {
				b.bad.note(b.rows, r, c, float64(x))
			}
			if err := b.put(r, c, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// view finishes the view.
func (b *builder[T]) view(name string) View {
	v := View{Name: name, Rows: b.rows, Cols: b.cols}
	if !b.asCSR {
		setValues(b.dense, &v.Float32, &v.Float64)
		return v
	}
	v.Sparse = compress(b.rows, b.ri, b.ci, b.val)
	return v
}

func setValues[T elem.Float](x []T, f32 *[]float32, f64 *[]float64) {
	switch x := any(x).(type) {
	case []float32:
		*f32 = x
	case []float64:
		*f64 = x
	}
}
