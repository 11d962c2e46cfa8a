package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
)

// contents reads a file.
func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// linked makes a link. It is false, with a word about it, where the system or the file system has none.
func linked(t *testing.T, link func(to, name string) error, to, name string) bool {
	t.Helper()
	err := link(to, name)
	switch {
	case err == nil:
		return true
	case runtime.GOOS == "windows", errors.Is(err, errors.ErrUnsupported), errors.Is(err, fs.ErrPermission):
		t.Logf("links are not tried: %v", err)
		return false
	}
	t.Fatal(err)
	return false
}

// symlink makes a symbolic link. Windows lets few users, and what stands in for it may only pretend to.
func symlink(target, link string) error {
	if err := os.Symlink(target, link); err != nil {
		return err
	}
	_, err := os.Readlink(link)
	return err
}

// TestOutputsOverInputs: an output that is an input, by whatever name, or another output, is refused before any work.
func TestOutputsOverInputs(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	type refused struct{ args, want string }
	var links []refused
	if linked(t, symlink, path, in("symlink")) {
		links = append(links, refused{"fit -data " + path + " -out " + in("symlink"), "overwrite what -data reads"},
			refused{"fit -data " + in("symlink") + " -out " + path, "overwrite what -data reads"})
	}
	if linked(t, os.Link, path, in("hardlink")) {
		links = append(links, refused{"fit -data " + path + " -out " + in("hardlink"), "overwrite what -data reads"})
	}
	model, mask := in("model"), in("mask.csv")
	if status, _, stderr := runLine("fit", "-data", path, "-epochs", "1", "-quiet", "-save", model); status != exitOK {
		t.Fatal(stderr)
	}
	if err := os.WriteFile(mask, []byte(strings.Repeat("1,1\n", 30)), 0o644); err != nil {
		t.Fatal(err)
	}
	views := in("views")
	if err := os.Mkdir(views, 0o755); err != nil {
		t.Fatal(err)
	}
	parts := in("x-%d.npz") // the number of a part in -data, of a process in -out
	for _, k := range []int{0, 1} {
		if err := os.WriteFile(numbered(parts, k), []byte(contents(t, path)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	config := in("config.json")
	if err := os.WriteFile(config, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := contents(t, path)
	for _, c := range append(links, []refused{
		{"fit -data " + path + " -out " + path, "-out"},
		{"fit -data " + path + " -save " + path, "-save"},
		{"fit -data " + path + " -checkpoint " + path, "-checkpoint"},
		{"fit -data " + path + " -mask " + mask + " -out " + mask, "overwrite what -mask reads"},
		{"fit -data " + path + " -config " + config + " -save " + config, "overwrite what -config reads"},
		{"fit -data " + path + " -config " + config + " -write-config " + config, "overwrite what -config reads"},
		{"choose -data " + path + " -known " + mask + " -figure " + mask, "overwrite what -known reads"},
		{"fit -data " + path + " -out " + in("a") + " -save " + in("a"), "would both write"},
		{"fit -data " + path + " -out " + in("a") + " -save " + in("views/../a"), "would both write"},
		{"fit -data " + path + " -save " + in("a") + " -checkpoint " + in("a"), "would both write"},
		{"fit -data " + path + " -out - -save -", "would both write"},
		{"fit -mpi -clusters 3 -data " + parts + " -out " + parts, "overwrite what -data reads"},
		{"fit -mpi -clusters 3 -data " + in("x-1.npz") + " -trust " + parts, "overwrite what -data reads"},
		{"fit -mpi -clusters 3 -data " + path + " -out " + in("p-%d.csv") + " -trust " + in("p-12.csv"), "would both write"},
		{"fit -mpi -clusters 3 -data " + path + " -out " + in("p-0.csv") + " -trust " + in("p-%d.csv"), "would both write"},
		{"predict -mpi -model " + model + " -data " + parts + " -out " + parts, "overwrite what -data reads"},
		{"fit -data " + path + " -out - -json", "-json writes to standard output too"},
		{"fit -data " + path + " -checkpoint -", "checkpoint cannot be written to standard output"},
		{"fit -data " + views + " -out " + in("views/result.csv"), "is in the folder"},
		{"predict -data " + path + " -model " + model + " -out " + model, "overwrite what -model reads"},
		{"predict -data " + path + " -model " + model + " -out " + path, "overwrite what -data reads"},
	}...) {
		status, stdout, stderr := runLine(strings.Fields(c.args)...)
		checkFailure(t, c.args, exitUsage, status, stdout, stderr, c.want)
	}
	if contents(t, path) != before {
		t.Error("the data are changed")
	}
}

// TestEndingsInCapitals: the ending of a name in capitals means the same format.
func TestEndingsInCapitals(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	model := in("model")
	for out, h := range map[string]string{"labels.NPY": "h.NPY", "labels.Parquet": "h.Npz", "labels.CSV": "h.Csv"} {
		status, _, stderr := runLine("fit", path, "-epochs", "1", "-quiet", "-out", in(out), "-embedding", in(h), "-save", model)
		if status != exitOK {
			t.Fatal(stderr)
		}
	}
	for name, begin := range map[string]string{"labels.NPY": "\x93NUMPY", "labels.Parquet": "PAR1", "labels.CSV": "sample,label,",
		"h.NPY": "\x93NUMPY", "h.Npz": "PK", "h.Csv": "sample,h0"} {
		if text := contents(t, in(name)); !strings.HasPrefix(text, begin) {
			t.Errorf("%s begins with %.20q", name, text)
		}
	}
	status, stdout, stderr := runLine("predict", path, "-model", model, "-from-disk", "-scratch", folder, "-out", in("a.PARQUET"))
	checkFailure(t, "block by block", exitUsage, status, stdout, stderr, "which .PARQUET does not allow")
	if status, _, stderr = runLine("predict", path, "-model", model, "-from-disk", "-scratch", folder, "-out",
		in("b.NPY")); status != exitOK || !strings.HasPrefix(contents(t, in("b.NPY")), "\x93NUMPY") {
		t.Error(stderr)
	}
}

// TestOutputThatFails: an output that cannot be written at the end is named with those that are written.
func TestOutputThatFails(t *testing.T) {
	folder := t.TempDir()
	gone, model := filepath.Join(folder, "gone"), filepath.Join(folder, "model")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	onEpoch = func(int, largemvc.Progress) { os.Remove(gone) }
	defer func() { onEpoch = nil }()
	out := filepath.Join(gone, "out.csv")
	status, _, stderr := runLine("fit", writeSet(t, 60, true), "-epochs", "2", "-out", out, "-save", model)
	_, err := largemvc.Load(model)
	if status != exitError || err != nil || !strings.Contains(stderr, out) ||
		!strings.HasSuffix(stderr, "written all the same: "+model+"\n") {
		t.Errorf("status %d, %v, %q", status, err, stderr)
	}
}

// TestOutputsOverStandardOutput: a file that standard output goes to is no output, or what is printed would be lost.
func TestOutputsOverStandardOutput(t *testing.T) {
	path, log := writeSet(t, 30, true), filepath.Join(t.TempDir(), "log")
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var stderr bytes.Buffer
	line := []string{"fit", "-data", path, "-epochs", "1", "-quiet", "-out", "-", "-trust", log}
	status := run(context.Background(), line, f, &stderr)
	checkFailure(t, "fit", exitUsage, status, contents(t, log), stderr.String(), "is the file that standard output goes to")
}

// TestOutputsAreTried: what cannot be written is found out before the work where it can be; where not, the other outputs are
// written, the summary is printed, and the status says that one failed.
func TestOutputsAreTried(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	if _, err := os.Stat("/dev/full"); err == nil {
		model := filepath.Join(folder, "model")
		status, stdout, stderr := runLine("fit", "-data", path, "-epochs", "1", "-quiet", "-out", "/dev/full", "-save", model)
		if status != exitError || !strings.Contains(stdout, "ACC") || !strings.Contains(stderr, "/dev/full") {
			t.Errorf("status %d, %s%s", status, stdout, stderr)
		}
		if _, err := largemvc.Load(model); err != nil {
			t.Errorf("the model is lost: %v", err)
		}
		status, stdout, stderr = runLine("predict", "-data", path, "-model", model, "-out", "/dev/full")
		if status != exitError || !strings.Contains(stdout, "ACC") || !strings.Contains(stderr, "/dev/full") {
			t.Errorf("predict: status %d, %s%s", status, stdout, stderr)
		}
	}
	locked := filepath.Join(folder, "locked")
	if err := os.Mkdir(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	switch {
	case runtime.GOOS == "linux" && os.Getuid() == 0:
		locked = "/proc" // in which not even root makes files
	case runtime.GOOS == "windows" || os.Getuid() == 0:
		t.Log("every folder can be written to here (a superuser, or a system without such permissions): none is tried")
		locked = ""
	}
	if locked != "" {
		status, stdout, stderr := runLine("fit", "-data", path, "-epochs", "1", "-out", filepath.Join(locked, "a"))
		checkFailure(t, "a locked folder", exitError, status, stdout, stderr, "cannot be written")
	}
	left, err := os.ReadDir(folder)
	for _, e := range left {
		if strings.HasPrefix(e.Name(), ".largemvc") {
			t.Errorf("%s is left, %v", e.Name(), err)
		}
	}
}

// TestOutputLinks: links are followed, and stay.
func TestOutputLinks(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	for _, name := range []string{"out", "save", "checkpoint"} {
		target, link := filepath.Join(folder, name+".real"), filepath.Join(folder, name)
		if !linked(t, symlink, filepath.Base(target), link) {
			t.Skip("there are no symbolic links here")
		}
		if status, _, stderr := runLine("fit", "-data", path, "-epochs", "1", "-quiet", "-"+name, link); status != exitOK {
			t.Fatal(stderr)
		}
		info, err := os.Lstat(link)
		if err != nil || info.Mode()&os.ModeSymlink == 0 || len(contents(t, target)) == 0 {
			t.Errorf("-%s: the link is gone or its target empty, %v", name, err)
		}
	}
}

// TestCheckpointIsKept: a fresh training does not overwrite the checkpoint of another.
func TestCheckpointIsKept(t *testing.T) {
	path, state := writeSet(t, 30, true), filepath.Join(t.TempDir(), "state")
	args := []string{"fit", "-data", path, "-quiet", "-checkpoint", state, "-epochs"}
	if status, _, stderr := runLine(append(args, "6")...); status != exitOK {
		t.Fatal(stderr)
	}
	before := contents(t, state)
	status, stdout, stderr := runLine(append(args, "2")...)
	checkFailure(t, "again", exitUsage, status, stdout, stderr, "-overwrite")
	if contents(t, state) != before {
		t.Error("the checkpoint is changed")
	}
	if status, _, stderr = runLine("fit", "-data", path, "-quiet", "-checkpoint", state, "-resume", state, "-epochs",
		"8"); status != exitOK {
		t.Errorf("going on: %s", stderr)
	}
	if status, _, stderr = runLine(append(args, "2", "-overwrite")...); status != exitOK {
		t.Errorf("with -overwrite: %s", stderr)
	}
}

// TestStandardStreams: - is standard input and standard output.
func TestStandardStreams(t *testing.T) {
	path := writeSet(t, 30, true)
	withInput := func(args ...string) (int, string, string) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		before := os.Stdin
		os.Stdin = f
		defer func() { os.Stdin = before }()
		return runLine(args...)
	}
	status, stdout, stderr := withInput("fit", "-data", "-", "-epochs", "1", "-out", "-")
	records, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if status != exitOK || err != nil || len(records) != 31 || !strings.Contains(stderr, "X0 in standard input") ||
		!strings.Contains(stderr, "ACC") {
		t.Errorf("status %d, %v, %d records\n%s", status, err, len(records), stderr)
	}
	if strings.Contains(stderr, os.TempDir()) {
		t.Errorf("the copy of standard input is named:\n%s", stderr)
	}
	model := filepath.Join(t.TempDir(), "model")
	status, stdout, stderr = withInput("fit", "-data", "-", "-epochs", "1", "-save", "-", "-quiet")
	if err := os.WriteFile(model, []byte(stdout), 0o644); err != nil || status != exitOK {
		t.Fatalf("status %d, %v: %s", status, err, stderr)
	}
	if _, err := largemvc.Load(model); err != nil {
		t.Error(err)
	}
	status, stdout, stderr = withInput("predict", "-data", "-", "-model", model, "-out", "-")
	if status != exitOK || strings.Count(stdout, "\n") != 31 {
		t.Errorf("predict: status %d, %s%s", status, stdout, stderr)
	}
	if status, stdout, stderr = withInput("inspect", "-"); status != exitOK || !strings.Contains(stdout,
		"standard input: NumPy .npz") {
		t.Errorf("inspect: status %d, %s%s", status, stdout, stderr)
	}
	status, stdout, stderr = withInput("fit", "-data", "-", "-data", "-")
	checkFailure(t, "twice", exitUsage, status, stdout, stderr, "twice")
}

// TestIDsInOutputs: labels carry the ids of the samples, joined from files in different orders.
func TestIDsInOutputs(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	set, err := dataset.Open(context.Background(), []string{writeSet(t, 60, true)}, dataset.Options{Float: 64})
	if err != nil {
		t.Fatal(err)
	}
	table := func(v int, order func(i int) int, class bool) string {
		var b bytes.Buffer
		columns, err := dataset.MatrixColumns("f", 60, set.Views[v].Cols, set.Views[v].Float64)
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]string, 60)
		for i := range ids {
			ids[i] = "s" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		}
		columns = append([]dataset.Column{{Name: "id", Data: ids}}, columns...)
		if class {
			columns = append(columns, dataset.Column{Name: "class", Data: set.Labels})
		}
		if err := dataset.EncodeCSV(&b, columns...); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(b.String(), "\n")
		out := lines[0]
		for i := range 60 {
			out += lines[1+order(i)]
		}
		return out
	}
	straight := func(i int) int { return i }
	a, b := file("a.csv", table(0, straight, true)), file("b.csv", table(1, straight, false))
	mixed := file("mixed.csv", table(1, func(i int) int { return (i*17 + 5) % 60 }, false))
	run := func(second string) (map[string]any, string) {
		out := filepath.Join(folder, "out.csv")
		status, stdout, stderr := runLine("fit", "-data", a, "-data", second, "-epochs", "3", "-quiet", "-json", "-out", out)
		if status != exitOK {
			t.Fatal(stderr)
		}
		return object(t, stdout), contents(t, out)
	}
	want, wantLabels := run(b)
	got, labels := run(mixed)
	if got["acc"] != want["acc"] || got["loss_last"] != want["loss_last"] || labels != wantLabels {
		t.Errorf("ACC %v, loss %v; in one order %v, %v", got["acc"], got["loss_last"], want["acc"], want["loss_last"])
	}
	if !strings.HasPrefix(labels, "id,sample,label,confidence,remoteness\nsaa,0,") {
		t.Errorf("labels %.60q", labels)
	}
	for i, line := range strings.Split(strings.TrimSpace(labels), "\n")[1:] {
		id, label := got["ids"].([]any)[i], got["labels"].([]any)[i]
		if fields := strings.Split(line, ","); fields[0] != id || fields[2] != fmt.Sprint(label) {
			t.Fatalf("sample %d is %s in the file and %v %v in the object", i, line, id, label)
		}
	}
	if ids := got["reading"].(map[string]any)["ids"].(string); !strings.Contains(ids, "in another order") {
		t.Errorf("the report says of the ids %q", ids)
	}
}
