package dataset

import (
	"context"
	"errors"
	"fmt"

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
	x := make([]float64, d)
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
			r.By.fillRow(x, nil, func(j int) {
				x[j] = float64(float32(x[j]))
				holes++
			})
			if holes == d {
				return ofView(r.Name, onlyNaN(first+i))
			}
		}
		if err := r.By.transformRow(r.Name, first+i, x, nil, d); err != nil {
			return err
		}
		for k, a := range x {
			row[k] = float32(a)
		}
	}
	return nil
}

// wholly says whether a row is NaN in all columns.
func wholly[T float32 | float64](row []T) bool {
	return !slices.ContainsFunc(row, func(a T) bool { return a == a })
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
	n, d := r.Dims()
	var keep []int
	if r.By.Impute == ImputeNeighbors {
		keep = keptRows(n, d, func(i int) bool { return r.Present == nil || r.Present(i) })
	}
	holes, features, err := r.By.learnMeans(d, keep, r.rows(ctx, r.RowReader))
	return r.By.fillNote(nil, r.Name, holes, features, n, d), ofView(r.Name, err)
}

// rows returns the present rows, as from reads them.
func (r *PreparedRows) rows(ctx context.Context, from RowReader) presentRows {
	return func(visit rowVisitor) error {
		_, d := r.Dims()
		x := make([]float64, d)
		return r.each(ctx, from, func(i int, row []float32) error {
			for k, a := range row {
				x[k] = float64(a)
			}
			return visit(i, nil, x)
		})
	}
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
