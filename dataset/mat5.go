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
	m, err := mat5.List(f, s.size, lim)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, a := range m.Arrays {
		if a.Name == "" {
			continue // where MATLAB keeps what its objects hold
		}
		if seen[a.Name] {
			return fmt.Errorf("holds two variables named %s", a.Name)
		}
		seen[a.Name] = true
		s.vars = append(s.vars, s.matVariable(m, a, a.Name))
	}
	if len(s.vars) == 0 {
		return errors.New("holds no variable")
	}
	return nil
}

// matVariable describes one array.
func (s *source) matVariable(m *mat5.File, a *mat5.Array, name string) *variable {
	v := &variable{file: s.path, name: name, class: a.Class.String(), dims: a.Dims, colMajor: true, backed: a.Proven}
	for _, field := range a.Fields {
		v.inside = append(v.inside, inner{name: field})
	}
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
		v.kind, v.parts = sparse, s.matSparse(m, a, name)
		v.class = "sparse double"
		if a.Logical {
			v.class = "sparse logical"
		}
	default:
		v.typ = a.Data.Type
		if stored := a.Data.Type.Kind.String(); a.Data.Count > 0 && !a.Logical && stored != v.class &&
			!a.Data.Type.Kind.IsFloat() {
			v.class += " stored as " + stored
		}
		v.stream = func(run func(int, []byte) error) error { return m.Read(a, a.Data, run) }
	}
	return v
}

// matSparse are the three parts of a sparse matrix, in the order in which they are stored.
func (s *source) matSparse(m *mat5.File, a *mat5.Array, name string) *parts {
	part := func(p mat5.Part) *variable {
		return &variable{file: s.path, name: name, class: p.Type.Kind.String(), dims: []int{p.Count}, typ: p.Type,
			backed: a.Proven,
			stream: func(run func(int, []byte) error) error { return m.Read(a, p, run) }}
	}
	var starts mat5.Part
	return &parts{
		index: func() (*variable, error) { return part(a.Data), nil },
		ptr: func() (*variable, error) {
			var err error
			starts, err = m.Starts(a)
			return part(starts), err
		},
		value: func() (*variable, error) {
			values, err := m.Values(a, starts)
			return part(values), err
		},
	}
}
