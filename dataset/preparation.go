package dataset

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/textfile"
)

// Impute selects the value that replaces NaN in a row of a sample that has the view.
type Impute uint8

// The kinds of imputation. They learn from the training samples that have a value in the feature.
const (
	// NoImpute makes NaN an error.
	NoImpute Impute = iota
	// ImputeMean takes the mean of the feature.
	ImputeMean
	// ImputeMedian takes the median of the feature.
	ImputeMedian
	// ImputeNeighbors takes the mean of the feature over the 5 nearest training rows that have it. The distance is the root
	// mean squared difference over the features that both rows have; a row without such a feature gets the mean of the feature.
	// A view keeps all rows, or a random draw of at most 4096 of them with at most 2²¹ values.
	ImputeNeighbors
)

// Transform selects a function of the values of a view, for counts. All of them keep zeros, and refuse negative values.
type Transform uint8

// The transforms of a value x of a row of d features.
const (
	// NoTransform keeps the values.
	NoTransform Transform = iota
	// Log1p takes log(1 + x).
	Log1p
	// CLR takes log(1 + x/g), where log g is the mean of log(1 + x) over the row: counts of proteins.
	CLR
	// TFIDF takes log(1 + 10⁴·x/s)·log(1 + n/m) with the sum s of the row, the number n of the training samples, and the number m
	// of training samples where the feature is not zero: counts of words or open chromatin.
	TFIDF
)

// Preparation says how the values of a view were changed after they were read: first holes are filled, then values are
// transformed. It has what was learned from the training samples, so that new samples change in the same way.
type Preparation struct {
	Impute    Impute
	Transform Transform
	Fill      []float64 // mean or median of each feature in place of NaN; nil without Impute
	Rows      []float64 // training rows for ImputeNeighbors, row-major, NaN where they have holes; else nil
	IDF       []float64 // log(1 + n/m) of each feature; nil without TFIDF
	LeaveOut  []string  // names in Options.LeaveOut of the training, for Options.LeftOut
}

// String names the preparation, for example "mean, log1p"; "" if there is none.
func (p *Preparation) String() string {
	switch {
	case p == nil || p.Impute == NoImpute && p.Transform == NoTransform:
		return ""
	case p.Transform == NoTransform:
		return p.Impute.String()
	case p.Impute == NoImpute:
		return p.Transform.String()
	}
	return p.Impute.String() + ", " + p.Transform.String()
}

// apply prepares view v.
func (p *Preparation) apply(s *Set, v int) error {
	view := &s.Views[v]
	if p == nil {
		return nil
	}
	if err := p.Fits(v, view.Name, view.Cols); err != nil {
		return err
	}
	if p.Fill != nil {
		if err := p.fill(s, v); err != nil {
			return err
		}
	}
	view.Prepared = p
	if p.Transform == NoTransform {
		return nil
	}
	s.Reading.Notes = append(s.Reading.Notes, p.transformNote(view.Name))
	return rowsBetween(s, v, 0, view.Rows, func(i int, columns []int32, x []float64) error {
		return p.transformRow(view.Name, i, x, columns, view.Cols)
	})
}

// Fits returns an error if view v of some features cannot be prepared so.
func (p *Preparation) Fits(v int, name string, features int) error {
	if p == nil || (p.Fill == nil || len(p.Fill) == features) && (p.IDF == nil || len(p.IDF) == features) {
		return nil
	}
	return fmt.Errorf("dataset: view %d (%s) has %s, in the model it has %d: give the views in the order of the "+
		"model, with the features of the training", v, name, textfile.Count(features, "feature"), max(len(p.Fill), len(p.IDF)))
}

func (p *Preparation) transformNote(view string) string {
	return fmt.Sprintf("%s: values are transformed by %v", view, p.Transform)
}

// transformRow transforms the values of row i of a view of d features; those that it does not list are zero.
func (p *Preparation) transformRow(view string, i int, x []float64, columns []int32, d int) error {
	if p.Transform == NoTransform {
		return nil
	}
	if k := slices.IndexFunc(x, func(a float64) bool { return a < 0 }); k >= 0 {
		return fmt.Errorf("dataset: view %s has %g in row %d, column %d (from 0): %v is for counts, which are not negative",
			view, x[k], i, featureOf(columns, k), p.Transform)
	}
	p.transform(x, columns, d)
	return nil
}

// fill puts values in place of NaN, and notes how many.
func (p *Preparation) fill(s *Set, v int) error {
	const block = 64 // rows
	view := &s.Views[v]
	holes, had := make([]int, view.Rows), make([]atomic.Bool, view.Cols)
	err := parallel.For(context.Background(), 0, (view.Rows+block-1)/block, func(_, b int) error {
		return rowsBetween(s, v, b*block, min((b+1)*block, view.Rows), func(i int, columns []int32, x []float64) error {
			p.fillRow(x, columns, func(j int) {
				holes[i]++
				had[j].Store(true)
			})
			if holes[i] == view.Cols {
				return ofView(view.Name, onlyNaN(i))
			}
			return nil
		})
	})
	sum, columns := 0, 0
	for _, n := range holes {
		sum += n
	}
	for j := range had {
		if had[j].Load() {
			columns++
		}
	}
	s.Reading.Notes = p.fillNote(s.Reading.Notes, view.Name, sum, columns, view.Rows, view.Cols)
	return err
}

// fillNote adds a note on the holes that are filled in some features of a view of n×d values.
func (p *Preparation) fillNote(notes []string, view string, holes, features, n, d int) []string {
	if holes == 0 {
		return notes
	}
	return append(notes, fmt.Sprintf("%s: missing values are filled with the %s: %d in %d of %d features (%.2g %% of the "+
		"values)", view, p.filledWith(), holes, features, d, 100*float64(holes)/(float64(n)*float64(d))))
}

func onlyNaN(row int) error {
	return fmt.Errorf("has only NaN in row %d (from 0): mark the view as absent (Options.MissingRows)", row)
}

// ofView puts the name of a view before an error, unless it names a file already.
func ofView(view string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "dataset: ") {
		return err
	}
	return fmt.Errorf("dataset: view %s %w", view, err)
}

// filledWith says in a note with what holes are filled.
func (p *Preparation) filledWith() string {
	if p.Impute == ImputeNeighbors {
		return fmt.Sprintf("mean of the %d nearest training samples", nearest)
	}
	return p.Impute.String() + " of the training samples"
}

// transform changes the values of a row in place; those that it does not list are zero.
func (p *Preparation) transform(x []float64, columns []int32, d int) {
	sum, logs := 0.0, 0.0
	for _, a := range x {
		sum, logs = sum+a, logs+math.Log1p(a)
	}
	g := math.Exp(logs / float64(d))
	for k, a := range x {
		switch {
		case a == 0:
		case p.Transform == CLR:
			x[k] = math.Log1p(a / g)
		case p.Transform == TFIDF:
			x[k] = math.Log1p(1e4*a/sum) * p.IDF[featureOf(columns, k)]
		default:
			x[k] = math.Log1p(a)
		}
	}
}

// rowsBetween gives the values of each present row of view v from lo to hi−1, of a sparse view its entries, to change, and keeps
// the changes.
func rowsBetween(s *Set, v, lo, hi int, change rowVisitor) error {
	view := &s.Views[v]
	buffer, c := make([]float64, view.Cols), view.Sparse
	for i := lo; i < hi; i++ {
		if s.Present != nil && !s.Present[i][v] {
			continue
		}
		lo, hi := i*view.Cols, (i+1)*view.Cols
		f32, f64 := view.Float32, view.Float64
		var columns []int32
		if c != nil {
			lo, hi, f32, f64 = c.RowPtr[i], c.RowPtr[i+1], c.Float32, c.Float64
			columns = c.Col[lo:hi]
		}
		x := buffer[:hi-lo]
		if f64 != nil {
			copy(x, f64[lo:hi])
		} else {
			for k, a := range f32[lo:hi] {
				x[k] = float64(a)
			}
		}
		if err := change(i, columns, x); err != nil {
			return err
		}
		if f64 != nil {
			copy(f64[lo:hi], x)
			continue
		}
		for k, a := range x {
			f32[lo+k] = float32(a)
		}
	}
	return nil
}

// prepare prepares the views as the options ask for, by what it learns from the present rows.
func (r *rawSet) prepare(o *Options) error {
	by, err := o.Preparations(lists.Texts(r.set.Views, func(v View) string { return v.Name }))
	if err != nil {
		return err
	}
	for v, p := range by {
		view := &r.set.Views[v]
		if view.Prepared = p; p.String() == "" {
			continue
		}
		if err := r.lim.Take("what prepares a view", 16*int64(view.Cols)); err != nil {
			return r.vars[v].wrap(err)
		}
		if o.Impute != NoImpute {
			if err := r.learnFill(v, p); err != nil {
				return r.vars[v].wrap(err)
			}
			if err := p.fill(r.set, v); err != nil {
				return err
			}
		}
		if p.Transform == TFIDF {
			p.IDF = inverse(view.Cols, r.rows(v))
		}
		if err := p.apply(r.set, v); err != nil {
			return err
		}
	}
	return nil
}

// rows returns the present rows of view v.
func (r *rawSet) rows(v int) presentRows {
	return func(visit rowVisitor) error { return rowsBetween(r.set, v, 0, r.set.Views[v].Rows, visit) }
}

// learnFill finds what fills the holes of view v.
func (r *rawSet) learnFill(v int, p *Preparation) error {
	view := &r.set.Views[v]
	var keep []int
	switch p.Impute {
	case ImputeMedian:
		return r.learnMedians(v, p)
	case ImputeNeighbors:
		keep = keptRows(view.Rows, view.Cols, func(i int) bool { return r.set.Present == nil || r.set.Present[i][v] })
		if err := r.lim.Take("rows that fill holes", 8*int64(len(keep))*int64(view.Cols)); err != nil {
			return err
		}
	}
	_, _, err := p.learnMeans(view.Cols, keep, r.rows(v))
	return err
}

// fillValues is about how many values learnMedians holds.
const fillValues = 1 << 21

// learnMedians finds the median of every feature over the present rows that have a value in it.
func (r *rawSet) learnMedians(v int, p *Preparation) error {
	view := &r.set.Views[v]
	p.Fill = make([]float64, view.Cols)
	block := max(1, min(view.Cols, fillValues/max(view.Rows, 1)))
	held := 8 * int64(block) * int64(view.Rows)
	if err := r.lim.Take("the values of some features", held); err != nil {
		return err
	}
	defer r.lim.Give(held)
	values := make([][]float64, block)
	for lo := 0; lo < view.Cols; lo += block {
		if err := r.lim.Err(); err != nil {
			return err
		}
		for k := range values {
			values[k] = values[k][:0]
		}
		hi := min(lo+block, view.Cols)
		stored, rows := make([]int, block), 0
		for i := range view.Rows {
			if r.set.Present != nil && !r.set.Present[i][v] {
				continue
			}
			rows++
			view.entriesBetween(i, lo, hi, func(j int, x float64) {
				if stored[j-lo]++; !math.IsNaN(x) {
					values[j-lo] = append(values[j-lo], x)
				}
			})
		}
		for j := lo; j < hi; j++ {
			x := append(values[j-lo], make([]float64, rows-stored[j-lo])...) // zeros of a sparse view
			if len(x) == 0 {
				return noFill(j)
			}
			slices.Sort(x)
			p.Fill[j] = (x[(len(x)-1)/2] + x[len(x)/2]) / 2
			values[j-lo] = x
		}
	}
	return nil
}

// noFill is the error that a column has no value to learn from.
func noFill(column int) error {
	return fmt.Errorf("has only NaN in column %d (from 0), so that nothing can fill it: leave the column out", column)
}

// rowVisitor takes the values of row i, of a sparse view its entries. columns has the feature of each; nil: x has all in order.
type rowVisitor func(i int, columns []int32, x []float64) error

// featureOf is the feature of value k of a row.
func featureOf(columns []int32, k int) int {
	if columns == nil {
		return k
	}
	return int(columns[k])
}

// presentRows visits the present rows of a view in their order.
type presentRows func(visit rowVisitor) error

// learnMeans finds the mean of each of d features over the rows that have a value in it, and keeps the rows that keep lists. It
// returns how many values are missing, and in how many features.
func (p *Preparation) learnMeans(d int, keep []int, each presentRows) (holes, features int, err error) {
	sums, missing, rows := make([]float64, d), make([]int, d), 0
	p.Rows = slices.Grow(p.Rows, len(keep)*d)
	err = each(func(i int, columns []int32, x []float64) error {
		rows++
		for k, a := range x {
			switch j := featureOf(columns, k); {
			case a-a == 0:
				sums[j] += a
			case a != a:
				missing[j]++
			default:
				return fmt.Errorf("is infinite in row %d, column %d (from 0)", i, j)
			}
		}
		if len(x) == d && wholly(x) {
			return onlyNaN(i)
		}
		if len(keep) > 0 && keep[0] == i {
			keep = keep[1:]
			p.Rows = append(p.Rows, make([]float64, d)...)
			for k, a := range x {
				p.Rows[len(p.Rows)-d+featureOf(columns, k)] = a
			}
		}
		return nil
	})
	for j, m := range missing {
		if m == rows && err == nil {
			err = noFill(j)
		}
		sums[j] /= float64(rows - m)
		if holes += m; m > 0 {
			features++
		}
	}
	p.Fill = sums
	return holes, features, err
}

// inverse returns log(1 + n/m) of each of d features: n rows, m of them not zero there.
func inverse(d int, each presentRows) []float64 {
	count, n := make([]float64, d), 0.0
	// Views in memory give no error.
	_ = each(func(_ int, columns []int32, x []float64) error {
		n++
		for k, a := range x {
			if a != 0 {
				count[featureOf(columns, k)]++
			}
		}
		return nil
	})
	return idf(count, n)
}

// idf returns log(1 + n/m) of each count m.
func idf(count []float64, n float64) []float64 {
	for j, m := range count {
		count[j] = math.Log1p(n / max(m, 1))
	}
	return count
}
