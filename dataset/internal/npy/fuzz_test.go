package npy

import (
	"bytes"
	"math"
	"testing"
)

// FuzzHeader reads the header of an array. What it accepts, it says without overflow.
func FuzzHeader(f *testing.F) {
	for _, descr := range []string{"<f4", ">i2", "|u1", "<U5", "<c16", "|O"} {
		var b bytes.Buffer
		if err := Put(&b, descr, []int{3, 4}); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte("\x93NUMPY\x02\x00\x20\x00\x00\x00{'shape': (2L,), 'fortran_order': True, 'descr': '<f8'}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadHeader(bytes.NewReader(data))
		if err != nil {
			return
		}
		if h.Len > len(data) || h.Width < 0 || h.Elements() < 0 || h.Bytes() < 0 || h.Bytes() > math.MaxInt64/2 ||
			len(h.Descr) > maxDescr {
			t.Fatalf("%+v from %d bytes", h, len(data))
		}
		if n := h.Type.Kind.Size(); n > 0 && n != h.Width {
			t.Fatalf("%s has %d bytes, want %d", h.Descr, h.Width, n)
		}
	})
}
