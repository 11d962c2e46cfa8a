package dataset

import (
	"fmt"
	"strings"

	"github.com/largemvc/largemvc/dataset/internal/elem"
	"github.com/largemvc/largemvc/internal/lists"
)

// kind is the kind of data that a variable of a file holds.
type kind uint8

const (
	numeric kind = iota
	sparse       // compressed rows or columns
	cell         // a list of variables
	text         // strings, one a sample
	other        // skipped
)

// variable is one array of a file: its shape, and how to read it. Nothing of its size has been allocated.
type variable struct {
	file  string // path of the file
	name  string
	class string // as users of the format call it: double, uint8, cell …
	kind  kind
	dims  []int
	note  string // for other: why it is skipped

	// numeric: stream hands over the elements as bytes, in runs that begin at element off in storage order. Runs cover every
	// element at most once, and those left out are zero. backed says that the elements are known to be in the file;
	// otherwise memory is taken as they come, or after a first pass that sees them all where they come in any order.
	typ      elem.Type
	colMajor bool
	backed   bool
	anyOrder bool
	stream   func(run func(off int, raw []byte) error) error
	// place says where the elements lie one after another in the file, in storage order; nil: they do not.
	place func() (at int64, err error)
	// groups reads the elements by groups of rows; nil: it cannot be done.
	groups *rowGroups

	inside  []inner                  // other: what a group or a structure holds
	parts   *parts                   // sparse
	cells   []*variable              // cell
	strings func() ([]string, error) // text; equal strings share their memory, which is booked

	// For what comes from a table.
	fromTable  bool
	transposed bool                     // its rows are columns of the file
	line       func(row int) int        // line of the file, from 1; nil without
	column     func(col int) string     // name of a column, for messages; nil without
	names      func() ([]string, error) // names of all columns; nil without
	namedBy    *variable                // the array that names the columns
	asText     *variable                // the only column as texts, for labels; nil without

	picked
}

// picked is a view of some columns of a matrix.
type picked struct {
	whole *variable // the matrix; nil for others
	pick  []int     // its columns
}

// parts are the vectors that make a sparse matrix by columns (or rows), as MATLAB and SciPy store it. They are asked for in
// this order.
type parts struct {
	byRow   bool
	logical bool                      // entries of one place are 1
	index   func() (*variable, error) // row (column) of each entry
	ptr     func() (*variable, error) // one more than there are columns (rows)
	value   func() (*variable, error)
}

// inner lists the contents of a group or a structure.
type inner struct {
	name string
	dims []int // nil where they are not known
}

// variableBytes is the memory of a variable that is listed, beside its name.
const variableBytes = 512

// book books the memory of a list of variables.
func book(lim *limits, v *variable) error {
	return lim.Take("the list of its arrays", variableBytes+int64(len(v.name)))
}

// elements is the number of elements of a numeric variable.
func (v *variable) elements() int {
	n := 1
	for _, d := range v.dims {
		n *= d
	}
	return n
}

// shape2 is the shape as rows and columns: a NumPy vector is one column.
func (v *variable) shape2() (rows, cols int, ok bool) {
	switch len(v.dims) {
	case 1:
		return v.dims[0], 1, true
	case 2:
		return v.dims[0], v.dims[1], true
	}
	return 0, 0, false
}

// isMatrix reports whether the variable can be a view.
func (v *variable) isMatrix() bool {
	return (v.kind == numeric || v.kind == sparse) && (len(v.dims) == 1 || len(v.dims) == 2)
}

// vectorLen is the length of a vector, n×1 or 1×n; ok is false for anything else.
func (v *variable) vectorLen() (n int, ok bool) {
	if v.kind != numeric && v.kind != text {
		return 0, false
	}
	r, c, ok := v.shape2()
	if !ok || (r != 1 && c != 1) {
		return 0, false
	}
	return r * c, true
}

// shapeString writes the shape as 210×1302.
func (v *variable) shapeString() string {
	if len(v.dims) == 0 {
		return "scalar"
	}
	return strings.Join(lists.Texts(v.dims, itoa), "×")
}

// errorf is an error about the variable, with its file and name.
func (v *variable) errorf(format string, args ...any) error {
	return fmt.Errorf("dataset: %s: %s %w", v.file, v.name, fmt.Errorf(format, args...))
}

// wrap adds file and name to an error that does not have them yet.
func (v *variable) wrap(err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "dataset: ") {
		return err
	}
	return v.errorf("%w", err)
}
