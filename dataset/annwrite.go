package dataset

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/largemvc/largemvc/dataset/internal/hdf5"
	"github.com/largemvc/largemvc/internal/lists"
)

// AnnDataLabels holds labels and other values of samples for a copy of an AnnData or MuData file.
type AnnDataLabels struct {
	// IDs are the samples, as Set.IDs; nil: the samples are the rows of obs, in their order.
	IDs []string
	// Columns become columns of obs: []int and []string are categories (−1 and "" are missing), []float64 is float32.
	Columns []Column
	// Matrices have a row for each sample and become matrices of obsm: []float32.
	Matrices []Array
}

// CheckAnnData returns an error if the file at a path is no AnnData or MuData, or if [EncodeAnnData] could not write a copy of
// it with these names of columns and matrices.
func CheckAnnData(path string, columns, matrices []string) error {
	x := AnnDataLabels{}
	for _, name := range columns {
		x.Columns = append(x.Columns, Column{Name: name})
	}
	for _, name := range matrices {
		x.Matrices = append(x.Matrices, Array{Name: name})
	}
	c, err := openAnnCopy(path, &x)
	if err != nil {
		return named(path, err)
	}
	return c.from.close()
}

// EncodeAnnData writes a copy of the AnnData or MuData file at a path to w, with columns in obs and matrices in obsm. Rows of obs
// that are no sample have missing values there. All else is as in the file. A column or matrix that the file has is an error.
func EncodeAnnData(w io.Writer, path string, x AnnDataLabels) error {
	c, err := openAnnCopy(path, &x)
	if err != nil {
		return named(path, err)
	}
	defer c.from.close()
	if err := c.encode(w); err != nil {
		return named(path, err)
	}
	return c.from.unchanged()
}

// annCopy is a copy of an AnnData file in the making.
type annCopy struct {
	*AnnDataLabels
	from      *source
	f         *hdf5.File
	e         *hdf5.Edit
	lim       *limits
	obs, obsm uint64 // addresses of the groups; obsm 0: there is none
	order     []string
	n         int // rows of obs
	index     *variable
}

// viaAnnData is the cure for files of other forms.
const viaAnnData = "in Python, anndata.read_h5ad(file).write(new) converts it"

// openAnnCopy opens a file to copy, and checks that it takes what is added.
func openAnnCopy(path string, x *AnnDataLabels) (*annCopy, error) {
	c := &annCopy{AnnDataLabels: x, lim: newLimits(&Options{})}
	var err error
	if c.from, err = openFile(path, roleData); err != nil {
		return nil, err
	}
	if err = c.open(c.from.raw); err == nil {
		err = c.checkNames()
	}
	if err != nil {
		return nil, errors.Join(err, c.from.close())
	}
	return c, nil
}

func (c *annCopy) open(r io.ReaderAt) (err error) {
	c.lim.AddFile(c.from.size)
	if c.f, err = hdf5.Open(r, c.from.size, c.lim); err != nil {
		return fmt.Errorf("%w: labels go into a copy of AnnData or MuData only; write them as CSV", err)
	}
	if c.e, err = c.f.Edit(); err != nil {
		return fmt.Errorf("%w, and labels cannot be added: "+viaAnnData, err)
	}
	l := hdf5Lister{s: c.from, f: c.f, lim: c.lim}
	root, err := l.addressesIn(c.f.Root())
	if err != nil {
		return err
	}
	if c.obs, c.obsm = root["obs"], root["obsm"]; c.obs == 0 {
		return errors.New("has no obs: labels go into a copy of AnnData or MuData only; write them as CSV")
	}
	order, ok, err := c.f.AllTexts(c.obs, "column-order")
	if err != nil {
		return fmt.Errorf("obs %w", err)
	}
	if !ok {
		return errors.New("has no attribute column-order of obs, as AnnData before 0.7, and labels cannot be added: " +
			viaAnnData)
	}
	c.order = order
	if c.index, _, err = l.annTable("obs", c.obs, false); err != nil {
		return err
	}
	c.n, _ = c.index.vectorLen()
	return nil
}

// checkNames refuses names that the file has.
func (c *annCopy) checkNames() error {
	l := hdf5Lister{s: c.from, f: c.f, lim: c.lim}
	var there []string
	for _, group := range []uint64{c.obs, c.obsm} {
		if group == 0 {
			continue
		}
		_, links, err := l.open(group)
		if err != nil {
			return err
		}
		has := func(name string) bool {
			return slices.ContainsFunc(links, func(k hdf5.Link) bool { return k.Name == name })
		}
		for _, x := range c.Columns {
			if group == c.obs && has(x.Name) {
				there = append(there, fmt.Sprintf("a.obs[%q]", x.Name))
			}
		}
		for _, x := range c.Matrices {
			if group == c.obsm && has(x.Name) {
				there = append(there, fmt.Sprintf("a.obsm[%q]", x.Name))
			}
		}
	}
	if there == nil {
		return nil
	}
	return fmt.Errorf("has %s already, perhaps of an earlier run, and nothing is overwritten: take the file without them, or in "+
		"Python del %s and a.write(new)", someNames(there), someNames(there))
}

// encode adds columns and matrices and writes the copy.
func (c *annCopy) encode(w io.Writer) error {
	at, err := c.rows()
	if err != nil {
		return err
	}
	var columns, matrices []hdf5.Link
	order := slices.Clone(c.order)
	for _, x := range c.Columns {
		addr, err := c.column(x, at)
		if err != nil {
			return err
		}
		columns, order = append(columns, hdf5.Link{Name: x.Name, Addr: addr}), append(order, x.Name)
	}
	for _, x := range c.Matrices {
		addr, err := c.matrix(x, at)
		if err != nil {
			return err
		}
		matrices = append(matrices, hdf5.Link{Name: x.Name, Addr: addr})
	}
	obs, err := c.e.Group(c.obs, columns, hdf5.NewAttribute{Name: "column-order", Value: c.e.Texts(order)})
	if err != nil {
		return fmt.Errorf("obs %w", err)
	}
	members := []hdf5.Link{{Name: "obs", Addr: obs}}
	if matrices != nil {
		var encoding []hdf5.NewAttribute
		if c.obsm == 0 {
			encoding = c.encoding("dict", "0.1.0")
		}
		obsm, err := c.e.Group(c.obsm, matrices, encoding...)
		if err != nil {
			return fmt.Errorf("obsm %w", err)
		}
		members = append(members, hdf5.Link{Name: "obsm", Addr: obsm})
	}
	root, err := c.e.Group(c.f.Root(), members)
	if err != nil {
		return err
	}
	return c.e.Copy(w, root)
}

// rows returns for each row of obs the number of its sample; −1: it is none.
func (c *annCopy) rows() ([]int, error) {
	if err := c.lim.Take("the rows of obs", 8*int64(c.n)); err != nil {
		return nil, err
	}
	at := lists.Indices(c.n)
	if c.IDs == nil {
		return at, nil
	}
	ids, err := c.index.asTexts(c.lim)
	if err != nil {
		return nil, err
	}
	samples, found := placesOf(c.IDs), 0
	for row, id := range ids {
		if i, ok := samples[id]; ok {
			at[row], found = i, found+1
		} else {
			at[row] = -1
		}
	}
	if found != len(c.IDs) {
		return nil, fmt.Errorf("has %d of the %d samples in the index of obs, so that their labels have no row: leave out -id, "+
			"or give -out a name that ends in .csv", found, len(c.IDs))
	}
	return at, nil
}

// encoding returns the attributes by which anndata recognises a dataset or group.
func (c *annCopy) encoding(kind, version string) []hdf5.NewAttribute {
	return []hdf5.NewAttribute{{Name: "encoding-type", Value: c.e.Text(kind)},
		{Name: "encoding-version", Value: c.e.Text(version)}}
}

// column adds a column of obs. at has the sample of each row.
func (c *annCopy) column(x Column, at []int) (uint64, error) {
	var values []float64
	var codes []int
	var names []string
	switch data := x.Data.(type) {
	case []float64:
		values = data
	case []int:
		codes = data
		names = rowNumbers(slices.Max(append([]int{-1}, data...)) + 1)
	case []string:
		names = slices.Compact(slices.Sorted(slices.Values(data)))
		if len(names) > 0 && names[0] == "" {
			names = names[1:]
		}
		codes = make([]int, len(data))
		for i, s := range data {
			if k, ok := slices.BinarySearch(names, s); ok {
				codes[i] = k
			} else {
				codes[i] = -1
			}
		}
	}
	if n := max(len(values), len(codes)); n != c.samples() {
		return 0, fmt.Errorf("obs has %d samples, and the column %s has %d values", c.samples(), x.Name, n)
	}
	if values != nil {
		out := spread(at, 1, func(k int) float32 { return float32(values[k]) })
		return c.e.Dataset(hdf5.Floats([]int{c.n}, out), c.encoding("array", "0.2.0")...)
	}
	of := make([]int, c.n)
	for row, i := range at {
		if of[row] = -1; i >= 0 {
			of[row] = codes[i]
		}
	}
	first, err := c.e.Dataset(hdf5.Codes(of, len(names)), c.encoding("array", "0.2.0")...)
	if err != nil {
		return 0, err
	}
	second, err := c.e.Dataset(c.e.Texts(names), c.encoding("string-array", "0.2.0")...)
	if err != nil {
		return 0, err
	}
	return c.e.Group(0, []hdf5.Link{{Name: "codes", Addr: first}, {Name: "categories", Addr: second}},
		append(c.encoding("categorical", "0.2.0"), hdf5.NewAttribute{Name: "ordered", Value: hdf5.False()})...)
}

// samples is the number of samples with values.
func (c *annCopy) samples() int {
	if c.IDs != nil {
		return len(c.IDs)
	}
	return c.n
}

// matrix adds a matrix of obsm.
func (c *annCopy) matrix(x Array, at []int) (uint64, error) {
	values, _ := x.Data.([]float32)
	if len(x.Shape) != 2 || x.Shape[0] != c.samples() || len(values) != x.Shape[0]*x.Shape[1] {
		return 0, fmt.Errorf("obs has %d samples, and the matrix %s has the shape %v", c.samples(), x.Name, x.Shape)
	}
	out := spread(at, x.Shape[1], func(k int) float32 { return values[k] })
	return c.e.Dataset(hdf5.Floats([]int{c.n, x.Shape[1]}, out), c.encoding("array", "0.2.0")...)
}

// spread gives each row of obs the m values of its sample; NaN if it is none.
func spread(at []int, m int, value func(k int) float32) []float32 {
	out := make([]float32, 0, m*len(at))
	for _, i := range at {
		for j := range m {
			if i < 0 {
				out = append(out, float32(math.NaN()))
			} else {
				out = append(out, value(i*m+j))
			}
		}
	}
	return out
}
