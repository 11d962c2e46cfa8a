package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/comm"
)

// rowRange are the rows from lo to hi−1. The zero value stands for all.
type rowRange struct{ lo, hi int }

// set takes FIRST:END.
func (r *rowRange) set(s string) error {
	first, end, ok := strings.Cut(s, ":")
	lo, wrong := strconv.Atoi(first)
	hi, bad := strconv.Atoi(end)
	if !ok || wrong != nil || bad != nil || lo < 0 || hi <= lo {
		return errors.New("must be FIRST:END with 0 ≤ FIRST < END, for example 0:1000 for the first thousand rows")
	}
	*r = rowRange{lo, hi}
	return nil
}

// share leaves in the input only the samples of a range, and returns the rows of this process among them.
func (in *input) share(w world, r rowRange) (own rowRange, err error) {
	if r.hi > in.samples {
		return own, usagef("predict: -rows %d:%d is beyond the %d samples of the data", r.lo, r.hi, in.samples)
	}
	r.hi = cmp.Or(r.hi, in.samples)
	if in.samples = r.hi - r.lo; in.labels != nil {
		in.labels = in.labels[r.lo:r.hi]
	}
	lo, hi, err := comm.Share(in.samples, w.Rank(), w.Size())
	return rowRange{r.lo + lo, r.lo + hi}, err
}

// placed says of an error in a range where its row 0 is.
func (r rowRange) placed(err error) error {
	if err == nil || r.lo == 0 {
		return err
	}
	return fmt.Errorf("rows %d:%d, row 0 being row %[1]d of the data: %[3]w", r.lo, r.hi, err)
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
