package dataset

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestArrange puts features into another order, dense and sparse, in both widths.
func TestArrange(t *testing.T) {
	for _, storage := range []Storage{AllDense, AllSparse} {
		for _, float := range []int{32, 64} {
			s := mustRead(t, "t.csv", []byte("a,b,c,d\n1,0,3,4\n0,6,7,0\n"), Options{Storage: storage, Float: float})
			v, err := s.Views[0].Arrange([]string{"d", "a", "c"})
			if err != nil {
				t.Fatal(err)
			}
			s.Views[0] = v
			sound(t, s)
			if got := values(&v); got != "4 1 3|0 0 7" || !slices.Equal(v.Features, []string{"d", "a", "c"}) {
				t.Errorf("%s, features %v", got, v.Features)
			}
		}
	}
	s := mustRead(t, "t.csv", []byte("a,b,a\n1,2,1.5\n"), Options{})
	_, err := s.Views[0].Arrange([]string{"a", "b"})
	wantError(t, err, `two features named "a"`)
	s = mustRead(t, "t.csv", []byte("a,b\n1,2\n3,4\n"), Options{})
	_, err = s.Views[0].Arrange([]string{"a", "z"})
	wantError(t, err, `no feature named "z"`, "a, b")
	_, err = s.Views[0].Arrange([]string{"a", "a"})
	wantError(t, err, "twice")
	s = mustRead(t, "t.csv", []byte("1,2\n3,4\n"), Options{})
	_, err = s.Views[0].Arrange([]string{"a", "b"})
	wantError(t, err, "no names")
}

// TestNumberOfNames: another number of names than of features is an error unless the names are left out.
func TestNumberOfNames(t *testing.T) {
	data := npzBytes(t, false, Array{"X0", []int{3, 2}, []float64{1, 2, 3, 4, 5, 6}}, Array{"X0.features", nil, []string{"a"}})
	_, err := read("a.npz", data, Options{})
	wantError(t, err, "X0.features holds names of the shape 1, and X0 has 2 features", "LeaveOut X0.features")
	if s := mustRead(t, "a.npz", data, Options{LeaveOut: []string{"X0.features"}}); s.Views[0].Features != nil {
		t.Error(s.Views[0].Features)
	}
}

// TestNamesRoundTrip: ids and names of features survive a file of arrays.
func TestNamesRoundTrip(t *testing.T) {
	set := mustRead(t, "t.csv", []byte("id,größe,b,label\np1,1,2,k\np𝄞,3,4,l\np3,3,5,l\n"), Options{})
	path := filepath.Join(t.TempDir(), "a.npz")
	if err := set.WriteNPZ(path, true); err != nil {
		t.Fatal(err)
	}
	back, err := Open(context.Background(), []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	sameSets(t, set, back)
	if !slices.Equal(back.IDs, set.IDs) || !slices.Equal(back.Views[0].Features, set.Views[0].Features) ||
		len(back.Reading.LeftOut) != 0 {
		t.Errorf("ids %v, features %v, left out %v", back.IDs, back.Views[0].Features, back.Reading.LeftOut)
	}
	set.IDs[0] = strings.Repeat("x", 2000)
	wantError(t, set.WriteNPZ(path, true), "ids", "2000 characters")
	set.IDs = set.IDs[:2]
	wantError(t, set.WriteNPZ(path, true), "2 ids for 3 samples")
	set.IDs, set.Views[0].Features = nil, []string{"a"}
	wantError(t, set.WriteNPZ(path, true), "2 features and 1 names")
}
