// Package columnar connects package dataset with readers of tables that lie column by column, whose dependencies only those
// programs build that import them.
package columnar

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/largemvc/largemvc/dataset/internal/budget"
)

// Kind is a kind of values.
type Kind uint8

// The kinds.
const (
	Number Kind = iota
	Text
	Date
	Other // not read
)

// Table is an open table.
type Table struct {
	Rows    int
	Groups  []int // rows of each group, which are read by themselves
	Columns []Column
	Index   []string // names of the columns that pandas calls the index
	Range   *Column  // index of pandas that no column holds: numbers that do not count the rows from 0; nil: there is none
}

// Column is a column of a table. Its functions read it from the beginning and call visit with its values in order.
type Column struct {
	Name  string
	Kind  Kind
	Class string // the type, for messages
	Width int    // of a column of lists of numbers: the values of each row; 0: no lists

	// Floats visits the numbers, Width of them for each row, in runs; a missing one is NaN.
	Floats func(visit func(x []float64) error) error
	// Part visits the numbers of rows lo to hi−1 of a group, as Floats does. Several goroutines may call it at once.
	Part func(ctx context.Context, group, lo, hi int, visit func(x []float64) error) error
	// Texts visits each value as text, which is empty where it is missing and valid until visit returns. Lists have none.
	Texts func(visit func(value []byte) error) error
}

// ErrRounded is in the error of Floats for a whole number that float64 rounds.
var ErrRounded = errors.New("float64 rounds it: " +
	"leave the column out with Options.LeaveOut, or name it with Options.IDs if it is an id")

// Parquet opens a Parquet file. Its bytes count in lim, but for those of Column.Part. It is nil unless package dataset/parquet
// is imported.
var Parquet func(r io.ReaderAt, size int64, lim *budget.Budget) (*Table, error)

// AppendFloat appends a float of some bits as text: a whole number without an exponent, as ids and names of classes are written.
func AppendFloat(to []byte, x float64, bits int) []byte {
	format := byte('g')
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		format = 'f'
	}
	return strconv.AppendFloat(to, x, format, -1, bits)
}
