package main

import (
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestLabelsInAnotherOrder: labels that -out wrote, and that were sorted since, belong to the samples that their column sample
// names, where the data have no ids: in memory and from disk, in fit and in predict.
func TestLabelsInAnotherOrder(t *testing.T) {
	path, folder := writeSet(t, 60, false), t.TempDir()
	out, model := filepath.Join(folder, "out.csv"), filepath.Join(folder, "model")
	fit := []string{"fit", "-data", path, "-clusters", "3", "-epochs", "2", "-quiet"}
	if status, _, stderr := runLine(append(fit, "-out", out, "-save", model)...); status != exitOK {
		t.Fatal(stderr)
	}
	lines := strings.Split(strings.TrimSpace(contents(t, out)), "\n")
	mixed := slices.Clone(lines)
	slices.SortFunc(mixed[1:], func(a, b string) int { // by label
		return strings.Compare(strings.Split(a, ",")[1], strings.Split(b, ",")[1])
	})
	if slices.Equal(lines, mixed) {
		t.Fatal("the labels are in order")
	}
	text := func(lines []string) string { return strings.Join(lines, "\n") + "\n" }
	sorted := writeText(t, "sorted.csv", text(mixed))
	bare := []string{"sample,label"}
	named := []string{"id," + lines[0]}
	for _, line := range mixed[1:] {
		fields := strings.Split(line, ",")
		bare, named = append(bare, fields[0]+","+fields[1]), append(named, "s"+fields[0]+","+line)
	}
	for _, args := range [][]string{
		append(fit, "-labels", out), append(fit, "-labels", sorted), append(fit, "-labels", sorted, "-from-disk"),
		append(fit, "-labels", writeText(t, "bare.csv", text(bare))),
		append(fit, "-labels", writeText(t, "named.csv", text(named))),
		append(fit, "-labels", writeText(t, "without.csv", strings.Replace(text(named), "\n", "\n#s90,90,1,0,0\n", 3))),
		append(fit, "-labels", writeText(t, "sorted.csv.gz", gzipped(t, text(mixed)))),
		append(fit, "-labels", writeText(t, "wide.csv", inUTF16(text(mixed)))),
		append(fit, "-labels", writeText(t, "comment.csv", "# sorted\n"+text(mixed))),
		append(fit, "-labels", writeText(t, "semicolons.csv", "# sorted by label\n"+
			strings.ReplaceAll(text(mixed), ",", ";"))),
		append(fit, "-labels", writeText(t, "tabs.csv", "# sorted, by label, of all\n"+
			strings.ReplaceAll(text(mixed), ",", "\t"))),
		append(fit, "-labels", writeText(t, "blank.csv", "\n\n"+strings.ReplaceAll(text(bare), ",", ";"))),
		append(fit, "-labels", writeText(t, "bars.csv", strings.ReplaceAll(text(bare), ",", "|"))),
		append(fit, "-labels", writeText(t, "header.csv", "# "+text(bare))),
		{"predict", "-data", path, "-model", model, "-labels", sorted},
		{"predict", "-data", path, "-model", model, "-labels", sorted, "-from-disk"},
	} {
		status, stdout, stderr := runLine(append(args, "-json")...)
		if status != exitOK {
			t.Fatalf("%v: %s", args, stderr)
		}
		m := object(t, stdout)
		if m["acc"] != 1.0 {
			t.Errorf("%v: ACC %v", args, m["acc"])
		}
		if ids, ok := m["ids"].([]any); ok && ids[17] != "17" && ids[17] != "s17" {
			t.Errorf("%v: the id of sample 17 is %v", args, ids[17])
		}
		reading, said := m["reading"].(map[string]any), "in the order of its column sample"
		placed := strings.Contains(reading["labels"].(string), said)
		if byPlace := strings.Contains(fmt.Sprint(reading["notes"]), "by their places"); placed == byPlace ||
			placed == slices.Contains(args, out) {
			t.Errorf("%v: %v", args, reading)
		}
	}
	status, stdout, stderr := runLine(append(fit, "-labels", sorted, "-id", "none", "-json")...)
	if status != exitOK || object(t, stdout)["acc"] == 1.0 {
		t.Errorf("-id none does not take the order of the file: %s", stderr)
	}
	odd := writeText(t, "odd.csv", strings.Replace(text(named), "\ns", "\ns\"", 1)) // which the reader of data takes as it is
	status, stdout, stderr = runLine(append(fit, "-labels", odd)...)
	checkFailure(t, "a quote in an id", exitError, status, stdout, stderr, "match the file by its order with -id none")
	far := writeText(t, "far.csv", strings.Replace(text(mixed), "\n"+strings.Split(mixed[4], ",")[0]+",", "\n60,", 1))
	status, stdout, stderr = runLine(append(fit, "-labels", far)...)
	checkFailure(t, "another sample", exitError, status, stdout, stderr, `the sample "60" is not one of 0 to 59`)
	far = writeText(t, "commented.csv", "# one\n\n# two\n"+contents(t, far))
	status, stdout, stderr = runLine(append(fit, "-labels", far)...)
	checkFailure(t, "another sample", exitError, status, stdout, stderr, `line 8: the sample "60" is not one of 0 to 59`)
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

// TestLabelsOfIDs: where the data have ids, these decide, whatever the column sample says.
func TestLabelsOfIDs(t *testing.T) {
	var data, labels strings.Builder
	data.WriteString("id,a,b,c,d,e\n")
	labels.WriteString("id,sample,label,near,next\n")
	centres := [][]int{{0, 50, 10, 80, 30}, {60, 0, 90, 20, 70}, {20, 90, 50, 40, 0}}
	for i := range 31 {
		c := centres[i%3]
		fmt.Fprintf(&data, "s%d,%d,%d,%d,%d,%d\n", i, c[0]+i%2, c[1]+i%4, c[2]+i%5, c[3], c[4]+i%7)
		fmt.Fprintf(&labels, "s%d,%d,%d,0,1\n", i, i*7%31, i%3)
	}
	status, stdout, stderr := runLine("fit", "-data", writeText(t, "data.csv", data.String()), "-labels",
		writeText(t, "labels.csv", labels.String()), "-epochs", "2", "-quiet", "-json")
	if status != exitOK || object(t, stdout)["acc"] != 1.0 {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
}
