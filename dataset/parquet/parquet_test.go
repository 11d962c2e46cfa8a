package parquet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/largemvc/largemvc/dataset"
)

type row struct {
	Patient string    `parquet:"patient_id,dict"`
	A       float64   `parquet:"a"`
	B       *float32  `parquet:"b,optional"`
	C       int64     `parquet:"c,delta"`
	D       uint32    `parquet:"d"`
	E       bool      `parquet:"e"`
	Kind    *string   `parquet:"kind,optional,dict"`
	Rna     []float32 `parquet:"rna,list"`
	Class   string    `parquet:"label,dict"`
}

// encoded returns rows in groups, compressed.
func encoded[T any](t testing.TB, group int, rows []T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, append(options, parquet.MaxRowsPerRowGroup(int64(group)))...)
	for len(rows) > 0 {
		n := min(len(rows), group)
		if _, err := w.Write(rows[:n]); err != nil {
			t.Fatal(err)
		}
		rows = rows[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func written(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func someRows(n int) []row {
	rows := make([]row, n)
	for i := range rows {
		kind, b := fmt.Sprint("k", i%3), float32(i)/3
		rows[i] = row{Patient: fmt.Sprint("p", i), A: float64(i) / 7, B: &b, C: int64(i*i) - 5, D: math.MaxUint32 - uint32(i),
			E:    i%2 == 0,
			Kind: &kind, Rna: []float32{float32(i), 0.5, -float32(i)}, Class: []string{"x", "y"}[i%2]}
	}
	rows[4].B, rows[5].Kind = nil, nil
	return rows
}

// TestRead reads types, missing values, ids, classes and a column of lists, in several groups of rows.
func TestRead(t *testing.T) {
	rows := someRows(57)
	for _, codec := range []parquet.WriterOption{parquet.Compression(&parquet.Uncompressed), parquet.Compression(&parquet.Snappy),
		parquet.Compression(&parquet.Zstd), parquet.Compression(&parquet.Gzip),
		parquet.Compression(&parquet.Lz4Raw), parquet.DataPageVersion(1)} {
		path := written(t, "set.parquet", encoded(t, 10, rows, codec))
		set, err := dataset.Open(context.Background(), []string{path}, dataset.Options{OneHot: []string{"kind"},
			Impute: dataset.ImputeMean, Storage: dataset.AllDense, Float: 64})
		if err != nil {
			t.Fatal(err)
		}
		if len(set.Views) != 2 || set.IDs[56] != "p56" || !slices.Equal(set.LabelNames, []string{"x", "y"}) ||
			set.Labels[3] != 1 {
			t.Fatalf("%v, ids %q, labels %v", set.Reading, set.IDs, set.Labels)
		}
		x, list := set.Views[0], set.Views[1]
		if want := []string{"a", "b", "c", "d", "e", "kind=k0", "kind=k1", "kind=k2"}; !slices.Equal(x.Features, want) {
			t.Fatalf("features %q", x.Features)
		}
		for i, r := range rows {
			got := x.Float64[i*8 : i*8+8]
			e := 0.0
			if r.E {
				e = 1
			}
			if got[0] != r.A || r.B != nil && got[1] != float64(*r.B) || got[2] != float64(r.C) || got[3] != float64(r.D) ||
				got[4] != e {
				t.Fatalf("row %d is %v, want %+v", i, got, r)
			}
			if i != 5 && got[5+i%3] != 1 {
				t.Errorf("row %d has the texts %v", i, got[5:])
			}
			if y := list.Float64[3*i : 3*i+3]; y[0] != float64(i) || y[1] != 0.5 || y[2] != -float64(i) {
				t.Fatalf("row %d of the lists is %v", i, y)
			}
		}
	}
}

// TestFromDisk reads rows by way of a folder.
func TestFromDisk(t *testing.T) {
	path := written(t, "set.parquet", encoded(t, 10, someRows(57)))
	o := dataset.Options{Views: []string{"rna"}, LeaveOut: []string{"kind"}, Scratch: t.TempDir()}
	set, err := dataset.OpenRows(context.Background(), []string{path}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	x := make([]float32, 6)
	if err := set.Views[0].ReadRows(context.Background(), 55, x); err != nil || !slices.Equal(x, []float32{55, 0.5, -55, 56,
		0.5, -56}) {
		t.Errorf("%v, %v", x, err)
	}
}

// TestListsAlone reads ids and lists that may be missing.
func TestListsAlone(t *testing.T) {
	type row struct {
		ID string     `parquet:"id"`
		X  []*float64 `parquet:"x,list"`
		Y  []int32    `parquet:"y,list"`
	}
	a, b := 1.5, 2.5
	path := written(t, "set.parquet", encoded(t, 2, []row{{"u", []*float64{&a, nil}, []int32{1}}, {"v", nil, []int32{2}},
		{"w", []*float64{&b, &a}, []int32{3}}}))
	set, err := dataset.Open(context.Background(), []string{path}, dataset.Options{MissingRows: true, Impute: dataset.ImputeMean})
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Views) != 2 || set.IDs[2] != "w" || set.Present[1][0] || set.Views[0].At(0, 1) != 1.5 || set.Views[1].At(2,
		0) != 3 {
		t.Errorf("%v, ids %q, present %v, %+v", set.Reading, set.IDs, set.Present, set.Views)
	}
}

// TestIndex reads the index of pandas as ids whatever its name, and the numbers of a range unless they count the rows
// from 0 or are not one for each row.
func TestIndex(t *testing.T) {
	type row struct {
		Plant int64   `parquet:"plant"`
		X     float64 `parquet:"x"`
	}
	for index, want := range map[string]string{`["plant"]`: "[7 5] 1", `[{"kind": "range", "start": 0}]`: "[] 2",
		`null`: "[] 2", `[{"kind": "range", "start": 100, "stop": 110, "step": 5, "name": null}]`: "[100 105] 2",
		`[{"kind": "range", "start": 5, "stop": 3, "step": -1, "name": "plot"}]`: "[5 4] 2",
		`[{"kind": "range", "start": 5, "stop": 9, "step": 1}]`:                  "[] 2"} {
		path := written(t, "x.parquet", encoded(t, 5, []row{{7, 0.5}, {5, 1.5}},
			parquet.KeyValueMetadata("pandas", `{"index_columns": `+index+`}`)))
		set, err := dataset.Open(context.Background(), []string{path}, dataset.Options{})
		if err != nil || fmt.Sprint(set.IDs, set.Views[0].Cols) != want {
			t.Errorf("%s: %v, %v, want %s", index, set, err, want)
		}
	}
}

// TestIndexWithoutName: a pattern of names to leave out does not fit the index that pandas stores without a name.
func TestIndexWithoutName(t *testing.T) {
	type row struct {
		Cost, X float64
		Index   string `parquet:"__index_level_0__"`
	}
	path := written(t, "x.parquet", encoded(t, 5, []row{{1.5, 0.5, "u"}, {2.5, 1.5, "v"}},
		parquet.KeyValueMetadata("pandas", `{"index_columns": ["__index_level_0__"]}`)))
	set, err := dataset.Open(context.Background(), []string{path}, dataset.Options{LeaveOut: []string{"[Cc]*"}})
	if err != nil || fmt.Sprint(set.IDs, set.Views[0].Features) != "[u v] [X]" {
		t.Errorf("%v, %v", set, err)
	}
}

// TestRanges: files whose ranges of pandas differ are not joined by their places.
func TestRanges(t *testing.T) {
	file := func(start int) string {
		index := fmt.Sprintf(`{"index_columns": [{"kind": "range", "start": %d, "stop": %d, "step": 1}]}`, start, start+2)
		return written(t, "x.parquet", encoded(t, 5, []struct{ A, B float64 }{{0.5, 7.5}, {5.5, 1.5}},
			parquet.KeyValueMetadata("pandas", index)))
	}
	for _, c := range []struct {
		a, b int
		want string
	}{
		{0, 0, "neither has ids"}, {7, 7, ""}, {0, 1, "has ids"}, {1, 0, "has ids"}, {0, 7, "has ids"},
		{7, 8, "lacks 1 of the 3 samples"},
	} {
		_, err := dataset.Open(context.Background(), []string{file(c.a), file(c.b)}, dataset.Options{})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("ranges from %d and %d: %v, want %q", c.a, c.b, err, c.want)
		}
	}
}

// TestRefused wants columns that cannot be read to be named, with what to do.
func TestRefused(t *testing.T) {
	type dated struct {
		A, B float64
		When time.Time `parquet:"when,timestamp"`
	}
	type nested struct {
		A, B float64
		In   struct{ X, Y float64 } `parquet:"in"`
	}
	type lists struct {
		X []float64 `parquet:"x,list"`
	}
	type gaps struct {
		X []*float64 `parquet:"x,list"`
	}
	type large struct {
		A, B int64
	}
	type unsigned struct {
		A, B uint64
	}
	one, index := 1.5, func(names string) parquet.WriterOption {
		return parquet.KeyValueMetadata("pandas", `{"index_columns": [`+names+`]}`)
	}
	type texts struct {
		A    float64
		Name string `parquet:"name"`
	}
	for want, content := range map[string][]byte{
		"dates in column when":          encoded(t, 5, []dated{{1, 2, time.Now()}, {2, 3, time.Now()}}),
		"column in of type struct":      encoded(t, 5, []nested{{A: 1}, {A: 2}}),
		"more than 2 values in row 2":   encoded(t, 5, []lists{{[]float64{1, 2}}, {[]float64{1, 2, 3}}}),
		"1 values in row 2":             encoded(t, 5, []lists{{[]float64{1, 2}}, {[]float64{1}}, {[]float64{1, 2}}}),
		"no list with a value":          encoded(t, 5, []lists{{}, {}}),
		"whole number 9007199254740993": encoded(t, 5, []large{{1, 1<<53 + 1}, {3, 4}}),
		"line 2, column x, value 1":     encoded(t, 5, []gaps{{[]*float64{&one, &one}}, {[]*float64{&one, nil}}}),
		"number 18446744073709551615":   encoded(t, 5, []unsigned{{1, math.MaxUint64}, {3, 4}}),
		"names of ids (A, B)":           encoded(t, 5, []large{{1, 1}, {1, 2}}, index(`"A", "B"`)),
		"the id 1 twice in column A":    encoded(t, 5, []large{{1, 1}, {1, 2}}, index(`"A"`)),
		"texts in column name: \"12\"":  encoded(t, 5, []texts{{1, "12"}, {2, "13"}}),
		"compressed by LZ4, in a framing that is not read: write it with zstd": bytes.Replace(encoded(t, 5, []texts{{1, "12"}},
			parquet.Compression(&parquet.Lz4Raw)), []byte("A\x15\x0e"), []byte("A\x15\x0a"), 1),
		"no rows":                encoded(t, 5, []texts{}),
		"its last bytes are not": encoded(t, 5, someRows(9))[:400],
	} {
		_, err := dataset.Open(context.Background(), []string{written(t, "x.parquet", content)}, dataset.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

// TestDamaged: a file with bytes that were changed is read or refused, in bounded memory, without a panic.
func TestDamaged(t *testing.T) {
	whole := encoded(t, 10, someRows(25), parquet.Compression(&parquet.Snappy))
	rng := rand.New(rand.NewPCG(7, 7))
	for k := range 500 {
		b := slices.Clone(whole)
		for range 1 + k%3 {
			b[4+rng.IntN(len(b)-4)] = byte(rng.IntN(256))
		}
		if k%5 == 0 {
			b = append(b[:rng.IntN(len(b)-200)], b[len(b)-200:]...)
		}
		_, _ = dataset.Open(context.Background(), []string{written(t, "x.parquet", b)}, dataset.Options{MaxBytes: 64 << 20,
			OneHot: []string{"kind"}})
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	path := written(t, "x.parquet", whole)
	if _, err := dataset.Open(stopped, []string{path}, dataset.Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestEncode writes columns that are read again.
func TestEncode(t *testing.T) {
	var b bytes.Buffer
	err := Encode(&b, dataset.Column{Name: "id", Data: []string{"u", "v", "w"}}, dataset.Column{Name: "label", Data: []int{1, 0,
		1}},
		dataset.Column{Name: "p", Data: []float64{0.5, math.NaN(), 1}})
	if err != nil {
		t.Fatal(err)
	}
	labels, err := dataset.ReadLabels(context.Background(), written(t, "labels.parquet", b.Bytes()), dataset.Options{})
	if err != nil || !slices.Equal(labels.IDs, []string{"u", "v", "w"}) || labels.Names[labels.Labels[1]] != "0" {
		t.Errorf("%+v, %v", labels, err)
	}
	one := dataset.Column{Name: "a", Data: []int{1}}
	for want, columns := range map[string][]dataset.Column{
		"no columns": nil, `"b" has 2 rows`: {one, {Name: "b", Data: []int{1, 2}}}, `"b" is a int`: {one, {Name: "b", Data: 1}},
		`"c,d" has a comma`: {{Name: "c,d", Data: []int{1}}},
	} {
		if err := Encode(&b, columns...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzOpen: any bytes are read or refused.
func FuzzOpen(f *testing.F) {
	f.Add(encoded(f, 10, someRows(25)))
	f.Add(encoded(f, 5, someRows(9), parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = dataset.Open(context.Background(), []string{written(t, "x.parquet", append([]byte("PAR1"), b[min(len(b),
			4):]...))},
			dataset.Options{MaxBytes: 64 << 20, OneHot: []string{"kind"}, LeaveOut: []string{"in"}})
	})
}
