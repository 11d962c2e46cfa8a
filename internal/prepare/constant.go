package prepare

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/view"
)

// omission marks the columns of a view that are left out because they are constant over the training samples. They are zero in
// standardised rows. The mean and the norm of a row use the other columns.
type omission struct {
	out  []bool // of each column, whether it is left out
	kept []int  // the other columns, in increasing order
}

// newOmission returns the omission of the columns that are marked; nil if none is, or all are.
func newOmission(out []bool) *omission {
	o := &omission{out: out}
	for j, left := range out {
		if !left {
			o.kept = append(o.kept, j)
		}
	}
	if len(o.kept) == 0 || len(o.kept) == len(out) {
		return nil
	}
	return o
}

// omitted returns the omission of view v; nil: no column is left out.
func (s *Standardiser) omitted(v int) *omission {
	if v >= len(s.omissions) {
		return nil
	}
	return s.omissions[v]
}

// LeftOut returns the number of columns of view v that are left out because they are constant over the training samples.
func (s *Standardiser) LeftOut(v int) int {
	if o := s.omitted(v); o != nil {
		return len(o.out) - len(o.kept)
	}
	if s.Scale == nil {
		return 0
	}
	constant := 0
	for _, scale := range s.Scale[v] {
		if scale == 0 {
			constant++
		}
	}
	return constant
}

// KeptColumns returns the columns of view v that are not left out, in increasing order; nil: all are kept.
func (s *Standardiser) KeptColumns(v int) (kept []int) {
	if o := s.omitted(v); o != nil {
		return o.kept
	}
	if s.LeftOut(v) == 0 {
		return nil
	}
	for j, scale := range s.Scale[v] {
		if scale != 0 {
			kept = append(kept, j)
		}
	}
	return kept
}

// Kept moves the columns of view v that are not left out to the front of a row, and returns them.
func (s *Standardiser) Kept(v int, row []float64) []float64 {
	o := s.omitted(v)
	if o == nil {
		return row
	}
	for k, j := range o.kept { // k ≤ j
		row[k] = row[j]
	}
	return row[:len(o.kept)]
}

// findConstant returns the omission of the columns of a view that have one value in the present rows of all ranks of the group.
// It reads rows until every column has had two values.
func findConstant(ctx context.Context, g *ranks.Group, x view.View) (*omission, error) {
	values := firstValues
	if x.Sparse != nil {
		values = sparseFirstValues
	}
	first, varies, seen := values(ctx, x)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	mine := make([]byte, 0, 9*x.Cols)
	for j := 0; j < x.Cols && seen; j++ {
		mine = binary.LittleEndian.AppendUint64(mine, math.Float64bits(first[j]))
		if varies[j] {
			mine = append(mine, 1)
		} else {
			mine = append(mine, 0)
		}
	}
	all, err := g.Gather("the columns that are constant", mine)
	if err != nil {
		return nil, err
	}
	constant := make([]bool, x.Cols)
	for j := range constant {
		constant[j] = true
		var value float64
		known := false
		for _, theirs := range all {
			if len(theirs) == 0 { // a rank without a present row
				continue
			}
			at := theirs[9*j:]
			here := math.Float64frombits(binary.LittleEndian.Uint64(at))
			if at[8] == 1 || known && here != value {
				constant[j] = false
			}
			value, known = here, true
		}
	}
	return newOmission(constant), nil
}

// firstValues returns the values of the first present row, and whether a column has another value in a later one. seen is false
// if there is no present row. It ends early with ctx.
func firstValues(ctx context.Context, x view.View) (first []float64, varies []bool, seen bool) {
	first, varies = make([]float64, x.Cols), make([]bool, x.Cols)
	row := make([]float64, x.Cols)
	left := lists.Indices(x.Cols) // the columns that have had one value so far
	for i := range x.Rows {
		if i%chunkRows == 0 && ctx.Err() != nil {
			break
		}
		if !x.Has(i) {
			continue
		}
		x.Row(i, row)
		if !seen {
			copy(first, row)
			seen = true
			continue
		}
		still := left[:0]
		for _, j := range left {
			if row[j] == first[j] {
				still = append(still, j)
			} else {
				varies[j] = true
			}
		}
		if left = still; len(left) == 0 {
			break
		}
	}
	return first, varies, seen
}

// sparseFirstValues is firstValues of a sparse view, in one pass over the values that it holds.
func sparseFirstValues(_ context.Context, x view.View) (first []float64, varies []bool, seen bool) {
	first, varies = make([]float64, x.Cols), make([]bool, x.Cols)
	held := make([]int, x.Cols)
	count := 0
	for i := range x.Rows {
		if !x.Has(i) {
			continue
		}
		count++
		for k := x.Sparse.Ptr[i]; k < x.Sparse.Ptr[i+1]; k++ {
			j, value := x.Sparse.Cols[k], x.Sparse.Value(k)
			if held[j] == 0 {
				first[j] = value
			}
			held[j]++
			varies[j] = varies[j] || value != first[j]
		}
	}
	for j, n := range held {
		varies[j] = varies[j] || n > 0 && n < count && first[j] != 0
	}
	return first, varies, count > 0
}
