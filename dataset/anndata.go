package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/largemvc/largemvc/dataset/internal/hdf5"
	"github.com/largemvc/largemvc/internal/lists"
)

// listAnnData lists a file of AnnData (X, layers, obsm, obs) or MuData (the same in each mod/NAME), by paths. ok is false for
// other files.
func (l *hdf5Lister) listAnnData(root *hdf5.Object, links []hdf5.Link) (ok bool, err error) {
	at := addresses(links)
	for _, table := range []string{"obs", "var"} {
		if at[table] == 0 {
			return false, nil
		}
		if o, err := l.f.Object(at[table]); err != nil || o.IsDataset && o.Type.Class != hdf5.Compound {
			return false, nil // an error comes again where the object is listed
		}
	}
	l.s.annData, l.s.modality, l.s.format = true, map[*variable]*source{}, "AnnData (HDF5)"
	if at["mod"] == 0 {
		err = l.annGroup("", links)
	} else {
		l.s.format = "MuData (HDF5)"
		if axis, _ := root.Attributes["axis"].Number(); axis == 1 {
			return true, errors.New("is MuData of axis 1: its modalities share features and not samples, and are no views")
		}
		err = l.muData(links, at)
	}
	if len(l.unread) > 0 {
		l.s.left = append(l.s.left, Omission{l.s.path, someNames(l.unread), "no features of samples"})
	}
	return true, err
}

// addresses are the objects of a group by name.
func addresses(links []hdf5.Link) map[string]uint64 {
	at := map[string]uint64{}
	for _, link := range links {
		if link.Elsewhere == "" {
			at[link.Name] = link.Addr
		}
	}
	return at
}

// muData lists the modalities, in their order. obsmap has for each sample its row (from 1) in a modality; 0: it is absent.
func (l *hdf5Lister) muData(links []hdf5.Link, at map[string]uint64) error {
	mod, members, err := l.open(at["mod"])
	if err != nil {
		return err
	}
	order, err := l.f.AttributeTexts(mod.Attributes["mod-order"])
	if err != nil {
		return fmt.Errorf("mod %w", err)
	}
	slices.SortStableFunc(members, func(a, b hdf5.Link) int {
		return cmp.Compare(slices.Index(order, a.Name), slices.Index(order, b.Name))
	})
	l.modalities = addresses(members)
	if err := l.annGroup("", links); err != nil {
		return err
	}
	maps, err := l.addressesIn(at["obsmap"])
	if err != nil {
		return err
	}
	for _, m := range members {
		s := l.s
		l.in = &source{path: s.path, role: s.role, raw: s.raw, opened: s.opened, of: s, annData: true,
			prefix: "mod/" + m.Name + "/"}
		s.modalities = append(s.modalities, l.in)
		_, links, err := l.open(m.Addr)
		if err != nil {
			return err
		}
		if err := l.annGroup(l.in.prefix, links); err != nil {
			return err
		}
		if l.in.index == nil || maps[m.Name] == 0 {
			continue
		}
		names, rows := l.in.index, l.in.index.dims
		s.vars = slices.DeleteFunc(s.vars, func(v *variable) bool { return v == names })
		v, _, err := l.variable("obsmap/"+m.Name, maps[m.Name], nil)
		if err != nil {
			return err
		}
		l.in.index = &variable{file: s.path, name: v.name, kind: text, dims: rows, class: v.class,
			strings: func() ([]string, error) { return s.mapped(v, names, l.lim) }}
	}
	return nil
}

// addressesIn are the objects by name of the group at an address; nil for address 0.
func (l *hdf5Lister) addressesIn(group uint64) (map[string]uint64, error) {
	if group == 0 {
		return nil, nil
	}
	_, links, err := l.open(group)
	return addresses(links), err
}

// open returns a group with its members.
func (l *hdf5Lister) open(addr uint64) (*hdf5.Object, []hdf5.Link, error) {
	o, err := l.f.Object(addr)
	if err != nil {
		return nil, nil, err
	}
	links, err := l.f.Links(o)
	return o, slices.Clone(links), err
}

// mapped returns the ids of the rows of a modality with an index, by the obsmap m. They must not contradict the index.
func (s *source) mapped(m, index *variable, lim *limits) ([]string, error) {
	ids, err := s.ids.readIDs(lim)
	if err != nil {
		return nil, err
	}
	own, err := index.asTexts(lim)
	if err != nil {
		return nil, err
	}
	rows, place := len(own), placesOf(ids)
	at, err := wholeNumbers(m, lim)
	if err != nil {
		return nil, err
	}
	if len(at) != len(ids) {
		return nil, fmt.Errorf("holds %d rows for %d samples", len(at), len(ids))
	}
	out := make([]string, rows)
	for i, row := range at {
		switch {
		case row < 0 || row > rows:
			return nil, fmt.Errorf("has row %d for sample %s; the modality has %d rows", row, ids[i], rows)
		case row > 0 && out[row-1] != "":
			return nil, fmt.Errorf("gives row %d to the samples %s and %s", row, out[row-1], ids[i])
		case row > 0:
			if k, ok := place[own[row-1]]; ok && k != i {
				return nil, fmt.Errorf("gives row %d to the sample %s, and %s names it %s: in Python, mdata.update() and "+
					"mdata.write(new)", row, ids[i], index.name, ids[k])
			}
			out[row-1] = ids[i]
		}
	}
	return out, nil
}

// annGroup lists what the group of AnnData at a path (empty, or ending in a slash) holds: matrices, then columns of obs.
func (l *hdf5Lister) annGroup(path string, links []hdf5.Link) error {
	at := addresses(links)
	index, columns, err := l.annTable(path+"obs", at["obs"], true)
	if err != nil {
		return err
	}
	features, _, err := l.annTable(path+"var", at["var"], false)
	if err != nil {
		return err
	}
	for _, link := range links {
		switch {
		case link.Elsewhere != "":
			l.unread = append(l.unread, path+link.Name+" ("+link.Elsewhere+")")
		case link.Name == "X":
			err = l.annMatrix(path+"X", link.Addr, features)
		case link.Name == "raw":
			err = l.annRaw(path+"raw", link.Addr)
		case link.Name == "layers":
			err = l.annMatrices(path+"layers/", link.Addr, features)
		case link.Name == "obsm":
			err = l.annMatrices(path+"obsm/", link.Addr, nil)
		case link.Name != "obs" && link.Name != "mod" && link.Name != "obsmap":
			l.unread = append(l.unread, path+link.Name)
		}
		if err != nil {
			return err
		}
	}
	for _, v := range columns {
		l.add(v)
	}
	cmp.Or(l.in, l.s).index = index
	return nil
}

// annRaw lists the matrix of raw, whose features are its own.
func (l *hdf5Lister) annRaw(path string, addr uint64) error {
	at, err := l.addressesIn(addr)
	if err != nil || at["X"] == 0 {
		return err
	}
	features, _, err := l.annTable(path+"/var", at["var"], false)
	if err != nil {
		return err
	}
	return l.annMatrix(path+"/X", at["X"], features)
}

// annMatrices lists the matrices of a group. In obsm of MuData, the modalities have columns that obsmap has too.
func (l *hdf5Lister) annMatrices(path string, addr uint64, features *variable) error {
	_, links, err := l.open(addr)
	if err != nil {
		return err
	}
	for _, link := range links {
		if l.in == nil && path == "obsm/" && l.modalities[link.Name] != 0 || link.Elsewhere != "" {
			continue
		}
		if err := l.annMatrix(path+link.Name, link.Addr, features); err != nil {
			return err
		}
	}
	return nil
}

// annMatrix lists a matrix, unless it is null, with the names of its columns (nil without).
func (l *hdf5Lister) annMatrix(name string, addr uint64, features *variable) error {
	v, _, err := l.variable(name, addr, nil)
	if err != nil {
		return fmt.Errorf("%s %w", name, err)
	}
	if v.kind == numeric && len(v.dims) < 2 && v.elements() < 2 {
		return nil
	}
	if _, cols, ok := v.shape2(); ok && features != nil {
		if n, _ := features.vectorLen(); n != cols {
			return fmt.Errorf("%s is %s, but %s names %d features", name, v.shapeString(), features.name, n)
		}
		v.names = func() ([]string, error) { return features.asTexts(l.lim) }
	}
	l.add(v)
	return nil
}

// add lists a variable of the file or of the modality.
func (l *hdf5Lister) add(v *variable) {
	l.s.vars = append(l.s.vars, v)
	if l.in != nil {
		l.s.modality[v] = l.in
	}
}

// annTable returns the index of a table (obs, var) and, if all are wanted, its columns. The tables of AnnData before 0.7 are
// arrays of records, which are noted.
func (l *hdf5Lister) annTable(path string, addr uint64, all bool) (index *variable, columns []*variable, err error) {
	if addr == 0 {
		return nil, nil, nil
	}
	table, links, err := l.open(addr)
	if err != nil {
		return nil, nil, fmt.Errorf("%s %w", path, err)
	}
	if table.IsDataset {
		return l.oldTable(path, table)
	}
	categories, err := l.addressesIn(addresses(links)["__categories"]) // of AnnData 0.7
	if err != nil {
		return nil, nil, err
	}
	names, err := l.f.AttributeTexts(table.Attributes["_index"])
	if err != nil {
		return nil, nil, err
	}
	name := append(names, "_index")[0]
	for _, link := range links {
		if link.Elsewhere != "" || link.Name == "__categories" || !all && link.Name != name {
			continue
		}
		v, err := l.annColumn(path+"/"+link.Name, link.Addr, categories[link.Name])
		if err != nil {
			return nil, nil, fmt.Errorf("%s/%s %w", path, link.Name, err)
		}
		if link.Name == name {
			index = v
		}
		columns = append(columns, v)
	}
	return index, columns, index.checkIndex(path, name)
}

// oldTable returns the index of a table of AnnData before 0.7, an array of records: the column index, else the first one. The
// other columns are not read.
func (l *hdf5Lister) oldTable(path string, o *hdf5.Object) (index *variable, columns []*variable, err error) {
	if path == "obs" {
		l.s.notes = append(l.s.notes, l.s.path+": of obs, a table of AnnData before 0.7, the index alone is read: in Python, "+
			"anndata.read_h5ad(file).write(new) converts the file")
	}
	k := max(0, slices.IndexFunc(o.Type.Fields, func(x hdf5.Field) bool { return x.Name == "index" }))
	if len(o.Type.Fields) == 0 || !o.Type.Fields[k].Type.IsText() || len(o.Dims) != 1 {
		if path != "obs" {
			return nil, nil, nil
		}
		return nil, nil, errors.New("obs is a table of AnnData before 0.7 without an index of texts: in Python, " +
			"anndata.read_h5ad(file).write(new) converts the file")
	}
	v := &variable{file: l.s.path, name: path + "/" + o.Type.Fields[k].Name, class: "string", kind: text, dims: o.Dims}
	v.strings = func() ([]string, error) {
		return l.texts(o, func(run func(int, []byte) error) error { return l.f.FieldTexts(o, o.Type.Fields[k], run) })
	}
	return v, []*variable{v}, book(l.lim, v)
}

// checkIndex refuses an index that cannot be read.
func (v *variable) checkIndex(path, name string) error {
	if v == nil || v.kind == other || len(v.dims) != 1 {
		return fmt.Errorf("%s is a table whose index %s cannot be read", path, name)
	}
	return nil
}

// annColumn describes a column: an array, or codes of categories, or values with a mask of those that are missing.
func (l *hdf5Lister) annColumn(name string, addr, categories uint64) (*variable, error) {
	o, links, err := l.open(addr)
	if err != nil {
		return nil, err
	}
	at := addresses(links)
	first, second := at["codes"], at["categories"]
	switch {
	case categories != 0:
		first, second = addr, categories
	case at["values"] != 0 && at["mask"] != 0:
		first, second = at["values"], at["mask"]
	}
	if o.IsDataset && categories == 0 || first == 0 || second == 0 {
		v, _, err := l.variable(name, addr, nil)
		return v, err
	}
	a, _, err := l.variable(name, first, nil)
	if err != nil {
		return nil, err
	}
	b, _, err := l.variable(name, second, nil)
	if err != nil {
		return nil, err
	}
	v := &variable{file: a.file, name: name, kind: text, class: "nullable " + a.class, dims: a.dims}
	v.strings = func() ([]string, error) { return present(a, b, l.lim) }
	if at["values"] == 0 {
		v.class = fmt.Sprintf("categories (%d)", b.elements())
		v.strings = func() ([]string, error) { return decoded(a, b, l.lim) }
	}
	for _, part := range []*variable{a, b} {
		if part.kind == other || len(part.dims) != 1 {
			v.kind, v.note = other, cmp.Or(part.note, "its parts are no vectors")
		}
	}
	return v, nil
}

// decoded returns the categories by their codes. Code −1 is a missing value, "".
func decoded(codes, categories *variable, lim *limits) ([]string, error) {
	names, err := categories.asTexts(lim)
	if err != nil {
		return nil, err
	}
	k, err := wholeNumbers(codes, lim)
	if err != nil {
		return nil, err
	}
	if err := lim.Take("texts", stringBytes*int64(len(k))); err != nil {
		return nil, err
	}
	out := make([]string, len(k))
	for i, c := range k {
		if c < -1 || c >= len(names) {
			return nil, fmt.Errorf("has the code %d in row %d, but %d categories", c, i, len(names))
		}
		if c >= 0 {
			out[i] = names[c]
		}
	}
	return out, nil
}

// present returns the values that the mask does not mark as missing, which are "".
func present(values, mask *variable, lim *limits) ([]string, error) {
	out, err := values.asTexts(lim)
	if err != nil {
		return nil, err
	}
	missing, err := readFloats(mask, lim)
	if err != nil {
		return nil, err
	}
	if len(missing) != len(out) {
		return nil, fmt.Errorf("holds %d values and a mask of %d", len(out), len(missing))
	}
	for i, m := range missing {
		if m != 0 {
			out[i] = ""
		}
	}
	return out, nil
}

// asTexts reads a vector of texts or numbers as texts.
func (v *variable) asTexts(lim *limits) ([]string, error) {
	if v.kind == text {
		return v.strings()
	}
	x, err := readFloats(v, lim)
	if err != nil {
		return nil, err
	}
	if err := lim.Take("texts", (stringBytes+24)*int64(len(x))); err != nil {
		return nil, err
	}
	return lists.Texts(x, func(a float64) string { return className(a) }), nil
}
