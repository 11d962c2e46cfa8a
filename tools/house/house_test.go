package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestCycles(t *testing.T) {
	g := graph{}
	for _, arrow := range []string{"a b", "b c", "c a", "c d", "d e", "e d", "e f", "g a", "h h2", "f -", "h2 -"} {
		from, to, _ := strings.Cut(arrow, " ")
		if g[from] == nil {
			g[from] = map[string]map[string]int{}
		}
		if to != "-" {
			g[from][to] = map[string]int{"x": 1}
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

// TestCheck lays out a module that keeps the rules, plants what breaks them, and wants file, line and remedy of each.
func TestCheck(t *testing.T) {
	lines := func(n int, line string) string { return strings.Repeat(line+"\n", n) }
	module := map[string]string{
		"go.mod":               "module example.com/m\n\ngo 1.25\n",
		"a.go":                 "package m\n\n// A is 1.\nconst A = 1\n",
		"b.go":                 "package m\n\n// B is A.\nconst B = A\n\nfunc fit() {}\n",
		"docs/architecture.md": "# m\n\n" + figuresBegin + figuresEnd,
		limitsPath: `{"Layers": [{"Name": "low", "Files": ["a.go"]}, {"Name": "high", "Files": ["b.go"]}],
			"RootFiles": 2, "RootNames": 2, "RootFileLines": 50, "FunctionLines": 80, "Complexity": 25,
			"Stages": {"b.go fit": 4},
			"Phrases": {"anew": 0}, "HandWritten": 100, "Core": 100}`,
	}
	for name, test := range map[string]struct {
		plant map[string]string
		want  string
	}{
		"nothing": {},
		"a context key": {
			map[string]string{
				"internal/low/low.go": "package low\n\nimport \"context\"\n\nvar X = context.WithValue(nil, 1, 2)\n",
			},
			"internal/low/low.go:5: a value travels in a context (rule 3). Pass it as a parameter",
		},
		"an arrow up": {
			map[string]string{
				"a.go": "package m\n\n// A is B.\nconst A = B\n", "b.go": "package m\n\n// B is 1.\nconst B = 1\n",
			},
			"a.go:4: it uses B of b.go, a file of a higher layer (rule 1). Move the name down",
		},
		"a circle": {
			map[string]string{
				"a.go": "package m\n\n// A is f.\nvar A = f\n\nfunc g() {}\n",
				"b.go": "package m\n\n// B is g.\nvar B = g\n\nfunc f() {}\n",
			},
			"b.go:4: it uses g of a.go, in a circle of 2 files (rule 1). Break the circle",
		},
		"a typed nil": {
			map[string]string{"internal/low/low.go": "package low\n\ntype E struct{}\n\nfunc f() (int, *MyError) { return 0, nil }\n"},
			"internal/low/low.go:5: a nil *MyError is an error that is not nil (rule 9). Let its type be error, or the struct",
		},
		"one test file more": {
			map[string]string{"t_test.go": "package m\n"},
			"RootTests is 1, the ceiling is 0 (rule 6). Put a test beside those of its subject",
		},
		"a long function": {
			map[string]string{"internal/low/low.go": "package low\n\nfunc f() {\n" + lines(88, "\tprintln()") + "}\n"},
			"internal/low/low.go:3: f has 90 lines, at most 80 are allowed (rule 4). Give its steps names",
		},
		"a long stage": {
			map[string]string{"b.go": "package m\n\n// B is A.\nconst B = A\n\nfunc fit() {\n" + lines(3, "\tprintln()") + "}\n"},
			"b.go:6: fit has 5 lines, at most 4 are allowed (rule 4). Give its steps names",
		},
		"a dense function": {
			map[string]string{
				"internal/low/low.go": "package low\n\ntype T int\n\nfunc (*T) f(x bool) {\n" +
					lines(26, "\tfor x && x {}") + "}\n",
			},
			"internal/low/low.go:5: (*T).f has a complexity of 53, at most 25 is allowed (rule 4).",
		},
		"a file without a layer": {
			map[string]string{"c.go": "package m\n"}, "c.go: the file is in no layer (rule 1). Add it",
		},
		"a long file of the root": {
			map[string]string{"a.go": "package m\n\n// A is 1.\nconst A = 1\n" + lines(60, "// x")},
			"a.go:64: 64 lines, a file",
		},
		"a rig in the product": {
			map[string]string{
				"b.go": "package m\n\nimport _ \"example.com/m/internal/testrig/fake\"\n\n// B is A.\n" +
					"const B = A\n",
				"internal/testrig/fake/fake.go": "package fake\n",
			},
			"b.go:3: \"example.com/m/internal/testrig/fake\" is for tests alone (rule 6).",
		},
		"a phrase": {
			map[string]string{"b.go": "package m\n\n// B begins anew.\nconst B = A\n"},
			"Phrases[\"anew\"] is 1, the ceiling is 0 (rule 7).",
		},
		"no comment": {
			map[string]string{"internal/low/low.go": "package low\n", "public/p.go": "package public\n\nfunc F() {}\n"},
			"public/p.go:3: F has no comment that begins with its name (rule 7).",
		},
		"a ceiling above": {
			map[string]string{limitsPath: strings.Replace(module[limitsPath], `"RootNames": 2`, `"RootNames": 5`, 1)},
			"RootNames is 2, the ceiling is 5 (rule 1). Run 'go run ./house -lower ..'",
		},
		"many lines": {
			map[string]string{"internal/low/low.go": "package low\n" + lines(200, "// x")},
			"HandWritten is 211, the ceiling is 100 (rule 8).",
		},
		"old figures": {
			map[string]string{"docs/architecture.md": figuresBegin + "| 7 |\n" + figuresEnd},
			"docs/architecture.md: its figures are not",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, module)
			if err := writeFigures(dir); err != nil {
				t.Fatal(err)
			}
			write(t, dir, test.plant)
			var out bytes.Buffer
			err := check(&out, dir, false)
			if (err == nil) != (test.want == "") || !strings.Contains(out.String(), test.want) {
				t.Errorf("%v, want %q in\n%s", err, test.want, &out)
			}
		})
	}
}

// TestLower lowers a ceiling that is above its count, and leaves the others.
func TestLower(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n", "a.go": "package m\n\n// A is 1.\nconst A = 1\n",
		"docs/architecture.md": figuresBegin + figuresEnd,
		limitsPath: `{"Layers": [{"Name": "all", "Files": ["a.go"]}], "RootFiles": 1, "RootNames": 7, "RootFileLines": 50,
			"ContextValues": {".": 3}, "FunctionLines": 80, "Complexity": 25, "HandWritten": 100, "Core": 100}`,
	})
	if err := writeFigures(dir); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := check(&out, dir, true); err != nil {
		t.Fatalf("%v:\n%s", err, &out)
	}
	l, err := readLimits(dir)
	if err != nil || l.RootNames != 1 || l.ContextValues["."] != 0 || l.HandWritten != 100 {
		t.Errorf("%+v, %v", l, err)
	}
	if err := check(&out, dir, false); err != nil {
		t.Errorf("after lowering: %v:\n%s", err, &out)
	}
}

// write writes files, by their paths below a folder, over those that are there.
func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
