package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// unpacked returns the files of a tar archive.
func unpacked(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// TestImage follows an image from its index to the files of each layer, as a container runtime does.
func TestImage(t *testing.T) {
	when := time.Unix(1e9, 0).UTC()
	data, err := image("0.1.0", when, targets[:2], func(target target) ([]file, error) {
		return []file{{"largemvc", []byte("for " + target.arch), 0o755}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	files := unpacked(t, data)
	type index struct {
		Manifests []descriptor
	}
	read := func(text []byte, to any) {
		t.Helper()
		if err := json.Unmarshal(text, to); err != nil {
			t.Fatal(err)
		}
	}
	blob := func(d descriptor) []byte {
		t.Helper()
		text := files["blobs/sha256/"+d.Digest[len("sha256:"):]]
		if fmt.Sprintf("sha256:%x", sha256.Sum256(text)) != d.Digest || len(text) != d.Size {
			t.Fatalf("%d bytes, want %+v", len(text), d)
		}
		return text
	}
	var outer, inner index
	read(files["index.json"], &outer)
	if read(blob(outer.Manifests[0]), &inner); len(inner.Manifests) != 2 {
		t.Fatalf("%d manifests", len(inner.Manifests))
	}
	for i, d := range inner.Manifests {
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		var config struct {
			Architecture string
			RootFS       struct {
				Diffs []string `json:"diff_ids"`
			}
		}
		read(blob(d), &manifest)
		read(blob(manifest.Config), &config)
		layer := blob(manifest.Layers[0])
		if arch := targets[i].arch; config.Architecture != arch || d.Platform["architecture"] != arch ||
			config.RootFS.Diffs[0] != manifest.Layers[0].Digest || string(unpacked(t, layer)["largemvc"]) != "for "+arch {
			t.Errorf("%s: %+v, %+v", arch, d, config)
		}
	}
}

// TestImageFiles wants the licence of the command beside the licences of the modules, which refer to it.
func TestImageFiles(t *testing.T) {
	b := builder{root: "../.."}
	files, err := b.imageFiles([]byte("command"), []byte("licences"))
	if err != nil {
		t.Fatal(err)
	}
	licence, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"largemvc": "command", "LICENSES.txt": "licences", "LICENSE": string(licence)}
	for _, f := range files {
		if string(f.data) != want[f.name] {
			t.Errorf("%s: %d bytes", f.name, len(f.data))
		}
		delete(want, f.name)
	}
	for name := range want {
		t.Errorf("the image has no %s", name)
	}
}

// TestBillOfMaterials wants the command, Go's standard library, and the command's modules by name, version and sum.
func TestBillOfMaterials(t *testing.T) {
	b := builder{root: "../..", version: "0.1.0", when: time.Unix(1e9, 0).UTC()}
	text, err := billOfMaterials(&b, targets[0])
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Metadata   struct{ Component component }
		Components []component
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	command := component{
		Type: "application", Name: "github.com/largemvc/largemvc", Version: "0.1.0",
		PURL: "pkg:golang/github.com/largemvc/largemvc@v0.1.0",
	}
	if !reflect.DeepEqual(list.Metadata.Component, command) {
		t.Errorf("%+v, want %+v", list.Metadata.Component, command)
	}
	found := map[string]component{}
	for _, c := range list.Components {
		found[c.Name] = c
		sums := 1
		if c.Name == "std" {
			sums = 0
		}
		if len(c.Properties) != sums || c.PURL != "pkg:golang/"+c.Name+"@"+strings.ReplaceAll(c.Version, "+", "%2B") {
			t.Errorf("%+v", c)
		}
	}
	std, err := b.goVersion()
	if err != nil {
		t.Fatal(err)
	}
	if c := found["std"]; c.Type != "library" || "go"+c.Version != std {
		t.Errorf("%+v, want the standard library of %s", c, std)
	}
	if found["gonum.org/v1/gonum"].Name == "" {
		t.Errorf("no gonum in %s", text)
	}
	if c := found["github.com/google/flatbuffers"]; !strings.HasSuffix(c.PURL, "%2Bincompatible") {
		t.Errorf("%+v, want the package URL to escape the plus sign", c)
	}
}

// TestModuleVersion wants Go's form of a tag, and the number of a commit where there is no tag.
func TestModuleVersion(t *testing.T) {
	for version, want := range map[string]string{
		"0.1.0": "v0.1.0", "0.1.0-3-gabc1234": "v0.1.0-3-gabc1234", "abc1234": "abc1234",
	} {
		b := builder{version: version}
		if got := moduleVersion(&b); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}
