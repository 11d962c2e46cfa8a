package dataset

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// read reads a file in memory.
func read(name string, data []byte, o Options) (*Set, error) {
	return Read(context.Background(), name, bytes.NewReader(data), int64(len(data)), o)
}

func mustRead(t *testing.T, name string, data []byte, o Options) *Set {
	t.Helper()
	s, err := read(name, data, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantError checks that an error has the prefix of the package and all the words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", words)
	}
	if !strings.HasPrefix(err.Error(), "dataset: ") || strings.Count(err.Error(), "dataset: ") != 1 {
		t.Errorf("error %q has not the prefix once", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// checkView compares a view with a function of row and column.
func checkView(t *testing.T, v *View, rows, cols int, want func(i, j int) float64) {
	t.Helper()
	if v.Rows != rows || v.Cols != cols {
		t.Fatalf("view %s is %d×%d, want %d×%d", v.Name, v.Rows, v.Cols, rows, cols)
	}
	for i := range rows {
		for j := range cols {
			if got := v.At(i, j); got != want(i, j) {
				t.Fatalf("view %s has %g at (%d, %d), want %g", v.Name, got, i, j, want(i, j))
			}
		}
	}
}

func equalInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// sameSets compares values, labels and masks.
func sameSets(t *testing.T, a, b *Set) {
	t.Helper()
	if len(a.Views) != len(b.Views) || !equalInts(a.Labels, b.Labels) {
		t.Fatalf("%d and %d views, or other labels", len(a.Views), len(b.Views))
	}
	for v := range a.Views {
		x := &a.Views[v]
		checkView(t, &b.Views[v], x.Rows, x.Cols, x.At)
	}
	for i := range a.Samples() {
		for v := range a.Views {
			pa := a.Present == nil || a.Present[i][v]
			pb := b.Present == nil || b.Present[i][v]
			if pa != pb {
				t.Fatalf("sample %d, view %d: present %t and %t", i, v, pa, pb)
			}
		}
	}
}

// sound checks what holds for every set that was read.
func sound(t testing.TB, s *Set) {
	t.Helper()
	n := s.Samples()
	if n == 0 || (s.Labels != nil && len(s.Labels) != n) || (s.Present != nil && len(s.Present) != n) {
		t.Fatalf("%d samples, %d labels, a mask of %d rows", n, len(s.Labels), len(s.Present))
	}
	for _, l := range s.Labels {
		if l < 0 || l >= len(s.LabelNames) {
			t.Fatalf("label %d of %d classes", l, len(s.LabelNames))
		}
	}
	for i := range s.Views {
		v := &s.Views[i]
		if v.Rows != n || v.Cols < 1 {
			t.Fatalf("view %d is %d×%d with %d samples", i, v.Rows, v.Cols, n)
		}
		if v.Sparse == nil {
			if len(v.Float32)+len(v.Float64) != v.Rows*v.Cols {
				t.Fatalf("view %d has %d values", i, len(v.Float32)+len(v.Float64))
			}
			for _, x := range v.Float32 {
				if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
					t.Fatalf("view %d holds %g", i, x)
				}
			}
			continue
		}
		c := v.Sparse
		if len(c.RowPtr) != n+1 || c.RowPtr[0] != 0 || c.RowPtr[n] != len(c.Col) || len(c.Float32)+len(c.Float64) != len(c.Col) {
			t.Fatalf("view %d: pointers and entries do not match", i)
		}
		for r := range n {
			for k := c.RowPtr[r]; k < c.RowPtr[r+1]; k++ {
				if c.Col[k] < 0 || int(c.Col[k]) >= v.Cols || (k > c.RowPtr[r] && c.Col[k] <= c.Col[k-1]) {
					t.Fatalf("view %d, row %d: column %d", i, r, c.Col[k])
				}
			}
		}
	}
}

// corrupt reads a file cut at every place (of large files, at many) and with changed bytes: an error or a sound set, and
// never much memory.
func corrupt(t *testing.T, name string, data []byte) {
	t.Helper()
	o := Options{MaxBytes: 1 << 22}
	try := func(b []byte) {
		var s *Set
		var err error
		got := testutil.Allocated(func() { s, err = read(name, b, o) })
		if got > 64<<20 {
			t.Fatalf("%s took %d MiB", name, got>>20)
		}
		if err == nil {
			sound(t, s)
		} else if !strings.HasPrefix(err.Error(), "dataset: "+name) {
			t.Fatalf("error %q does not name %s", err, name)
		}
	}
	step := 1
	if most := 1000; !testutil.Slow {
		step = 1 + len(data)/200
	} else if len(data) > most {
		step = 1 + len(data)/most
	}
	for n := 0; n < len(data); n += step {
		try(data[:n])
	}
	for i := 0; i < len(data); i += step {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			b := bytes.Clone(data)
			b[i] ^= flip
			try(b)
		}
	}
}

func testFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeBytes(path string, data []byte) error { return os.WriteFile(path, data, 0o600) }

// mustFile reads a file.
func mustFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
