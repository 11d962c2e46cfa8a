package view

import (
	"context"
	"fmt"
	"slices"

	"github.com/largemvc/largemvc/internal/ranks"
)

// Gather gives every rank of a group the rows that each of them has of a view, n together, in memory.
func Gather(ctx context.Context, g *ranks.Group, index int, x View, n int) (View, error) {
	x, err := x.InMemory(ctx, index, 0, x.Rows, nil)
	if err != nil {
		return x, err
	}
	out := View{Name: x.Name, Rows: n, Cols: x.Cols, Features: x.Features, Prepared: x.Prepared}
	what := fmt.Sprintf("the rows of view %d", index)
	present := make([]uint8, x.Rows)
	for i := range present {
		if x.Has(i) {
			present[i] = 1
		}
	}
	if present, err = ranks.GatherAll(g, "the mask of a view", present, n); err != nil {
		return out, err
	}
	if slices.Contains(present, 0) {
		out.Present = make([]bool, n)
		for i, p := range present {
			out.Present[i] = p != 0
		}
	}
	switch {
	case x.Sparse != nil:
		out.Sparse, err = gatherSparse(g, what, x.Sparse, n)
	case x.F32 != nil:
		out.F32, err = ranks.GatherAll(g, what+" in float32", x.F32, n*x.Cols)
	default:
		own := x.F64
		if own == nil {
			own = make([]float64, x.Rows*x.Cols)
			for i := range x.Rows {
				x.Row(i, own[i*x.Cols:(i+1)*x.Cols])
			}
		}
		out.F64, err = ranks.GatherAll(g, what+" in float64", own, n*x.Cols)
	}
	return out, err
}

func gatherSparse(g *ranks.Group, what string, x *CSR, n int) (*CSR, error) {
	counts := make([]int, len(x.Ptr)-1)
	for i := range counts {
		counts[i] = x.Ptr[i+1] - x.Ptr[i]
	}
	counts, err := ranks.GatherAll(g, what+", sparse", counts, n)
	if err != nil {
		return nil, err
	}
	out := &CSR{Ptr: make([]int, n+1)}
	for i, c := range counts {
		out.Ptr[i+1] = out.Ptr[i] + c
	}
	entries := out.Ptr[n]
	if out.Cols, err = ranks.GatherAll(g, what+", their columns", x.Cols, entries); err != nil {
		return nil, err
	}
	if x.F32 != nil {
		out.F32, err = ranks.GatherAll(g, what+" in float32", x.F32, entries)
		if out.F32 == nil {
			out.F32 = []float32{}
		}
		return out, err
	}
	out.F64, err = ranks.GatherAll(g, what+" in float64", x.F64, entries)
	return out, err
}
