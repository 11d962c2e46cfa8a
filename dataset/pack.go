package dataset

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// Numbers selects the type of the values in the files that OpenRows converts.
type Numbers uint8

// The numbers.
const (
	// Float32Numbers take 4 bytes: the values of the file as float32.
	Float32Numbers Numbers = iota
	// BFloat16Numbers take 2 bytes: float32 rounded to 8 significant bits. Whole numbers up to 256 are exact.
	BFloat16Numbers
	// Uint8Numbers take 1 byte: the values of a column are rounded to 256 levels from its lowest to its highest value. Whole
	// numbers are exact if they are at most 255 apart. A column with NaN, of absent rows, has one level less.
	Uint8Numbers
)

// String is the option's name on the command line: float32, bfloat16 or uint8.
func (n Numbers) String() string { return nameOf(n, "float32", "bfloat16", "uint8") }

// levels are how the bytes of a column stand for values: base + step·byte, and NaN for one byte where the column has that.
type levels struct {
	base, step float32
	nan        bool // 255 is NaN
}

// nanLevel is the byte of NaN.
const nanLevel = 255

// at is the value of a byte.
func (l *levels) at(b byte) float32 {
	if l.nan && b == nanLevel {
		return float32(math.NaN())
	}
	return l.base + l.step*float32(b)
}

// of is the byte of a value.
func (l *levels) of(x float32) byte {
	switch {
	case x != x:
		return nanLevel
	case l.step == 0:
		return 0
	}
	return byte(min(max(math.RoundToEven((float64(x)-float64(l.base))/float64(l.step)), 0), float64(l.top())))
}

// top is the highest byte of a number.
func (l *levels) top() int {
	if l.nan {
		return nanLevel - 1
	}
	return nanLevel
}

// pack stores the values of r, which lie row after row in a file of OpenRows' own, in fewer bytes, in another one.
func (s *RowSet) pack(ctx context.Context, r *Rows, how Numbers, folder string) error {
	if how == Float32Numbers {
		return nil
	}
	var found []levels
	if how == Uint8Numbers {
		var err error
		if found, err = r.measure(ctx); err != nil {
			return err
		}
	}
	to, err := newScratchFile(folder)
	if err != nil {
		return err
	}
	s.made = append(s.made, to)
	w := bufio.NewWriterSize(to, 1<<20)
	var out []byte
	err = r.eachPiece(ctx, func(x []float32) error {
		out = out[:0]
		for i, a := range x {
			if how == Uint8Numbers {
				out = append(out, found[i%r.width].of(a))
			} else {
				out = binary.LittleEndian.AppendUint16(out, bfloat16(a))
			}
		}
		_, err := w.Write(out)
		return to.written(err)
	})
	if err == nil {
		err = to.written(w.Flush())
	}
	if err != nil {
		return err
	}
	before := r.from.(*scratchFile)
	r.from, r.at, r.levels, r.typ = to, 0, found, elem.Type{Kind: elem.BFloat16}
	if how == Uint8Numbers {
		r.typ.Kind = elem.Uint8
	}
	return s.drop(before)
}

// measure finds the levels of each column.
func (r *Rows) measure(ctx context.Context) ([]levels, error) {
	out := make([]levels, r.width)
	low, high, whole := make([]float32, r.width), make([]float32, r.width), make([]bool, r.width)
	for j := range out {
		low[j], high[j], whole[j] = float32(math.Inf(1)), float32(math.Inf(-1)), true
	}
	first := 0
	err := r.eachPiece(ctx, func(x []float32) error {
		for i, a := range x {
			j := i % r.width
			switch {
			case a != a:
				out[j].nan = true
			case math.IsInf(float64(a), 0):
				return fmt.Errorf("%s has %v at row %d, column %d, which uint8 cannot hold", r.variable, a, first+i/r.width, j)
			default:
				low[j], high[j] = min(low[j], a), max(high[j], a)
				whole[j] = whole[j] && a == float32(math.Trunc(float64(a)))
			}
		}
		first += len(x) / r.width
		return nil
	})
	for j := range out {
		l, top := &out[j], float64(out[j].top())
		span := float64(high[j]) - float64(low[j])
		switch {
		case low[j] > high[j]: // nothing but NaN
			continue
		case span == 0:
		case whole[j] && span <= top:
			l.step = 1
		default:
			l.step = float32(span / top)
		}
		l.base = low[j]
	}
	return out, err
}

// eachPiece calls f with the values of r in order, some whole rows at a time.
func (r *Rows) eachPiece(ctx context.Context, f func(x []float32) error) error {
	step := max(1, pieceBytes/4/r.width)
	x := make([]float32, min(step, r.rows)*r.width)
	for lo := 0; lo < r.rows; lo += step {
		part := x[:min(step, r.rows-lo)*r.width]
		if err := r.read(ctx, lo*r.width, part); err != nil {
			return err
		}
		if err := f(part); err != nil {
			return err
		}
	}
	return nil
}

// bfloat16 is the upper half of a number that is rounded to the nearest, to an even one of two.
func bfloat16(x float32) uint16 {
	b := math.Float32bits(x)
	if x != x {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
