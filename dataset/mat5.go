package dataset

import (
	"errors"
	"fmt"
	"io"

	"github.com/largemvc/largemvc/dataset/internal/mat5"
)

// listMAT5 lists the variables of a MATLAB v5 file.
func (s *source) listMAT5(f io.ReaderAt, lim *limits) error {
	s.format = "MATLAB v5"
	m, err := mat5.List(f, s.size, 2*lim.max+1<<20) // values of 8 bytes may become float32
	if err != nil {
		return err
	}
	for _, a := range m.Arrays {
		s.vars = append(s.vars, s.matVariable(m, a, a.Name))
	}
	if len(s.vars) == 0 {
		return errors.New("holds no variable")
	}
	return nil
}

// matVariable describes one array.
func (s *source) matVariable(m *mat5.File, a *mat5.Array, name string) *variable {
	v := &variable{file: s.path, name: name, class: a.Class.String(), dims: a.Dims, colMajor: true, backed: true}
	if a.Logical {
		v.class = "logical"
	}
	switch {
	case a.Skipped != "":
		v.kind, v.note = other, a.Skipped
	case a.Class == mat5.Cell:
		v.kind = cell
		for i, c := range a.Cells {
			v.cells = append(v.cells, s.matVariable(m, c, fmt.Sprintf("%s{%d}", name, i+1)))
		}
	case a.Class == mat5.Sparse:
		v.kind, v.nnz, v.class = sparse, a.Data.Count, "sparse "+a.Data.Type.Kind.String()
		v.compressed = func() (*compressed, error) { return matSparse(m, a) }
	default:
		v.typ = a.Data.Type
		if stored := a.Data.Type.Kind.String(); a.Data.Count > 0 && !a.Logical && stored != v.class && !a.Data.Type.Kind.IsFloat() {
			v.class += " stored as " + stored
		}
		v.stream = func(run func(int, []byte) error) error { return m.Read(a, a.Data, run) }
	}
	return v
}

// matSparse reads the three parts of a sparse matrix, in the order in which they are stored.
func matSparse(m *mat5.File, a *mat5.Array) (*compressed, error) {
	c := &compressed{}
	var err error
	if c.index, err = matInts(m, a, a.Rows); err != nil {
		return nil, err
	}
	if c.ptr, err = matInts(m, a, a.Starts); err != nil {
		return nil, err
	}
	c.value, err = matFloats(m, a, a.Data)
	return c, err
}

func matFloats(m *mat5.File, a *mat5.Array, p mat5.Part) ([]float64, error) {
	out := make([]float64, p.Count)
	return out, m.Read(a, p, func(off int, raw []byte) error {
		decodeAt(out, off, raw, p.Type)
		return nil
	})
}

func matInts(m *mat5.File, a *mat5.Array, p mat5.Part) ([]int, error) {
	x, err := matFloats(m, a, p)
	if err != nil {
		return nil, err
	}
	return toInts(x)
}
