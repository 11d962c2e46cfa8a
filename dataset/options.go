package dataset

import (
	"context"
	"errors"
	"fmt"

	"slices"
	"strings"

	"github.com/largemvc/largemvc/dataset/internal/budget"
)

// Options says how files are read. The zero value reads every file that follows one of the usual conventions.
type Options struct {
	// Float is the width of the values in memory: 32 or 64 bits. 0 is 32.
	Float int
	// Views names the variables that hold the views, in their order: one cell array, several matrices, or elements of
	// a cell written X{2}. Empty: the usual names.
	Views []string
	// Labels names the variable or CSV column that holds the labels. A CSV column may also be given by its number from
	// 0; −1 is the last. Where no file of data has it, it is the path of a further file, as LabelsFile. Empty: the usual names.
	Labels string
	// LeaveOut names what is not read: variables, columns of a table, and files of a folder; patterns (*, ?, [a-z]) are allowed.
	LeaveOut []string
	// IDs names the variable or CSV column that names the samples; a column may be given by its number. Empty: a usual name, or
	// the first column of a table if its header has no name for it.
	IDs string
	// NoIDs matches the rows of several files by their places, and leaves out the ids that they have.
	NoIDs bool
	// Table makes several views of the columns of a CSV file, or of the only matrix of a file of arrays (see Views). Columns in
	// none of them are left out.
	Table []TableView
	// OneHot names columns of a CSV file that become a feature of 0 and 1 for each text in them; a pattern takes columns of
	// texts alone.
	OneHot []string
	// Decimal says what separates the decimals of numbers in a CSV file.
	Decimal Decimal
	// NoLabels leaves the labels out, whatever the file holds.
	NoLabels bool
	// LabelsFile is a further file with the labels: any format with one vector, or with a variable or column of
	// a usual name or that of Labels.
	LabelsFile string
	// Mask names the n×V variable whose nonzero entries mark the views present. Empty: present or mask where there is one.
	Mask string
	// MaskFile is a further file with an n×V matrix of zeros (absent) and ones (present). A table's header names the views, in
	// any order, and its ids are joined with those of the data.
	MaskFile string
	// Orientation says whether rows or columns are the samples. In a table of columns the first line has the ids, and a first
	// column of texts names the features.
	Orientation Orientation
	// Triplets reads each view of three columns as (row, column, value), rows and columns counted from 1, or from 0
	// where a 0 occurs.
	Triplets bool
	// Storage says which views are held as CSR.
	Storage Storage
	// SparseShare is the share of entries that are not zero up to which SparseIfSmaller holds a view as CSR; 0: a quarter.
	SparseShare float64
	// MissingRows takes rows that are wholly NaN for absent views. It is on for files that have an index of their own.
	MissingRows bool
	// AllowNaN keeps NaN and infinities in the views instead of an error.
	AllowNaN bool
	// Header says whether the first line of a CSV file names its columns, where that is not certain.
	Header Header
	// Delimiter separates the fields of a CSV file. 0: comma, semicolon, tab or blanks, by the first lines.
	Delimiter rune
	// MaxBytes bounds the memory that reading takes at any time: the values, and all that is needed on the way to them. Files
	// may unpack to 48 times as much. 0: 1 GiB, or 128 times the size of the files where that is more, but no more
	// than the memory of the machine.
	MaxBytes int64
	// Scratch is the folder in which [OpenRows] makes files of rows, where those that are given cannot be read row by row.
	Scratch string
	// ScratchNumbers says in how many bytes a value lies in those files: fewer of them are read sooner and are less exact.
	ScratchNumbers Numbers
	// Progress is called now and then with the number of bytes read and unpacked so far. Its error ends the reading.
	Progress func(bytes int64) error

	ctx context.Context // ends the reading; nil: never
}

// Orientation says which axis of the matrices in a file counts the samples.
type Orientation uint8

// The orientations.
const (
	// AutoOrientation decides once for all views of the files, by the number of labels and the views that are not
	// square; rows where both would do.
	AutoOrientation Orientation = iota
	// RowsAreSamples reads n×d matrices.
	RowsAreSamples
	// ColumnsAreSamples reads d×n matrices.
	ColumnsAreSamples
)

// Storage says which views are held as CSR.
type Storage uint8

// The storages.
const (
	// AsStored keeps sparse matrices sparse and full ones full.
	AsStored Storage = iota
	// AllDense holds every view as n·d values.
	AllDense
	// AllSparse holds every view as CSR.
	AllSparse
	// SparseIfSmaller holds a view as CSR where at most Options.SparseShare of its entries differ from zero, without ever holding
	// the view as full values.
	SparseIfSmaller
)

// Header says whether the first line of a CSV file names its columns.
type Header uint8

// The headers.
const (
	// AutoHeader takes a line of texts, or of texts above numbers, for names, and other numbers than names for data. It is an
	// error if a first line may be either.
	AutoHeader Header = iota
	// WithHeader takes the first line for names.
	WithHeader
	// NoHeader takes the first line for data unless it certainly has names: texts above numbers.
	NoHeader
)

// Decimal says what separates the decimals of numbers in a CSV file.
type Decimal uint8

// The separators of decimals.
const (
	// AutoDecimal takes a comma where no number has a point. It is an error if commas or points may separate thousands.
	AutoDecimal Decimal = iota
	// DecimalPoint reads 0.5.
	DecimalPoint
	// DecimalComma reads 0,5.
	DecimalComma
)

// defaultSparseShare: CSR takes 8 bytes an entry, full float32 4; a quarter leaves a gain in time too.
const defaultSparseShare = 0.25

// storage says how a view is held.
type storage struct {
	Storage
	share float64 // of SparseIfSmaller
}

func (o *Options) storage() storage {
	if o.SparseShare == 0 {
		return storage{o.Storage, defaultSparseShare}
	}
	return storage{o.Storage, o.SparseShare}
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

// limits is what reading may take. One is shared by everything that is read for a data set.
type limits = budget.Budget

func newLimits(o *Options) *limits { return budget.New(o.ctx, o.MaxBytes, o.Progress) }

// size is a number of bytes in words.
func size(b int64) string { return budget.Size(b) }
