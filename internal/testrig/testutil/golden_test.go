package testutil

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestLoadNPZReadsEveryGoldenFile(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/golden/*.npz")
	if err != nil || len(files) < 57 {
		t.Fatalf("%d golden files, error %v", len(files), err)
	}
	for _, f := range files {
		for name, a := range LoadNPZ(t, f) {
			if len(a.Float64s()) != a.Len() {
				t.Errorf("%s: %s has shape %v and %d elements", f, name, a.Shape, len(a.Float64s()))
			}
		}
	}
}

func TestLoadNPZValues(t *testing.T) {
	g := LoadNPZ(t, "../../../testdata/golden/model_00_relu.npz")
	dims := g["dims"].Ints()
	if len(dims) != g["V"].Ints()[0] || len(g["V"].Shape) != 0 {
		t.Fatalf("dims %v, V %v", dims, g["V"])
	}
	x := g["X_0"]
	if want := []int{g["n"].Ints()[0], dims[0]}; !slices.Equal(x.Shape, want) {
		t.Fatalf("X_0 has shape %v, want %v", x.Shape, want)
	}
	if x.Float64s()[0] == 0 || x.Float64s()[0] == x.Float64s()[1] {
		t.Fatalf("X_0 starts with %v", x.Float64s()[:2])
	}
}

func TestParseNPYRefuses(t *testing.T) {
	header := func(s string) []byte {
		return append([]byte("\x93NUMPY\x01\x00"+string([]byte{byte(len(s)), 0})), s...)
	}
	for _, test := range []struct {
		name string
		data []byte
	}{
		{"empty", nil},
		{"magic", []byte("NUMPY0123456789")},
		{"short header", header("{}")[:11]},
		{"no keys", header("{           }")},
		{"Fortran", append(header("{'descr': '<f8', 'fortran_order': True, 'shape': (1, 1)}"), make([]byte, 8)...)},
		{"size", header("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}")},
		{"type", append(header("{'descr': '<f2', 'fortran_order': False, 'shape': (1,)}"), make([]byte, 8)...)},
	} {
		if _, err := parseNPY(test.data); err == nil {
			t.Errorf("%s: no error", test.name)
		}
	}
}
