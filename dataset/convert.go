package dataset

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// scratchFile is a file that lives no longer than the set that made it. Where the system lets it, its name is gone as soon as
// it is open, so that a process which is killed leaves nothing behind.
type scratchFile struct {
	*os.File
	nameless bool
}

func newScratchFile(folder string) (*scratchFile, error) {
	f, err := os.CreateTemp(folder, "largemvc-rows-*")
	if err != nil {
		return nil, fmt.Errorf("cannot be converted in the folder %s: %w", folder, err)
	}
	return &scratchFile{f, os.Remove(f.Name()) == nil}, nil // where that fails, close removes it
}

func (f *scratchFile) close() error {
	err := f.Close()
	if f.nameless {
		return err
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// written explains an error of writing to the file.
func (f *scratchFile) written(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot be converted in %s, which may lack room for it: %w", f.Name(), err)
}

// transposeBytes is the memory that a transposition holds (bytes).
const transposeBytes = 64 << 20

// convert writes a variable, whose rows do not lie one after another, to a file where they do, and has r read that. r.from and
// r.at say where the variable's values lie one after another, in storage order, if they do.
func (s *RowSet) convert(ctx context.Context, v *variable, r *Rows, rows int, turned bool, folder string) error {
	if r.from == nil {
		f, err := newScratchFile(folder)
		if err != nil {
			return err
		}
		s.made = append(s.made, f)
		if err := copyValues(ctx, v, f, rows*r.width); err != nil {
			return err
		}
		r.given, r.from, r.at, r.typ = nil, f, 0, elem.Type{Kind: elem.Float32, Big: !littleEndian}
	}
	if !turned || r.width == 1 || rows == 1 {
		return nil
	}
	to, err := newScratchFile(folder)
	if err != nil {
		return err
	}
	s.made = append(s.made, to)
	r.byColumns = true
	if err := transpose(ctx, r, to, rows); err != nil {
		return err
	}
	r.byColumns = false
	if f, ok := r.from.(*scratchFile); ok {
		if err := s.drop(f); err != nil {
			return err
		}
	}
	r.given, r.from, r.at, r.typ = nil, to, 0, elem.Type{Kind: elem.Float32, Big: !littleEndian}
	return nil
}

// drop closes a file that was made and is not read any more.
func (s *RowSet) drop(f *scratchFile) error {
	s.made = slices.DeleteFunc(s.made, func(made *scratchFile) bool { return made == f })
	return f.close()
}

// copyValues writes the values of a variable to f as float32, in storage order.
func copyValues(ctx context.Context, v *variable, f *scratchFile, total int) error {
	if err := v.prove(false); err != nil {
		return err
	}
	if err := f.written(f.Truncate(4 * int64(total))); err != nil { // values that nothing was stored for are zero
		return err
	}
	w := bufio.NewWriterSize(nil, 1<<20)
	next := -1 // where w writes
	var x []float32
	err := v.stream(func(off int, raw []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := len(raw) / v.typ.Size()
		if off < 0 || n > total-off {
			return errMore
		}
		if k, digits, huge := elem.Huge(raw, v.typ); huge {
			return hugeError(digits, off+k)
		}
		x = slices.Grow(x[:0], n)[:n]
		elem.Decode(x, raw, v.typ)
		if off != next {
			if err := f.written(w.Flush()); next >= 0 && err != nil {
				return err
			}
			w.Reset(io.NewOffsetWriter(f, 4*int64(off)))
		}
		next = off + n
		return f.written(writeFloats(w, x))
	})
	if err != nil || next < 0 {
		return err
	}
	return f.written(w.Flush())
}

// transpose writes the values of r, which lie column after column, to a file row after row.
func transpose(ctx context.Context, r *Rows, to *scratchFile, rows int) error {
	strip := min(rows, max(1, transposeBytes/8/r.width))
	columns, x := make([]float32, strip), make([]float32, strip*r.width)
	w := bufio.NewWriterSize(to, 1<<20)
	for lo := 0; lo < rows; lo += strip {
		n := min(strip, rows-lo)
		for j := range r.width {
			if err := r.read(ctx, j*rows+lo, columns[:n]); err != nil {
				return err
			}
			for i, a := range columns[:n] {
				x[i*r.width+j] = a
			}
		}
		if err := writeFloats(w, x[:n*r.width]); err != nil {
			return to.written(err)
		}
	}
	return to.written(w.Flush())
}

// writeFloats writes numbers as they are in memory.
func writeFloats(w io.Writer, x []float32) error {
	_, err := w.Write(bytesOfFloats(x))
	return err
}
