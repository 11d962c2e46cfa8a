package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/parquet"
)

// sameFiles compares the content of files.
func sameFiles(t *testing.T, want string, others ...string) {
	t.Helper()
	content, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range others {
		if got, err := os.ReadFile(path); err != nil || string(got) != string(content) {
			t.Errorf("%s is not %s: %v", path, want, err)
		}
	}
}

// TestPartsInOneProcess: rows in several files give the bits of rows in one, in memory and from disk, in fit and predict.
func TestPartsInOneProcess(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	writeHoles(t, folder, 0.1, 300, 120, 1, 179)
	run := func(args ...string) string {
		t.Helper()
		status, stdout, stderr := runLine(args...)
		if status != exitOK {
			t.Fatalf("%q: %s", args, stderr)
		}
		return stdout
	}
	whole := []string{"-data", in("x0.npy"), "-data", in("x1.npy"), "-missing-rows", "-workers", "2"}
	parts := []string{"-data", in("x0-%d.npy"), "-data", in("x1-%d.npy"), "-missing-rows", "-workers", "2"}
	disk := append(parts[:len(parts):len(parts)], "-from-disk")
	for _, impute := range []string{"none", "mean"} {
		for k, data := range [][]string{whole, parts, disk} {
			name := []string{"whole", "parts", "disk"}[k]
			run(append([]string{"fit", "-clusters", "4", "-epochs", "3", "-impute", impute, "-out", in(name + ".csv"), "-save",
				in(name + ".model"), "-quiet"}, data...)...)
			run(append([]string{"predict", "-model", in(name + ".model"), "-out", in(name + "-new.csv")}, data...)...)
		}
		sameFiles(t, in("whole.csv"), in("parts.csv"), in("disk.csv"))
		sameFiles(t, in("whole-new.csv"), in("parts-new.csv"), in("disk-new.csv"))
	}
	for _, between := range []string{"/./", "//"} { // other ways to write the pattern
		pattern := folder + between + "x0-%d.npy"
		if text := run("inspect", pattern); !strings.Contains(text, "in 3 files") {
			t.Error(text)
		}
		status, stdout, stderr := runLine("fit", pattern, "-clusters", "4", "-out", in("x0-1.npy"))
		checkFailure(t, pattern, exitUsage, status, stdout, stderr, "would overwrite")
	}
	if text := run("inspect", in("x0-%d.npy")); !strings.Contains(text, "x0, 300×9") || !strings.Contains(text, "in 3 files") {
		t.Error(text)
	}
	for flag, want := range map[string]string{
		"-mask m.csv": "-mask cannot be given", "-labels y": "is no file", "-view v=0-2": "-view takes columns of one file",
		"-set Float64=true": "Float64", "-data -": "does not read standard input", "-out a.h5ad": "needs one file",
		"-out " + in("x0-1.npy"): "would overwrite", "-save " + in("x1-manifest.json"): "would overwrite",
	} {
		args := append([]string{"fit", "-clusters", "4"}, append(parts, strings.Fields(flag)...)...)
		status, stdout, stderr := runLine(args...)
		checkFailure(t, flag, exitUsage, status, stdout, stderr, want)
	}
	run(append([]string{"fit", "-clusters", "4", "-epochs", "1", "-quiet", "-impute", "mean", "-set", "Float64=true", "-save",
		in("double.model")}, whole...)...)
	_, _, stderr := runLine(append([]string{"predict", "-model", in("double.model"), "-from-disk"}, whole...)...)
	if !strings.Contains(stderr, "the model has float64 and fills or transforms values") {
		t.Error(stderr)
	}
	checkHoles(t, folder)
	for _, name := range []string{"same-0.csv", "same-1.csv"} {
		if err := os.WriteFile(in(name), []byte("id,a,b\np,1,2\nq,3,4\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	disk = []string{in("same-%d.csv"), "-from-disk", "-scratch", folder, "-k", "2"}
	_, _, stderr = runLine(append([]string{"fit"}, disk...)...)
	if !strings.Contains(stderr, `have the id "p" twice`) {
		t.Error(stderr)
	}
	if err := os.Remove(in("x1-2.npy")); err != nil {
		t.Fatal(err)
	}
	for _, disk := range []string{"-quiet", "-from-disk"} {
		status, stdout, stderr := runLine(append([]string{"fit", "-clusters", "4", disk}, parts...)...)
		checkFailure(t, "a part less", exitError, status, stdout, stderr, "there is no x1-2.npy, which")
	}
}

// checkHoles: parts of CSV have a manifest, and beside the error for a hole in one is the line that fills it.
func checkHoles(t *testing.T, folder string) {
	t.Helper()
	t.Chdir(folder)
	for k, text := range []string{"id,a,b\np,1,2\nq,3,\n", "id,a,b\nr,1,2\ns,3,4\n"} {
		if err := os.WriteFile(numbered("h-%d.csv", k), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if status, _, stderr := runLine("inspect", "-manifest", "-scratch", ".", "h-%d.csv"); status != exitOK {
		t.Fatal(stderr)
	}
	for _, disk := range []string{"-quiet", "-from-disk"} {
		args := []string{"fit", "h-%d.csv", "-clusters", "2", disk, "-scratch", "."}
		_, _, stderr := runLine(args...)
		want := "with means in place of NaN: largemvc " + strings.Join(args, " ") + " -impute mean\n"
		if !strings.Contains(stderr, "has NaN at row 1, column 1") || !strings.HasSuffix(stderr, want) {
			t.Errorf("%s: %s", disk, stderr)
		}
		if status, _, stderr := runLine(append(args, "-impute", "mean")...); status != exitOK {
			t.Errorf("%s: the line fails: %s", disk, stderr)
		}
	}
}

// TestAddresses: data on a server give the bits of files, in memory and from disk, and no output shows the query of an address.
func TestAddresses(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	writeShards(t, folder, 300)
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	urls := []string{"-data", server.URL + "/x0.npy?key=secret", "-data", server.URL + "/x1.npy?a=%d&b=*"}
	for k, args := range [][]string{{"-data", in("x0.npy"), "-data", in("x1.npy")}, urls, append(urls[:4:4], "-from-disk")} {
		name := []string{"files", "urls", "disk"}[k]
		args = append([]string{"fit", "-clusters", "4", "-epochs", "3", "-out", in(name + ".csv"), "-save",
			in(name + ".model")}, args...)
		if name != "disk" {
			args = append(args, "-report", in(name+".html"))
		}
		status, stdout, stderr := runLine(args...)
		if status != exitOK || strings.Contains(stdout+stderr, "secret") {
			t.Fatalf("%q: %s%s", args, stdout, stderr)
		}
	}
	sameFiles(t, in("files.csv"), in("urls.csv"), in("disk.csv"))
	if line := curedLine([]string{"fit", urls[1]}, [][2]string{{"Options.Impute", "mean"}}); line != "" {
		t.Errorf("the line to paste shows the query: %s", line)
	}
	for _, wrong := range [][]string{
		{"fit", "-out", "http://me:secret@host/a?key=secret", "-clusters", "2", in("x0.npy")},
		{"fit", "-report", "-", "-save", server.URL + "/x0.npy?key=secret", in("x0.npy")},
		{"inspect", server.URL + "/none.npy?key=secret"},
		{"fit", "-out", "http://me:it's@secret@host/a?a=1;key=secret&b='secret',secret#secret", "-clusters", "2", in("x0.npy")},
	} {
		if status, stdout, stderr := runLine(wrong...); status == exitOK || strings.Contains(stdout+stderr, "secret") {
			t.Errorf("%q: status %d, %s%s", wrong, status, stdout, stderr)
		}
	}
	status, _, stderr := runLine(append([]string{"fit", "-clusters", "2", "-write-config", in("c.json")}, urls...)...)
	if text, err := os.ReadFile(in("c.json")); status != exitOK || err != nil || strings.Contains(string(text), "secret") {
		t.Errorf("the configuration: %s%s, %v", stderr, text, err)
	}
	if page, err := os.ReadFile(in("urls.html")); err != nil || strings.Contains(string(page), "secret") {
		t.Errorf("the report shows the query: %v", err)
	}
}

// TestViewsOfParts: the parts of a view have its name in their files, and the same texts where these are features.
func TestViewsOfParts(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	for k, names := range [][]string{{"X0", "X1"}, {"X0", "X2"}} {
		var arrays []dataset.Array
		for v, name := range names {
			x := []float64{1, 2, float64(v), 4, 5, float64(k)}
			arrays = append(arrays, dataset.Array{Name: name, Shape: []int{3, 2}, Data: x})
		}
		if err := dataset.WriteNPZ(in(fmt.Sprintf("x-%d.npz", k)), false, arrays...); err != nil {
			t.Fatal(err)
		}
	}
	status, stdout, stderr := runLine("inspect", "-manifest", in("x-%d.npz"))
	want := "x-1.npz has the view X2 where " + in("x-0.npz") + " has X1"
	checkFailure(t, "another name", exitError, status, stdout, stderr, want)
	status, _, stderr = runLine("inspect", "-manifest", "-views", "X0", in("x-%d.npz"))
	if status != exitOK {
		t.Error(stderr)
	}
	for name, text := range map[string]string{"y-0.csv": "1.5,a\n2.5,b\n1,a\n", "y-1.csv": "1.5,a\n2.5,c\n1,a\n"} {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	status, stdout, stderr = runLine("inspect", "-manifest", "-scratch", folder, "-header", "no", "-one-hot", "1",
		in("y-%d.csv"))
	checkFailure(t, "other texts", exitError, status, stdout, stderr, "y-1.csv has column 1=c as column 2")
}

// TestRangesOfParts: ids that go on counting the rows of the first part, which has none, are no ids.
func TestRangesOfParts(t *testing.T) {
	s := &shards{views: []shardedView{{rows: 4}}}
	if err := s.setIDs("x-%d.parquet", true, []string{"2", "3"}); err != nil || s.ids != nil {
		t.Error(err, s.ids)
	}
	if err := s.setIDs("x-%d.parquet", true, []string{"3", "4"}); err == nil {
		t.Error("ids of some rows are no error")
	}
}

// TestPartsOfParquet: x-%d.parquet and a folder of parts give the bits of one file, in memory, in place and converted.
func TestPartsOfParquet(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	put := func(path string, lo, hi int, names ...string) {
		t.Helper()
		columns := make([]dataset.Column, len(names))
		for j, name := range names {
			x := make([]float64, hi-lo)
			for i := range x {
				x[i] = float64((lo+i)%4*3*(j+1)) + float64((lo+i)*(j+3)%17)/10
			}
			columns[j] = dataset.Column{Name: name, Data: x}
		}
		var b strings.Builder
		if err := errors.Join(parquet.Encode(&b, columns...), os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(b.String()), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	put(in("x.parquet"), 0, 300, "a", "b", "c")
	ends := []int{0, 120, 121, 300}
	for k, end := range ends[1:] {
		put(in(fmt.Sprintf("x-%d.parquet", k)), ends[k], end, "a", "b", "c")
		put(in(fmt.Sprintf("x/part-%05d.parquet", k)), ends[k], end, "a", "b", "c")
	}
	if status, _, stderr := runLine("inspect", "-manifest", in("x-%d.parquet")); status != exitOK {
		t.Fatal(stderr)
	}
	var outs []string
	for _, data := range []string{"x.parquet", "x-%d.parquet", "x"} {
		for k, more := range [][]string{nil, {"-from-disk"}, {"-from-disk", "-scratch", folder}} {
			outs = append(outs, in(fmt.Sprintf("%d%d.csv", len(outs), k)))
			args := append([]string{"fit", in(data), "-clusters", "4", "-epochs", "3", "-out", outs[len(outs)-1]}, more...)
			if status, _, stderr := runLine(args...); status != exitOK {
				t.Fatalf("%q: %s", args, stderr)
			}
		}
	}
	sameFiles(t, outs[0], outs[1:]...)
	put(in("x-1.parquet"), 120, 121, "a", "d", "c")
	status, stdout, stderr := runLine("fit", in("x-%d.parquet"), "-clusters", "4")
	checkFailure(t, "another column", exitError, status, stdout, stderr, "x-1.parquet has d as column 1")
	for name, text := range map[string]string{"y-0.csv": "a,b\n1.5,2\n3,4\n", "y-1.csv": "5.5,1.5\n7,8\n"} {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	status, stdout, stderr = runLine("inspect", "-manifest", "-scratch", folder, in("y-%d.csv"))
	checkFailure(t, "a part without names", exitError, status, stdout, stderr, "y-1.csv has names of columns, the other none")
}
