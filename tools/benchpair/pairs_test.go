package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

func TestParse(t *testing.T) {
	got := parse([]byte(`goos: linux
BenchmarkA/n=1-2   	     100	     12.5 ns/op	       0 B/op	       0 allocs/op
BenchmarkB         	       3	  88000 epochs/s	   1500 ns/op
BenchmarkFails
PASS
`))
	if want := map[string]float64{"A/n=1-2": 12.5, "B": 1500}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestPatterns(t *testing.T) {
	got := patterns(map[string]float64{"A/n=1.5-2": 1, "A/n=1.5-4": 1, "B": 1})
	if want := []string{`^BenchmarkA$/^n=1\.5$`, "^BenchmarkB$"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPrint(t *testing.T) {
	var p pairs
	for round, times := range [][2]float64{{100, 50}, {400, 200}, {100, 150}} {
		for state, x := range times {
			p.add(state, round, map[string]float64{"A": x})
		}
	}
	p.add(1, 0, map[string]float64{"B": 1})
	var out bytes.Buffer
	if err := p.print(&out, "./x"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"./x A ", " 100 ", " 150 ", "0.500  0.500 … 1.000     0.500", "./x B", "only one state"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if err := new(pairs).print(&out, "./x"); err == nil {
		t.Error("no error without benchmarks")
	}
}

// TestCompare runs a moved package of two small modules.
func TestCompare(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, map[string]string{
		"old/go.mod": "module example.com/m\n\ngo 1.25\n", "new/go.mod": "module example.com/m\n\ngo 1.25\n",
		"old/a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc BenchmarkX(b *testing.B) { for b.Loop() {} }\n",
		"new/b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc BenchmarkX(b *testing.B) { for b.Loop() {} }\n",
	})
	var out bytes.Buffer
	o := options{packages: "./a=./b", bench: "X", benchtime: "10x", rounds: 2}
	if err := compare(&out, &o, filepath.Join(folder, "old"), filepath.Join(folder, "new")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "./b X") {
		t.Error(out.String())
	}
}

// write writes files, by their paths below a folder.
func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	if err := os.CopyFS(folder, tree); err != nil {
		t.Fatal(err)
	}
}
