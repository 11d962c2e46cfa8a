package file

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/saved"
)

// What is wrong with a tensor is said by name, and the first error stays.
func TestTensors(t *testing.T) {
	f, err := New("a-format", map[string]int{"a": 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Tensors = append(
		f.Tensors, safetensors.Float64s("x", []float64{1, 2, 3, 4, 5, 6}, 2, 3),
		safetensors.Ints("labels", []int{0, 2, 1}, 3),
	)
	AddLosses(f, "p.", []float64{3, 2}, [][]float64{{1, 2}, {1, 1}}, 2)
	var b bytes.Buffer
	if _, err := f.Write(&b, Seal); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(bytes.NewReader(b.Bytes()), "another"); err == nil ||
		!strings.Contains(err.Error(), `"a-format", want "another"`) {
		t.Errorf("another format: %v", err)
	}
	f, err = Read(&b, "a-format")
	if err != nil || f.Metadata[MetaConfig] != `{"a":1}` {
		t.Fatalf("%v, %v", f, err)
	}
	in := &Tensors{File: f}
	if x := in.Floats("x", -1, 3); len(x) != 6 || x[4] != 5 {
		t.Errorf("x is %v", x)
	}
	if l := in.Labels("labels", 3, 3); len(l) != 3 || l[1] != 2 {
		t.Errorf("labels are %v", l)
	}
	loss, views := in.Losses("p.", 2)
	if len(loss) != 2 || len(views) != 2 || views[0][1] != 2 || in.Err != nil {
		t.Errorf("losses %v, %v, %v", loss, views, in.Err)
	}
	for want, read := range map[string]func(in *Tensors){
		`the file has no "y"`:                     func(in *Tensors) { in.Floats("y", 1); in.Floats("x", 1) },
		`"x" has the shape [2 3], want [3 -1]`:    func(in *Tensors) { in.Floats("x", 3, -1) },
		`element 1 of "labels" is 2, want 0 to 1`: func(in *Tensors) { in.Labels("labels", 3, 2) },
	} {
		in := &Tensors{File: f}
		if read(in); in.Err == nil || in.Err.Error() != want {
			t.Errorf("error %v, want %s", in.Err, want)
		}
	}
}

// TestReadOthers: a file that is none of this library's is said to be that, with what it looks like. A few bytes may be those of
// a model that was cut off, whatever they spell.
func TestReadOthers(t *testing.T) {
	const none = "the file is not a model of largemvc"
	for in, want := range map[string]string{
		"a,b\n1,2\n":                                   none + "; it looks like a text, as CSV is",
		"{\"a\": 1, \"b\": 2}":                         none + "; it looks like a text, as CSV is",
		"\x93NUMPY\x01\x00v\x00":                       none + "; it looks like an array of NumPy (.npy)",
		"\x89HDF\r\n\x1a\n\x00\x00":                    none + "; it looks like HDF5",
		"MATLAB 5.0 MAT-file\x00\x01":                  none + "; it looks like a .mat file of MATLAB",
		"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01": none + "; it looks like a file packed by gzip",
		"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09":     none,
		"\x20\x00\x00":                                 "safetensors: the file is truncated: 3 bytes where 8 should be",
		"xy\x01":                                       "safetensors: the file is truncated: 3 bytes where 8 should be",
		"xy":                                           "safetensors: the file is truncated: 2 bytes where 8 should be",
		"":                                             "safetensors: the file is truncated: 0 bytes where 8 should be",
	} {
		if _, err := Read(strings.NewReader(in), "largemvc-model"); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

// TestReadChanged: a byte of a tensor that has changed since the file was written is found by the seal.
func TestReadChanged(t *testing.T) {
	f, err := New("a-format", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Tensors = append(f.Tensors, safetensors.Float64s("x", []float64{1, 2, 3}, 3))
	var b bytes.Buffer
	if _, err := f.Write(&b, Seal); err != nil {
		t.Fatal(err)
	}
	b.Bytes()[b.Len()-1]++
	if _, err := Read(&b, "a-format"); !errors.Is(err, saved.ErrDamaged) {
		t.Errorf("error %v, want one that says that the file is damaged", err)
	}
}
