package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// customers is a table of 30 customers in three groups, with ids under a name.
func customers(t *testing.T, ids string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s,x,height\n", ids)
	for i := range 30 {
		fmt.Fprintf(&b, "C%02d,%d.%d,%d.%d\n", i, 10*(i%3), i*7%10, -9*(i%3), i*3%10)
	}
	return writeText(t, "customers.csv", b.String())
}

// TestNameOfIDs: results have the ids under their name in the data, and join by them.
func TestNameOfIDs(t *testing.T) {
	for name, c := range map[string]struct{ ids, want string }{
		"a name": {"customer_id", "customer_id"}, "no name": {"", "id"}, "pandas": {"Unnamed: 0", "id"},
		"a name of classes": {"target", "target"}, "the name of a result": {"Sample", "id"}, "a comment": {`"#"`, "id"},
		"two names": {`"a,b"`, "id"},
	} {
		data, out := customers(t, c.ids), filepath.Join(t.TempDir(), "out.csv")
		base := []string{"-labels", "none", "-quiet", "-epochs", "2", "-k", "3", data}
		if named := strings.Trim(c.ids, `"`); named != "" {
			base = append(base, "-id", named)
		}
		model, again := filepath.Join(t.TempDir(), "m.lmvc"), filepath.Join(t.TempDir(), "again.csv")
		if status, _, stderr := runLine(append([]string{"fit", "-out", out, "-save", model}, base...)...); status != exitOK {
			t.Fatalf("%s: %s", name, stderr)
		}
		text, err := os.ReadFile(out)
		if err != nil || !strings.HasPrefix(string(text), c.want+",sample,label,confidence,remoteness\nC00,0,") {
			t.Errorf("%s: %.80s, %v", name, text, err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		for i := 1; i < 15; i++ { // results in another order
			lines[i], lines[30-i] = lines[30-i], lines[i]
		}
		turned := writeText(t, "turned.csv", strings.Join(lines, "\n")+"\n")
		status, stdout, stderr := runLine("compare", out, turned)
		if status != exitOK || !strings.Contains(stdout, "30, joined by "+c.want) || !strings.Contains(stdout, "ARI 100.0 %") {
			t.Errorf("%s: %s%s", name, stdout, stderr)
		}
		for _, flag := range []string{"-start", "-known"} {
			status, stdout, stderr := runLine(append([]string{"fit", flag, turned, "-out", again}, base...)...)
			if status != exitOK {
				t.Errorf("%s: %s: %s%s", name, flag, stdout, stderr)
			}
		}
		args := []string{"predict", "-model", model, "-quiet", data, "-labels", turned}
		if c.want != "id" || c.ids == "Sample" || strings.HasPrefix(c.ids, `"`) {
			args = append(args, "-id", strings.Trim(c.ids, `"`))
		}
		if status, stdout, stderr := runLine(args...); status != exitOK || !strings.Contains(stdout, "ARI 100.0 %") {
			t.Errorf("%s: predict: %s%s", name, stdout, stderr)
		}
	}
}

// TestLeftOutByModel: a model leaves out what its training left out, and no further column.
func TestLeftOutByModel(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,note,x,height,visit\n")
	for i := range 30 {
		fmt.Fprintf(&b, "C%02d,text,%d.%d,%d.%d,2024-01-02\n", i, 10*(i%3), i*7%10, -9*(i%3), i*3%10)
	}
	data, folder := writeText(t, "d.csv", b.String()), t.TempDir()
	other := writeText(t, "o.csv", strings.Replace(b.String(), "note", "remark", 1))
	for _, more := range [][]string{nil, {"-from-disk", "-scratch", folder}, {"-impute", "mean"}} {
		model := filepath.Join(folder, "m.lmvc")
		status, _, stderr := runLine(append([]string{"fit", data, "-k", "3", "-epochs", "1", "-quiet", "-leave-out", "note,v*",
			"-save", model}, more...)...)
		if status != exitOK {
			t.Fatal(stderr)
		}
		if _, stdout, _ := runLine("inspect", model); !strings.Contains(stdout, "left out: note, v*") {
			t.Errorf("%v: inspect of the model: %s", more, stdout)
		}
		lines := strings.Split(b.String(), "\n")
		for i, l := range lines[:31] {
			f := strings.Split(l, ",")
			lines[i] = strings.Join([]string{f[0], f[2], f[3]}, ",")
		}
		for _, path := range []string{data, writeText(t, "less.csv", strings.Join(lines, "\n"))} {
			status, stdout, stderr := runLine("predict", "-model", model, path, "-quiet")
			if status != exitOK || !strings.Contains(stdout, "the training left out note, v*") ||
				strings.Contains(stdout, "warning") {
				t.Errorf("%v: %s%s", more, stdout, stderr)
			}
		}
		status, stdout, stderr := runLine("predict", "-model", model, other, "-quiet")
		if status != exitError || stdout != "" || !strings.Contains(stderr, "has texts in column remark") {
			t.Errorf("%v: %s%s", more, stdout, stderr)
		}
	}
	model := filepath.Join(folder, "m.lmvc")
	if status, stdout, stderr := runLine("predict", "-model", model, data, "-quiet", "-labels",
		"note"); status != exitOK || !strings.Contains(stdout, "from column note") {
		t.Errorf("%s%s", stdout, stderr)
	}
	notes := "id,note\n" // the model leaves out columns of data alone
	for i := range 30 {
		notes += fmt.Sprintf("C%02d,%c\n", i, 'a'+i%3)
	}
	if status, _, stderr := runLine("predict", "-model", model, data, "-quiet", "-labels",
		writeText(t, "notes.csv", notes)); status != exitOK {
		t.Error(stderr)
	}
}

// TestLeftOutByNumber: a model keeps no numbers of columns, which may be other columns in other files.
func TestLeftOutByNumber(t *testing.T) {
	var with, less strings.Builder
	for i := range 30 {
		fmt.Fprintf(&with, "%d,%d.%d,%d.%d,text\n", i, 10*(i%3), i*7%10, -9*(i%3), i*3%10)
		fmt.Fprintf(&less, "%d.%d,%d.%d\n", 10*(i%3), i*7%10, -9*(i%3), i*3%10)
	}
	model := filepath.Join(t.TempDir(), "m.lmvc")
	status, _, stderr := runLine("fit", writeText(t, "with.csv", with.String()), "-header", "no", "-k", "3", "-epochs", "1",
		"-quiet", "-leave-out", "0,3", "-save", model)
	if status != exitOK {
		t.Fatal(stderr)
	}
	if status, _, stderr := runLine("predict", "-model", model, "-header", "no", writeText(t, "less.csv", less.String()),
		"-quiet"); status != exitOK {
		t.Error(stderr)
	}
}
