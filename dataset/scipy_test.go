package dataset

import (
	"encoding/binary"
	"math"
	"testing"
)

// TestSciPyFormats: what SciPy writes in a format that is not read is refused by its name, and is no dense view.
func TestSciPyFormats(t *testing.T) {
	le := binary.LittleEndian
	shape := npyBytes("'<i8'", false, "(2,)", le.AppendUint64(le.AppendUint64(nil, 2), 3))
	index := npyBytes("'<i4'", false, "(2,)", le.AppendUint32(le.AppendUint32(nil, 0), 1))
	two := le.AppendUint64(le.AppendUint64(nil, math.Float64bits(1)), math.Float64bits(2))
	vector, diagonals := npyBytes("'<f8'", false, "(2,)", two), npyBytes("'<f8'", false, "(1, 2)", two)
	format := func(name string) []byte { return npyBytes("'|S3'", false, "()", []byte(name)) }
	for _, c := range []struct {
		format, prefix string
		members        map[string][]byte
	}{
		{"coo", "", map[string][]byte{"row": index, "col": index, "data": vector}},
		{"coo", "a_", map[string][]byte{"row": index, "col": index, "data": vector}},
		{"dia", "", map[string][]byte{"offsets": nil, "data": diagonals}},
		{"bsr", "", map[string][]byte{"indices": index, "indptr": index, "data": vector}},
	} {
		files := map[string][]byte{c.prefix + "format.npy": format(c.format), c.prefix + "shape.npy": shape}
		for name, member := range c.members {
			if name == "offsets" {
				member = npyBytes("'<i4'", false, "(1,)", make([]byte, 4))
			}
			files[c.prefix+name+".npy"] = member
		}
		_, err := read("m.npz", zipBytes(t, false, files), Options{LeaveOut: []string{"row", "col"}})
		want := "m.npz: m is a sparse"
		if c.prefix != "" {
			want = "m.npz: a is a sparse"
		}
		wantError(t, err, want, `format "`+c.format+`"`, "csr and csc are read", "save_npz(new, a.tocsr())")
	}
	// A text of another meaning beside data is none of SciPy's.
	s := mustRead(t, "m.npz", zipBytes(t, false, map[string][]byte{"format.npy": format("abc"), "shape.npy": shape,
		"data.npy": diagonals}), Options{Orientation: RowsAreSamples})
	if s.Views[0].Cols != 2 {
		t.Errorf("%d columns", s.Views[0].Cols)
	}
}
