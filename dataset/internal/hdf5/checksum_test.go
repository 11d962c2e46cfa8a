package hdf5

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset/internal/budget"
)

// readAll returns the elements of the datasets of a file, by name, or the first error.
func readAll(data []byte) (map[string][]byte, error) {
	lim := budget.New(context.Background(), 1<<24, nil)
	f, err := Open(bytes.NewReader(data), int64(len(data)), lim)
	if err != nil {
		return nil, err
	}
	root, err := f.Object(f.Root())
	if err != nil {
		return nil, err
	}
	links, err := f.Links(root)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, link := range links {
		o, err := f.Object(link.Addr)
		if err != nil {
			return nil, err
		}
		x := make([]byte, o.Elements()*o.Type.Size)
		err = f.Read(o, func(off int, raw []byte) error {
			copy(x[off*o.Type.Size:], raw)
			return nil
		})
		if err != nil {
			return nil, err
		}
		out[link.Name] = x
	}
	return out, nil
}

// TestChecksums flips every bit of a file of the newer format: it is an error, but for bits of elements that no checksum
// covers. Where the structures have checksums, the error says that they are wrong.
func TestChecksums(t *testing.T) {
	data := small().Bytes()
	want, err := readAll(data)
	if err != nil || len(want) != 3 || string(want["array"]) != "abcdefghijklmnopqrstuvwx" {
		t.Fatalf("%q, %v", want, err)
	}
	covered, by := 0, map[string]int{}
	for i := range data {
		for bit := range 8 {
			spoiled := bytes.Clone(data)
			spoiled[i] ^= 1 << bit
			got, err := readAll(spoiled)
			if err == nil {
				if elements(data, i) || inTree(data, i) {
					continue
				}
				t.Fatalf("bit %d of byte %d is not noticed: %q", bit, i, got)
			}
			if _, rest, ok := strings.Cut(err.Error(), "the checksum of its "); ok {
				covered++
				by[strings.TrimSuffix(rest, " is wrong)")]++
			}
		}
	}
	for _, what := range []string{"superblock", "object header", "index of chunks"} {
		if by[what] < 200 {
			t.Errorf("%d flips are noticed by the checksum of the %s", by[what], what)
		}
	}
	t.Logf("%d of %d flips are noticed by a checksum: %v", covered, 8*len(data), by)
}

// elements reports whether byte i is one of the values, or of the space between the structures.
func elements(data []byte, i int) bool { return data[i] >= 'a' && data[i] <= 'x' }

// inTree reports whether byte i is in a version 1 B-tree, which has no checksum.
func inTree(data []byte, i int) bool {
	at := bytes.Index(data, []byte("TREE"))
	return i >= at && i < at+24+2*40
}

// TestChecksumsOfH5py reads files that h5py wrote, and refuses them with a wrong bit in a structure of any kind, for its checksum
// is wrong.
func TestChecksumsOfH5py(t *testing.T) {
	noticed, structures := map[string]int{}, map[string]int{"OHDR": 7, "OCHK": 7, "FAHD": 7, "FADB": 7, "EAHD": 7, "EAIB": 7,
		"EASB": 7, "EADB": 7, "BTHD": 7, "BTIN": 8, "BTLF": 8, "FRHP": 6, "FHIB": 18, "FHDB": 24}
	for _, name := range []string{"latest.h5", "paged.h5", "growing.h5", "far.h5", "tree.h5", "members.h5"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(data); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for structure, offset := range structures {
			for at := 0; ; at++ {
				k := bytes.Index(data[at:], []byte(structure))
				if k < 0 {
					break
				}
				at += k
				spoiled := bytes.Clone(data)
				spoiled[at+offset] ^= 0x40
				_, err := readAll(spoiled)
				if err == nil {
					t.Errorf("%s: a wrong bit in %s at %d is not noticed", name, structure, at)
				}
				if err != nil && strings.Contains(err.Error(), "the checksum of its") {
					noticed[structure]++
				}
			}
		}
	}
	for structure := range structures {
		if noticed[structure] == 0 {
			t.Errorf("no checksum of %s is compared", structure)
		}
	}
}

// TestChecksumsOfPages: every page of a data block that was written has a checksum of its own.
func TestChecksumsOfPages(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "far.h5"))
	if err != nil {
		t.Fatal(err)
	}
	const head, page = 22, 1024*8 + 4 // of a data block, and of 1024 addresses with their checksum
	noticed := 0
	for at := bytes.Index(data, []byte("EADB")); at >= 0; {
		for k := range 2 {
			spoiled := bytes.Clone(data)
			spoiled[at+head+k*page+4] ^= 0x40
			if _, err := readAll(spoiled); err != nil {
				if !strings.Contains(err.Error(), "the checksum of its index of chunks is wrong") {
					t.Error(err)
				}
				noticed++
			}
		}
		next := bytes.Index(data[at+1:], []byte("EADB"))
		if next < 0 {
			break
		}
		at += 1 + next
	}
	if noticed != 2 { // in each of which there is one element
		t.Errorf("wrong bits are noticed in %d pages, want 2", noticed)
	}
}
