package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// knownData writes 120 samples of three species with ids to data.csv, and some of their species to some.csv: one in ten is known,
// and one of these is wrong. The column species of all.csv has the same labels and is empty elsewhere.
func knownData(t *testing.T) (folder string, truth []string) {
	t.Helper()
	folder = t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	species := []string{"cat", "big dog", "emu"}
	var data, all, some strings.Builder
	data.WriteString("id,a,b,c,d\n")
	all.WriteString("id,a,b,c,d,species\n")
	some.WriteString("id,label\n")
	for i := range 120 {
		truth = append(truth, species[i%3])
		row := fmt.Sprintf("p%d", i)
		for j := range 4 {
			x := 0.3 * r.NormFloat64()
			if j%3 == i%3 {
				x += 3
			}
			row += fmt.Sprintf(",%.3f", x)
		}
		label := ""
		if i%5 == 0 {
			if label = truth[i]; i == 50 {
				label = species[(i+1)%3]
			}
			fmt.Fprintf(&some, "p%d,%s\n", i, label)
		}
		data.WriteString(row + "\n")
		all.WriteString(row + "," + label + "\n")
	}
	for name, text := range map[string]string{"data.csv": data.String(), "all.csv": all.String(), "some.csv": some.String()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder, truth
}

// TestKnown gives all samples their species by those of some, from a file and from a column, and new samples theirs.
func TestKnown(t *testing.T) {
	folder, truth := knownData(t)
	at := func(name string) string { return filepath.Join(folder, name) }
	var texts []string
	for name, line := range map[string][]string{
		"file":   {"-data", at("data.csv"), "-known", at("some.csv")},
		"column": {"-data", at("all.csv"), "-known", "species"},
		"disk":   {"-data", at("data.csv"), "-known", at("some.csv"), "-from-disk", "-scratch", folder},
	} {
		out, model := at(name+"-out.csv"), at(name+".safetensors")
		status, stdout, stderr := runLine(append([]string{"fit", "-out", out, "-save", model, "-json", "-quiet"}, line...)...)
		if status != 0 {
			t.Fatalf("%s: %s", name, stderr)
		}
		var got struct{ Known *classified }
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err)
		}
		known := got.Known
		if known.Known != 24 || len(known.Classes) != 3 || len(known.Suspects) == 0 || known.Suspects[0].ID != "p50" {
			t.Errorf("%s: %+v", name, known)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
		predicted := at(name + "-new.csv")
		if status, _, stderr = runLine("predict", "-model", model, "-data", at("data.csv"), "-out", predicted); status != 0 {
			t.Fatalf("%s: %s", name, stderr)
		}
		if text, err = os.ReadFile(predicted); err != nil {
			t.Fatal(err)
		}
		for i, row := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			fields := strings.Split(row, ",")
			class := strings.Trim(fields[5], `"`)
			if i == 0 && (class != "class" || fields[6] != "class_confidence") || i > 0 && class != truth[i-1] {
				t.Errorf("%s: line %d of predict is %s", name, i+1, row)
			}
		}
		wanted := string(text)
		if status, _, stderr = runLine("predict", "-model", model, "-data", at("data.csv"), "-out", predicted, "-from-disk",
			"-scratch", folder); status != 0 {
			t.Fatalf("%s: %s", name, stderr)
		}
		if got := contents(t, predicted); got != wanted {
			t.Errorf("%s: predict from disk gives\n%.200s\nin memory\n%.200s", name, got, wanted)
		}
	}
	for _, text := range texts[1:] {
		if text != texts[0] {
			t.Error("a file, a column and rows on disk give other classes")
		}
	}
	if !strings.Contains(texts[0], ",\"big dog\",1\n") || strings.Count(texts[0], "\n") != 121 {
		t.Error(texts[0])
	}
	page := at("page.html")
	status, stdout, stderr := runLine("fit", "-data", at("all.csv"), "-known", "species", "-quiet", "-report", page)
	for _, want := range []string{
		"24 known labels of 3 classes", "check p50: its label is cat, and the other labels suggest emu",
	} {
		if status != 0 || !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s%s", want, stdout, stderr)
		}
		if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("no %q in the report, %v", want, err)
		}
	}
}

// TestKnownColumnAsTheData: a column of the data is read as the data are, so that its labels stand by their samples.
func TestKnownColumnAsTheData(t *testing.T) {
	folder, _ := knownData(t)
	plain := contents(t, filepath.Join(folder, "all.csv"))
	lines := strings.Split(strings.TrimSpace(plain), "\n")
	numbered := "id,code_" + lines[0] + "\n" // id has the numbers of code_id, by other samples
	for i, line := range lines[1:] {
		_, rest, _ := strings.Cut(line, ",")
		lines[i+1] = fmt.Sprintf("%d,%s", i, rest)
		numbered += fmt.Sprintf("%d,%s\n", len(lines)-2-i, lines[i+1])
	}
	lines[0] = "code_" + lines[0]
	commas := strings.NewReplacer(",", ";", ".", ",").Replace(plain)
	var outs []string
	for _, line := range [][]string{
		{writeText(t, "t.csv", strings.Join(lines, "\n")+"\n")}, {writeText(t, "t.csv", numbered), "-leave-out", "id"},
		{writeText(t, "t.csv", plain), "-id", "none"}, {writeText(t, "t.csv", commas), "-id", "none", "-decimal", "comma"},
	} {
		out := filepath.Join(t.TempDir(), "out.csv")
		args := append([]string{"fit", "-known", "species", "-epochs", "2", "-quiet", "-out", out}, line...)
		status, _, stderr := runLine(args...)
		if status != exitOK {
			t.Fatalf("%q: %s", line[1:], stderr)
		}
		outs = append(outs, contents(t, out))
	}
	if outs[0] != outs[1] || outs[2] != outs[3] {
		t.Errorf("known labels stand by other samples:\n%.200s\n%.200s\n%.200s\n%.200s", outs[0], outs[1], outs[2], outs[3])
	}
}

// TestKnownChoose: known labels of three classes leave out two clusters, in choose and in fit -clusters auto, which say so.
func TestKnownChoose(t *testing.T) {
	folder, _ := knownData(t)
	data, some := filepath.Join(folder, "data.csv"), filepath.Join(folder, "some.csv")
	args := []string{"choose", "-data", data, "-known", some, "-seeds", "1", "-epochs", "2", "-quiet", "-to"}
	status, stdout, stderr := runLine(append(args, "4", "-json")...)
	if status != exitOK {
		t.Fatal(stderr)
	}
	if m := object(t, stdout); len(m["choices"].([]any)) != 2 || !strings.Contains(fmt.Sprint(m["reasons"]), "have 3 classes") {
		t.Error(stdout)
	}
	status, stdout, stderr = runLine(append(args, "2")...)
	checkFailure(t, "-to 2", exitUsage, status, stdout, stderr, "-to is 2, want at least 3, the number of known classes")
	status, stdout, stderr = runLine("fit", "-data", data, "-known", some, "-clusters", "auto", "-epochs", "2", "-quiet", "-json")
	if status != exitOK {
		t.Fatal(stderr)
	}
	m := object(t, stdout)
	if m["chosen"].(map[string]any)["from"] != 3.0 || m["known"].(map[string]any)["known"] != 24.0 {
		t.Error(stdout)
	}
}

// TestKnownRefused: what -known cannot mean is an error.
func TestKnownRefused(t *testing.T) {
	folder, _ := knownData(t)
	data, some := filepath.Join(folder, "data.csv"), filepath.Join(folder, "some.csv")
	for want, line := range map[string][]string{
		"only data of one file can have it as a column": {"-data", data, "-data", data, "-known", "species"},
		"is a folder":                       {"-data", folder, "-known", "species"},
		"needs neighbours":                  {"-data", data, "-known", some, "-set", "Neighborhood.Neighbors=none"},
		"-known a is no file: with -mpi":    {"-data", data, "-known", "a", "-mpi", "-clusters", "3"},
		"would overwrite what -known reads": {"-data", data, "-known", some, "-out", some},
		"-known species is no file":         {"-data", data, "-known", "species"},
	} {
		status, _, stderr := runLine(append([]string{"fit", "-quiet"}, line...)...)
		if status == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%v: %d, %s, want %q", line, status, stderr, want)
		}
	}
}

// TestReportOfKnownLoss: with known labels in the loss the report does not say that the clustering used no classes.
func TestReportOfKnownLoss(t *testing.T) {
	folder, truth := knownData(t)
	page, classes := filepath.Join(folder, "page.html"), "id,label\n"
	for i, class := range truth {
		classes += fmt.Sprintf("p%d,%s\n", i, class)
	}
	labels := filepath.Join(folder, "truth.csv")
	if err := os.WriteFile(labels, []byte(classes), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, weight := range []string{"0", "3"} {
		status, _, stderr := runLine("fit", filepath.Join(folder, "data.csv"), "-known", filepath.Join(folder, "some.csv"),
			"-quiet", "-labels", labels, "-epochs", "2", "-report", page, "-set", "Neighborhood.KnownWeight="+weight)
		if status != exitOK {
			t.Fatal(stderr)
		}
		if strings.Contains(readText(t, page), "The clustering did not use the classes.") != (weight == "0") {
			t.Errorf("KnownWeight %s: the report says otherwise", weight)
		}
	}
}

// TestReportOfStartFile: a fit from labels of a file says so, and does not say that the clustering used no classes.
func TestReportOfStartFile(t *testing.T) {
	folder, truth := knownData(t)
	page, start, labels := filepath.Join(folder, "page.html"), filepath.Join(folder, "start.csv"), "id,label\n"
	for i := range truth {
		labels += fmt.Sprintf("p%d,%d\n", i, i%3)
	}
	if err := os.WriteFile(start, []byte(labels), 0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := runLine("fit", filepath.Join(folder, "data.csv"), "-labels", start, "-start", start, "-json",
		"-epochs", "2", "-report", page)
	if status != exitOK || !strings.Contains(stdout, fmt.Sprintf(`"start_file":%q`, start)) {
		t.Fatal(stderr, stdout)
	}
	text := readText(t, page)
	if !strings.Contains(text, "The initial clustering has the labels of "+start) || strings.Contains(text, "did not use the") {
		t.Error("the report does not say that the classes were the initial clustering")
	}
}

// TestMedian: of an even number of values it is the mean of the two in the middle.
func TestMedian(t *testing.T) {
	if got := median([]float64{4, 1, 3, 2}); *got != 2.5 || median(nil) != nil || *median([]float64{3, 1, 2}) != 2 {
		t.Error(*got)
	}
}

// TestKnownColumnsOfAnyName: the column of -known may have points, and its name is no pattern that leaves out features.
func TestKnownColumnsOfAnyName(t *testing.T) {
	var text strings.Builder
	text.WriteString("id,a1,a2,smoker1,smoker?,cell.type\n")
	for i := range 40 {
		fmt.Fprintf(&text, "s%d,%d,%d,%d,%d,c%d\n", i, i%2*5+i%3, i%2*7+i%5, i%7, i%2, i%2)
	}
	path := writeText(t, "a.csv", text.String())
	for column, others := range map[string]string{"cell.type": "smoker?", "smoker?": "cell.type"} {
		leftOut := strings.ReplaceAll(others, "?", `\?`)
		status, stdout, stderr := runLine("fit", path, "-k", "2", "-known", column, "-leave-out", leftOut, "-set", "Epochs=1",
			"-quiet")
		if status != exitOK || !strings.Contains(stdout, "3 features") {
			t.Errorf("%s: status %d\n%s%s", column, status, stdout, stderr)
		}
	}
}
