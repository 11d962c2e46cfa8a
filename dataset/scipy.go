package dataset

import (
	"math"
	"strings"
)

// joinSciPy replaces the arrays data, indices, indptr and shape (with a prefix where there are several) by the sparse
// matrix that they make, as scipy.sparse.save_npz writes it.
func (s *source) joinSciPy(lim *limits) error {
	byName := map[string]*variable{}
	for _, v := range s.vars {
		byName[v.name] = v
	}
	var kept, joined []*variable
	used := map[*variable]bool{}
	for _, v := range s.vars {
		prefix, ok := strings.CutSuffix(v.name, "indptr")
		data, indices, shape := byName[prefix+"data"], byName[prefix+"indices"], byName[prefix+"shape"]
		if !ok || data == nil || indices == nil || shape == nil {
			continue
		}
		m, err := s.scipyMatrix(prefix, data, indices, v, shape, byName[prefix+"format"], lim)
		if err != nil {
			return err
		}
		joined = append(joined, m)
		for _, u := range []*variable{v, data, indices, shape, byName[prefix+"format"]} {
			used[u] = true
		}
	}
	for _, v := range s.vars {
		if !used[v] {
			kept = append(kept, v)
		}
	}
	s.vars = append(joined, kept...)
	return nil
}

func (s *source) scipyMatrix(prefix string, data, indices, indptr, shape, format *variable, lim *limits) (*variable, error) {
	name := strings.TrimRight(prefix, "_.")
	if name == "" {
		name = s.base()
	}
	m := &variable{file: s.path, name: name, kind: sparse, class: "sparse " + data.class}
	byRow := true
	if format != nil && format.strings != nil && format.elements() == 1 {
		f, err := format.strings()
		if err != nil {
			return nil, format.wrap(err)
		}
		if len(f) != 1 || (f[0] != "csr" && f[0] != "csc") {
			return nil, m.errorf("is a sparse matrix of format %q; csr and csc are read", strings.Join(f, " "))
		}
		byRow = f[0] == "csr"
	}
	for _, v := range []*variable{data, indices, indptr, shape} {
		if n, ok := v.vectorLen(); v.kind != numeric || !ok || (v == shape && n != 2) {
			return nil, v.errorf("is %s; it must be a vector of numbers for the sparse matrix %s", v.shapeString(), name)
		}
	}
	dims, err := readFloats(shape, lim)
	if err != nil {
		return nil, err
	}
	for _, d := range dims {
		if d != math.Trunc(d) || d < 0 || d > math.MaxInt32 {
			return nil, m.errorf("has the impossible shape %g×%g", dims[0], dims[1])
		}
		m.dims = append(m.dims, int(d))
	}
	part := func(v *variable) func() (*variable, error) { return func() (*variable, error) { return v, nil } }
	m.parts = &parts{byRow: byRow, index: part(indices), ptr: part(indptr), value: part(data)}
	return m, nil
}
