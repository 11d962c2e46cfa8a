package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// compressed is a sparse matrix by columns (or rows).
type compressed[T elem.Float] struct {
	byRow bool
	ptr   []int   // one more than there are columns (rows)
	index []int32 // row (column) of each entry
	value []T
}

// readSparse reads a sparse matrix into a view.
func readSparse[T elem.Float](v *variable, b *builder[T], turned bool) error {
	used := b.lim.Used()
	m := &compressed[T]{byRow: v.parts.byRow}
	majors, minors := v.dims[1], v.dims[0]
	if m.byRow {
		majors, minors = minors, majors
	}
	if err := m.read(v.parts, majors, minors, b.lim); err != nil {
		return err
	}
	held := b.lim.Used() - used
	if err := b.addCompressed(m, m.byRow != turned); err != nil {
		return err
	}
	b.lim.Give(held)
	return nil
}

// read reads and checks the parts.
func (m *compressed[T]) read(p *parts, majors, minors int, lim *limits) error {
	index, err := p.index()
	if err != nil {
		return err
	}
	most := float64(min(minors, math.MaxInt32))
	m.index, err = readPart(index, lim, "the indices of a sparse matrix", func(_ int, x float64) (int32, error) {
		if x != math.Trunc(x) || x < 0 || x >= most {
			return -1, nil // an error if the entry is used
		}
		return int32(x), nil
	})
	if err != nil {
		return err
	}
	if err := m.readPointers(p, majors, lim); err != nil {
		return err
	}
	if k := slices.Index(m.index[:m.ptr[majors]], -1); k >= 0 {
		return fmt.Errorf("is a sparse matrix whose entry %d lies outside its %d rows", k, minors)
	}
	value, err := p.value()
	if err != nil {
		return err
	}
	m.value, err = readPart(value, lim, "the values of a sparse matrix", func(_ int, x float64) (T, error) { return T(x), nil })
	if err == nil && m.ptr[majors] > len(m.value) {
		err = fmt.Errorf("is a sparse matrix whose pointers give %d entries, and it has %d values", m.ptr[majors], len(m.value))
	}
	return err
}

// readPointers reads where the entries of each column (row) begin. They never decrease, and lie in the indices.
func (m *compressed[T]) readPointers(p *parts, majors int, lim *limits) error {
	ptr, err := p.ptr()
	if err != nil {
		return err
	}
	if n, ok := ptr.vectorLen(); !ok || n != majors+1 {
		return fmt.Errorf("is a sparse matrix with %s pointers for %d columns", ptr.shapeString(), majors)
	}
	last := 0.0
	m.ptr, err = readPart(ptr, lim, "the pointers of a sparse matrix", func(k int, x float64) (int, error) {
		if x != math.Trunc(x) || x < last || (k == 0 && x != 0) {
			return 0, fmt.Errorf("is a sparse matrix whose pointers decrease at column %d", k-1)
		}
		if x > float64(len(m.index)) {
			return 0, fmt.Errorf("is a sparse matrix whose pointers give %g entries, and it has %d indices", x, len(m.index))
		}
		last = x
		return int(x), nil
	})
	return err
}

// readPart reads a vector and turns each of its elements into what is kept.
func readPart[E any](v *variable, lim *limits, what string, keep func(k int, x float64) (E, error)) ([]E, error) {
	if _, vector := v.vectorLen(); !vector || v.kind != numeric {
		return nil, v.errorf("is %s of class %s; a vector of numbers is needed for a sparse matrix", v.shapeString(), v.class)
	}
	n := v.elements()
	if err := lim.Take(what, int64(n)*bytesOf[E]()); err != nil {
		return nil, err
	}
	if err := v.prove(false); err != nil {
		return nil, err
	}
	var out []E
	if v.backed || v.anyOrder {
		out = make([]E, n)
	}
	var block []float64
	err := v.stream(func(off int, raw []byte) error {
		k := len(raw) / v.typ.Size()
		if off < 0 || off+k > n {
			return errMore
		}
		if cap(block) < k {
			block = make([]float64, k)
		}
		if k, x, huge := elem.Huge(raw, v.typ); huge {
			return hugeError(x, off+k)
		}
		x := block[:k]
		elem.Decode(x, raw, v.typ)
		out = grown(out, off+k, n)
		for i, x := range x {
			var err error
			if out[off+i], err = keep(off+i, x); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && len(out) != n {
		err = fmt.Errorf("holds %d of its %d elements", len(out), n)
	}
	return out, err
}
