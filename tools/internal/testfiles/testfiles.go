// Package testfiles writes the files that tests need.
package testfiles

import (
	"os"
	"path/filepath"
	"testing"
)

// Write writes files, by their paths below a folder, and makes the folders that they lie in.
func Write[T string | []byte](t testing.TB, folder string, files map[string]T) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
