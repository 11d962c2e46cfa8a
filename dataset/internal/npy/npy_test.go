package npy

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// A header of each version is read to its end, with the bytes of an element.
func TestReadHeader(t *testing.T) {
	for descr, width := range map[string]int{"<f4": 4, ">i2": 2, "|u1": 1, "<U5": 20, "|S5": 5, "|O": 8} {
		var b bytes.Buffer
		if err := Put(&b, descr, []int{3, 4}); err != nil {
			t.Fatal(err)
		}
		first := b.Bytes()
		longer := slices.Concat(first[:8], binary.LittleEndian.AppendUint32(nil, uint32(len(first)-10)), first[10:])
		for version, data := range [][]byte{1: first, 2: longer, 3: slices.Clone(longer)} {
			if version == 0 {
				continue
			}
			data[6] = byte(version)
			h, err := ReadHeader(bytes.NewReader(append(slices.Clone(data), 1, 2, 3)))
			if err != nil || h.Width != width || h.Len != len(data) || !slices.Equal(h.Shape, []int{3, 4}) || h.Descr != descr {
				t.Errorf("%s, version %d: %+v, %v, want %d bytes, the first at %d", descr, version, h, err, width, len(data))
			}
		}
	}
}
