package main

import (
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	panels, err := read(strings.NewReader(`goos: linux
BenchmarkFit/default/n-2   1	40 ns/op	0.6 exponent	1.1 exponent-predict	60 ms-predict/n=1000	209 ms-predict/n=2000	2953 ms/n=2000	1814 ms/n=1000
BenchmarkFit/paper/n-2   1	40 ns/op	6 ms-predict/n=1000	9 ms-predict/n=2000	53 ms/n=2000	14 ms/n=1000
PASS
`))
	if err != nil || len(panels) != 1 || len(panels[0].Series) != 4 {
		t.Fatal(panels, err)
	}
	first, last := panels[0].Series[0], panels[0].Series[3]
	if first.Name != "default" || !slices.Equal(first.X, []float64{1000, 2000}) || !slices.Equal(first.Y, []float64{1.814, 2.953}) {
		t.Error(first)
	}
	if last.Name != "paper, new samples" || !slices.Equal(last.Y, []float64{0.006, 0.009}) {
		t.Error(last)
	}
	for text, want := range map[string]string{
		"PASS\n": "no line of BenchmarkFit", "BenchmarkFit/default/n-2 1 40 ns/op 3 ms/n=10\n": " sizes in the unit",
		"BenchmarkFit/x-2 1 40 ns/op\n": "no size of a preset",
	} {
		if _, err := read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
