package parquet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// rowsOf opens a file for reading row by row.
func rowsOf(t *testing.T, path string, o dataset.Options) *dataset.RowSet {
	t.Helper()
	o.LeaveOut = append(o.LeaveOut, "kind")
	set, err := dataset.OpenRows(context.Background(), []string{path}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set
}

// sameBits compares numbers by their bits.
func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) })
}

// TestGroupsInPlace: rows read from groups in place have the bits of rows of the converted file, in any order, by several
// goroutines at once.
func TestGroupsInPlace(t *testing.T) {
	const n = 257
	for _, o := range []parquet.WriterOption{parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(1),
		parquet.PageBufferSize(64)} {
		path := written(t, "set.parquet", encoded(t, 40, someRows(n), o))
		place := rowsOf(t, path, dataset.Options{})
		copied := rowsOf(t, path, dataset.Options{Scratch: t.TempDir()})
		if !slices.Equal(place.IDs, copied.IDs) || !slices.Equal(place.Labels, copied.Labels) || len(place.Views) != 2 {
			t.Fatalf("%v, %v", place.Reading, copied.Reading)
		}
		for v, x := range place.Views {
			y := copied.Views[v]
			_, d := x.Dims()
			if !x.InPlace() || y.InPlace() || !slices.Equal(x.Features, y.Features) {
				t.Fatalf("%v is in place: %t, %v: %t", x, x.InPlace(), y, y.InPlace())
			}
			want := make([]float32, n*d)
			if err := y.ReadRows(context.Background(), 0, want); err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for g := range 8 {
				all.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(g), 1))
					for range 40 {
						first := rng.IntN(n)
						got := make([]float32, (1+rng.IntN(n-first))*d)
						if err := x.ReadRows(context.Background(), first, got); err != nil || !sameBits(got,
							want[first*d:first*d+len(got)]) {
							t.Errorf("view %d from row %d: %v", v, first, err)
						}
					}
				})
			}
			all.Wait()
		}
	}
}

// TestLargeGroup: a group of rows larger than what is decoded at once is read in parts, with and without an index of pages.
func TestLargeGroup(t *testing.T) {
	type row struct {
		X []float32 `parquet:"x,list"`
		A float32   `parquet:"a"`
		B *float32  `parquet:"b,optional"`
	}
	const n, d = 9000, 2000
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{A: float32(i), X: make([]float32, d)}
		for j := range rows[i].X {
			rows[i].X[j] = float32(i*7+j) / 3
		}
		if i%3 > 0 {
			rows[i].B = &rows[i].A
		}
	}
	for _, o := range []parquet.WriterOption{parquet.DataPageVersion(1), parquet.DataPageVersion(2)}[:testutil.Few(1, 2)] {
		set := rowsOf(t, written(t, "large.parquet", encoded(t, n, rows, o)), dataset.Options{Views: []string{"x"}})
		x := make([]float32, 3*d)
		for _, first := range []int{n - 3, 4190, 0, 8387} {
			if err := set.Views[0].ReadRows(context.Background(), first, x); err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				if !sameBits(x[i*d:(i+1)*d], rows[first+i].X) {
					t.Fatalf("row %d begins with %v, want %v", first+i, x[i*d:i*d+3], rows[first+i].X[:3])
				}
			}
		}
	}
}

// TestGroupErrors: files that change, reads that are called off, and damaged groups are errors that name the file.
func TestGroupErrors(t *testing.T) {
	content := encoded(t, 40, someRows(200), parquet.Compression(&parquet.Snappy))
	path := written(t, "set.parquet", content)
	set := rowsOf(t, path, dataset.Options{})
	x := make([]float32, 5*200)
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if err := set.Views[0].ReadRows(stopped, 0, x); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := os.WriteFile(path, content[:len(content)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := set.Views[0].ReadRows(context.Background(), 0, x); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Error(err)
	}
	rng := rand.New(rand.NewPCG(8, 8))
	for range 500 {
		b := slices.Clone(content)
		for range 3 {
			b[4+rng.IntN(len(b)-4)] = byte(rng.IntN(256))
		}
		path := written(t, "x.parquet", b)
		set, err := dataset.OpenRows(context.Background(), []string{path}, dataset.Options{LeaveOut: []string{"kind"}})
		if err != nil {
			continue
		}
		for _, v := range set.Views {
			n, d := v.Dims()
			if n > 1000 || d > 100 {
				continue
			}
			err := v.ReadRows(context.Background(), 0, make([]float32, n*d))
			if err != nil && !strings.Contains(err.Error(), path) {
				t.Error(fmt.Errorf("the file is missing in: %w", err))
			}
		}
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}
}
