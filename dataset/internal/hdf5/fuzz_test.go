package hdf5

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/dataset/internal/budget"
	"github.com/largemvc/largemvc/internal/testrig/hostile"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// FuzzFile walks through a file, with the checksums of its structures and without them.
func FuzzFile(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "*.*"))
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		if ext := filepath.Ext(name); !slices.Contains([]string{".mat", ".h5", ".h5ad", ".h5mu"}, ext) {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(small().Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		testutil.Large(t, len(data), 1<<18)
		for _, unsealed := range []bool{false, true} {
			lim := budget.New(context.Background(), 1<<22, nil)
			lim.AddFile(int64(len(data)))
			got := testutil.Allocated(func() { walkAll(t, data, lim, unsealed) })
			if got > 64<<20 {
				t.Fatalf("took %d MiB for %d bytes", got>>20, len(data))
			}
			if lim.Used() < 0 || lim.Peak() > 1<<22 {
				t.Fatalf("%d bytes are booked, %d were", lim.Used(), lim.Peak())
			}
		}
	})
}

// walkAll reads all that the root group names; errors are right answers.
func walkAll(t *testing.T, data []byte, lim *budget.Budget, unsealed bool) {
	file, err := open(lim.ReaderAt(bytes.NewReader(data)), int64(len(data)), lim, unsealed)
	if err != nil {
		return
	}
	root, err := file.Object(file.Root())
	if err != nil {
		return
	}
	links, err := file.Links(root)
	if err != nil {
		return
	}
	for _, link := range links {
		o, err := file.Object(link.Addr)
		if err != nil || !o.IsDataset {
			continue
		}
		n, width := o.Elements(), o.Type.Size
		held := lim.Used()
		err = file.Read(o, func(off int, raw []byte) error {
			if off < 0 || len(raw)%width != 0 || off+len(raw)/width > n {
				t.Fatalf("%s: %d bytes at element %d of %d", link.Name, len(raw), off, n)
			}
			return nil
		})
		if err == nil && o.Type.IsText() {
			err = file.Texts(o, func(i int, text []byte) error {
				if i < 0 || i >= n || len(text) > 1<<20 {
					t.Fatalf("%s: text %d of %d has %d bytes", link.Name, i, n, len(text))
				}
				return nil
			})
		}
		if err == nil && lim.Used() != held {
			t.Fatalf("%s: %d bytes stay booked after reading", link.Name, lim.Used()-held)
		}
	}
}

// small is a file with a contiguous dataset, one in a B-tree and one in a fixed array, all of 4×6 bytes.
func small() *hostile.HDF5 {
	h := hostile.NewHDF5()
	values := []byte("abcdefghijklmnopqrstuvwx")
	at := h.Add(values)
	h.Link("plain", h.Object(hostile.Dataspace(4, 6), hostile.Uint8, hostile.Contiguous(at, 24)))
	a, b := h.Add(values[:12]), h.Add(values[12:])
	tree := h.Tree([]hostile.Chunk{{At: []int{0, 0}, Addr: a, Size: 12}, {At: []int{2, 0}, Addr: b, Size: 12}})
	h.Link("tree", h.Object(hostile.Dataspace(4, 6), hostile.Uint8, hostile.TreeChunks(tree, 2, 6, 1)))
	c, d := h.Add(values[:12]), h.Add(values[12:])
	h.Link("array", h.Object(hostile.Dataspace(4, 6), hostile.Uint8, hostile.FixedArrayChunks(h.FixedArray(c, d), 2, 6, 1)))
	return h
}
