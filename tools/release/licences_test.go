package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLicenceFiles wants the licences at the top of a module, in the folders of linked packages and in folders of licences.
func TestLicenceFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"LICENSE", "LICENSES.md", "README.md", "license.go", "ThirdPartyNotices.txt", "THIRD_PARTY_LICENSES/Cephes-LICENSE",
		"THIRD_PARTY_LICENSES/Sun.txt", "linked/NOTICE.txt", "linked/licenses/MIT.txt", "linked/licenses/package.go",
		"other/LICENSE",
	} {
		written(t, dir, name, "")
	}
	got, err := licenceFiles(linked{path: "example", dir: dir, packages: []string{filepath.Join(dir, "linked"), dir}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i] = filepath.ToSlash(got[i])
	}
	slices.Sort(got)
	want := []string{
		"LICENSE", "LICENSES.md", "THIRD_PARTY_LICENSES/Cephes-LICENSE", "THIRD_PARTY_LICENSES/Sun.txt", "ThirdPartyNotices.txt",
		"linked/NOTICE.txt", "linked/licenses/MIT.txt",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := licenceFiles(linked{path: "example", dir: filepath.Join(dir, "THIRD_PARTY_LICENSES")}); err == nil {
		t.Error("a module without a licence: no error")
	}
}

// TestLicences wants the texts of Go, of gonum, and of the authors whose code gonum contains.
func TestLicences(t *testing.T) {
	b := builder{root: "../.."}
	text, err := b.licences(targets[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nGo go1.", "\ngonum.org/v1/gonum v", "Cephes-LICENSE\n", "Sun-LICENSE\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q", want)
		}
	}
}
