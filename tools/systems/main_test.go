package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck finds a fault in a test and in a function of one system alone, and none elsewhere.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module example.com/m\n\ngo 1.26\n",
		"m.go":               "package m\n\nimport \"os\"\n\nvar Name = os.DevNull\n",
		"m_windows.go":       "package m\n\nfunc f() { unused := 1 }\n",
		"m_darwin_test.go":   "package m\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) { t.None() }\n",
		"cmd/main.go":        "package main\n\nfunc main() {}\n",
		"cmd/main_plan9.go":  "package main\n\nvar x int = \"\"\n",
		"cmd/none_linux.go":  "package main\n\nfunc none() {}\n",
		"cmd/main_a_test.go": "package main\n\nimport \"testing\"\n\nfunc TestM(*testing.T) { main() }\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for target, want := range map[string]string{
		"linux/amd64": "", "windows/arm64": "declared and not used", "darwin/arm64": "t.None undefined",
		"plan9/amd64": "cannot use",
	} {
		faults, n, err := check(dir, target)
		if err != nil || n == 0 || want == "" && faults != nil || !strings.Contains(strings.Join(faults, "\n"), want) {
			t.Errorf("%s: %d packages, %v, %q", target, n, err, faults)
		}
	}
	if _, _, err := check(dir, "linux"); err == nil {
		t.Error("no error without a processor")
	}
}
