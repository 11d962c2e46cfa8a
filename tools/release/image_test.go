package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
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

// TestBillOfMaterials wants the command's modules by name, version and sum.
func TestBillOfMaterials(t *testing.T) {
	b := builder{root: "../..", version: "0.1.0", when: time.Unix(1e9, 0).UTC()}
	text, err := b.billOfMaterials(targets[0])
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Components []component }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Components {
		if len(c.Properties) != 1 || c.PURL != "pkg:golang/"+c.Name+"@"+c.Version {
			t.Errorf("%+v", c)
		}
		if c.Name == "gonum.org/v1/gonum" {
			return
		}
	}
	t.Errorf("no gonum in %s", text)
}
