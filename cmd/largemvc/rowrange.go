package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
)

// rowRange is a flag.Value, FIRST:END: the rows from FIRST to END−1. The zero value stands for all.
type rowRange struct{ lo, hi int }

func (r *rowRange) String() string { return "" }

func (r *rowRange) Set(s string) error {
	first, end, ok := strings.Cut(s, ":")
	lo, wrong := strconv.Atoi(first)
	hi, bad := strconv.Atoi(end)
	if !ok || wrong != nil || bad != nil || lo < 0 || hi <= lo {
		return errors.New("must be FIRST:END with 0 ≤ FIRST < END, for example 0:1000 for the first thousand rows")
	}
	*r = rowRange{lo, hi}
	return nil
}

// window leaves in the input only the samples of a range.
func (in *input) window(set *dataset.RowSet, r rowRange) error {
	if r.hi == 0 {
		return nil
	}
	if r.hi > in.samples {
		return usagef("predict: -rows %d:%d is beyond the %d samples of the data", r.lo, r.hi, in.samples)
	}
	absent := 0
	for v, rows := range set.Views {
		x := largemvc.RowsView(&rowsBetween{rows, r}).Named(rows.Name).WithFeatures(rows.Features)
		has := make([]bool, r.hi-r.lo)
		for i := range has {
			if has[i] = in.views[v].Has(r.lo + i); !has[i] {
				absent++
			}
		}
		if set.Present != nil {
			x = x.WithPresent(has)
		}
		in.views[v] = x
	}
	in.samples = r.hi - r.lo
	in.missing = float64(absent) / float64(in.samples*len(in.views))
	if in.labels != nil {
		in.labels = in.labels[r.lo:r.hi]
	}
	return nil
}

// placed says of an error in a range where its row 0 is.
func (r rowRange) placed(err error) error {
	if err == nil || r.lo == 0 {
		return err
	}
	return fmt.Errorf("with -rows %d:%d, row 0 being row %d of the data: %w", r.lo, r.hi, r.lo, err)
}

// rowsBetween are the rows of a source in a range.
type rowsBetween struct {
	of  largemvc.RowSource
	all rowRange
}

func (r *rowsBetween) Dims() (n, d int) {
	_, d = r.of.Dims()
	return r.all.hi - r.all.lo, d
}

func (r *rowsBetween) ReadRows(ctx context.Context, first int, dst []float32) error {
	return r.of.ReadRows(ctx, r.all.lo+first, dst)
}
