package dataset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/textfile"
)

// RowReader has rows of numbers that are read when they are asked for. [Rows] and every largemvc.RowSource are such.
type RowReader interface {
	Dims() (n, d int)
	ReadRows(ctx context.Context, first int, dst []float32) error
}

// PreparedRows prepares the rows of a view as they are read.
type PreparedRows struct {
	RowReader
	Name string // of the view, for errors
	By   *Preparation
	// Present says which rows the sample has; nil: all. Other rows stay as they are.
	Present func(i int) bool
	// MissingRows leaves rows of NaN alone as they are.
	MissingRows bool
}

// ReadRows reads rows and prepares them, with the bits of a view that is held as float32.
func (r *PreparedRows) ReadRows(ctx context.Context, first int, dst []float32) error {
	if err := r.RowReader.ReadRows(ctx, first, dst); err != nil {
		return err
	}
	_, d := r.Dims()
	x, column := make([]float64, d), func(k int) int { return k }
	for i := 0; i < len(dst)/d; i++ {
		row := dst[i*d : (i+1)*d]
		if r.Present != nil && !r.Present(first+i) || r.MissingRows && wholly(row) {
			continue
		}
		for k, a := range row {
			x[k] = float64(a)
		}
		if r.By.Fill != nil {
			holes := 0
			r.By.fillRow(x, column, func(j int) {
				x[j] = float64(float32(x[j]))
				holes++
			})
			if holes == d {
				return onlyNaN(r.Name, first+i)
			}
		}
		if err := r.By.transformRow(r.Name, first+i, x, column, d); err != nil {
			return err
		}
		for k, a := range x {
			row[k] = float32(a)
		}
	}
	return nil
}

// wholly says whether a row is NaN in all columns.
func wholly(row []float32) bool {
	return !slices.ContainsFunc(row, func(a float32) bool { return a == a })
}

// errMedian is about a median of values that are not in memory at once.
var errMedian = errors.New("dataset: Options.Impute median needs all values in memory and in one file: take mean or neighbors")

// Learn completes r.By, which has the kinds, by what it learns from the present rows in one to three passes. The result has the
// bits of [Open]. It returns notes on what is changed.
func (r *PreparedRows) Learn(ctx context.Context) (notes []string, err error) {
	if r.By.Impute == ImputeMedian {
		return nil, errMedian
	}
	if r.MissingRows {
		if err := r.findPresent(ctx); err != nil {
			return nil, err
		}
	}
	if r.By.Impute != NoImpute {
		if notes, err = r.learnFill(ctx); err != nil {
			return nil, err
		}
	}
	if r.By.Transform == TFIDF {
		filled := *r
		filled.By = &Preparation{Impute: r.By.Impute, Fill: r.By.Fill, Rows: r.By.Rows}
		_, d := r.Dims()
		count, n := make([]float64, d), 0.0
		err = filled.each(ctx, &filled, func(_ int, row []float32) error {
			n++
			for k, a := range row {
				if a != 0 {
					count[k]++
				}
			}
			return nil
		})
		r.By.IDF = idf(count, n)
	}
	if r.By.Transform != NoTransform {
		notes = append(notes, r.By.transformNote(r.Name))
	}
	return notes, err
}

// findPresent takes rows of NaN alone for absent ones.
func (r *PreparedRows) findPresent(ctx context.Context) error {
	n, _ := r.Dims()
	all, before := make([]bool, n), r.Present
	err := r.each(ctx, r.RowReader, func(i int, row []float32) error {
		all[i] = !wholly(row)
		return nil
	})
	r.Present = func(i int) bool { return all[i] && (before == nil || before(i)) }
	return err
}

// learnFill finds the mean of each feature, and keeps rows for ImputeNeighbors.
func (r *PreparedRows) learnFill(ctx context.Context) ([]string, error) {
	p := r.By
	n, d := r.Dims()
	sums, counts, rows, holes := make([]float64, d), make([]int, d), 0, 0
	var keep []int
	if p.Impute == ImputeNeighbors {
		keep = keptRows(n, d, func(i int) bool { return r.Present == nil || r.Present(i) })
		p.Rows = make([]float64, 0, len(keep)*d)
	}
	err := r.each(ctx, r.RowReader, func(i int, row []float32) error {
		rows++
		for k, a := range row {
			switch {
			case math.IsInf(float64(a), 0):
				return fmt.Errorf("dataset: view %s is infinite in row %d, column %d (from 0)", r.Name, i, k)
			case a == a:
				sums[k] += float64(a)
				counts[k]++
			}
		}
		if wholly(row) {
			return onlyNaN(r.Name, i)
		}
		if len(keep) > len(p.Rows)/d && keep[len(p.Rows)/d] == i {
			for _, a := range row {
				p.Rows = append(p.Rows, float64(a))
			}
		}
		return nil
	})
	columns := 0
	for k, c := range counts {
		if c == 0 && err == nil {
			err = fmt.Errorf("dataset: view %s has only NaN in column %d (from 0), so that nothing can fill it: leave the "+
				"column out", r.Name, k)
		}
		sums[k] /= float64(c)
		if holes += rows - c; c < rows {
			columns++
		}
	}
	p.Fill = sums
	return p.fillNote(nil, r.Name, holes, columns, n, d), err
}

// each visits the present rows in their order, as from reads them.
func (r *PreparedRows) each(ctx context.Context, from RowReader, visit func(i int, row []float32) error) error {
	n, d := r.Dims()
	step := max(1, pieceBytes/4/d)
	x := make([]float32, min(step, n)*d)
	for lo := 0; lo < n; lo += step {
		part := x[:min(step, n-lo)*d]
		if err := from.ReadRows(ctx, lo, part); err != nil {
			return err
		}
		for i := range len(part) / d {
			if r.Present != nil && !r.Present(lo+i) {
				continue
			}
			if err := visit(lo+i, part[i*d:(i+1)*d]); err != nil {
				return err
			}
		}
	}
	return nil
}

func viewsError(model, given int) error {
	return fmt.Errorf("dataset: the model has %s, and the data have %d", textfile.Count(model, "view"), given)
}

// rawRows reads rows as they are in the file.
type rawRows struct{ *Rows }

func (r rawRows) ReadRows(ctx context.Context, first int, dst []float32) error {
	return r.readRaw(ctx, first, dst)
}
