package view

import (
	"context"
	"math"
	"sync/atomic"
)

// watchedRows bounds the rows of a source that are compared between reads.
const watchedRows = 4096

// steady compares rows of a source with what they were when they were read first: all of few rows, every few of many.
type steady struct {
	every int
	first int             // the row of the source that has begins with
	has   []bool          // which rows are there: others may hold anything; nil: all are
	seen  []atomic.Uint64 // hashes of the watched rows; 0: not read yet
}

// newSteady watches the rows of a source of n rows that a view has.
func newSteady(n int, v View) *steady {
	every := max((n+watchedRows-1)/watchedRows, 1)
	return &steady{every: every, first: v.First, has: v.Present, seen: make([]atomic.Uint64, n/every+1)}
}

// watches says whether a row is compared.
func (s *steady) watches(i int) bool {
	if k := i - s.first; s.has != nil && (k < 0 || k >= len(s.has) || !s.has[k]) {
		return false
	}
	return i%s.every == 0
}

// changed returns the first of the rows from first on that has other values than before, −1 for none.
func (s *steady) changed(first, cols int, values []float32) int {
	count := len(values) / cols
	for i := (first + s.every - 1) / s.every * s.every; i < first+count; i += s.every {
		if !s.watches(i) {
			continue
		}
		h := hashRow(values[(i-first)*cols : (i-first+1)*cols])
		if at := &s.seen[i/s.every]; !at.CompareAndSwap(0, h) && at.Load() != h {
			return i
		}
	}
	return -1
}

// hashRow is not 0. Zeros of both signs are the same value.
func hashRow(row []float32) uint64 {
	h := uint64(1)
	for _, x := range row {
		h = mixed(h ^ uint64(math.Float32bits(x+0)))
	}
	return h | 1
}

// checkSteady is an error where rows that were read from the source of view v differ from what they were before.
func (v View) checkSteady(s *steady, index, first int, values []float32) error {
	i := s.changed(first, v.Cols, values)
	if i < 0 {
		return nil
	}
	return Wrong(index, v.Offset+i, "%s, row %d: its source gives other values than when the row was read before; reading a row "+
		"again must give the same values", v.Label(index), v.Offset+i)
}

// readAgain is how many rows are read a second time where all are read once.
const readAgain = 16

// checkAgain reads some rows of a source again. All were read before.
func (v View) checkAgain(ctx context.Context, s *steady, index int) error {
	row := make([]float32, v.Cols)
	for k := range readAgain {
		i := v.First + k*v.Rows/readAgain
		if i = (i + s.every - 1) / s.every * s.every; i >= v.First+v.Rows || !s.watches(i) {
			continue
		}
		if err := v.read(ctx, index, i, row); err != nil {
			return err
		}
		if err := v.checkSteady(s, index, i, row); err != nil {
			return err
		}
	}
	return nil
}

// CheckSteady reads some rows of the views that are bound, all of whose rows were read before, again. Blocks of rows that are
// kept may be read once only.
func CheckSteady(ctx context.Context, views []View) error {
	for v, x := range views {
		if b, ok := x.Source.(*bound); ok && x.order == nil {
			if err := x.checkAgain(ctx, b.steady, v); err != nil {
				return err
			}
		}
	}
	return nil
}
