package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/dataset/internal/budget"
)

// Options sets how files are read. With the zero value every file is read that follows one of the usual conventions.
type Options struct {
	// Float is the width of the values in memory (bits): 32 or 64; 0: 32.
	Float int
	// Views names the variables that hold the views, in their order: one cell array, several matrices, or elements of a cell
	// (X{2}). Empty: the usual names.
	Views []string
	// Labels names the variable or CSV column of the labels. A CSV column may also be given by its number from 0; −1 is the
	// last. If no data file has it, Labels is the path of a further file, as LabelsFile is. Empty: the usual names.
	Labels string
	// LeaveOut names variables, columns of a table and files of a folder that are not read. Patterns (*, ?, [a-z]) are allowed.
	LeaveOut []string
	// LeftOut names what a training left out ([Preparation.LeaveOut]). It is left out too, and the files need not have it.
	LeftOut []string
	// IDs names the variable or CSV column with the ids of the samples; a column may be given by its number. If files have
	// different names for it, IDs has them all, separated by commas. Empty: a usual name, or the first column of a table if its
	// header has no name for it.
	IDs string
	// NoIDs ignores ids: the rows of several files are matched by their places.
	NoIDs bool
	// Table makes several views of the columns of a CSV file, or of the only matrix in a file of arrays (see Views). Columns
	// that are in none of these views are left out. Of several CSV files, one that has no column of these views is one view.
	Table []TableView
	// OneHot names columns of texts in a CSV file. Each text in such a column becomes a feature of 0 and 1. A pattern matches
	// columns of texts only.
	OneHot []string
	// Decimal selects the decimal separator of a CSV file.
	Decimal Decimal
	// NoLabels leaves out the labels.
	NoLabels bool
	// LabelsFile is a further file with the labels, in any format. It has one vector, or a variable or column with a usual name
	// or the name in Labels.
	LabelsFile string
	// Mask names the n×V variable whose nonzero entries mark present views. Empty: a variable named present or mask, if there is
	// one.
	Mask string
	// MaskFile is a further file with an n×V matrix: 0 absent, 1 present. The header of a table names the views, in any order.
	// Its ids are matched with the ids of the data.
	MaskFile string
	// Orientation selects whether rows or columns are samples. In a table of columns the first line has the ids, and a first
	// column of texts names the features.
	Orientation Orientation
	// Triplets reads views of three columns as (row, column, value). Rows and columns count from 1, or from 0 if a 0 occurs.
	Triplets bool
	// Storage selects the views that are held as CSR.
	Storage Storage
	// SparseShare (0 to 1) is the largest share of nonzero entries with which SparseIfSmaller holds a view as CSR; 0: 0.25.
	SparseShare float64
	// MissingRows reads rows in which all values are NaN as absent views. Samples whose ids a file lacks are absent from its
	// view, too. Files with an index of present samples do so without it.
	MissingRows bool
	// Impute fills NaN in rows of samples that have the view. Rows of NaN alone are an error or, with MissingRows, absent.
	Impute Impute
	// Transform has a transform for each view by its name; the name * stands for all others. Missing values are filled first.
	Transform map[string]Transform
	// AllowNaN keeps NaN and infinities in the views instead of an error.
	AllowNaN bool
	// Header selects whether the first line of a CSV file names its columns.
	Header Header
	// Delimiter separates the fields of a CSV file; 0: comma, semicolon, tab or blanks, by the first lines.
	Delimiter rune
	// MaxBytes bounds the memory of reading at any time (bytes): the values and all buffers. Files may unpack to 48 times as
	// much. 0: 1 GiB, or 128 times the size of the files if that is more, but at most the memory of the machine.
	MaxBytes int64
	// Scratch is the folder of the files that OpenRows writes if the given ones cannot be read row by row.
	Scratch string
	// ScratchNumbers is the type of the values in those files. Smaller types are read faster and are less exact.
	ScratchNumbers Numbers
	// OpenURL opens a .npy or .parquet file that is given by its address (https://…) and returns its size (bytes), as OpenURL of
	// package dataset/remote does. If the reader has ReadAtContext(ctx, p, off), its reads end with a context; if it has Close,
	// it is closed. nil: addresses are an error.
	OpenURL func(ctx context.Context, url string) (io.ReaderAt, int64, error)
	// Progress, if not nil, is called now and then with the number of bytes read and unpacked so far: one call at a
	// time, but not always on the goroutine of Open. An error ends the reading.
	Progress func(bytes int64) error

	several     bool            // several files are read
	ctx         context.Context // ends the reading; nil: never
	someMissing bool            // texts of a table may be missing: they are read as "". ids are checked before
}

// Orientation selects the axis of the samples in the matrices of a file.
type Orientation uint8

// The orientations.
const (
	// AutoOrientation decides once for all views of the files, by the number of labels and by the views that are not square. If
	// both are possible it takes rows.
	AutoOrientation Orientation = iota
	// RowsAreSamples reads n×d matrices.
	RowsAreSamples
	// ColumnsAreSamples reads d×n matrices.
	ColumnsAreSamples
)

// Storage selects the views that are held as CSR.
type Storage uint8

// The storages.
const (
	// AsStored keeps sparse matrices sparse and full ones full.
	AsStored Storage = iota
	// AllDense holds every view as n·d values.
	AllDense
	// AllSparse holds every view as CSR.
	AllSparse
	// SparseIfSmaller holds a view as CSR if at most Options.SparseShare of its entries are nonzero. It never holds such a view
	// as full values.
	SparseIfSmaller
)

// Header selects whether the first line of a CSV file names its columns.
type Header uint8

// The headers.
const (
	// AutoHeader reads the first line as names if it has a field that is not a number. It is an error if a first line of
	// numbers may be names.
	AutoHeader Header = iota
	// WithHeader takes the first line for names.
	WithHeader
	// NoHeader takes the first line for data unless it certainly has names: texts above numbers.
	NoHeader
)

// Decimal selects the decimal separator of a CSV file.
type Decimal uint8

// The separators of decimals.
const (
	// AutoDecimal reads a comma as the decimal separator if no number has a point. It is an error if commas or points may
	// separate thousands.
	AutoDecimal Decimal = iota
	// DecimalPoint reads 0.5.
	DecimalPoint
	// DecimalComma reads 0,5. A feature with a point is an error.
	DecimalComma
)

// defaultSparseShare: CSR takes 8 bytes an entry, full float32 4; a quarter leaves a gain in time too.
const defaultSparseShare = 0.25

// idNames are the names in IDs, which may be one with commas.
func (o *Options) idNames() []string {
	if o.IDs == "" {
		return nil
	}
	return append([]string{o.IDs}, strings.Split(o.IDs, ",")...)
}

// keepsNaN reports whether NaN in a row, or in all of it, is kept until it is filled.
func (o *Options) keepsNaN(all bool) bool { return o.AllowNaN || o.Impute != NoImpute && !all }

// Preparations returns for each view what Impute, Transform and LeaveOut ask for, before anything is learned; nil: nothing.
func (o *Options) Preparations(names []string) ([]*Preparation, error) {
	for name := range o.Transform {
		if name != "*" && !slices.Contains(names, name) {
			return nil, fmt.Errorf("dataset: Options.Transform names the view %q; the views are %s", name, someNames(names))
		}
	}
	left := slices.DeleteFunc(slices.Clone(o.LeaveOut), func(name string) bool { // a number may be another column elsewhere
		_, err := strconv.Atoi(name)
		return err == nil
	})
	out := make([]*Preparation, len(names))
	for v, name := range names {
		p := &Preparation{Impute: o.Impute, Transform: o.Transform["*"], LeaveOut: left}
		if t, ok := o.Transform[name]; ok {
			p.Transform = t
		}
		if p.String() != "" || len(p.LeaveOut) > 0 {
			out[v] = p
		}
	}
	return out, nil
}

func (o *Options) check() error {
	var errs []error
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf("dataset: "+format, args...))
		}
	}
	refuse(o.Float != 0 && o.Float != 32 && o.Float != 64, "Float is %d; it must be 32, 64 or 0", o.Float)
	refuse(o.Orientation > ColumnsAreSamples, "Orientation %d is unknown", o.Orientation)
	refuse(o.Storage > SparseIfSmaller, "Storage %d is unknown", o.Storage)
	refuse(!(o.SparseShare >= 0 && o.SparseShare <= 1), "SparseShare is %g; it must be from 0 to 1", o.SparseShare)
	refuse(o.Header > NoHeader, "Header %d is unknown", o.Header)
	refuse(o.Impute > ImputeNeighbors, "Impute %d is unknown", o.Impute)
	refuse(o.Impute != NoImpute && o.AllowNaN, "Impute contradicts AllowNaN")
	for name, t := range o.Transform {
		refuse(t > TFIDF, "Transform %d of view %s is unknown", t, name)
	}
	refuse(o.Decimal > DecimalComma, "Decimal %d is unknown", o.Decimal)
	refuse(o.NoIDs && o.IDs != "", "NoIDs contradicts IDs")
	for i, t := range o.Table {
		refuse(t.Name == "" || len(t.Columns) == 0, "view %d of Table has no name or no columns", i)
		twice := slices.ContainsFunc(o.Table[:i], func(u TableView) bool { return u.Name == t.Name })
		refuse(twice, "two views of Options.Table are named %s", t.Name)
	}
	refuse(o.MaxBytes < 0, "MaxBytes is %d; it must not be negative", o.MaxBytes)
	refuse(strings.ContainsRune("\n\r\"#.-+", o.Delimiter), "Delimiter %q cannot separate numbers", o.Delimiter)
	refuse(o.Delimiter < 0 || o.Delimiter > 127, "Delimiter %q is not ASCII", o.Delimiter)
	refuse(o.NoLabels && (o.Labels != "" || o.LabelsFile != ""), "NoLabels contradicts Labels and LabelsFile")
	return errors.Join(errs...)
}

// limits bounds the memory and the work of reading. One is shared by everything that is read for a data set.
type limits = budget.Budget

func newLimits(o *Options) *limits { return budget.New(o.ctx, o.MaxBytes, o.Progress) }

// size is a number of bytes in words.
func size(b int64) string { return budget.Size(b) }

// mayBeMask reports whether a variable with the name of masks is one.
func (o *Options) mayBeMask(v *variable) bool {
	matrix := (v.kind == numeric || v.kind == sparse) && len(v.dims) == 2
	return matrix && !o.leavesOut(v.name) && !slices.Contains(o.Views, v.name)
}
