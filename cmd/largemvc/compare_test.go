package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
)

// writeText writes a file and returns its path.
func writeText(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCompare(t *testing.T) {
	a := writeText(t, "a.csv", "id,sample,label,near\nu,0,0,1\nv,1,0,1\nw,2,1,1\nx,3,1,1\ny,4,2,1\n")
	for name, test := range map[string]struct {
		b    string
		args []string
		want []string
	}{
		"the same, named and ordered otherwise": {
			"id;class\ny;red\nx;blue\nw;blue\nv;green\nu;green\n", nil,
			[]string{"joined by id", "ARI 100.0 %, NMI 100.0 %, 100.0 % of the samples", "3 labels of",
				"0  green  2", "2  red    1"},
		},
		"one sample moved": {"\ufefflabel\n5\n5\n5\n7\n9\n", nil, []string{"joined by their places", "80.0 % of the samples"}},
		"fewer labels":     {"label\n0\n0\n0\n0\n0\n", nil, []string{"1 label of", "ARI 0.0 %", "–"}},
		"gzip and UTF-16": {
			gzipped(t, inUTF16("id;class\ny;red\nx;blue\nw;blue\nv;green\nu;green\n")), nil,
			[]string{"joined by id", "ARI 100.0 %"},
		},
		"only column":         {"0\n0\n1\n1\n2\n", nil, []string{"ARI 100.0 %"}},
		"only column, texts":  {"red\nred\nblue\nblue\ngreen\n", nil, []string{"ARI 100.0 %", "0  red    2"}},
		"only column, from R": {"x\nred\nred\nblue\nblue\ngreen\n", nil, []string{"ARI 100.0 %", "0  red    2"}},
		"named column, tabs":  {"label\tmine\n0\t1\n0\t1\n0\t2\n0\t2\n0\t3\n", []string{"-column", "mine"}, nil},
		"sample, other order": {"sample,label\n1,7\n4,9\n2,8\n3,8\n0,7\n", nil, []string{"joined by sample", "ARI 100.0 %"}},
		"an id of another file": {
			"name,label\na,7\nb,7\nc,8\nd,8\ne,9\n", nil, []string{"joined by their places", "ARI 100.0 %"},
		},
	} {
		b := writeText(t, "b.csv", test.b)
		args := append([]string{"compare"}, test.args...)
		status, stdout, stderr := runLine(append(args, a, b)...)
		if test.args != nil { // a has no such column
			if status != exitError || !strings.Contains(stderr, "no column mine") {
				t.Errorf("%s: status %d, %s", name, status, stderr)
			}
			status, stdout, stderr = runLine(append(args, b, b)...)
			test.want = []string{"column mine", "ARI 100.0 %"}
		}
		if status != exitOK {
			t.Errorf("%s: status %d, %s", name, status, stderr)
		}
		for _, want := range test.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, stdout)
			}
		}
	}
	status, stdout, stderr := runLine("compare", "-json", a, a)
	if m := object(t, stdout); status != exitOK || m["ari"] != 1.0 || m["samples"] != 5.0 || m["acc"] != 1.0 {
		t.Errorf("status %d: %s %s", status, stdout, stderr)
	}
}

func TestCompareWrongUse(t *testing.T) {
	a := writeText(t, "a.csv", "id,label\nu,0\nv,1\n")
	for name, test := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"one file":     {[]string{a}, exitUsage, "give two files"},
		"no such file": {[]string{a, a + "x"}, exitError, "no such file"},
		"lengths":      {[]string{a, writeText(t, "b", "label\n1\n2\n3\n")}, exitError, "no column of ids"},
		"another id":   {[]string{a, writeText(t, "b", "id,label\nu,0\nw,1\n")}, exitError, `no label for the id "v"`},
		"more ids":     {[]string{a, writeText(t, "b", "id,label\nu,0\nv,1\nw,1\n")}, exitError, "of 2 of them"},
		"id twice": {[]string{a, writeText(t, "b", "id,label\nu,0\nu,1\n")}, exitError,
			`lines 2 and 3 have the same id, "u"`},
		"sample twice": {
			[]string{
				writeText(t, "c", "id,sample,label\nu,0,0\nv,0,1\n"),
				writeText(t, "b", "sample,label\n0,0\n1,1\n"),
			}, exitError, `lines 2 and 3 have the same sample, "0"`,
		},
		"no label": {[]string{a, writeText(t, "b", "id,label\nu,\nv,1\n")}, exitError, "line 2 has no label"},
		"NA": {[]string{a, writeText(t, "b", "id,label\nu,0\nv, NA\n")}, exitError,
			`line 3 has no label in column label, but "NA"`},
		"two columns": {[]string{a, writeText(t, "b", "1,2\n3,4\n")}, exitError, "none of which is called label"},
		"an id like a comment": {[]string{a, writeText(t, "b", "id,label\nu,0\n#v,1\n")}, exitError,
			"line 3 begins with #, as comments do"},
		"empty":   {[]string{a, writeText(t, "b", "")}, exitError, "is empty"},
		"no text": {[]string{a, writeText(t, "b", "PK\x03\x04\x14\x00\x08,\n")}, exitError, "byte 5 (from 0) is zero"},
		"ragged":  {[]string{a, writeText(t, "b", "id,label\nu\n")}, exitError, "wrong number of fields"},
	} {
		status, stdout, stderr := runLine(append([]string{"compare"}, test.args...)...)
		if status != test.status || !strings.Contains(stderr, test.want) || stdout != "" {
			t.Errorf("%s: status %d, %q, %q, want %d, %q", name, status, stdout, stderr, test.status, test.want)
		}
	}
}

// TestMissingLabels: what compare takes for a missing label is what fit takes for one.
func TestMissingLabels(t *testing.T) {
	for _, word := range []string{"NA", "na", "n/a", "N/A", "nan", "NaN", "-nan", "null", "NULL", "none", "None", "?", "#N/A",
		"#NA", "<NA>", "-", "nil", "missing", "unknown", "0", "inf"} {
		data := writeText(t, "data.csv", "a,b,label\n1,2,x\n2,1,x\n3,5,"+word+"\n4,4,y\n")
		_, err := dataset.Open(context.Background(), []string{data}, dataset.Options{Labels: "label"})
		if refused := err != nil && strings.Contains(err.Error(), "has no value in line 4"); refused != missingLabel(word) {
			t.Errorf("%s: missing for compare: %v; the reader says %v", word, missingLabel(word), err)
		}
		if status, _, _ := runLine("compare", data, data); (status != exitOK) != missingLabel(word) {
			t.Errorf("%s: status %d", word, status)
		}
	}
}

// TestCompareBombs: a small packed file that unpacks to many labels is an error before they take the memory, and one that
// unpacks to as much as its size may is read.
func TestCompareBombs(t *testing.T) {
	line := strings.Repeat("0", 1<<10) + "\n" // short labels take many times as long here
	bomb := writeText(t, "bomb.csv.gz", gzipped(t, "label\n"+strings.Repeat(line, 1<<16)))
	status, stdout, stderr := runLine("compare", bomb, bomb)
	checkFailure(t, "a bomb", exitError, status, stdout, stderr, bomb+": unpacks to more than 64 MiB, over 128 times its size")
	many := writeText(t, "many.csv.gz", gzipped(t, "label\n"+strings.Repeat("0\n1\n", 1<<16)))
	if status, stdout, stderr := runLine("compare", many, many); status != exitOK || !strings.Contains(stdout, "131072, joined") {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
}
