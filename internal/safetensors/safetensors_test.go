package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// raw makes a file of a header and its data.
func raw(header, data string) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data...)
}

func sample() *File {
	return &File{
		Metadata: map[string]string{"note": "ünïcode \"quoted\"", "a": "b"},
		Tensors: []Tensor{
			Float64s("x", []float64{1, -2.5, math.Pi, math.Copysign(0, -1), math.Inf(1), 1e-310}, 2, 3),
			Float32s("y", []float64{0.1, 3}, 2),
			Ints("n", []int{-1, math.MaxInt32, 7}, 3, 1),
			Float64s("scalar", []float64{4}),
			Float64s("empty", nil, 0, 5),
		},
	}
}

func write(t testing.TB, f *File, seal string) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := f.Write(&b, seal)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("%d of %d bytes written: %v", n, b.Len(), err)
	}
	return b.Bytes()
}

// The layout by hand, from the format's description.
func TestWriteLayout(t *testing.T) {
	f := &File{Metadata: map[string]string{"k": "v"},
		Tensors: []Tensor{Float64s("a", []float64{1}, 1), Ints("b", []int{2, -1}, 1, 2)}}
	header := `{"__metadata__":{"k":"v"},"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},` +
		`"b":{"dtype":"I64","shape":[1,2],"data_offsets":[8,24]}}`
	for len(header)%8 != 0 {
		header += " "
	}
	want := raw(header, "\x00\x00\x00\x00\x00\x00\xf0\x3f"+"\x02\x00\x00\x00\x00\x00\x00\x00"+"\xff\xff\xff\xff\xff\xff\xff\xff")
	if got := write(t, f, ""); !bytes.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestReadByHand(t *testing.T) {
	// Spaces, another order of the header, types that are only stored, no metadata.
	b := raw(` {"b":{"shape":[2],"dtype":"U8","data_offsets":[4,6]},`[1:]+"\n"+
		`"a" : {"dtype":"F32","shape":[],"data_offsets":[0,4]}}   `, "\x00\x00\x80\x3f\x01\x02")
	f, err := Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Tensors) != 2 || f.Tensors[0].Name != "a" || f.Tensors[1].Dtype != "U8" || f.Metadata != nil {
		t.Fatalf("%+v", f)
	}
	if x, err := f.Tensor("a").Float64s(); err != nil || !slices.Equal(x, []float64{1}) {
		t.Errorf("%v, %v", x, err)
	}
	if _, err := f.Tensor("b").Float64s(); err == nil {
		t.Error("U8 read as floats")
	}
	if _, err := f.Tensor("a").Ints(); err == nil {
		t.Error("F32 read as integers")
	}
	if f.Tensor("c") != nil {
		t.Error("a tensor that is not there")
	}
}

func TestRoundTrip(t *testing.T) {
	for _, seal := range []string{"", "sum"} {
		f := sample()
		b := write(t, f, seal)
		if len(b)%4 != 0 || binary.LittleEndian.Uint64(b)%8 != 0 {
			t.Error("the data are not aligned")
		}
		if !bytes.Equal(b, write(t, sample(), seal)) {
			t.Error("two writes differ")
		}
		got, err := Read(iotest.OneByteReader(bytes.NewReader(b)))
		if err != nil {
			t.Fatal(err)
		}
		if seal != "" {
			if err := got.Verify(seal); err != nil {
				t.Error(err)
			}
			delete(got.Metadata, seal)
		} else if got.Verify("sum") == nil {
			t.Error("a file without seal verified")
		}
		if !reflect.DeepEqual(got.Metadata, f.Metadata) || len(got.Tensors) != len(f.Tensors) {
			t.Fatalf("%+v", got)
		}
		for i, want := range f.Tensors {
			x := got.Tensors[i]
			if x.Name != want.Name || x.Dtype != want.Dtype || !slices.Equal(x.Shape, want.Shape) ||
				!bytes.Equal(x.Data, want.Data) {
				t.Errorf("%+v, want %+v", x, want)
			}
		}
		x, err := got.Tensor("x").Float64s()
		if err != nil || math.Signbit(x[3]) != true || x[5] != 1e-310 || !math.IsInf(x[4], 1) {
			t.Errorf("%v, %v", x, err)
		}
		if n, err := got.Tensor("n").Ints(); err != nil || !slices.Equal(n, []int{-1, math.MaxInt32, 7}) {
			t.Errorf("%v, %v", n, err)
		}
		if y, err := got.Tensor("y").Float64s(); err != nil || y[0] != float64(float32(0.1)) {
			t.Errorf("%v, %v", y, err)
		}
	}
}

// Every byte of a sealed file counts.
func TestVerifyEveryByte(t *testing.T) {
	b := write(t, sample(), "sum")
	for i := range b {
		for _, bit := range []byte{1, 0x20, 0x80} {
			changed := slices.Clone(b)
			changed[i] ^= bit
			f, err := Read(bytes.NewReader(changed))
			if err == nil {
				err = f.Verify("sum")
			}
			if err == nil {
				t.Fatalf("byte %d (%q) changed by %#x: no error", i, b[i], bit)
			}
		}
	}
	for n := range b {
		_, err := Read(bytes.NewReader(b[:n]))
		if !errors.Is(err, ErrTruncated) {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
	}
	if _, err := Read(bytes.NewReader(append(slices.Clone(b), 0))); err == nil {
		t.Error("a byte too many: no error")
	}
}

func TestReadErrors(t *testing.T) {
	one := strings.Repeat("\x00", 8)
	for name, x := range map[string]struct {
		file []byte
		want string
	}{
		"empty":         {nil, "truncated"},
		"zip":           {[]byte("PK\x03\x04\x14\x00\x00\x00 and more"), "another format: it claims a header of"},
		"huge header":   {append(binary.LittleEndian.AppendUint64(nil, 1<<62), '{'), "header of"},
		"no object":     {raw(`[1,2]`, ""), "another format"},
		"broken JSON":   {raw(`{"a":`, ""), "broken"},
		"two values":    {raw(`{} {}`, ""), "more than one"},
		"a number":      {raw(`{"a":3}`, ""), "broken"},
		"null":          {raw(`{"a":null}`, ""), "unknown type"},
		"unknown type":  {raw(`{"a":{"dtype":"F128","shape":[1],"data_offsets":[0,16]}}`, one+one), `"F128"`},
		"unknown field": {raw(`{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8],"x":1}}`, one), "broken"},
		"twice": {raw(`{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},`+
			`"a":{"dtype":"F64","shape":[1],"data_offsets":[8,16]}}`, one+one), "twice"},
		"metadata twice":  {raw(`{"__metadata__":{"a":"1","a":"2"}}`, ""), "twice"},
		"metadata number": {raw(`{"__metadata__":{"a":1}}`, ""), "metadata"},
		"wrong size":      {raw(`{"a":{"dtype":"F64","shape":[2],"data_offsets":[0,8]}}`, one), `"a" lies at`},
		"negative shape":  {raw(`{"a":{"dtype":"F64","shape":[-1],"data_offsets":[0,8]}}`, one), "shape"},
		"overflow":        {raw(`{"a":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, ""), "more than"},
		"empty overflow": {raw(`{"a":{"dtype":"F64","shape":[4294967296,4294967296,0],"data_offsets":[0,8]}}`, one),
			`"a" lies at`},
		"gap": {raw(`{"a":{"dtype":"F64","shape":[1],"data_offsets":[8,16]}}`, one+one), `"a" lies at`},
		"overlap": {raw(`{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},`+
			`"b":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}`, one), `"b" lies at`},
		"backwards":  {raw(`{"a":{"dtype":"F64","shape":[1],"data_offsets":[8,0]}}`, one), `"a" lies at`},
		"short data": {raw(`{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}`, one[1:]), "truncated"},
		"long data":  {raw(`{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}`, one+"x"), "more in the file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(x.file))
			if err == nil || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), "safetensors: ") {
				t.Errorf("%v, want it to say %q", err, x.want)
			}
		})
	}
	if _, err := Read(iotest.ErrReader(os.ErrPermission)); !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v", err)
	}
}

// A file that claims much and holds little costs little.
func TestReadTakesNoClaimedMemory(t *testing.T) {
	for _, file := range [][]byte{
		append(binary.LittleEndian.AppendUint64(nil, maxHeader), '{'),
		raw(`{"a":{"dtype":"F64","shape":[1125899906842624],"data_offsets":[0,9007199254740992]}}`, "short"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Read(bytes.NewReader(file)); !errors.Is(err, ErrTruncated) {
			t.Errorf("%v", err)
		}
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 4<<20 {
			t.Errorf("%d bytes taken for a file of %d", taken, len(file))
		}
	}
}

func TestWriteErrors(t *testing.T) {
	good := Float64s("a", []float64{1}, 1)
	many := make([]Tensor, maxMembers)
	for i := range many {
		many[i] = Ints(fmt.Sprint(i), nil, 0)
	}
	for name, f := range map[string]*File{
		"many tensors":   {Tensors: many},
		"twice":          {Tensors: []Tensor{good, good}},
		"no name":        {Tensors: []Tensor{Float64s("", []float64{1}, 1)}},
		"metadata":       {Tensors: []Tensor{Float64s(metadataKey, []float64{1}, 1)}},
		"wrong shape":    {Tensors: []Tensor{Float64s("a", []float64{1}, 2)}},
		"negative shape": {Tensors: []Tensor{Float64s("a", []float64{1}, -1, -1)}},
		"unknown type":   {Tensors: []Tensor{{Name: "a", Dtype: "C64", Shape: []int{1}, Data: make([]byte, 8)}}},
		"seal taken":     {Metadata: map[string]string{"sum": "x"}},
		"seal's place":   {Metadata: map[string]string{"x": unsealed}},
		"seal's place 2": {Tensors: []Tensor{Float64s(unsealed, []float64{1}, 1)}},
		"long header":    {Metadata: map[string]string{"x": strings.Repeat("x", maxHeader)}},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if n, err := f.Write(&b, "sum"); err == nil || n != 0 || b.Len() != 0 {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
	if _, err := sample().Write(failing{}, ""); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

// readWithPython reads a file as the format's description says, with nothing but Python and NumPy.
const readWithPython = `
import json, struct, sys, hashlib
import numpy as np
b = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", b[:8])[0]
header = json.loads(b[8:8+n])
data = b[8+n:]
meta = header.pop("__metadata__")
types = {"F64": "<f8", "F32": "<f4", "I64": "<i8"}
for name, t in header.items():
    lo, hi = t["data_offsets"]
    x = np.frombuffer(data[lo:hi], dtype=types[t["dtype"]]).reshape(t["shape"])
    print(name, x.dtype, x.shape, x.sum())
print(meta["note"])
whole = b.replace(meta["sum"].encode(), b"0"*64)
print(hashlib.sha256(whole).hexdigest() == meta["sum"])
`

func TestPythonReads(t *testing.T) {
	python := testutil.Python(t)
	f := &File{Metadata: map[string]string{"note": "hello"}, Tensors: []Tensor{
		Float64s("x", []float64{1, 2, 3, 4, 5, 6.5}, 2, 3), Float32s("y", []float64{0.5, 3}, 2), Ints("n", []int{-1, 7}, 2, 1)}}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, write(t, f, "sum"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "-c", readWithPython, path).CombinedOutput()
	want := "x float64 (2, 3) 21.5\ny float32 (2,) 3.5\nn int64 (2, 1) 6\nhello\nTrue\n"
	if err != nil || string(out) != want {
		t.Errorf("%v:\n%s\nwant:\n%s", err, out, want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(write(f, sample(), "sum"))
	f.Add(write(f, &File{}, ""))
	f.Add(raw(`{"a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}}`, "1234"))
	f.Add(raw(`{"a":{"dtype":"F64","shape":[4294967296,4294967296,0],"data_offsets":[0,0]}}`, ""))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		total := 0
		for _, x := range file.Tensors {
			total += len(x.Data)
			if _, err := x.Float64s(); (err == nil) != (x.Dtype == F64 || x.Dtype == F32) {
				t.Errorf("%q, %s: %v", x.Name, x.Dtype, err)
			}
		}
		if want := len(b) - 8 - len(file.header); total != want {
			t.Errorf("%d bytes in tensors, the file has %d", total, want)
		}
		_ = file.Verify("sum")
		var again bytes.Buffer
		if _, err := file.Write(&again, ""); err != nil {
			if !strings.Contains(err.Error(), "name") {
				t.Fatal(err)
			}
			return
		}
		second, err := Read(&again)
		if err != nil || len(second.Tensors) != len(file.Tensors) || len(second.Metadata) != len(file.Metadata) {
			t.Errorf("read again: %v", err)
		}
	})
}
