package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"unsafe"

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

	dense   []T
	asCSR   bool
	most    int // entries from which on a sparse view becomes dense
	entries int
	blocks  []triplets[T]

	block []T // decoded elements of one run
	bad   badValues
	round *rounding // nil where the values are held as they come
	csr   *CSR      // of a matrix that came compressed
}

// badValues remembers the values of a view that are no finite numbers.
type badValues struct {
	nan        []int32 // NaN of each row, nil without any
	hasInf     bool
	infR, infC int
	lossy      []lossyColumn
}

func (b *badValues) note(lim *limits, rows, r, c int, x float64) error {
	if !math.IsNaN(x) {
		if !b.hasInf {
			b.hasInf, b.infR, b.infC = true, r, c
		}
		return nil
	}
	if b.nan == nil {
		if err := lim.Take("counts of NaN", 4*int64(rows)); err != nil {
			return err
		}
		b.nan = make([]int32, rows)
	}
	b.nan[r]++
	return nil
}

// triplets are entries of a sparse view on their way.
type triplets[T elem.Float] struct {
	ri, ci []int32
	val    []T
}

// blockEntries is how many entries a block of triplets has room for.
const blockEntries = 1 << 13

// errMore says that a reader hands over more than there should be.
var errMore = errors.New("holds more elements than its shape")

// newBuilder prepares a view of rows×cols. Their product is known to fit.
func newBuilder[T elem.Float](v *variable, rows, cols int, turned bool, o *Options, lim *limits) (*builder[T], error) {
	b := &builder[T]{rows: rows, cols: cols, turned: turned, typ: v.typ, lim: lim, most: math.MaxInt}
	if o.Storage == SparseIfSmaller {
		b.most = int(cmp.Or(o.SparseShare, defaultSparseShare) * float64(rows) * float64(cols))
	}
	b.asCSR = o.Storage == AllSparse || o.Storage == SparseIfSmaller || o.Storage == AsStored && v.kind == sparse
	if b.asCSR {
		if err := checkSparseShape(v, rows, cols, lim); err != nil {
			return nil, err
		}
		return b, nil
	}
	if err := b.takeDense(); err != nil {
		return nil, err
	}
	if v.backed || v.anyOrder || v.kind == sparse || turned {
		b.dense = inHugePages(make([]T, rows*cols))
	}
	return b, nil
}

// checkSparseShape refuses a shape that a sparse view cannot have. Rows without entries take nothing in the file, nor do columns
// in a matrix by rows. Neither may be out of all proportion, because arrays of that length are made.
func checkSparseShape(v *variable, rows, cols int, lim *limits) error {
	if cols > math.MaxInt32 || rows > math.MaxInt32 {
		return fmt.Errorf("is %d×%d, too large for a sparse view", rows, cols)
	}
	if v.kind == sparse && (!lim.Backed(8*int64(rows)) || !lim.Backed(int64(cols))) {
		return fmt.Errorf("has the shape %d×%d, too large for a file of %s", rows, cols, size(lim.Files()))
	}
	return nil
}

func (b *builder[T]) takeDense() error {
	n, ok := elem.Product(math.MaxInt/16, int64(b.rows), int64(b.cols))
	if !ok {
		n = math.MaxInt / 16
	}
	return b.lim.Take("its values", n*bytesOf[T]())
}

// bytesOf is the size of an element.
func bytesOf[E any]() int64 {
	var e E
	return int64(unsafe.Sizeof(e))
}

// grown makes room for the elements before end, of total ones that may never come.
func grown[E any](s []E, end, total int) []E {
	if end <= len(s) {
		return s
	}
	n := min(4*end, total/growth+1<<13)
	if total/growth <= end {
		n = total
	}
	return append(inHugePages(make([]E, 0, n)), s...)[:n]
}

// add takes the elements from off on, in storage order.
func (b *builder[T]) add(off int, raw []byte) error {
	if err := b.lim.Err(); err != nil {
		return err
	}
	n := len(raw) / b.typ.Size()
	if off < 0 || off+n > b.rows*b.cols {
		return errMore
	}
	if k, x, huge := elem.Huge(raw, b.typ); huge {
		return hugeError(x, off+k)
	}
	if !b.asCSR && !b.turned {
		b.dense = grown(b.dense, off+n, b.rows*b.cols)
		dst := b.dense[off : off+n]
		elem.Decode(dst, raw, b.typ)
		b.noteRounding(off, raw)
		return b.check(off, dst)
	}
	if cap(b.block) < n {
		b.block = make([]T, n)
	}
	x := b.block[:n]
	elem.Decode(x, raw, b.typ)
	b.noteRounding(off, raw)
	if err := b.check(off, x); err != nil {
		return err
	}
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
		}
	}
	return nil
}

// noteRounding looks at elements that have been decoded, and are in little-endian order with that.
func (b *builder[T]) noteRounding(off int, raw []byte) {
	switch {
	case b.round == nil:
	case b.turned:
		b.round.columns(off, raw, b.typ.Kind, b.rows)
	default:
		b.round.rows(off, raw, b.typ.Kind)
	}
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
func (b *builder[T]) check(off int, x []T) error {
	if !b.typ.Kind.IsFloat() {
		return nil
	}
	for i, v := range x {
		if v-v != 0 {
			r, c := b.place(off + i)
			if err := b.bad.note(b.lim, b.rows, r, c, float64(v)); err != nil {
				return err
			}
		}
	}
	return nil
}

// put adds one entry to a sparse view, or sets it in a dense one.
func (b *builder[T]) put(r, c int, x T) error {
	if !b.asCSR {
		b.dense[r*b.cols+c] += x
		return nil
	}
	if b.entries%blockEntries == 0 {
		if err := b.lim.Take("the entries of a sparse view", blockEntries*(8+bytesOf[T]())); err != nil {
			return err
		}
		b.blocks = append(b.blocks, triplets[T]{make([]int32, 0, blockEntries), make([]int32, 0, blockEntries), make([]T, 0,
			blockEntries)})
	}
	last := &b.blocks[len(b.blocks)-1]
	last.ri, last.ci, last.val = append(last.ri, int32(r)), append(last.ci, int32(c)), append(last.val, x)
	if b.entries++; b.entries > b.most {
		return b.densify()
	}
	return nil
}

// each visits the entries that have arrived, in their order.
func (b *builder[T]) each(visit func(r, c int32, x T)) {
	for _, t := range b.blocks {
		for k, x := range t.val {
			visit(t.ri[k], t.ci[k], x)
		}
	}
}

// densify turns a view that proved too full for CSR into a dense one.
func (b *builder[T]) densify() error {
	if err := b.takeDense(); err != nil {
		return err
	}
	b.dense = inHugePages(make([]T, b.rows*b.cols))
	b.each(func(r, c int32, x T) { b.dense[int(r)*b.cols+int(c)] += x })
	b.dropBlocks()
	b.asCSR = false
	return nil
}

func (b *builder[T]) dropBlocks() {
	b.lim.Give(int64(len(b.blocks)) * blockEntries * (8 + bytesOf[T]()))
	b.blocks = nil
}

// addCompressed takes a sparse matrix. byRow says whether it is one by the rows of the view.
func (b *builder[T]) addCompressed(m *compressed[T], byRow bool) error {
	each := func(visit func(r, c int32, x T)) {
		for major := range len(m.ptr) - 1 {
			for k := m.ptr[major]; k < m.ptr[major+1]; k++ {
				switch x := m.value[k]; {
				case x == 0:
				case byRow:
					visit(int32(major), m.index[k], x)
				default:
					visit(m.index[k], int32(major), x)
				}
			}
		}
	}
	var err error
	each(func(r, c int32, x T) {
		b.entries++
		if x-x != 0 && err == nil {
			err = b.bad.note(b.lim, b.rows, int(r), int(c), float64(x))
		}
	})
	if err != nil {
		return err
	}
	if b.asCSR && b.entries > b.most {
		if err := b.densify(); err != nil {
			return err
		}
	}
	if !b.asCSR {
		each(func(r, c int32, x T) { b.dense[int(r)*b.cols+int(c)] += x })
		return nil
	}
	b.csr, err = compress(b.rows, b.entries, each, b.lim)
	return err
}

// view finishes the view.
func (b *builder[T]) view(name string) (View, error) {
	v := View{Name: name, Rows: b.rows, Cols: b.cols}
	if !b.asCSR {
		setValues(b.dense, &v.Float32, &v.Float64)
		return v, nil
	}
	if v.Sparse = b.csr; v.Sparse == nil {
		var err error
		if v.Sparse, err = compress(b.rows, b.entries, b.each, b.lim); err != nil {
			return v, err
		}
	}
	b.dropBlocks()
	return v, nil
}

// hugeError says that a whole number is too large for a value.
func hugeError(x string, k int) error {
	return fmt.Errorf("has the whole number %s as element %d (from 0, in the order of the file): floating-point numbers hold "+
		"whole numbers up to 2^53; leave it out if it is an id, else convert it to float64 before saving", x, k)
}

func setValues[T elem.Float](x []T, f32 *[]float32, f64 *[]float64) {
	switch x := any(x).(type) {
	case []float32:
		*f32 = x
	case []float64:
		*f64 = x
	}
}
