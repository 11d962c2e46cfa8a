package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/dataset"
)

// writeNPY writes an n×d matrix.
func writeNPY(t *testing.T, path string, n, d int, x []float32) {
	t.Helper()
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", n, d)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	out = append(out, header...)
	out, err := binary.Append(out, binary.LittleEndian, x)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeShards writes two views of n samples in four clusters, each in one file, x0.npy and x1.npy, and in files with the given
// numbers of rows, x0-0.npy and so on.
func writeShards(t *testing.T, folder string, n int, parts ...int) (all [][]float32) {
	t.Helper()
	return writeHoles(t, folder, 0, n, parts...)
}

// writeHoles is writeShards of samples of which a share lacks one of the views, whose row is NaN.
func writeHoles(t *testing.T, folder string, share float64, n int, parts ...int) (all [][]float32) {
	t.Helper()
	holes := rand.New(rand.NewPCG(5, 6))
	lacks := make([]int, n) // the view, or one that there is not
	for i := range lacks {
		if lacks[i] = 2; holes.Float64() < share {
			lacks[i] = holes.IntN(2)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for v, d := range []int{9, 6} {
		x := make([]float32, n*d)
		for i := range n {
			for j := range d {
				x[i*d+j] = float32(rng.NormFloat64())
				if j%4 == i%4 {
					x[i*d+j] += 4
				}
				if lacks[i] == v {
					x[i*d+j] = float32(math.NaN())
				}
			}
		}
		writeNPY(t, filepath.Join(folder, fmt.Sprintf("x%d.npy", v)), n, d, x)
		at := 0
		for k, rows := range parts {
			writeNPY(t, filepath.Join(folder, fmt.Sprintf("x%d-%d.npy", v, k)), rows, d, x[at*d:(at+rows)*d])
			at += rows
		}
		all = append(all, x)
		if len(parts) > 0 {
			pattern := filepath.Join(folder, fmt.Sprintf("x%d-%%d.npy", v))
			if status, _, stderr := runLine("inspect", "-manifest", pattern); status != exitOK {
				t.Fatal(stderr)
			}
		}
	}
	return all
}

// TestShardsByRows: the error for a table names no flag that inspect and -mpi do not have.
func TestShardsByRows(t *testing.T) {
	path := writeText(t, "t-0.csv", "a,b\n1,2\n3,4\n")
	status, stdout, stderr := runLine("inspect", "-manifest", strings.Replace(path, "t-0", "t-%d", 1))
	checkFailure(t, "a table", exitError, status, stdout, stderr, "t-0.csv cannot be read row by row")
	if strings.Contains(stderr, "-scratch") {
		t.Error(stderr)
	}
}

// TestShards: rows that lie in several files are read as if they were in one.
func TestShards(t *testing.T) {
	const n = 5000
	folder := t.TempDir()
	all := writeShards(t, folder, n, 700, 1, 4200, 99)
	paths := []string{filepath.Join(folder, "x0-%d.npy"), filepath.Join(folder, "x1.npy")}
	s, err := openShards(t.Context(), paths, dataset.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if s.samples() != n || len(s.views) != 2 || s.views[0].name != "x0" || s.views[1].name != "x1" || len(s.views[0].parts) != 4 {
		t.Fatalf("%d samples, %+v", s.samples(), s.views)
	}
	for _, span := range [][2]int{{0, n}, {699, 702}, {700, 701}, {701, 4950}, {4999, n}} {
		views, err := s.read(t.Context(), span[0], span[1], 2, false)
		if err != nil {
			t.Fatal(err)
		}
		for v, x := range views {
			rows, d := x.Dims()
			row := make([]float64, d)
			for i := range rows {
				x.Row(row, i)
				want := all[v][(span[0]+i)*d : (span[0]+i+1)*d]
				if !slices.EqualFunc(row, want, func(a float64, b float32) bool { return a == float64(b) }) {
					t.Fatalf("rows %v of view %d: row %d is %v, want %v", span, v, i, row, want)
				}
			}
		}
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	writeNPY(t, filepath.Join(folder, "y-0.npy"), 10, 2, make([]float32, 20))
	writeNPY(t, filepath.Join(folder, "y-1.npy"), 10, 3, make([]float32, 30))
	for k, rows := range map[string]int{"g-0": 10, "g-1": 10, "g-3": 10, "m-0": 10, "m-1": 10, "n-0": 10, "n-1": 10} {
		writeNPY(t, filepath.Join(folder, k+".npy"), rows, 2, make([]float32, rows*2))
	}
	status, stdout, stderr := runLine("inspect", "-manifest", filepath.Join(folder, "m-%d.npy"),
		filepath.Join(folder, "n-%d.npy"))
	if status != exitOK || !strings.Contains(stdout, "m-manifest.json: 20 rows in 2 files") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	if err := os.Remove(filepath.Join(folder, "m-1.npy")); err != nil {
		t.Fatal(err)
	}
	writeNPY(t, filepath.Join(folder, "n-1.npy"), 9, 2, make([]float32, 18))
	writeNPY(t, filepath.Join(folder, "p-0.npy"), 10, 2, make([]float32, 20))
	status, stdout, stderr = runLine("inspect", "-manifest", filepath.Join(folder, "g-%d.npy"))
	checkFailure(t, "a gap", exitError, status, stdout, stderr, "there is no "+filepath.Join(folder, "g-2.npy"))
	status, stdout, stderr = runLine("inspect", "-manifest", filepath.Join(folder, "x1.npy"))
	checkFailure(t, "no number", exitUsage, status, stdout, stderr, "-manifest is for files with %d")
	for paths, want := range map[string]string{
		"g-%d.npy": "g-2.npy, but", "m-%d.npy": "there is no m-1.npy, which", "n-%d.npy": "n-1.npy has 9 rows",
		"p-%d.npy": "inspect -manifest",
		"z-%d.npy": "there is no", "y-%d.npy": "y-1.npy has 3 columns", "x0.npy y-0.npy": "x0 5000×9, y-0 10×2",
		"x0-%d.npy y-0.npy": "y-0.npy has 10 rows",
		"z.npy":             "no such file",
	} {
		var data []string
		for p := range strings.FieldsSeq(paths) {
			data = append(data, filepath.Join(folder, p))
		}
		if _, err := openShards(t.Context(), data, dataset.Options{}, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", paths, err, want)
		}
	}
	if err := os.Truncate(filepath.Join(folder, "x0-2.npy"), 5000); err != nil {
		t.Fatal(err)
	}
	if _, err := openShards(t.Context(), []string{filepath.Join(folder, "x0-%d.npy")}, dataset.Options{}, false); err == nil ||
		!strings.Contains(err.Error(), "x0-2.npy") {
		t.Errorf("a truncated file: error %v", err)
	}
}

// FuzzManifest: a manifest of any content is an error, or says what the files are.
func FuzzManifest(f *testing.F) {
	const good = `{"files": [{"name": "x-0.npy", "rows": 3}, {"name": "x-1.npy", "rows": 4}]}`
	for _, text := range []string{
		good, "", "null", "{}", `{"files": null}`, `[]`, good[:40], good + good, good[:41] + "]}",
		strings.Replace(good, "3", "-3", 1), strings.Replace(good, "3", "3e0", 1),
		strings.Replace(good, "x-1", "y-1", 1), strings.Replace(good, "4", "18446744073709551616", 1),
	} {
		f.Add([]byte(text))
	}
	for i := range good { // all that differs by one byte, or ends early
		for _, c := range "0139x-+., :\"[]{}\\n" {
			f.Add([]byte(good[:i] + string(c) + good[i+1:]))
		}
		f.Add([]byte(good[:i] + good[i+1:]))
		f.Add([]byte(good[:i]))
	}
	folder := f.TempDir()
	pattern := filepath.Join(folder, "x-%d.npy")
	files := []string{filepath.Join(folder, "x-0.npy"), filepath.Join(folder, "x-1.npy")}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(filepath.Join(folder, "x-manifest.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if checkManifest(pattern, files, []int{3, 4}) != nil {
			return
		}
		var m manifest
		want := []manifestFile{{"x-0.npy", 3}, {"x-1.npy", 4}}
		if err := json.Unmarshal(text, &m); err != nil || !slices.Equal(m.Files, want) {
			t.Errorf("%q is accepted: %v", text, err)
		}
	})
}

// TestManifestOfOtherFiles: a manifest that lists other files is an error, though they have as many rows.
func TestManifestOfOtherFiles(t *testing.T) {
	folder := t.TempDir()
	text := `{"files": [{"name": "y-0.npy", "rows": 3}]}`
	if err := os.WriteFile(filepath.Join(folder, "x-manifest.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	err := checkManifest(filepath.Join(folder, "x-%d.npy"), []string{filepath.Join(folder, "x-0.npy")}, []int{3})
	if err == nil || !strings.Contains(err.Error(), `file 0 is "y-0.npy", and should be "x-0.npy"`) {
		t.Error(err)
	}
}

// TestPreparedRanks fills holes and transforms counts with the bits of one process that has all rows in memory: for a fit, the
// rows of several files, and for predict.
func TestPreparedRanks(t *testing.T) {
	t.Chdir(t.TempDir())
	all, at := writeHoles(t, ".", 0.1, 5000, 700, 1, 4299), 0
	for i := 0; i < len(all[0]); i += 31 {
		all[0][i] = float32(math.NaN())
	}
	writeNPY(t, "x0.npy", 5000, 9, all[0])
	for k, rows := range []int{700, 1, 4299} {
		writeNPY(t, fmt.Sprintf("x0-%d.npy", k), rows, 9, all[0][at*9:(at+rows)*9])
		at += rows
	}
	fit := "fit x0.npy x1.npy -missing-rows -clusters 4 -epochs 2 -quiet -set FitSamples=400 -impute neighbors "
	for _, flags := range []string{"-save model -out one.csv", "-from-disk -out disk.csv"} {
		if status, _, stderr := runLine(strings.Fields(fit + flags)...); status != exitOK {
			t.Fatal(stderr)
		}
	}
	if contents(t, "one.csv") != contents(t, "disk.csv") {
		t.Error("from disk, the fit has other labels")
	}
	o := &dataOptions{data: []string{"x0-%d.npy", "x1-%d.npy"}, missingRows: true, impute: dataset.ImputeNeighbors}
	s, err := o.openShards(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if notes := s.input().reading.Notes; len(notes) != 1 || !strings.Contains(notes[0], "5 nearest training samples") {
		t.Fatalf("notes %q", notes)
	}
	got, err := s.read(t.Context(), 650, 2000, 2, true)
	if err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Open(t.Context(), []string{"x0.npy", "x1.npy"}, dataset.Options{MissingRows: true,
		Impute: dataset.ImputeNeighbors, Storage: dataset.AllDense})
	if err != nil {
		t.Fatal(err)
	}
	for v, x := range got {
		a, b := make([]float64, set.Views[v].Cols), make([]float64, set.Views[v].Cols)
		for i := range 1350 {
			set.Views[v].Row(650+i, b)
			if a = x.Row(a, i); x.Has(i) != set.Present[650+i][v] || x.Has(i) && !slices.Equal(a, b) {
				t.Fatalf("view %d, row %d: %v, in memory %v", v, 650+i, a, b)
			}
		}
	}
	if status, _, stderr := runLine(strings.Fields("predict x0.npy x1.npy -model model -missing-rows -from-disk -quiet -out " +
		"rows.csv")...); status != exitOK {
		t.Fatal(stderr)
	}
	_ = predictThreads(t, 3, "-mpi -model model -missing-rows -data x0-%d.npy -data x1-%d.npy -out ranks.csv")
	if contents(t, "rows.csv") != contents(t, "ranks.csv") {
		t.Error("several processes predict other labels than one")
	}
}

// fitThreads runs fit in some processes that are goroutines.
func fitThreads(t *testing.T, size int, line string) {
	t.Helper()
	var all sync.WaitGroup
	for r, c := range comm.Local(size) {
		w := &threads{Comm: c}
		all.Go(func() {
			o, _, err := parseFit(strings.Fields(line))
			if err == nil {
				err = o.checkFiles(io.Discard)
			}
			var result *largemvc.Clustering
			var in *input
			if err == nil {
				result, in, _, err = o.fitRank(t.Context(), w, io.Discard)
			}
			if err == nil {
				err = in.closing(o.writeRank(t.Context(), w, in, result, false, io.Discard))
			}
			if err != nil {
				t.Errorf("process %d of %d: %v", r, size, err)
				w.Abort(err)
			}
		})
	}
	all.Wait()
}

// TestTablesOfRanks: several processes write the labels, the embedding, the memberships and the trust of one process, of samples
// with ids and absent rows, to one file and to a file each.
func TestTablesOfRanks(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 2200
	x := writeHoles(t, ".", 0.1, n)
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("sample-%d", i*i)
	}
	if err := dataset.WriteNPZ("set.npz", false, dataset.Array{Name: "ids", Data: ids},
		dataset.Array{Name: "x0", Shape: []int{n, 9}, Data: x[0]},
		dataset.Array{Name: "x1", Shape: []int{n, len(x[1]) / n}, Data: x[1]}); err != nil {
		t.Fatal(err)
	}
	const fit = "set.npz -missing-rows -clusters 4 -epochs 2 -quiet "
	tables := func(name string) string {
		return strings.ReplaceAll("-out l@.csv -embedding h@.npy -memberships m@.csv -trust t@.csv", "@", name)
	}
	if status, _, stderr := runLine(strings.Fields("fit " + fit + tables("one"))...); status != exitOK {
		t.Fatal(stderr)
	}
	fitThreads(t, 2, "-mpi -data "+fit+tables("many"))
	sameFiles(t, "lone.csv", "lmany.csv")
	sameFiles(t, "hone.npy", "hmany.npy")
	sameFiles(t, "mone.csv", "mmany.csv")
	sameFiles(t, "tone.csv", "tmany.csv")
	fitThreads(t, 2, "-mpi -data "+fit+tables("part%d"))
	for _, kind := range []string{"l", "m", "t"} {
		_, second, _ := strings.Cut(contents(t, kind+"part1.csv"), "\n")
		if contents(t, kind+"part0.csv")+second != contents(t, kind+"one.csv") {
			t.Errorf("%spart0.csv and %[1]spart1.csv are not the table of one process", kind)
		}
	}
	const head = 128 // bytes
	whole, first, second := contents(t, "hone.npy"), contents(t, "hpart0.npy"), contents(t, "hpart1.npy")
	if first[head:]+second[head:] != whole[head:] || !strings.Contains(second, "(1176, 4)") {
		t.Error("hpart0.npy and hpart1.npy are not the embedding of one process")
	}
}

// TestFailingTableOfRanks: a table that cannot be written does not cost the model.
func TestFailingTableOfRanks(t *testing.T) {
	t.Chdir(t.TempDir())
	writeShards(t, ".", 60, 60)
	line := "-mpi -data x0-%d.npy -data x1-%d.npy -clusters 2 -epochs 1 -quiet -out gone/l.csv -save model"
	o, _, err := parseFit(strings.Fields(line))
	if err = errors.Join(err, os.Mkdir("gone", 0o700)); err != nil {
		t.Fatal(err)
	}
	w := &threads{Comm: comm.Local(1)[0]}
	c, in, _, err := o.fitRank(t.Context(), w, io.Discard)
	if err = errors.Join(err, os.Remove("gone")); err != nil {
		t.Fatal(err)
	}
	err = in.closing(o.writeRank(t.Context(), w, in, c, false, io.Discard))
	if err == nil || !strings.Contains(err.Error(), "l.csv") {
		t.Errorf("a table without its folder: %v", err)
	}
	if _, err := largemvc.Load("model"); err != nil {
		t.Error(err)
	}
}
