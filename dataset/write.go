package dataset

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/largemvc/largemvc/dataset/internal/elem"
	"github.com/largemvc/largemvc/dataset/internal/npy"
	"github.com/largemvc/largemvc/internal/file"
)

// Array is one array for [WriteNPZ].
type Array struct {
	Name string
	// Shape is the size of each axis; its product is the number of values. Empty: one axis over all of Data.
	Shape []int
	// Data is row-major: []float32, []float64, []int, []int64, []int32, []uint8, []bool, or []string of at most 1024
	// characters.
	Data any
}

// WriteNPZ writes arrays to a .npz file that NumPy opens, deflated where deflate is set. The file appears whole or not at
// all: it is written beside its place and renamed.
func WriteNPZ(path string, deflate bool, arrays ...Array) error {
	return writeFile(path, func(w io.Writer) error { return EncodeNPZ(w, deflate, arrays...) })
}

// EncodeNPY writes one array as NumPy's .npy, which has no name for it.
func EncodeNPY(w io.Writer, array Array) error {
	if array.Name == "" {
		array.Name = "array"
	}
	if err := array.check(); err != nil {
		return err
	}
	return array.write(w)
}

// EncodeNPZ writes arrays as a .npz archive to w.
func EncodeNPZ(w io.Writer, deflate bool, arrays ...Array) error {
	names := map[string]bool{}
	for i := range arrays {
		if err := arrays[i].check(); err != nil {
			return err
		}
		if names[arrays[i].Name] {
			return fmt.Errorf("dataset: two arrays are named %s", arrays[i].Name)
		}
		names[arrays[i].Name] = true
	}
	method := zip.Store
	if deflate {
		method = zip.Deflate
	}
	z := zip.NewWriter(w)
	for i := range arrays {
		m, err := z.CreateHeader(&zip.FileHeader{Name: arrays[i].Name + ".npy", Method: method})
		if err != nil {
			return err
		}
		if err := arrays[i].write(m); err != nil {
			return err
		}
	}
	return z.Close()
}

// form returns the element type as NumPy names it, the number of values, and a function that appends some of them as bytes. The
// type is empty where the values are of a kind that is not written.
func (a *Array) form() (descr string, n int, add func(b []byte, lo, hi int) []byte) {
	order := binary.LittleEndian
	switch x := a.Data.(type) {
	case []float32:
		return "<f4", len(x), appender(x, func(b []byte, v float32) []byte { return order.AppendUint32(b, math.Float32bits(v)) })
	case []float64:
		return "<f8", len(x), appender(x, func(b []byte, v float64) []byte { return order.AppendUint64(b, math.Float64bits(v)) })
	case []int:
		return "<i8", len(x), appender(x, func(b []byte, v int) []byte { return order.AppendUint64(b, uint64(v)) })
	case []int64:
		return "<i8", len(x), appender(x, func(b []byte, v int64) []byte { return order.AppendUint64(b, uint64(v)) })
	case []int32:
		return "<i4", len(x), appender(x, func(b []byte, v int32) []byte { return order.AppendUint32(b, uint32(v)) })
	case []uint8:
		return "|u1", len(x), func(b []byte, lo, hi int) []byte { return append(b, x[lo:hi]...) }
	case []bool:
		return "|b1", len(x), appender(x, func(b []byte, v bool) []byte {
			if v {
				return append(b, 1)
			}
			return append(b, 0)
		})
	case []string:
		width := longest(x)
		return fmt.Sprintf("<U%d", width), len(x), appender(x, func(b []byte, s string) []byte {
			end := len(b) + 4*width
			for _, r := range s {
				b = order.AppendUint32(b, uint32(r))
			}
			return append(b, make([]byte, end-len(b))...)
		})
	}
	return "", 0, nil
}

// appender returns a function that appends some of the values of x, one by one.
func appender[T any](x []T, one func(b []byte, v T) []byte) func(b []byte, lo, hi int) []byte {
	return func(b []byte, lo, hi int) []byte {
		for _, v := range x[lo:hi] {
			b = one(b, v)
		}
		return b
	}
}

func (a *Array) shape() []int {
	if len(a.Shape) > 0 {
		return a.Shape
	}
	_, n, _ := a.form()
	return []int{n}
}

func (a *Array) check() error {
	d, n, _ := a.form()
	if d == "" {
		return fmt.Errorf("dataset: array %q holds %T; slices of float32, float64, int, int64, int32, uint8, bool and string "+
			"are written", a.Name, a.Data)
	}
	if x, ok := a.Data.([]string); ok && longest(x) > maxText {
		return fmt.Errorf("dataset: array %s has a text of %d characters; at most %d are written", a.Name, longest(x), maxText)
	}
	if a.Name == "" || strings.ContainsAny(a.Name, "/\\\x00") {
		return fmt.Errorf("dataset: %q cannot name an array", a.Name)
	}
	dims := make([]int64, 0, len(a.Shape))
	for _, s := range a.shape() {
		dims = append(dims, int64(s))
	}
	if p, ok := elem.Product(math.MaxInt64, dims...); !ok || p != int64(n) {
		return fmt.Errorf("dataset: array %s has %d values for the shape %v", a.Name, n, a.Shape)
	}
	return nil
}

func (a *Array) write(w io.Writer) error {
	d, n, add := a.form()
	if err := npy.Put(w, d, a.shape()); err != nil {
		return err
	}
	var b []byte
	for lo := 0; lo < n; lo += 1 << 13 {
		b = add(b[:0], lo, min(lo+1<<13, n))
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// maxText is how many characters a text in an array may have.
const maxText = 1024

// longest is the number of characters of the longest text, at least 1.
func longest(x []string) int {
	most := 1
	for _, s := range x {
		most = max(most, utf8.RuneCountInString(s))
	}
	return most
}

// WriteNPZ writes the set so that [Open] and NumPy read it: X0, X1, …, the labels as y (the numbers in LabelNames where they
// are all whole, else the classes), ids, X0.features … where the features have names and, for incomplete data, present. A
// sparse view becomes the arrays X0.data, X0.indices, X0.indptr and X0.shape of a CSR matrix.
func (s *Set) WriteNPZ(path string, deflate bool) error {
	if err := s.consistent(); err != nil {
		return err
	}
	var arrays []Array
	for i := range s.Views {
		a, err := s.Views[i].arrays(fmt.Sprintf("X%d", i))
		if err != nil {
			return err
		}
		arrays = append(arrays, a...)
		if f := s.Views[i].Features; f != nil {
			arrays = append(arrays, Array{Name: fmt.Sprintf("X%d", i) + featuresOf, Data: f})
		}
	}
	if s.IDs != nil {
		arrays = append(arrays, Array{Name: "ids", Data: s.IDs})
	}
	if s.Labels != nil {
		arrays = append(arrays, Array{Name: "y", Data: s.labelNumbers()})
	}
	if s.Present != nil {
		flat := make([]bool, 0, len(s.Present)*len(s.Views))
		for _, row := range s.Present {
			flat = append(flat, row...)
		}
		arrays = append(arrays, Array{Name: "present", Shape: []int{len(s.Present), len(s.Views)}, Data: flat})
	}
	return WriteNPZ(path, deflate, arrays...)
}

// consistent reports what does not fit together.
func (s *Set) consistent() error {
	n := s.Samples()
	for v, x := range s.Views {
		if x.Features != nil && len(x.Features) != x.Cols {
			return fmt.Errorf("dataset: view %d has %d features and %d names of them", v, x.Cols, len(x.Features))
		}
		if x.Rows != n {
			return fmt.Errorf("dataset: view %d has %d samples, view 0 has %d", v, x.Rows, n)
		}
	}
	if s.Labels != nil && len(s.Labels) != n {
		return fmt.Errorf("dataset: %d labels for %d samples", len(s.Labels), n)
	}
	if s.IDs != nil && len(s.IDs) != n {
		return fmt.Errorf("dataset: %d ids for %d samples", len(s.IDs), n)
	}
	if s.Present != nil && len(s.Present) != n {
		return fmt.Errorf("dataset: the mask has %d rows for %d samples", len(s.Present), n)
	}
	for i, row := range s.Present {
		if len(row) != len(s.Views) {
			return fmt.Errorf("dataset: the mask has %d views for sample %d, want %d", len(row), i, len(s.Views))
		}
	}
	return nil
}

// labelNumbers are the labels as they stood in the file where those were whole numbers.
func (s *Set) labelNumbers() []int {
	numbers, taken := make([]int, len(s.LabelNames)), make(map[int]bool)
	for c, name := range s.LabelNames {
		x, err := strconv.Atoi(name)
		if err != nil || taken[x] { // 1 and 01, for one, are two classes
			return s.Labels
		}
		numbers[c], taken[x] = x, true
	}
	out := make([]int, len(s.Labels))
	for i, l := range s.Labels {
		if l < 0 || l >= len(numbers) {
			return s.Labels
		}
		out[i] = numbers[l]
	}
	return out
}

func (v *View) arrays(name string) ([]Array, error) {
	shape := []int{v.Rows, v.Cols}
	switch {
	case v.Float32 != nil:
		return []Array{{name, shape, v.Float32}}, nil
	case v.Float64 != nil:
		return []Array{{name, shape, v.Float64}}, nil
	case v.Sparse != nil:
		a := []Array{
			{name + ".indices", nil, v.Sparse.Col}, {name + ".indptr", nil, v.Sparse.RowPtr}, {name + ".shape", nil, shape},
			{name + ".data", nil, v.Sparse.Float64},
		}
		if v.Sparse.Float32 != nil {
			a[3].Data = v.Sparse.Float32
		}
		return a, nil
	}
	return nil, fmt.Errorf("dataset: view %s has no values", v.Name)
}

// Column is one column for [WriteCSV].
type Column struct {
	Name string
	// Data holds a value a line: []int, []float64, []float32, []string or []bool.
	Data any
}

// WriteCSV writes columns of equal length with a header. Floats are written with the fewest digits that give them back.
// The file appears whole or not at all.
func WriteCSV(path string, columns ...Column) error {
	return writeFile(path, func(w io.Writer) error { return EncodeCSV(w, columns...) })
}

// EncodeCSV writes columns of equal length with a header to w.
func EncodeCSV(w io.Writer, columns ...Column) error {
	if len(columns) == 0 {
		return errors.New("dataset: no column to write")
	}
	rows := -1
	cells := make([]func(line []byte, i int) []byte, len(columns))
	var line []byte
	for c := range columns {
		n := 0
		cells[c], n = columns[c].cells()
		if cells[c] == nil {
			return fmt.Errorf("dataset: column %s holds %T; slices of int, float64, float32, string and bool are written",
				columns[c].Name, columns[c].Data)
		}
		if rows >= 0 && n != rows {
			return fmt.Errorf("dataset: column %s has %d values, column %s %d", columns[c].Name, n, columns[0].Name, rows)
		}
		rows = n
		line = append(append(line, quote(columns[c].Name)...), ',')
	}
	b := bufio.NewWriterSize(w, bufferSize)
	end := func() {
		line[len(line)-1] = '\n' // in place of the last comma
		b.Write(line)
		line = line[:0]
	}
	end()
	for i := range rows {
		for _, cell := range cells {
			line = append(cell(line, i), ',')
		}
		end()
	}
	return b.Flush() // the first error of a bufio.Writer stays with it
}

// cells returns a function that appends value i, and the number of values.
func (c *Column) cells() (func(line []byte, i int) []byte, int) {
	switch x := c.Data.(type) {
	case []int:
		return func(line []byte, i int) []byte { return strconv.AppendInt(line, int64(x[i]), 10) }, len(x)
	case []float64:
		return func(line []byte, i int) []byte { return strconv.AppendFloat(line, x[i], 'g', -1, 64) }, len(x)
	case []float32:
		return func(line []byte, i int) []byte { return strconv.AppendFloat(line, float64(x[i]), 'g', -1, 32) }, len(x)
	case []string:
		return func(line []byte, i int) []byte { return append(line, quote(x[i])...) }, len(x)
	case []bool:
		return func(line []byte, i int) []byte {
			if x[i] {
				return append(line, '1')
			}
			return append(line, '0')
		}, len(x)
	}
	return nil, 0
}

func quote(s string) string {
	if s == "" || !strings.ContainsAny(s, ",;\t\"\r\n #") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// MatrixColumns returns the columns of a rows×cols row-major matrix, such as H or anchors, for WriteCSV. They are named prefix0,
// prefix1, ….
func MatrixColumns[T float32 | float64](prefix string, rows, cols int, x []T) ([]Column, error) {
	if rows < 0 || cols < 0 || (cols > 0 && len(x)/cols != rows) || len(x) != rows*cols {
		return nil, fmt.Errorf("dataset: matrix %s has %d values for %d×%d", prefix, len(x), rows, cols)
	}
	columns := make([]Column, cols)
	for j := range columns {
		c := make([]T, rows)
		for i := range c {
			c[i] = x[i*cols+j]
		}
		columns[j] = Column{prefix + strconv.Itoa(j), c}
	}
	return columns, nil
}

// writeFile writes beside path and renames, so that path holds the old content or the whole new one.
//
// What is not a file (a pipe, a terminal, /dev/stdout) is written to as it is.
func writeFile(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fileError(path, err)
		}
		if err := errors.Join(write(f), f.Close()); err != nil {
			return named(path, err)
		}
		return nil
	}
	if err := file.Replace(path, write); err != nil {
		return named(path, err)
	}
	return nil
}
