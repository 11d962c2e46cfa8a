package view

import (
	"context"
	"slices"

	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// Only returns the view of the samples of all ranks; rows with the given numbers alone can be looked at. Every rank has
// these then.
func (v View) Only(ctx context.Context, g *ranks.Group, numbers []int, workers int) (*Some, error) {
	some := slices.Compact(slices.Sorted(slices.Values(numbers)))
	has, err := rows.CollectBits(g, "which of some samples have a view", v.Rows, some, v.Has)
	if err != nil {
		return nil, err
	}
	out, there := &Some{at: make(map[int]int, len(some))}, some[:0]
	for k, i := range some {
		if has[k] {
			out.at[i] = len(there)
			there = append(there, i)
		}
	}
	held, err := rows.Collect(ctx, g, "some rows of a view", []rows.Matrix[float64]{rowsOf{View: v}}, there, workers)
	if err != nil {
		return nil, err
	}
	out.rows = held[0]
	return out, nil
}

// rowsOf is the rows of a view, for those who take them one by one.
type rowsOf struct {
	rows.Matrix[float64] // nil: what it does not have is not called
	View
}

func (r rowsOf) Dims() (int, int) { return r.View.Rows, r.Cols }

func (r rowsOf) Row(i int, dst []float64) { r.View.Row(i, dst) }

// Some is some rows of a view.
type Some struct {
	at   map[int]int // of the samples that have it
	rows *rows.Dense[float64]
}

// Has says whether sample i is one of them and has the view.
func (s *Some) Has(i int) bool {
	_, has := s.at[i]
	return has
}

// Row writes its row to dst.
func (s *Some) Row(i int, dst []float64) { s.rows.Row(s.at[i], dst) }
