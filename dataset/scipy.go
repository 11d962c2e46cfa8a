package dataset

import (
	"math"
	"slices"
	"strings"
)

// joinSciPy replaces the arrays data, indices, indptr and shape (with a prefix where there are several) by the sparse
// matrix that they make, as scipy.sparse.save_npz writes it.
func (s *source) joinSciPy(lim *limits) error {
	byName := map[string]*variable{}
	for _, v := range s.vars {
		byName[v.name] = v
	}
	if err := s.checkSciPyFormats(byName); err != nil {
		return err
	}
	var joined []*variable
	used := map[*variable]bool{}
	for _, v := range s.vars {
		prefix, ok := strings.CutSuffix(v.name, "indptr")
		if !ok || byName[prefix+"data"] == nil || byName[prefix+"indices"] == nil || byName[prefix+"shape"] == nil {
			continue
		}
		m, err := s.scipyMatrix(prefix, byName, lim)
		if err != nil {
			return err
		}
		joined = append(joined, m)
		for _, part := range []string{"data", "indices", "indptr", "shape", "format"} {
			used[byName[prefix+part]] = true
		}
	}
	s.vars = append(joined, slices.DeleteFunc(s.vars, func(v *variable) bool { return used[v] })...)
	return nil
}

const notReadFormat = "is a sparse matrix of format %q; csr and csc are read: in Python, scipy.sparse.save_npz(new, a.tocsr())"

// checkSciPyFormats refuses the sparse formats of SciPy that are not read: what they are made of, the values of a coordinate list
// or the diagonals, would pass for a dense view.
func (s *source) checkSciPyFormats(byName map[string]*variable) error {
	for _, v := range s.vars {
		prefix, ok := strings.CutSuffix(v.name, "format")
		if !ok || byName[prefix+"data"] == nil || byName[prefix+"shape"] == nil {
			continue
		}
		f, err := scipyFormat(v)
		if err != nil {
			return err
		}
		if slices.Contains([]string{"bsr", "coo", "dia", "dok", "lil"}, f) {
			m := &variable{file: s.path, name: s.scipyName(prefix)}
			return m.errorf(notReadFormat, f)
		}
	}
	return nil
}

// scipyFormat is the name of the format of a sparse matrix; empty where the variable is no single text.
func scipyFormat(v *variable) (string, error) {
	if v == nil || v.strings == nil || v.elements() != 1 {
		return "", nil
	}
	f, err := v.strings()
	if err != nil || len(f) != 1 {
		return "", v.wrap(err)
	}
	return f[0], nil
}

// scipyName returns the name of a matrix whose parts have a prefix in their names.
func (s *source) scipyName(prefix string) string {
	if name := strings.TrimRight(prefix, "_."); name != "" {
		return name
	}
	return s.base()
}

// scipyMatrix is the sparse matrix of the arrays whose names begin with a prefix.
func (s *source) scipyMatrix(prefix string, byName map[string]*variable, lim *limits) (*variable, error) {
	data, shape := byName[prefix+"data"], byName[prefix+"shape"]
	indices, indptr := byName[prefix+"indices"], byName[prefix+"indptr"]
	m := &variable{file: s.path, name: s.scipyName(prefix), kind: sparse, class: "sparse " + data.class}
	f, err := scipyFormat(byName[prefix+"format"])
	if err != nil {
		return nil, err
	}
	if f != "" && f != "csr" && f != "csc" {
		return nil, m.errorf(notReadFormat, f)
	}
	for _, v := range []*variable{data, indices, indptr, shape} {
		if n, ok := v.vectorLen(); v.kind != numeric || !ok || (v == shape && n != 2) {
			return nil, v.errorf("is %s; it must be a vector of numbers for the sparse matrix %s", v.shapeString(), m.name)
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
	m.parts = &parts{byRow: f != "csc", logical: data.class == "bool", index: part(indices), ptr: part(indptr), value: part(data)}
	return m, nil
}
