package testutil

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/largemvc/largemvc/internal/driver"
)

// Program returns where a program is, and skips the test if there is none; without says what is not seen then.
func Program(t testing.TB, name, without string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s: %s", name, without)
	}
	return path
}

// GeneratedPTX checks that the PTX in kernels/ is what clang makes of the sources there, by kernels/generate.sh.
func GeneratedPTX(t *testing.T) {
	t.Helper()
	clang := os.Getenv("CLANG")
	if clang == "" {
		clang = "clang++-19"
	}
	Program(t, clang, "the committed PTX is not compared with its sources (Debian: apt-get install clang-19)")
	dir := t.TempDir()
	if out, err := exec.Command("sh", "kernels/generate.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*.ptx.gz"))
	if err != nil || len(made) == 0 {
		t.Fatalf("%d files, %v", len(made), err)
	}
	for _, path := range made {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("kernels", filepath.Base(path)))
		if err != nil {
			t.Fatal(err)
		}
		if driver.Text(got) != driver.Text(want) {
			t.Errorf("kernels/%s is not what %s makes of the sources: run go generate here", filepath.Base(path), clang)
		}
	}
	if have, _ := filepath.Glob("kernels/*.ptx.gz"); len(have) != len(made) {
		t.Errorf("%d files of PTX are committed, %d are made", len(have), len(made))
	}
}
