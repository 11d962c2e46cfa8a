package dataset

import (
	"strings"
	"testing"
	"unicode"
)

// TestPrintable: names in a file end no line of the output and do not speak to the terminal.
func TestPrintable(t *testing.T) {
	path := "a\nview 0    forged\x1b[2J.csv"
	text := []byte("\"a\nb\",label\n" + strings.Repeat("1,k\n", 1500) + "2,\"x\ny\"\n3,\x1b[31mred\n")
	s := mustRead(t, path, text, Options{})
	if s.Classes() != 3 {
		t.Fatalf("classes %q", s.LabelNames)
	}
	lines := append(s.Reading.Lines(), strings.Split(inspectBytes(t, path, text, Options{}).String(), "\n")...)
	if all := strings.Join(lines, "\n"); !strings.Contains(all, `\x1b[31mred`) || !strings.Contains(all, `x\ny (1)`) {
		t.Error(all)
	}
	for _, line := range lines {
		if strings.ContainsFunc(line, unicode.IsControl) || strings.HasPrefix(line, "view 0    forged") {
			t.Errorf("line %q", line)
		}
	}
}

func TestSetString(t *testing.T) {
	set, err := Synthetic(SyntheticConfig{Samples: 20, Clusters: 3, Dims: []int{4, 2}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	set.Name = "made"
	if got := set.String(); got != "made: 20 samples, views of [4 2] features, 3 classes" {
		t.Error(got)
	}
	set.Labels, set.Name = nil, ""
	present, err := Drop(20, 2, 0.25, 1)
	if err != nil {
		t.Fatal(err)
	}
	less, err := set.Incomplete(present)
	if err != nil {
		t.Fatal(err)
	}
	if got := less.String(); got != "data set: 20 samples, views of [4 2] features, 25.0 % of the view rows absent" {
		t.Error(got)
	}
}
