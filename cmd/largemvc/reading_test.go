package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadingIsSaid: fit, predict and inspect say what became a view, the classes and the ids.
func TestReadingIsSaid(t *testing.T) {
	folder := t.TempDir()
	table, model := filepath.Join(folder, "t.csv"), filepath.Join(folder, "model")
	var b strings.Builder
	b.WriteString("id,c1,c2,c3,area,size,kind\n")
	for i := range 40 {
		k := i % 2
		b.WriteString("p" + string(rune('a'+i%20)) + string(rune('a'+i/20)) + "," +
			strings.Repeat(string(rune('1'+k*7))+"."+string(rune('0'+i%10))+",", 5) + "k" +
			string(rune('0'+k)) + "\n")
	}
	if err := os.WriteFile(table, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	flags := []string{"-labels", "kind", "-view", "colour=c1-c2", "-view", "shape=area,s*"}
	wants := []string{"view 0    colour, 40×2, features c1 … c2, from " + table,
		"view 1    shape, 40×2, features area … size, from " + table,
		"classes   2, from column kind of " + table + ": k0 (20), k1 (20)", "ids       40, from column id of " + table,
		"left out  columns c3 of " + table}
	line := append([]string{"fit", "-data", table, "-epochs", "1", "-save", model}, flags...)
	_, _, said := runLine(line...)
	_, quiet, nothing := runLine(append(line, "-quiet")...)
	_, predicted, _ := runLine(append([]string{"predict", "-model", model, "-data", table}, flags...)...)
	_, inspected, _ := runLine(append(append([]string{"inspect"}, flags...), table)...)
	for _, want := range wants {
		for name, text := range map[string]string{"fit": said, "fit -quiet": quiet, "predict": predicted, "inspect": inspected} {
			if strings.Count(text, want) != 1 {
				t.Errorf("%s does not say %q once:\n%s", name, want, text)
			}
		}
	}
	if nothing != "" {
		t.Errorf("-quiet says %q on standard error", nothing)
	}
	_, stdout, _ := runLine(append(line, "-quiet", "-json")...)
	views := object(t, stdout)["reading"].(map[string]any)["views"].([]any)
	if len(views) != 2 || views[1].(map[string]any)["name"] != "shape" {
		t.Errorf("the report has the views %v", views)
	}
	// A lone column of texts is offered, not guessed; a name that is not there is an error.
	for args, want := range map[string]string{
		"": "-labels kind (the classes)", "-labels none": "-one-hot kind", "-labels nosuch": "no variable nosuch",
		"-labels kind -view a=c1": "", "-one-hot kind": "no labels",
	} {
		status, stdout, stderr := runLine(append([]string{"fit", "-data", table, "-epochs", "1", "-quiet"},
			strings.Fields(args)...)...)
		if want == "" {
			if status != exitOK {
				t.Errorf("%s: %s", args, stderr)
			}
			continue
		}
		if status == exitOK || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s%s, want %q", args, status, stdout, stderr, want)
		}
	}
	// A column counts more than a file of its name, which a folder may happen to hold.
	t.Chdir(folder)
	if err := os.WriteFile("kind", []byte("1\n2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := runLine(line...); status != exitOK {
		t.Error(stderr)
	}
}

// TestWarningsAreSaid: a target in place of classes, and a matrix that lies the other way.
func TestWarningsAreSaid(t *testing.T) {
	folder := t.TempDir()
	target, turned := filepath.Join(folder, "a.csv"), filepath.Join(folder, "b.csv")
	var b strings.Builder
	b.WriteString("a,b,c,d,e,target\n")
	for i := range 30 {
		b.WriteString(strings.Repeat(string(rune('1'+i%3))+"."+string(rune('0'+i%10))+",", 5) + "0." +
			string(rune('1'+i/10)) + string(rune('0'+i%10)) + "1\n")
	}
	text := strings.ReplaceAll(b.String(), "1.1,1.1", "1.1,7.1")
	if err := os.WriteFile(target, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	wide := strings.Repeat(strings.Repeat("1,2,3,4,5,6,7,8,5,", 5)+"1\n"+strings.Repeat("2,1,3,2,4,3,5,6,7,", 5)+"2\n", 2)
	if err := os.WriteFile(turned, []byte(wide), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"fit -epochs 1 -data " + target, "all 30 labels are different"},
		{"fit -epochs 1 -quiet -json -data " + target, "all 30 labels are different"},
		{"fit -epochs 1 -clusters 2 -data " + turned, "give -orientation columns"},
		{"inspect " + turned, "give -orientation columns"},
	} {
		_, stdout, stderr := runLine(strings.Fields(c.args)...)
		if !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s: no warning:\n%s%s", c.args, stdout, stderr)
		}
	}
}

// TestLineThatReads: beside the error of NaN and of unclear first lines stands the command that reads the files.
func TestLineThatReads(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"years.csv": "2019,2020,2021\n1.5,2.5,1\n3.5,2.5,4\n1.5,9,3.5\n", "counts.csv": "1,2\n1.5,2.5\n3.5,4.5\n1.5,3.5\n",
		"cells.csv": "x,y1\n,1\n2,\n3,\n4,4\n", "column.csv": "a,b,c\n1,,\n2,,2\n2,,2\n2,,2\n",
		"plain.csv": "v\n1\n2\n3\n5\n", "rows.csv": "k,l\n1,1\n,\n2,2\n,\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ files, error, line string }{
		{"years.csv counts.csv", "years.csv: has a first line that may name the columns", "with the first lines as names: " +
			"largemvc inspect years.csv counts.csv -header yes"},
		{"-impute=none cells.csv", "row 0, column 0 (samples by features, from 0), which is line 2, column x of the file; " +
			"row 1, column 1, which is line 3, column y1 of the file; row 2", "with means in place of NaN: " +
			"largemvc inspect cells.csv -impute mean"},
		{"cells.csv column.csv -leave-out q -id none", "3 of 4 rows and 2 of 2 columns", "with means in place of NaN, " +
			"without these columns: largemvc inspect cells.csv column.csv -id none -impute mean -leave-out q,b"},
		{"rows.csv plain.csv -id none", "has only NaN in row 1 (from 0), which is line 3 of the file; row 3", "with rows of " +
			"NaN as absent views: largemvc inspect rows.csv plain.csv -id none -missing-rows"},
		{"rows.csv", "has only NaN in row 1", ""},
	} {
		_, _, stderr := runLine(append([]string{"inspect"}, strings.Fields(c.files)...)...)
		told, line, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
		if !strings.Contains(told, c.error) || line != c.line {
			t.Errorf("%s: %q", c.files, stderr)
		}
		if c.line == "" {
			continue
		}
		if status, _, stderr := runLine(strings.Fields(c.line[strings.Index(c.line, "inspect"):])...); status != exitOK {
			t.Errorf("%s: %s", c.line, stderr)
		}
	}
}

// TestLineWithoutColumns: beside the error of columns that are no features stands the command that reads the others.
func TestLineWithoutColumns(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "x,sex,the day,z\n1.5,m,2020-01-01,3.5\n2.5,f,2020-01-02,1.5\n"
	if err := os.WriteFile("a b.csv", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, stderr := runLine("inspect", "a b.csv", "-leave-out=z")
	want := "without these columns: largemvc inspect 'a b.csv' -leave-out 'z,sex,the day'\n"
	if !strings.HasSuffix(stderr, want) {
		t.Errorf("%q", stderr)
	}
	if status, _, stderr := runLine("inspect", "a b.csv", "-leave-out", "z,sex,the day"); status != exitOK {
		t.Error(stderr)
	}
}
