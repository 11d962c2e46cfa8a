package neighbor

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/mapped"
)

// Links to landmarks are the same in files, products with them too, and a folder that is not there is an error.
func TestLinksInFiles(t *testing.T) {
	d := randomData(18, 9000, true, 4, 9)
	build := func(files *mapped.Files) (*Index[float32], error) {
		c := Config{ExactUpTo: -1, Landmarks: 40, Seed: 5, Workers: 2, Scratch: files}
		return Build(context.Background(), viewsOf[float32](t, d), testSpaces, c)
	}
	want, err := build(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := build(mapped.New(filepath.Join(t.TempDir(), "none"))); err == nil || !strings.Contains(err.Error(), "bytes of state") {
		t.Error(err)
	}
	if !mapped.Possible {
		return
	}
	files := mapped.New(t.TempDir())
	got, err := build(files)
	if err != nil {
		t.Fatal(err)
	}
	a, b := want.Operator().(*Factor).Links(), got.Operator().(*Factor).Links()
	if !slices.Equal(a.ptr, b.ptr) || !slices.Equal(a.col, b.col) || !slices.Equal(a.val, b.val) {
		t.Error("other links")
	}
	x := make([]float32, d.n*16)
	for i := range x {
		x[i] = float32(i % 11)
	}
	var out [2][]float32
	for k, op := range []Operator{want.Operator(), got.Operator()} {
		out[k] = make([]float32, len(x))
		if err := Mul(context.Background(), op, 2, out[k], x, 16); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(out[0], out[1]) {
		t.Error("another product")
	}
	if err := files.Close(); err != nil {
		t.Error(err)
	}
	if out, err := want.Attach(context.Background(), viewsOf[float32](t, d), 1); err != nil || !slices.Equal(out.col, a.col) {
		t.Error("samples are linked otherwise when they are new", err)
	}
}
