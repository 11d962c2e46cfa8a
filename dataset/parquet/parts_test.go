package parquet

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/largemvc/largemvc/dataset"
)

// TestParts: a folder of parts is one table, in memory, in place and converted.
func TestParts(t *testing.T) {
	rows := someRows(57)
	whole := written(t, "set.parquet", encoded(t, 10, rows))
	folder := filepath.Join(t.TempDir(), "set")
	put := func(name string, content []byte) {
		t.Helper()
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("part-2-a.snappy.parquet", encoded(t, 7, rows[:20], parquet.Compression(&parquet.Snappy)))
	put("part-10-b.parquet", encoded(t, 50, rows[20:]))
	put("part-9-c.parquet", encoded(t, 50, rows[:0]))
	put("_SUCCESS", nil)
	o := dataset.Options{LeaveOut: []string{"kind"}, Impute: dataset.ImputeMean, Storage: dataset.AllDense}
	var sets [2]*dataset.Set
	for k, path := range []string{whole, folder} {
		var err error
		if sets[k], err = dataset.Open(context.Background(), []string{path}, o); err != nil {
			t.Fatal(err)
		}
	}
	a, b := sets[0], sets[1]
	if !slices.Equal(a.IDs, b.IDs) || !slices.Equal(a.Labels, b.Labels) || len(a.Views) != 2 || len(b.Views) != 2 ||
		b.Views[0].Name != "set" {
		t.Fatalf("%v, %v", a.Reading, b.Reading)
	}
	disk := []*dataset.RowSet{rowsOf(t, whole, dataset.Options{}), rowsOf(t, folder, dataset.Options{}),
		rowsOf(t, folder, dataset.Options{Scratch: t.TempDir()})}
	for v, x := range a.Views {
		if !sameBits(x.Float32, b.Views[v].Float32) {
			t.Errorf("view %d differs", v)
		}
		var all [3][]float32
		for k, set := range disk {
			all[k] = make([]float32, x.Rows*x.Cols)
			if err := set.Views[v].ReadRows(context.Background(), 0, all[k]); err != nil {
				t.Fatal(err)
			}
		}
		if !sameBits(all[0], all[1]) || !sameBits(all[0], all[2]) {
			t.Errorf("view %d on disk differs", v)
		}
	}
	type renamed struct {
		A float64 `parquet:"a"`
		Z float64 `parquet:"z"`
	}
	type other struct {
		A float64 `parquet:"a"`
		B float32 `parquet:"b"`
	}
	type same struct {
		A float64 `parquet:"a"`
		B float64 `parquet:"b"`
	}
	type less struct {
		A float64 `parquet:"a"`
	}
	for want, last := range map[string][]byte{
		"data_1.parquet has column z in place 1":    encoded(t, 9, []renamed{{1, 2}}),
		"data_1.parquet has column b of type FLOAT": encoded(t, 9, []other{{1, 2}}),
		"data_1.parquet lacks column b of data_0":   encoded(t, 9, []less{{1}}),
		"data_1.parquet: is truncated":              encoded(t, 9, []same{{1, 2}})[:100],
	} {
		folder = t.TempDir()
		put("data_0.parquet", encoded(t, 9, []same{{1, 2}, {2, 5}}))
		put("data_1.parquet", last)
		if _, err := dataset.Open(context.Background(), []string{folder}, dataset.Options{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
