package view

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
)

// CSR holds the rows of a sparse view: the entries of row i are Ptr[i] ≤ k < Ptr[i+1]. Their columns increase.
type CSR struct {
	Ptr  []int
	Cols []int32
	F32  []float32 // one of the two
	F64  []float64
}

// Value returns entry k.
func (s *CSR) Value(k int) float64 {
	if s.F32 != nil {
		return float64(s.F32[k])
	}
	return s.F64[k]
}

// Check reports what is wrong with all but the values of n rows of d columns.
func (s *CSR) Check(n, d, values int) error {
	switch {
	case n < 0 || d < 0 || d > math.MaxInt32:
		return fmt.Errorf("a sparse view cannot be %d×%d", n, d)
	case len(s.Ptr) != n+1:
		return fmt.Errorf("%d row pointers for %d rows, want %d", len(s.Ptr), n, n+1)
	case len(s.Cols) != values:
		return fmt.Errorf("%d columns for %d values", len(s.Cols), values)
	case s.Ptr[0] != 0 || s.Ptr[n] != values:
		return fmt.Errorf("the row pointers go from %d to %d, want 0 to %d, the number of values", s.Ptr[0], s.Ptr[n], values)
	}
	for i := range n {
		if s.Ptr[i+1] < s.Ptr[i] || s.Ptr[i+1] > values {
			return Wrong(-1, i,
				"the pointer after row %d is %d, that before is %d, and there are %d values",
				i, s.Ptr[i+1], s.Ptr[i], values,
			)
		}
		last := int32(-1)
		for _, j := range s.Cols[s.Ptr[i]:s.Ptr[i+1]] {
			if j < 0 || int(j) >= d {
				return Wrong(-1, i, "row %d has column %d, want 0 to %d", i, j, d-1)
			}
			if j <= last {
				return Wrong(-1, i, "row %d has column %d after column %d; they must increase", i, j, last)
			}
			last = j
		}
	}
	return nil
}

// Row returns the values of row i in float64, in buf, and their columns.
func (s *CSR) Row(i int, buf []float64) ([]int32, []float64) {
	lo, hi := s.Ptr[i], s.Ptr[i+1]
	buf = buf[:0]
	for k := lo; k < hi; k++ {
		buf = append(buf, s.Value(k))
	}
	return s.Cols[lo:hi], buf
}

// Square returns the sum of the squares of row i.
func (s *CSR) Square(i int) float64 {
	lo, hi := s.Ptr[i], s.Ptr[i+1]
	if s.F32 != nil {
		return kernel.SumSquares(s.F32[lo:hi], 0)
	}
	return kernel.SumSquares(s.F64[lo:hi], 0)
}

// Compact returns row pointers and columns without the rows that are not present; those given, if nothing is in them.
func (s *CSR) Compact(present []bool) (ptr []int, cols []int32) {
	absent := 0
	for i := range len(s.Ptr) - 1 {
		if !present[i] {
			absent += s.Ptr[i+1] - s.Ptr[i]
		}
	}
	if absent == 0 {
		return s.Ptr, s.Cols
	}
	ptr, cols = make([]int, 1, len(s.Ptr)), make([]int32, 0, len(s.Cols)-absent)
	for i := range len(s.Ptr) - 1 {
		if present[i] {
			cols = append(cols, s.Cols[s.Ptr[i]:s.Ptr[i+1]]...)
		}
		ptr = append(ptr, len(cols))
	}
	return ptr, cols
}

func (s *CSR) Window(lo, hi int) *CSR {
	first, end := s.Ptr[lo], s.Ptr[hi]
	out := &CSR{Ptr: make([]int, hi-lo+1), Cols: s.Cols[first:end]}
	for i := range out.Ptr {
		out.Ptr[i] = s.Ptr[lo+i] - first
	}
	if s.F32 != nil {
		out.F32 = s.F32[first:end]
	} else {
		out.F64 = s.F64[first:end]
	}
	return out
}

// appendRow appends row i as a 2, the number of its values, and every column with its value.
func (s *CSR) appendRow(b []byte, i int) []byte {
	b = binary.LittleEndian.AppendUint64(append(b, 2), uint64(s.Ptr[i+1]-s.Ptr[i]))
	for k := s.Ptr[i]; k < s.Ptr[i+1]; k++ {
		b = binary.LittleEndian.AppendUint32(b, uint32(s.Cols[k]))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(s.Value(k)))
	}
	return b
}
