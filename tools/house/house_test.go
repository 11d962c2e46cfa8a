package main

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

func TestCycles(t *testing.T) {
	g := graph{}
	for _, arrow := range []string{"a b", "b c", "c a", "c d", "d e", "e d", "e f", "g a", "h h2", "f -", "h2 -"} {
		from, to, _ := strings.Cut(arrow, " ")
		if g[from] == nil {
			g[from] = map[string]map[string]bool{}
		}
		if to != "-" {
			g[from][to] = map[string]bool{"x": true}
		}
	}
	if got, want := g.cycles(), [][]string{{"a", "b", "c"}, {"d", "e"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestColumns(t *testing.T) {
	for s, want := range map[string]int{"": 0, "\tθ": 5, "ab": 2} {
		if got := columns(s); got != want {
			t.Errorf("%q has %d columns, want %d", s, got, want)
		}
	}
}

// TestRun lays out a small module and checks what is printed about it.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n",
		"a.go": "package m\n\nimport \"example.com/m/internal/low\"\n\ntype A struct{ B " +
			"int }\n\nvar X = low.Y + f()\n",
		"b.go":                   "package m\n\nfunc f() int { return A{B: 1}.B }\n\nfunc Unused() {}\n",
		"c.go":                   "package m\n\nvar y = f() // " + strings.Repeat("x", 130) + "\n",
		"internal/low/low.go":    "package low\n\nvar Y = 1\n",
		"cmd/user/main.go":       "package main\n\nimport \"example.com/m\"\n\nfunc main() { println(m.X) }\n",
		"internal/low/t_test.go": "package low\n",
	})
	var out bytes.Buffer
	if err := run(&out, dir, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"3 files without tests", "names: 3, of which 1 are used", "a cycle of 2 files", "→ a.go: A, B", "→ b.go: f\n",
		"floor 1  . → internal/low", "floor 2  cmd/user → .", "over 130 columns: 1;", "c.go:3: 145 columns",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "wrong:") {
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
