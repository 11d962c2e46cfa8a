package view

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// Only returns the view of the samples of all ranks of which rows with the given numbers alone can be looked at. Every rank has
// these then. All samples must have the view.
func (v View) Only(ctx context.Context, numbers []int, workers int) (View, error) {
	some := slices.Compact(slices.Sorted(slices.Values(numbers)))
	held, err := rows.Collect(ctx, "some rows of a view", []rows.Matrix[float64]{rowsOf{View: v}}, some, workers)
	if err != nil {
		return v, err
	}
	m := &onlyRows{n: ranks.Of(ctx).Total(v.Rows), d: v.Cols, at: make(map[int]int, len(some)), rows: held[0]}
	for k, i := range some {
		m.at[i] = k
	}
	return View{Name: v.Name, Rows: m.n, Cols: v.Cols, Matrix: m}, nil
}

// rowsOf is the rows of a view, for those who take them one by one.
type rowsOf struct {
	rows.Matrix[float64] // nil: what it does not have is not called
	View
}

func (r rowsOf) Dims() (int, int) { return r.View.Rows, r.Cols }

func (r rowsOf) Row(i int, dst []float64) { r.View.Row(i, dst) }

// onlyRows is a matrix of which some rows are held.
type onlyRows struct {
	n, d int
	at   map[int]int
	rows *rows.Dense[float64]
}

func (m *onlyRows) Dims() (int, int) { return m.n, m.d }

func (m *onlyRows) At(i, j int) float64 { return m.rows.View(m.at[i])[j] }

func (m *onlyRows) T() mat.Matrix { return mat.Transpose{Matrix: m} }
