package dataset

import (
	"context"
	"errors"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/hostile"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// hostileLimit is the memory limit that hostile files are read within.
const hostileLimit = 16 << 20

// TestHostileFiles reads every hostile file within little memory, which is a bound of all that is allocated on the
// way, and unpacks no more than is in proportion. Each has an error that says what is wrong, or is read in spite of its junk.
func TestHostileFiles(t *testing.T) {
	wants := map[string][]string{
		"h5-chunk-twice.h5":     {"X", "the same filter or two compressions"},
		"h5-chunk-deflate.h5":   {"X", "2.0 GiB", "a chunk", "MaxBytes allows 16.0 MiB"},
		"h5-chunk-shared.h5":    {"X", "two chunks share bytes"},
		"h5-chunk-dense.h5":     {"X", "two chunks share bytes"},
		"h5-chunks-plain.h5":    {"X", "the list of its chunks", "MaxBytes"},
		"h5-headers.h5":         nil,
		"h5-names.h5":           {"a name without end, or of more than 4096 bytes"},
		"h5-attributes.h5":      {"X0", "name the views"},
		"h5-sparse.h5":          {"X", "the indices of a sparse matrix", "MaxBytes"},
		"mat-sparse.mat":        {"X", "1.6 GiB", "the indices of a sparse matrix", "MaxBytes allows 16.0 MiB"},
		"mat-sparse-cells.mat":  {"X0", "the indices of a sparse matrix", "MaxBytes"},
		"h5-texts.h5":           {"labels", "for texts", "MaxBytes"},
		"mat-junk.mat":          nil,
		"mat-junk-small.mat":    nil,
		"mat-cell-text.mat":     {"X", "reads and unpacks more than", "MaxBytes"},
		"mat-dense.mat":         {"X", "reads and unpacks more than", "MaxBytes"},
		"npz-text.npz":          {"y", "labels", "MaxBytes"},
		"npz-text-distinct.npz": {"y", "texts", "MaxBytes"},
		"npz-sparse.npz":        {"the indices of a sparse matrix", "MaxBytes"},
		"npz-sparse-wide.npz":   {"has the shape 100×2000000000, too large for a file of 758 bytes"},
		"npz-directory.npz":     {"the directory of the archive", "MaxBytes"},
		"npz-overlap.npz":       {"the directory of the archive", "MaxBytes"},
		"npz-shared.npz":        {"its arrays share bytes"},
		"npz-dense.npz":         {"X0", "reads and unpacks more than", "MaxBytes"},
		"npz-zip64.npz":         {"without NumPy arrays"},
		"npy-shape.npy":         {"impossible shape"},
		"npy-header.npy":        {"NumPy header"},
		"npy-wide.npy":          {"a sparse view", "MaxBytes"},
		"csv-text.csv.gz":       {"reads and unpacks more than", "MaxBytes"},
		"csv-labels.csv.gz":     {"texts", "MaxBytes"},
		"csv-classes.csv.gz":    {"holds more than", "MaxBytes"},
		"csv-line.csv.gz":       {"a line", "MaxBytes"},
		"csv-quote.csv.gz":      {"a line", "MaxBytes"},
		"csv-comments.csv.gz":   {"reads and unpacks more than", "MaxBytes"},
		"csv-blank.csv.gz":      {"reads and unpacks more than", "MaxBytes"},
		"csv-fields.csv.gz":     {"the names of its columns", "MaxBytes"},
		"csv-bomb.csv.gz":       {"holds more than", "MaxBytes"},
	}
	for _, f := range hostileFiles() {
		words, known := wants[f.Name]
		if !known {
			t.Errorf("%s is not tried", f.Name)
			continue
		}
		if f.Slow && !testutil.Slow {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			data := f.Make()
			unpacked := int64(0)
			o := Options{MaxBytes: hostileLimit, Storage: SparseIfSmaller, Labels: f.Labels, Progress: func(n int64) error {
				unpacked = n
				return nil
			}}
			var err error
			if got := testutil.Allocated(func() { _, err = read(f.Name, data, o) }); got > 8*hostileLimit {
				t.Errorf("allocates %d MiB", got>>20)
			}
			if most := int64(128<<20 + 48*hostileLimit + 16*len(data)); unpacked > most {
				t.Errorf("unpacks %d MiB", unpacked>>20)
			}
			if words == nil {
				if err != nil {
					t.Fatal(err)
				}
				// What is no part of the data costs next to nothing.
				if unpacked > int64(8*len(data)) {
					t.Errorf("unpacks %d MiB of %d for a small matrix", unpacked>>20, len(data)>>20)
				}
				return
			}
			wantError(t, err, words...)
		})
	}
}

// TestDefaultLimit has a limit too, for files that are larger than they look.
func TestDefaultLimit(t *testing.T) {
	for _, f := range hostileFiles() {
		if f.Name != "mat-sparse.mat" {
			continue
		}
		data := f.Make()
		var err error
		if got := testutil.Allocated(func() { _, err = read(f.Name, data, Options{Storage: SparseIfSmaller}) }); got > 64<<20 {
			t.Errorf("allocates %d MiB", got>>20)
		}
		wantError(t, err, "X", "1.6 GiB", "MaxBytes allows 1.0 GiB")
	}
}

// TestReadingStops ends a long reading by its context and by an error of the progress.
func TestReadingStops(t *testing.T) {
	path := t.TempDir() + "/long.csv.gz"
	if err := writeBytes(path, hostile.LongCSV(testutil.Few(6, 20)<<20)); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("that is enough")
	for _, by := range []string{"context", "progress"} {
		ctx, cancel := context.WithCancel(context.Background())
		calls, last := 0, int64(0)
		o := Options{Progress: func(n int64) error {
			if n <= last {
				t.Errorf("%d bytes after %d", n, last)
			}
			last = n
			if calls++; calls < 3 {
				return nil
			}
			if by == "context" {
				cancel()
				return nil
			}
			return stop
		}}
		_, err := Open(ctx, []string{path}, o)
		want := stop
		if by == "context" {
			want = context.Canceled
		}
		if !errors.Is(err, want) || calls != 3 {
			t.Errorf("%s: %d calls, then %v", by, calls, err)
		}
		cancel()
	}
}
