// Package testutil holds what the tests of several packages share: the reader of the golden vectors.
package testutil

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Array is one array of a golden file in C order. A scalar has an empty shape and one element.
type Array struct {
	Shape  []int
	floats []float64
	ints   []int64 // nil for an array of floats
}

// Len returns the number of elements.
func (a Array) Len() int {
	n := 1
	for _, s := range a.Shape {
		n *= s
	}
	return n
}

// Float64s returns a copy of the elements; integers are converted.
func (a Array) Float64s() []float64 {
	if a.ints == nil {
		return append([]float64(nil), a.floats...)
	}
	x := make([]float64, len(a.ints))
	for i, v := range a.ints {
		x[i] = float64(v)
	}
	return x
}

// Ints returns a copy of the elements. It panics for a float array with an element that is no integer.
func (a Array) Ints() []int {
	x := make([]int, a.Len())
	for i := range x {
		if a.ints != nil {
			x[i] = int(a.ints[i])
			continue
		}
		x[i] = int(a.floats[i])
		if float64(x[i]) != a.floats[i] {
			panic(fmt.Sprintf("testutil: element %d is %v, not an integer", i, a.floats[i]))
		}
	}
	return x
}

// LoadNPZ reads an uncompressed or deflated .npz file whose arrays are float64 or int64 in C order, and ends the test
// if it cannot.
func LoadNPZ(t testing.TB, path string) map[string]Array {
	t.Helper()
	r, err := zip.OpenReader(path)
	if err != nil {
		t.Fatalf("golden file: %v", err)
	}
	defer r.Close()
	arrays := make(map[string]Array, len(r.File))
	for _, f := range r.File {
		member, err := f.Open()
		if err != nil {
			t.Fatalf("%s: %s: %v", path, f.Name, err)
		}
		data, err := io.ReadAll(member)
		if err != nil {
			t.Fatalf("%s: %s: %v", path, f.Name, err)
		}
		a, err := parseNPY(data)
		if err != nil {
			t.Fatalf("%s: %s: %v", path, f.Name, err)
		}
		arrays[strings.TrimSuffix(f.Name, ".npy")] = a
	}
	return arrays
}

var (
	descr = regexp.MustCompile(`'descr': *'([^']*)'`)
	order = regexp.MustCompile(`'fortran_order': *(True|False)`)
	shape = regexp.MustCompile(`'shape': *\(([^)]*)\)`)
)

// parseNPY reads the NPY format, versions 1 to 3: magic, version, header length, a Python dictionary, the data.
func parseNPY(b []byte) (Array, error) {
	header, data, err := splitNPY(b)
	if err != nil {
		return Array{}, err
	}
	d, o, s := descr.FindSubmatch(header), order.FindSubmatch(header), shape.FindSubmatch(header)
	if d == nil || o == nil || s == nil {
		return Array{}, fmt.Errorf("header %q not understood", header)
	}
	dims, err := parseShape(string(s[1]))
	if err != nil {
		return Array{}, err
	}
	a := Array{Shape: dims}
	if string(o[1]) == "True" && len(a.Shape) > 1 {
		return Array{}, fmt.Errorf("array in Fortran order")
	}
	n := a.Len()
	if len(data) != 8*n {
		return Array{}, fmt.Errorf("%d bytes of data for shape %v", len(data), a.Shape)
	}
	switch string(d[1]) {
	case "<f8":
		a.floats = make([]float64, n)
		for i := range a.floats {
			a.floats[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		}
	case "<i8":
		a.ints = make([]int64, n)
		for i := range a.ints {
			a.ints[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
		}
	default:
		return Array{}, fmt.Errorf("type %q is neither float64 nor int64", d[1])
	}
	return a, nil
}

// parseShape reads the numbers of a tuple.
func parseShape(text string) ([]int, error) {
	dims := []int{}
	for _, f := range strings.Split(text, ",") {
		if f = strings.TrimSpace(f); f == "" {
			continue
		}
		n, err := strconv.Atoi(f)
		if err != nil {
			return nil, fmt.Errorf("shape %q: %v", text, err)
		}
		dims = append(dims, n)
	}
	return dims, nil
}

// splitNPY returns the dictionary of an array and its data.
func splitNPY(b []byte) (header, data []byte, err error) {
	if len(b) < 12 || !bytes.HasPrefix(b, []byte("\x93NUMPY")) {
		return nil, nil, fmt.Errorf("not an NPY array")
	}
	start, length := 10, int(binary.LittleEndian.Uint16(b[8:]))
	if b[6] > 1 {
		start, length = 12, int(binary.LittleEndian.Uint32(b[8:]))
	}
	if len(b) < start+length {
		return nil, nil, fmt.Errorf("header cut off")
	}
	return b[start : start+length], b[start+length:], nil
}
