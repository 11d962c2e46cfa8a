package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
)

// TestFormats fits the same set from every way of storing it that can be written here, and wants the same loss to the bit.
func TestFormats(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	set, err := dataset.Open(context.Background(), []string{path}, dataset.Options{Float: 64})
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, data []byte) string {
		full := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return full
	}
	encode := func(v int, labels bool, comma string) []byte {
		var columns []dataset.Column
		columns, err := dataset.MatrixColumns("f", 30, set.Views[v].Cols, set.Views[v].Float64)
		if err != nil {
			t.Fatal(err)
		}
		if labels {
			columns = append(columns, dataset.Column{Name: "kind", Data: set.Labels})
		}
		var b bytes.Buffer
		if err := dataset.EncodeCSV(&b, columns...); err != nil {
			t.Fatal(err)
		}
		return bytes.ReplaceAll(b.Bytes(), []byte(","), []byte(comma))
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(encode(1, false, "\t")); err != nil || z.Close() != nil {
		t.Fatal("gzip")
	}
	a, b := file("a.csv", encode(0, true, ",")), file("b.tsv.gz", zipped.Bytes())
	var labels strings.Builder
	for _, l := range set.Labels {
		fmt.Fprintln(&labels, l)
	}
	plain, y := file("c.csv", encode(0, false, ",")), file("truth.csv", []byte(labels.String()))
	file("folder/0.csv", encode(0, false, ","))
	file("folder/1.csv", encode(1, false, ";"))
	file("folder/labels.csv", []byte(labels.String()))
	compressed := filepath.Join(folder, "compressed.npz")
	if err := set.WriteNPZ(compressed, true); err != nil {
		t.Fatal(err)
	}
	var want any
	for _, args := range [][]string{
		{"-data", path},
		{"-data", compressed},
		{"-data", a, "-data", b, "-labels", "kind"},
		{"-data", plain, "-data", b, "-labels", y},
		{"-data", filepath.Join(folder, "folder")},
		{"-data", path, "-views", "X0, X1", "-labels", "y", "-orientation", "rows", "-max-memory", "1"},
		{"-data", path, "-sparse", "never"},
	} {
		status, stdout, stderr := runLine(append([]string{"fit", "-epochs", "3", "-json", "-quiet"}, args...)...)
		if status != exitOK {
			t.Errorf("%q: %s", args, stderr)
			continue
		}
		m := object(t, stdout)
		if want == nil {
			want = m["loss_last"]
		}
		if m["loss_last"] != want || m["acc"] != 1.0 || fmt.Sprint(m["dims"]) != "[12 8]" {
			t.Errorf("%q: loss %v, want %v; acc %v, dims %v", args, m["loss_last"], want, m["acc"], m["dims"])
		}
	}
	status, stdout, stderr := runLine("fit", "-data", a, "-labels", "-1", "-epochs", "1", "-json", "-quiet")
	if status != exitOK || object(t, stdout)["classes"] != 3.0 {
		t.Errorf("labels in the last column: status %d, %s%s", status, stdout, stderr)
	}
	// Held sparse, the same to rounding; without labels, no scores.
	_, stdout, _ = runLine("fit", "-data", path, "-epochs", "3", "-json", "-quiet", "-sparse", "always", "-labels", "none",
		"-clusters", "3")
	m := object(t, stdout)
	if loss := m["loss_last"].(float64); math.Abs(loss-want.(float64)) > 1e-4*math.Abs(loss) || m["acc"] != nil {
		t.Errorf("sparse: loss %v, want %v; acc %v", loss, want, m["acc"])
	}
}

// TestStorage checks that -sparse auto keeps the sparse views alone sparse, without a change of a value.
func TestStorage(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const n, d = 40, 50
	var arrays []dataset.Array
	for v, share := range []float64{0.02, 0.15, 0.9} {
		x := make([]float64, n*d)
		for i := range x {
			if rng.Float64() < share {
				x[i] = 1 + rng.Float64()
			}
		}
		arrays = append(arrays, dataset.Array{Name: fmt.Sprintf("X%d", v), Shape: []int{n, d}, Data: x})
	}
	path := filepath.Join(t.TempDir(), "set.npz")
	if err := dataset.WriteNPZ(path, false, arrays...); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{32, 64} {
		plain, err := dataset.Open(context.Background(), []string{path}, dataset.Options{Float: width})
		if err != nil {
			t.Fatal(err)
		}
		for kind, want := range map[dataset.Storage][]bool{
			dataset.SparseIfSmaller: {true, false, false}, dataset.AsStored: {false, false, false},
			dataset.AllDense: {false, false, false}, dataset.AllSparse: {true, true, true}} {
			o := &dataOptions{data: []string{path}, sparse: kind}
			set, err := o.open(t.Context(), width)
			if err != nil {
				t.Fatal(err)
			}
			r, err := o.inspect(t.Context(), width)
			if err != nil {
				t.Fatal(err)
			}
			if set.Bytes() != r.Bytes {
				t.Errorf("%v: %d bytes, the report says %d", kind, set.Bytes(), r.Bytes)
			}
			for v := range set.Views {
				if (set.Views[v].Sparse != nil) != want[v] || r.Views[v].Sparse != want[v] {
					t.Errorf("%v, view %d: sparse is not %v", kind, v, want[v])
				}
				for i := range n * d {
					if set.Views[v].At(i/d, i%d) != plain.Views[v].At(i/d, i%d) {
						t.Fatalf("%v, view %d: entry %d changed", kind, v, i)
					}
				}
			}
		}
	}
}

// TestMissing fits with a mask.
func TestMissing(t *testing.T) {
	path := writeSet(t, 60, true)
	fit := func(args ...string) map[string]any {
		t.Helper()
		status, stdout, stderr := runLine(append([]string{"fit", "-data", path, "-epochs", "5", "-json", "-quiet"}, args...)...)
		if status != exitOK {
			t.Fatal(stderr)
		}
		return object(t, stdout)
	}
	mask := writeMask(t, 60, 0.3, 1)
	a, b, whole := fit("-mask", mask), fit("-mask", mask), fit()
	if a["missing_rate"] != 0.3 || a["loss_last"] != b["loss_last"] || a["loss_last"] == whole["loss_last"] ||
		!(a["acc"].(float64) > 0.9) {
		t.Errorf("missing rate %v, loss %v, %v and %v, acc %v", a["missing_rate"], a["loss_last"], b["loss_last"],
			whole["loss_last"], a["acc"])
	}
	if _, stdout, _ := runLine("fit", "-data", path, "-mask", mask, "-epochs", "1", "-quiet"); !strings.Contains(stdout,
		"30.0 % of the view rows absent") {
		t.Errorf("the summary is silent on it:\n%s", stdout)
	}
}

// writeMask writes the mask of n samples of two views with a share of rows that are absent.
func writeMask(t *testing.T, n int, rate float64, seed uint64) string {
	t.Helper()
	present, err := dataset.Drop(n, 2, rate, seed)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, row := range present {
		fmt.Fprintf(&text, "%d,%d\n", number01(row[0]), number01(row[1]))
	}
	return writeText(t, "mask.csv", text.String())
}

func number01(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestResumeInOtherArithmetic refuses it of a table, whose values are the same in both, and leaves the checkpoint as it is.
func TestResumeInOtherArithmetic(t *testing.T) {
	text := "a,b,c\n"
	for i := range 40 {
		text += fmt.Sprintf("%d,%d,%d\n", i%4*10+i%3, i*i%7, i%4+i%5)
	}
	path, state := writeText(t, "table.csv", text), filepath.Join(t.TempDir(), "state")
	fit := []string{"fit", "-data", path, "-clusters", "4", "-epochs", "3", "-quiet", "-checkpoint", state}
	if status, _, stderr := runLine(fit...); status != exitOK {
		t.Fatal(stderr)
	}
	before, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	status, out, stderr := runLine("fit", "-data", path, "-resume", state, "-epochs", "5", "-set", "Float64=true", "-quiet")
	checkFailure(t, "float64", exitError, status, out, stderr, "the training was in float32: give -set Float64=false")
	if after, err := os.ReadFile(state); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the checkpoint has changed, or is gone: %v", err)
	}
	status, _, stderr = runLine("fit", "-data", path, "-resume", state, "-epochs", "5", "-set", "Float64=false", "-quiet")
	if status != exitOK {
		t.Error(stderr)
	}
}

// TestResumeMissing goes on with the views that were missing then.
func TestResumeMissing(t *testing.T) {
	path, state, mask := writeSet(t, 60, true), filepath.Join(t.TempDir(), "state"), writeMask(t, 60, 0.4, 3)
	args := []string{"fit", "-data", path, "-epochs", "30", "-seed", "3", "-mask", mask, "-json"}
	_, whole, _ := runLine(args...)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var stdout bytes.Buffer
	if status := run(ctx, append(slices.Clone(args), "-checkpoint", state), &stdout,
		&trigger{cancel: cancel}); status != exitError {
		t.Fatalf("interrupted: status %d", status)
	}
	status, resumed, stderr := runLine("fit", "-data", path, "-mask", mask, "-resume", state, "-json", "-quiet")
	if status != exitOK {
		t.Fatal(stderr)
	}
	if got, want := object(t, resumed), object(t, whole); got["loss_last"] != want["loss_last"] || got["missing_rate"] != 0.4 {
		t.Errorf("loss %v, without an interruption %v; missing rate %v", got["loss_last"], want["loss_last"], got["missing_rate"])
	}
	status, out, stderr := runLine("fit", "-data", path, "-seed", "3", "-resume", state, "-quiet")
	checkFailure(t, "a seed alone", exitUsage, status, out, stderr, "-seed cannot be given")
	status, out, stderr = runLine("fit", "-data", path, "-resume", state, "-quiet")
	checkFailure(t, "complete data", exitError, status, out, stderr, "differ from those of the training")
}
