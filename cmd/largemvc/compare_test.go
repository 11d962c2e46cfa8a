package main

import (
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
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
		"one sample moved": {
			"\ufefflabel\n5\n5\n5\n7\n9\n", []string{"-id", "none"}, []string{"joined by their places", "80.0 % of the samples"},
		},
		"a part of the samples": {
			"id,label\nx,b\nw,b\nzz,c\nu,a\n", nil,
			[]string{"3 of the 5 of A and of the 4 of B, joined by id", "ARI 100.0 %", "2 labels of", "1  b  2       2     2"},
		},
		"a part by numbers": {
			"sample;label\n3;b\n0;a\n", []string{"-id", "sample"},
			[]string{"2 of the 5 of A and of the 2 of B", "0  a  1       1     1"},
		},
		"fewer labels": {"id,label\nu,0\nv,0\nw,0\nx,0\ny,0\n", nil, []string{"1 label of", "ARI 0.0 %", "–"}},
		"gzip and UTF-16": {
			gzipped(t, inUTF16("id;class\ny;red\nx;blue\nw;blue\nv;green\nu;green\n")), nil,
			[]string{"joined by id", "ARI 100.0 %"},
		},
		"a column of B alone": {
			"id,mine,other\ny,red,1\nx,blue,1\nw,blue,2\nv,green,2\nu,green,3\n", []string{"-column", ",mine"},
			[]string{"column mine", "ARI 100.0 %"},
		},
		"only column": {"0\n0\n1\n1\n2\n", []string{"-id", "none"}, []string{"ARI 100.0 %"}},
		"only column, from R": {
			"x\nred\nred\nblue\nblue\ngreen\n", []string{"-id", "none"}, []string{"ARI 100.0 %", "0  red    2"},
		},
		"only column, texts": {
			"red\nred\nblue\nblue\ngreen\n", []string{"-id", "none", "-header", "no"}, []string{"ARI 100.0 %", "0  red    2"},
		},
	} {
		b := writeText(t, "b.csv", test.b)
		args := append([]string{"compare"}, test.args...)
		status, stdout, stderr := runLine(append(args, a, b)...)
		if status != exitOK {
			t.Errorf("%s: status %d, %s", name, status, stderr)
		}
		for _, want := range test.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, stdout)
			}
		}
	}
	mine := writeText(t, "mine.csv", "label\tmine\n0\t1\n0\t1\n0\t2\n0\t2\n0\t3\n")
	if status, stdout, stderr := runLine("compare", "-column", "mine", mine, mine); status != exitOK ||
		!strings.Contains(stdout, "column mine") {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
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
		"no column":    {[]string{"-column", "mine", a, a}, exitError, "holds no vector of labels"},
		"not the only column": {
			[]string{"-column", "mine", writeText(t, "b", "foo\n0\n1\n"), a}, exitError, "b: holds no vector of labels",
		},
		"no ids": {
			[]string{"-id", "mine", writeText(t, "b", "label\n0\n1\n"), writeText(t, "c", "y\n0\n1\n")}, exitError,
			"have no column mine, which -id names",
		},
		"one has ids": {[]string{a, writeText(t, "b", "label\n1\n2\n3\n")}, exitError, "a.csv: has ids, and"},
		"lengths": {
			[]string{"-id", "none", a, writeText(t, "b", "label\n1\n2\n3\n")}, exitError,
			"3 labels for the 2 samples",
		},
		"other ids": {[]string{a, writeText(t, "b", "id,label\nx,0\nw,1\n")}, exitError, "no id is in both files (u, x, …)"},
		"a part by its places": {
			[]string{writeText(t, "c", "sample,label\n0,0\n1,1\n2,1\n"), writeText(t, "b", "sample,label\n0,0\n1,1\n")},
			exitError, "b: lacks 1 of the 3 samples of",
		},
		"other numbers": {
			[]string{writeText(t, "c", "sample,label\n0,0\n1,1\n"), writeText(t, "b", "sample,label\n1,0\n2,1\n")},
			exitError, "-id sample if they name the samples, -id none if the rows are in the same order",
		},
		"id twice": {[]string{a, writeText(t, "b", "id,label\nu,0\nu,1\n")}, exitError, "has the id u twice"},
		"no label": {[]string{a, writeText(t, "b", "id,label\nu,\nv,1\n")}, exitError, "no value in line 2"},
		"NA": {[]string{a, writeText(t, "b", "id,label\nu,0\nv, NA\n")}, exitError,
			`no value in line 3, column label ("NA")`},
		"two columns": {[]string{a, writeText(t, "b", "1,2\n3,4\n")}, exitError, "a matrix of classes holds 0 and 1"},
		"an id like a comment": {
			[]string{a, writeText(t, "b", "id,label\nu,0\n#v,1\n")}, exitError, "if it is a sample whose id begins with #",
		},
		"an unknown id": {[]string{"-id", "nosuch", a, a}, exitError, "have no column nosuch, which -id names"},
		"two labels": {
			[]string{a, writeText(t, "b", "id,label,label\nu,0,1\nv,1,0\n")}, exitError, "has 2 columns named label",
		},
		"empty":  {[]string{a, writeText(t, "b", "")}, exitError, "is empty"},
		"ragged": {[]string{a, writeText(t, "b", "id,label\nu\n")}, exitError, "has 1 fields in line 2"},
	} {
		status, stdout, stderr := runLine(append([]string{"compare"}, test.args...)...)
		if status != test.status || !strings.Contains(stderr, test.want) || stdout != "" {
			t.Errorf("%s: status %d, %q, %q, want %d, %q", name, status, stdout, stderr, test.status, test.want)
		}
	}
}

// TestCompareMany: a small packed file may unpack to many labels.
func TestCompareMany(t *testing.T) {
	many := writeText(t, "many.csv.gz", gzipped(t, "label\n"+strings.Repeat("0\n1\n", 1<<16)))
	if status, stdout, stderr := runLine("compare", many, many); status != exitOK || !strings.Contains(stdout, "131072, joined") {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// inUTF16 is a text in UTF-16 with its mark.
func inUTF16(text string) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		out = binary.LittleEndian.AppendUint16(out, unit)
	}
	return string(out)
}
