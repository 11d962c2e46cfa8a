package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/dataset/internal/elem"
	"github.com/largemvc/largemvc/dataset/internal/hdf5"
	"github.com/largemvc/largemvc/internal/textfile"
)

const (
	maxReferences = 4096    // elements of a cell that are looked at
	maxNesting    = 4       // cells in cells
	maxObjects    = 1 << 16 // variables and elements of cells of a file
)

// hdf5Lister lists the variables of a MATLAB v7.3 or plain HDF5 file.
type hdf5Lister struct {
	s     *source
	f     *hdf5.File
	lim   *limits
	count int

	in         *source           // the modality of MuData that is listed; nil: the file itself
	modalities map[string]uint64 // of MuData
	unread     []string          // groups of AnnData
}

func (s *source) listHDF5(r io.ReaderAt, lim *limits) error {
	s.format = "HDF5"
	f, err := hdf5.Open(r, s.size, lim)
	if err != nil {
		return err
	}
	l := hdf5Lister{s: s, f: f, lim: lim}
	root, links, err := l.open(f.Root())
	if err != nil {
		return err
	}
	if ok, err := l.listAnnData(root, links); ok || err != nil {
		return err
	}
	for _, link := range links {
		if link.Name == "#refs#" || link.Name == "#subsystem#" {
			continue
		}
		if link.Elsewhere != "" {
			v := &variable{file: s.path, name: link.Name, class: "link", kind: other, note: "it is " + link.Elsewhere +
				", which is not followed: in Python, save the array itself, new['X'] = old['X'][...]"}
			if err := book(lim, v); err != nil {
				return err
			}
			s.vars = append(s.vars, v)
			continue
		}
		v, matlab, err := l.variable(link.Name, link.Addr, nil)
		if err != nil {
			return fmt.Errorf("%s %w", link.Name, err)
		}
		if matlab {
			s.format = "MATLAB v7.3 (HDF5)"
		}
		s.vars = append(s.vars, v)
	}
	if len(s.vars) == 0 {
		return errors.New("holds no variable")
	}
	return nil
}

// variable describes the object at an address. above are the cells that it lies in.
func (l *hdf5Lister) variable(name string, addr uint64, above []uint64) (v *variable, matlab bool, err error) {
	if l.count++; l.count > maxObjects {
		return nil, false, fmt.Errorf("holds more than %d arrays", maxObjects)
	}
	o, err := l.f.Object(addr)
	if err != nil {
		return nil, false, err
	}
	class := o.Attributes["MATLAB_class"].Text()
	matlab = class != ""
	v = &variable{file: l.s.path, name: name, class: class}
	if err := book(l.lim, v); err != nil {
		return nil, matlab, err
	}
	if !o.IsDataset {
		err := l.group(v, o)
		return v, matlab, err
	}
	if !matlab {
		v.class = o.Type.String()
	}
	v.dims = slices.Clone(o.Dims)
	if matlab {
		slices.Reverse(v.dims) // MATLAB stores its first axis fastest
		v.colMajor = len(v.dims) > 1
	}
	empty, _ := o.Attributes["MATLAB_empty"].Number()
	_, object := o.Attributes["MATLAB_object_decode"]
	switch {
	case object:
		v.kind, v.note = other, class+" objects are not read: save T.Variables, double(labels) or grp2idx(labels)"
	case empty != 0:
		err = l.empty(v, o)
	case class == "cell":
		err = l.cell(v, o, addr, above)
	case class == "char" || class == "function_handle" || class == "struct":
		v.kind, v.note = other, class+" arrays are not read"
	default:
		err = l.numeric(v, o)
	}
	return v, matlab, err
}

// numeric describes a dataset of numbers. What is damaged is an error; what is of a kind that is not read is noted.
func (l *hdf5Lister) numeric(v *variable, o *hdf5.Object) error {
	if why := o.Readable(); why != nil {
		v.kind, v.note = other, "it "+why.Error()
		return nil
	}
	if o.Type.IsText() && len(o.Dims) == 1 {
		v.kind, v.class = text, "string"
		v.strings = func() ([]string, error) {
			return l.texts(o, func(run func(int, []byte) error) error { return l.f.Texts(o, run) })
		}
		return nil
	}
	if o.Type.Elem.Kind == elem.Invalid {
		v.kind, v.note = other, notRead(o.Type)
		return nil
	}
	stored, unwritten, err := l.f.Stored(o)
	if err != nil {
		return err
	}
	width := int64(o.Type.Size)
	if !l.lim.Backed(min(int64(unwritten), 1<<56) * width) {
		v.kind, v.note = other, fmt.Sprintf("%d of its values were never written", unwritten)
		return nil
	}
	v.typ, v.anyOrder = o.Type.Elem, true
	if o.Type.Members > 2 {
		v.class = enumeration + v.class
	}
	v.backed = int64(o.Elements()-unwritten)*width/growth <= stored
	v.stream = func(run func(int, []byte) error) error { return l.f.Read(o, run) }
	if at, ok := l.f.Place(o); ok {
		v.place = func() (int64, error) { return at, nil }
	}
	return nil
}

// texts reads a list of texts, which each hands over.
func (l *hdf5Lister) texts(o *hdf5.Object, each func(run func(i int, text []byte) error) error) ([]string, error) {
	_, unwritten, err := l.f.Stored(o)
	if err != nil {
		return nil, err
	}
	n := o.Elements()
	if !l.lim.Backed(stringBytes * int64(unwritten)) {
		return nil, fmt.Errorf("lacks %d texts, which were never written", unwritten)
	}
	if err := l.lim.Take("texts", stringBytes*int64(n)); err != nil {
		return nil, err
	}
	out, known := make([]string, n), newTexts(l.lim)
	err = each(func(i int, text []byte) error {
		var err error
		out[i], err = known.one([]byte(textfile.OrLatin1(text)))
		return err
	})
	return out, err
}

// enumeration begins the class of numbers that stand for names, which are not read.
const enumeration = "enumeration of "

// notRead says what elements are that are no real numbers, and what to do with them.
func notRead(t hdf5.Datatype) string {
	switch s := "arrays of type " + t.String() + " are not read"; t.Class {
	case hdf5.Compound:
		return s + " (complex numbers, or records): save abs(X), real and imaginary part as two views, or the fields one by one"
	case hdf5.Floating:
		return fmt.Sprintf("floats of %d bytes of another form than IEEE 754 (long double, bfloat16) are not read: save "+
			"them as float64", t.Size)
	case hdf5.Integer:
		return fmt.Sprintf("integers of %d bytes with other bits than these are not read: save them as float64", t.Size)
	default:
		return s + ": save numbers"
	}
}

// empty describes an empty MATLAB array, whose data are its dimensions.
func (l *hdf5Lister) empty(v *variable, o *hdf5.Object) error {
	dims := &variable{file: v.file, name: v.name, dims: o.Dims}
	if err := l.numeric(dims, o); err != nil {
		return err
	}
	if dims.kind != numeric || len(o.Dims) != 1 || o.Dims[0] > 32 {
		return errors.New("is damaged (an empty array without dimensions)")
	}
	x, err := readFloats(dims, l.lim)
	if err != nil {
		return err
	}
	if v.dims, err = toInts(x); err != nil {
		return err
	}
	if !slices.Contains(v.dims, 0) {
		return errors.New("is damaged (an empty array with elements)")
	}
	v.stream = func(func(int, []byte) error) error { return nil }
	v.typ, v.backed = elem.Type{Kind: elem.Float64}, true
	return nil
}

// cell describes the elements of a cell, which are references.
func (l *hdf5Lister) cell(v *variable, o *hdf5.Object, addr uint64, above []uint64) error {
	v.kind = cell
	if o.Elements() > maxReferences {
		v.kind, v.note = other, fmt.Sprintf("cells of more than %d elements are not read", maxReferences)
		return nil
	}
	if slices.Contains(above, addr) || len(above) == maxNesting {
		return errors.New("is a cell nested too deeply")
	}
	refs, err := l.f.References(o, maxReferences)
	if err != nil {
		return err
	}
	within := append(slices.Clip(above), addr)
	for i, ref := range refs {
		name := fmt.Sprintf("%s{%d}", v.name, i+1)
		c := &variable{file: v.file, name: name, class: "empty", dims: []int{0, 0}, kind: other, note: "it is empty"}
		if ref != 0 {
			if c, _, err = l.variable(name, ref, within); err != nil {
				return fmt.Errorf("element %d %w", i+1, err)
			}
		}
		v.cells = append(v.cells, c)
	}
	return nil
}

// group describes a sparse matrix, which MATLAB stores as a group, or another group, which is skipped.
func (l *hdf5Lister) group(v *variable, o *hdf5.Object) error {
	rows, ok := o.Attributes["MATLAB_sparse"].Number()
	if !ok {
		if form, err := l.sparseForm(o); form != "" || err != nil {
			return cmp.Or(err, l.encoded(v, o, form))
		}
		v.kind, v.note = other, "groups and structures are not read"
		if v.class == "" {
			v.class = "group"
		}
		return l.members(v, o)
	}
	objects, err := l.sparseObjects(o, "data", "ir", "jc")
	if err != nil {
		return err
	}
	jc := objects["jc"]
	if jc == nil || len(jc.Dims) != 1 || jc.Dims[0] < 1 || rows != math.Trunc(rows) || rows < 0 || rows > math.MaxInt32 {
		return errors.New("is damaged (a sparse matrix without its columns)")
	}
	v.kind, v.class = sparse, "sparse "+v.class
	v.dims = []int{int(rows), jc.Dims[0] - 1}
	part := l.sparseParts(v, objects)
	v.parts = &parts{index: part("ir"), ptr: part("jc"), value: part("data")}
	return nil
}

// sparseParts describes the parts of the sparse matrix v by name.
func (l *hdf5Lister) sparseParts(v *variable, objects map[string]*hdf5.Object) func(name string) func() (*variable, error) {
	return func(name string) func() (*variable, error) {
		return func() (*variable, error) { return l.sparsePart(v, name, objects[name]) }
	}
}

// sparseForm is the form of a sparse matrix of AnnData, csr or csc; empty for other groups.
func (l *hdf5Lister) sparseForm(o *hdf5.Object) (string, error) {
	for _, name := range []string{"encoding-type", "h5sparse_format"} { // the second one before AnnData 0.7
		texts, err := l.f.AttributeTexts(o.Attributes[name])
		if err != nil {
			return "", err
		}
		if form := strings.TrimSuffix(append(texts, "")[0], "_matrix"); form == "csr" || form == "csc" {
			return form, nil
		}
	}
	return "", nil
}

// encoded describes a sparse matrix of AnnData, which is a group of the arrays of SciPy.
func (l *hdf5Lister) encoded(v *variable, o *hdf5.Object, form string) error {
	objects, err := l.sparseObjects(o, "data", "indices", "indptr")
	if err != nil {
		return err
	}
	shape := o.Attributes["shape"].Numbers()
	if shape == nil {
		shape = o.Attributes["h5sparse_shape"].Numbers()
	}
	if v.dims, err = toInts(shape); err != nil || len(shape) != 2 || min(shape[0], shape[1]) < 0 ||
		max(shape[0], shape[1]) > math.MaxInt32 || objects["indptr"] == nil {
		return errors.New("is damaged (a sparse matrix without shape or pointers)")
	}
	v.kind, v.class = sparse, "sparse"
	if values := objects["data"]; values != nil {
		v.class += " " + values.Type.String()
	}
	part := l.sparseParts(v, objects)
	v.parts = &parts{byRow: form == "csr", index: part("indices"), ptr: part("indptr"), value: part("data")}
	return nil
}

// members lists the datasets of a group that is not read.
func (l *hdf5Lister) members(v *variable, group *hdf5.Object) error {
	links, err := l.f.Links(group)
	if err != nil {
		return err
	}
	for _, link := range links {
		m := inner{name: link.Name}
		if link.Elsewhere == "" {
			if l.count++; l.count > maxObjects {
				return fmt.Errorf("holds more than %d arrays", maxObjects)
			}
			o, err := l.f.Object(link.Addr)
			if err != nil {
				return err
			}
			if o.IsDataset && !o.Type.IsText() {
				m.dims = o.Dims
			}
		}
		if err := l.lim.Take("the list of its arrays", 64+int64(len(m.name))); err != nil {
			return err
		}
		v.inside = append(v.inside, m)
	}
	return nil
}

// sparseObjects returns the parts of a sparse matrix that the group has.
func (l *hdf5Lister) sparseObjects(group *hdf5.Object, names ...string) (map[string]*hdf5.Object, error) {
	links, err := l.f.Links(group)
	if err != nil {
		return nil, err
	}
	objects := map[string]*hdf5.Object{}
	for _, link := range links {
		if link.Elsewhere != "" || !slices.Contains(names, link.Name) {
			continue
		}
		if objects[link.Name], err = l.f.Object(link.Addr); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// sparsePart describes one part of the sparse matrix v. A matrix without entries has no data and ir.
func (l *hdf5Lister) sparsePart(v *variable, name string, o *hdf5.Object) (*variable, error) {
	p := &variable{file: v.file, name: v.name + "." + name, dims: []int{0}, typ: elem.Type{Kind: elem.Float64},
		backed: true,
		stream: func(func(int, []byte) error) error { return nil }}
	if o == nil || len(o.Dims) != 1 {
		return p, nil
	}
	p.dims = o.Dims
	if err := l.numeric(p, o); err != nil {
		return nil, err
	}
	if p.kind != numeric {
		return nil, errors.New(p.note)
	}
	return p, nil
}
