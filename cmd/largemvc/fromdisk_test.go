package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/progress"
)

// A fit and a prediction whose rows stay on disk give the labels of those that have them in memory, from a file that is read in
// place and from one that is converted, and leave nothing behind.
func TestFromDisk(t *testing.T) {
	held := writeSet(t, 300, true)
	folder, scratch := t.TempDir(), t.TempDir()
	set, err := dataset.Open(context.Background(), []string{held}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stored, deflated := filepath.Join(folder, "stored.npz"), filepath.Join(folder, "deflated.npz")
	for path, deflate := range map[string]bool{stored: false, deflated: true} {
		if err := set.WriteNPZ(path, deflate); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{stored, deflated} {
		model, a, b := filepath.Join(folder, "model"), filepath.Join(folder, "a.csv"), filepath.Join(folder, "b.csv")
		labels, texts := map[string][]int{}, map[string]string{}
		for name, disk := range map[string][]string{
			"memory": {}, "disk": {"-from-disk", "-scratch", scratch},
			"bytes": {"-from-disk", "-scratch", scratch + ",uint8"},
		} {
			args := append([]string{"fit", "-data", path, "-epochs", "4", "-set", "FitSamples=90", "-set",
				"Neighborhood.Exact=none",
				"-save", model, "-out", a, "-quiet"}, disk...)
			status, stdout, stderr := runLine(args...)
			if status != exitOK || stderr != "" {
				t.Fatalf("%s: status %d: %s%s", name, status, stdout, stderr)
			}
			labels[name], _ = table(t, a)
			args = append([]string{"predict", "-model", model, "-data", path, "-out", b, "-json"}, disk...)
			if status, stdout, stderr = runLine(args...); status != exitOK {
				t.Fatalf("%s: status %d: %s", name, status, stderr)
			}
			if m := object(t, stdout); m["samples"] != 300.0 || m["acc"] != 1.0 || len(m["cluster_sizes"].([]any)) != 3 {
				t.Errorf("%s: %v", name, m)
			}
			texts[name] = readText(t, b)
			if again, _ := table(t, b); !slices.Equal(again, labels[name]) {
				t.Errorf("%s: a prediction labels otherwise", name)
			}
		}
		if !slices.Equal(labels["disk"], labels["memory"]) {
			t.Error("other labels from disk")
		}
		if texts["disk"] != texts["memory"] || !strings.HasPrefix(texts["disk"], "sample,label,confidence,novelty\n") {
			t.Errorf("other figures of new samples from disk:\n%.200s\nin memory:\n%.200s", texts["disk"], texts["memory"])
		}
		checkParts(t, model, path, scratch)
		// Some epochs on all samples, from the labels of the fit on some.
		status, stdout, stderr := runLine("fit", "-data", path, "-from-disk", "-scratch", scratch, "-set",
			"Neighborhood.Exact=none",
			"-start", a, "-epochs", "2", "-json", "-quiet")
		if status != exitOK {
			t.Fatalf("on all: status %d: %s", status, stderr)
		}
		if m := object(t, stdout); m["start_acc"] != 1.0 || m["acc"] != 1.0 {
			t.Errorf("on all: %v", m)
		}
	}
	if left, _ := os.ReadDir(scratch); len(left) > 0 {
		t.Errorf("%d files are left in the scratch folder", len(left))
	}
	status, stdout, stderr := runLine("fit", "-data", deflated, "-from-disk")
	checkFailure(t, "without a folder", exitError, status, stdout, stderr, "cannot be read row by row")
	for flags, want := range map[string]string{
		"-report r.html":    "-report needs the data in memory",
		"-set Float64=true": "-set Float64=true needs the data in memory", "-data -": "standard input cannot be read again",
	} {
		args := append([]string{"fit", "-data", stored, "-from-disk"}, strings.Fields(flags)...)
		status, stdout, stderr := runLine(args...)
		checkFailure(t, flags, exitUsage, status, stdout, stderr, want)
	}
}

// checkParts wants the labels of rows in parts to be those of all rows, by the same numbers.
func checkParts(t *testing.T, model, path, scratch string) {
	t.Helper()
	predict := func(flags ...string) (int, string, string) {
		return runLine(append([]string{"predict", "-model", model, "-data", path, "-from-disk", "-scratch", scratch, "-out", "-"},
			flags...)...)
	}
	_, whole, _ := predict("-quiet")
	all := ""
	for _, rows := range []string{"0:70", "70:299", "299:300"} {
		status, part, stderr := predict("-quiet", "-rows", rows)
		if status != exitOK {
			t.Fatalf("%s: status %d: %s", rows, status, stderr)
		}
		if head, rest, _ := strings.Cut(part, "\n"); all == "" {
			all = head + "\n" + rest
		} else {
			all += rest
		}
	}
	if all != whole || !strings.Contains(whole, "\n299,") {
		t.Errorf("other labels in three parts:\n%.200s\n%.200s", all, whole)
	}
	var arrays []string
	for _, disk := range []string{"-from-disk", "-quiet"} {
		out := filepath.Join(t.TempDir(), "labels.npy")
		status, _, stderr := runLine("predict", "-model", model, "-data", path, disk, "-scratch", scratch, "-out", out)
		if status != exitOK {
			t.Fatal(stderr)
		}
		arrays = append(arrays, readText(t, out))
	}
	if arrays[0] != arrays[1] || len(arrays[0]) != 128+8*300 {
		t.Errorf("an array of %d bytes from disk, of %d in memory", len(arrays[0]), len(arrays[1]))
	}
	for rows, want := range map[string]string{
		"200:301": "-rows 200:301 is beyond the 300 samples", "7": "must be FIRST:END", "9:9": "must be FIRST:END",
	} {
		status, stdout, stderr := predict("-rows", rows)
		checkFailure(t, rows, exitUsage, status, stdout, stderr, want)
	}
}

// TestFromDiskIDs: a fit from disk gives the ids that one in memory gives, everywhere, and joins labels to start from by them.
func TestFromDiskIDs(t *testing.T) {
	set, err := dataset.Open(context.Background(), []string{writeSet(t, 60, true)}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		set.IDs = append(set.IDs, fmt.Sprint("s", i*7%60))
	}
	folder := t.TempDir()
	path, model := filepath.Join(folder, "ids.npz"), filepath.Join(folder, "model")
	if err := set.WriteNPZ(path, false); err != nil {
		t.Fatal(err)
	}
	var outs, hs, ids []string
	for _, disk := range [][]string{nil, {"-from-disk"}} {
		out, h := filepath.Join(folder, "out.csv"), filepath.Join(folder, "h.csv")
		args := append([]string{"fit", "-data", path, "-epochs", "2", "-quiet", "-json", "-out", out, "-embedding", h,
			"-save", model, "-set", "Anchors=5"}, disk...)
		status, stdout, stderr := runLine(args...)
		if status != exitOK {
			t.Fatal(stderr)
		}
		outs, hs = append(outs, contents(t, out)), append(hs, contents(t, h))
		ids = append(ids, fmt.Sprint(object(t, stdout)["ids"]))
	}
	if !strings.HasPrefix(outs[1], "id,sample,label,confidence,remoteness\ns0,0,") || !strings.HasPrefix(hs[1], "id,sample,h0") {
		t.Errorf("from disk the files begin with %.40q and %.40q", outs[1], hs[1])
	}
	if outs[0] != outs[1] || hs[0] != hs[1] || ids[0] != ids[1] {
		t.Errorf("from disk the files or the ids %s differ from those in memory, %s", ids[1], ids[0])
	}
	lines := strings.SplitAfter(outs[0], "\n")
	slices.Sort(lines[1 : len(lines)-1]) // by id
	start := writeText(t, "start.csv", strings.Join(lines, ""))
	status, stdout, stderr := runLine("fit", "-data", path, "-from-disk", "-start", start, "-epochs", "1", "-json",
		"-quiet")
	if status != exitOK || object(t, stdout)["start_acc"] != 1.0 {
		t.Errorf("labels to start from, in another order: status %d, %s", status, stderr)
	}

	names := map[string]string{"out": "l.npy", "embedding": "h.npy", "memberships": "m.csv", "trust": "t.csv"}
	found := map[string][]string{}
	for _, disk := range [][]string{nil, {"-from-disk"}, {"-from-disk", "-rows", "10:50"}} {
		args := append([]string{"predict", "-model", model, "-data", path, "-quiet"}, disk...)
		for flag, name := range names {
			args = append(args, "-"+flag, filepath.Join(folder, name))
		}
		if status, _, stderr := runLine(args...); status != exitOK {
			t.Fatal(stderr)
		}
		for flag, name := range names {
			found[flag] = append(found[flag], contents(t, filepath.Join(folder, name)))
		}
	}
	for flag, x := range found {
		if x[1] != x[0] {
			t.Errorf("-%s of samples with ids: %.80q from disk, %.80q in memory", flag, x[1], x[0])
		}
		if lines := strings.SplitAfter(x[0], "\n"); strings.HasSuffix(names[flag], ".csv") &&
			x[2] != lines[0]+strings.Join(lines[11:51], "") {
			t.Errorf("-%s of samples with ids: the rows 10:50 are %.80q", flag, x[2])
		}
		const head = 128 // bytes
		wide := (len(x[0]) - head) / 60
		if strings.HasSuffix(names[flag], ".npy") && x[2][head:] != x[0][head+10*wide:head+50*wide] {
			t.Errorf("-%s of samples with ids: the rows 10:50 of the array are others", flag)
		}
	}
}

// countedRows are rows in memory behind the interface of rows on disk. values counts the values that are read.
type countedRows struct {
	x      []float32
	d      int
	values *atomic.Int64
	stop   func() // is called when the last row is read; nil: nothing is
}

func (c *countedRows) Dims() (n, d int) { return len(c.x) / c.d, c.d }

func (c *countedRows) ReadRows(_ context.Context, first int, dst []float32) error {
	c.values.Add(int64(copy(dst, c.x[first*c.d:])))
	if c.stop != nil && first*c.d+len(dst) == len(c.x) {
		c.stop()
	}
	return nil
}

// TestPredictReadsOnce: predict reads the rows once for all files together, in one process and in three. If it is cancelled in
// between, the files stay as they were.
func TestPredictReadsOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 20_000 // a block has at most 16,384
	all := writeHoles(t, ".", 0, n, n)
	if status, _, stderr := runLine(strings.Fields("fit x0.npy x1.npy -clusters 4 -epochs 1 -quiet -save model -set " +
		"FitSamples=150")...); status != exitOK {
		t.Fatal(stderr)
	}
	var values atomic.Int64
	predict := func(ctx context.Context, w world, stop func()) error {
		o := &predictOptions{modelOptions: modelOptions{model: "model"}, out: "l.csv", embedding: "h.npy",
			members: "m.npy", trust: "t.csv"}
		files := &predictOutputs{labels: output{path: o.out}, embedding: output{path: o.embedding},
			memberships: output{path: o.members}, trust: output{path: o.trust}}
		in := &input{samples: n, names: []string{"x0", "x1"}}
		model, _, err := o.modelOfRows()
		own, wrong := in.share(w, rowRange{})
		for v, d := range []int{9, 6} {
			in.views = append(in.views, largemvc.RowsView(&countedRows{all[v][own.lo*d : own.hi*d], d, &values, stop}))
		}
		if err = errors.Join(err, wrong); err != nil {
			return err
		}
		return o.writeFiles(ctx, o.rowFiles(ctx, files, model, in), model, &prediction{ClusterSizes: make([]int, model.Clusters)},
			ownRows{in, w, own, progress.New(io.Discard, "")}, io.Discard)
	}
	for _, size := range []int{1, 3} {
		values.Store(0)
		errs := make([]error, size)
		together := func(ctx context.Context, stop func()) error {
			var ranks sync.WaitGroup
			for r, c := range comm.Local(size) {
				w := &threads{Comm: c}
				ranks.Go(func() {
					if errs[r] = predict(ctx, w, stop); errs[r] != nil {
						w.Abort(errs[r])
					}
				})
			}
			ranks.Wait()
			return errors.Join(errs...)
		}
		if err := together(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := values.Load(); got != n*(9+6) {
			t.Errorf("%d processes read %d values, want %d", size, got, n*(9+6))
		}
		written := contents(t, "l.csv")
		if lines := strings.Count(written, "\n"); lines != n+1 {
			t.Errorf("%d processes write %d lines", size, lines)
		}
		if err := os.WriteFile("l.csv", []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		before := fileNames(t)
		ctx, cancel := context.WithCancel(t.Context())
		if err := together(ctx, cancel); !errors.Is(err, context.Canceled) {
			t.Errorf("%d processes that are cancelled return %v", size, err)
		}
		if after := fileNames(t); contents(t, "l.csv") != "old" || !slices.Equal(before, after) {
			t.Errorf("%d processes that are cancelled leave %v, before %v", size, after, before)
		}
	}
}

// fileNames returns the names of the files in the working directory.
func fileNames(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestPredictLeavesNoFile: if one of the files of predict cannot be written, the others stay as they were.
func TestPredictLeavesNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	writeHoles(t, ".", 0, 300, 300)
	if status, _, stderr := runLine(strings.Fields("fit x0.npy x1.npy -clusters 4 -epochs 1 -quiet -save model " +
		"-set NoStructure=true")...); status != exitOK {
		t.Fatal(stderr)
	}
	if err := os.WriteFile("h.npy", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := fileNames(t)
	// A model without a judgement has no memberships.
	status, _, stderr := runLine(strings.Fields("predict x0.npy x1.npy -from-disk -model model -quiet -out l.csv " +
		"-embedding h.npy -memberships m.npy -trust t.csv")...)
	if status != exitError || !strings.Contains(stderr, "did not judge") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if after := fileNames(t); !slices.Equal(before, after) || contents(t, "h.npy") != "old" {
		t.Errorf("%v, and before %v", after, before)
	}
}

// TestWarningsFromDisk: rows on disk have the warnings of rows in memory, in the words of the command.
func TestWarningsFromDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.npz")
	labels, x := make([]int, 30), make([]float32, 60)
	for i := range labels {
		labels[i], x[2*i], x[2*i+1] = i, float32(i%3), float32(i%7)
	}
	err := dataset.WriteNPZ(path, false, dataset.Array{Name: "X", Shape: []int{30, 2}, Data: x},
		dataset.Array{Name: "y", Data: labels})
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range [][]string{nil, {"-from-disk"}} {
		status, stdout, stderr := runLine(append([]string{"fit", path, "-k", "2", "-epochs", "1", "-quiet"}, more...)...)
		if status != exitOK || !strings.Contains(stdout, "all 30 labels are different") ||
			!strings.Contains(stdout, "-labels none leaves") {
			t.Errorf("%q: status %d\n%s%s", more, status, stdout, stderr)
		}
	}
}

// TestDriftFromDisk: rows on disk have the median confidence and the drift of rows in memory, to a thousandth.
func TestDriftFromDisk(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, shift float32) string {
		path, x := filepath.Join(folder, name), make([]float32, 0, 404)
		for i := range 101 { // of an odd number there is one median
			x = append(x, float32(i%2)*4+float32(i*i%13)/8+shift*float32(i%3), float32(i%2)*3+float32(i*i%17)/8,
				float32(i%7)/9, float32(i%5)/4)
		}
		if err := dataset.WriteNPZ(path, false, dataset.Array{Name: "X", Shape: []int{101, 4}, Data: x}); err != nil {
			t.Fatal(err)
		}
		return path
	}
	data, model := write("a.npz", 0), filepath.Join(folder, "model")
	if status, _, stderr := runLine("fit", data, "-k", "2", "-epochs", "2", "-quiet", "-save", model); status != exitOK {
		t.Fatal(stderr)
	}
	for name, shift := range map[string]float32{"same.npz": 0, "shifted.npz": 9} {
		var found [2]struct{ Confidence, Novelty, Novel *float64 }
		for k, more := range [][]string{nil, {"-from-disk"}} {
			line := append([]string{"predict", "-model", model, write(name, shift), "-json"}, more...)
			status, stdout, stderr := runLine(line...)
			if err := json.Unmarshal([]byte(stdout), &found[k]); err != nil || status != exitOK {
				t.Fatal(err, stderr)
			}
		}
		a, b := found[0], found[1]
		if a.Novel == nil || b.Novel == nil || *a.Novel != *b.Novel || math.Abs(*a.Novelty-*b.Novelty) > 0.0011 ||
			math.Abs(*a.Confidence-*b.Confidence) > 0.0011 {
			t.Errorf("%s: %v, %v", name, a, b)
		}
	}
}
