package dataset

import (
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/suspect"
)

// column gathers the finite values of a column, as differences to its first one.
type column struct {
	n, bad           int
	first, sum, sum2 float64
	least, most      float64
}

// add takes the value x, times over.
func (c *column) add(x float64, times int) {
	if c.n == 0 {
		c.first, c.least, c.most = x, x, x
	}
	c.n += times
	c.least, c.most = min(c.least, x), max(c.most, x)
	c.sum += float64(times) * (x - c.first)
	c.sum2 += float64(times) * (x - c.first) * (x - c.first)
}

func (c *column) std() float64 {
	m := c.sum / float64(c.n)
	return math.Sqrt(max(c.sum2/float64(c.n)-m*m, 0))
}

// columnBlock is how many columns are described at a time, so that wide views take little memory beside their values.
const columnBlock = 1 << 16

// describe goes through the values of a view once; of a sparse view, through its entries.
func describe(set *Set, v int, class string, lim *limits) (ViewReport, error) {
	view := &set.Views[v]
	r := ViewReport{Name: view.Name, Features: view.Cols, Class: class, Sparse: view.Sparse != nil}
	filled := make([]bool, view.Rows) // rows that are not zero
	for i := range view.Rows {
		if set.Present != nil && !set.Present[i][v] {
			r.Absent++
		}
	}
	d := description{report: &r, present: view.Rows - r.Absent, columns: make([]column, min(view.Cols, columnBlock))}
	for lo := 0; lo < view.Cols; lo += columnBlock {
		hi := min(lo+columnBlock, view.Cols)
		clear(d.columns)
		for i := range view.Rows {
			if set.Present != nil && !set.Present[i][v] {
				continue
			}
			if err := lim.Err(); err != nil {
				return r, err
			}
			before := d.nonzero
			view.entriesBetween(i, lo, hi, func(j int, x float64) { d.add(i, j, lo, x) })
			filled[i] = filled[i] || d.nonzero > before
		}
		d.summarise(d.columns[:hi-lo])
	}
	for i, f := range filled {
		if !f && (set.Present == nil || set.Present[i][v]) {
			r.ZeroRows++
		}
	}
	d.finish(view.Cols)
	return r, nil
}

// description is a view report in the making.
type description struct {
	report           *ViewReport
	columns          []column // of a block
	present, nonzero int
	seen             bool
	stds             []float64 // of the columns that are not constant
}

// add takes an entry in; lo is the first column of the block.
func (d *description) add(i, j, lo int, x float64) {
	if x != 0 {
		d.nonzero++
	}
	if x-x == 0 {
		d.columns[j-lo].add(x, 1)
		return
	}
	d.columns[j-lo].bad++
	r := d.report
	if r.FirstBad == nil || i < r.FirstBad.Row {
		r.FirstBad = &Place{i, j}
	}
	if math.IsNaN(x) {
		r.NaN++
	} else {
		r.Inf++
	}
}

// summarise takes a block of columns in.
func (d *description) summarise(columns []column) {
	r := d.report
	for j := range columns {
		c := &columns[j]
		if c.n+c.bad < d.present { // zeros of a sparse view
			c.add(0, d.present-c.n-c.bad)
		}
		if c.n == 0 {
			continue
		}
		if !d.seen {
			r.Min, r.Max, d.seen = c.least, c.most, true
		}
		r.Min, r.Max = min(r.Min, c.least), max(r.Max, c.most)
		if c.least == c.most {
			r.ConstantColumns++
			continue
		}
		d.stds = append(d.stds, c.std())
	}
}

func (d *description) finish(cols int) {
	if d.present > 0 {
		d.report.Fill = float64(d.nonzero) / (float64(d.present) * float64(cols))
	}
	d.report.MedianStd, d.report.MaxStd = suspect.Scales(d.stds)
}

// entriesBetween calls each for the values of row i in the columns from lo to before hi, of a sparse view for its entries.
func (v *View) entriesBetween(i, lo, hi int, each func(j int, x float64)) {
	c := v.Sparse
	if c == nil {
		for j := lo; j < hi; j++ {
			each(j, v.At(i, j))
		}
		return
	}
	row := c.Col[c.RowPtr[i]:c.RowPtr[i+1]]
	k, _ := slices.BinarySearch(row, int32(lo))
	for ; k < len(row) && int(row[k]) < hi; k++ {
		each(int(row[k]), c.value(c.RowPtr[i]+k))
	}
}
