package main

import (
	"fmt"
	"go/version"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// written writes a file of a folder, with the folders above it, and returns its path.
func written(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read returns the text of a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEnvironment sets what would change the program, in the environment and in the file of `go env -w`, and wants none of it in
// the environment of a build. The place of modules stays.
func TestEnvironment(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("GOENV", written(t, folder, "env", strings.Join([]string{
		"GOAMD64=v3", "GOARM64=v8.5", "GOFLAGS=-tags=nogpu", "GOPROXY=https://proxy.example", "",
	}, "\n")))
	t.Setenv("GOWORK", written(t, folder, "go.work", "go 1.26.0\n"))
	for _, name := range []string{"GOAMD64", "GOFLAGS", "GOPROXY"} {
		t.Setenv(name, "") // an empty variable is read from the file
	}
	b := builder{root: "../.."}
	if err := b.keepPlaces(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOEXPERIMENT", "nojsonv2")
	t.Setenv("GOTOOLCHAIN", "go1.99.0+auto")
	names := []string{"GOAMD64", "GOFLAGS", "GOEXPERIMENT", "GOWORK", "GOTOOLCHAIN", "CGO_ENABLED", "GOOS", "GOPROXY"}
	want := []string{"v1", "", "", "off", "local", "0", "linux", "https://proxy.example"}
	for _, x := range targets[:2] {
		got, err := goEnv(b.root, b.environment(x), names...)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s are %q, want %q", names, got, want)
		}
		names[0], want[0] = "GOARM64", "v8.0"
	}
}

// TestEnvironmentOfThisMachine wants a command for this machine, which prints the scripts of completion, whatever the user sets.
func TestEnvironmentOfThisMachine(t *testing.T) {
	t.Setenv("GOOS", "plan9")
	t.Setenv("GOARCH", "arm")
	b := builder{root: "../.."}
	got, err := b.settings("GOHOSTOS", "GOOS", "GOHOSTARCH", "GOARCH")
	if err != nil {
		t.Fatal(err)
	}
	if got[0] != got[1] || got[2] != got[3] {
		t.Errorf("%q", got)
	}
}

func TestSuits(t *testing.T) {
	for _, x := range []struct{ have, want string }{
		{"go1.26.10", ""}, {"go1.26.11", ""}, {"go1.26.10-vendor", ""},
		{"go1.26.9", "go1.26.10"}, {"go1.26.0", "go1.26.10"}, {"go1.26rc1", "go1.26.10"}, {"go1.25.99", "go1.26.10"},
		{"devel", "go1.26.10"},
		{"go1.27.0", "macOS"},
	} {
		err := suits(x.have, "go1.26.10")
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.have, err, x.want)
		}
	}
}

// TestOldGo wants the refusal before anything is read or written, and with -any-go the error of what follows: the folder is no
// working copy.
func TestOldGo(t *testing.T) {
	root := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(root))
	out := filepath.Join(root, "out")
	if err := run(root, out, "", "none", false); err == nil || !strings.Contains(err.Error(), "vulncheck.allow") {
		t.Errorf("without a list: %v", err)
	}
	written(t, root, allowList, "# a comment\n")
	if err := run(root, out, "", "none", false); err == nil || !strings.Contains(err.Error(), "no line") {
		t.Errorf("without a version: %v", err)
	}
	written(t, root, allowList, "# a comment\ngo 1.9999.3\nGO-1 net/http of Go before 1.9999.3\n")
	if err := run(root, out, "", "none", false); err == nil || !strings.Contains(err.Error(), "build with go1.9999.3 or newer") {
		t.Errorf("too old: %v", err)
	}
	if err := run(root, out, "", "none", true); err == nil || !strings.Contains(err.Error(), "git status") {
		t.Errorf("any Go: %v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a release that is refused makes its folder")
	}
}

// TestOldestGo wants the newest of the versions that the accepted advisories name: a release with an older one has advisories
// that the list accepts because releases lack them.
func TestOldestGo(t *testing.T) {
	oldest, err := oldestGo("../..")
	if err != nil {
		t.Fatal(err)
	}
	newest := ""
	fixed := regexp.MustCompile(`(?m)^GO-.* of Go before ([0-9.]*[0-9])`)
	for _, m := range fixed.FindAllStringSubmatch(read(t, allowList), -1) {
		if v := "go" + m[1]; version.Compare(v, newest) > 0 {
			newest = v
		}
	}
	if newest == "" || oldest != newest {
		t.Errorf("the oldest Go is %s, and the advisories name %q", oldest, newest)
	}
}

// TestLine wants the same line of Go where a release is built and where the tags of its wheels for macOS hold.
func TestLine(t *testing.T) {
	oldest, err := oldestGo("../..")
	if err != nil {
		t.Fatal(err)
	}
	line := version.Lang(oldest)
	needs := map[string]int{"go1.25": 12, "go1.26": 12, "go1.27": 13} // oldest macOS, by the release notes of Go
	tags := regexp.MustCompile(`"macosx_(\d+)_0_`).FindAllStringSubmatch(read(t, "python/backend.py"), -1)
	if len(tags) != 2 || needs[line] == 0 {
		t.Fatalf("%d tags for macOS; %s needs macOS %d", len(tags), line, needs[line])
	}
	for _, tag := range tags {
		if tag[1] != fmt.Sprint(needs[line]) {
			t.Errorf("a wheel says macOS %s, and %s needs %d", tag[1], line, needs[line])
		}
	}
	for _, name := range []string{".github/workflows/release.yml", ".github/workflows/vulncheck.yml"} {
		want := fmt.Sprintf("go-version: %q\n", strings.TrimPrefix(line, "go")+".x")
		if !strings.Contains(read(t, name), want) {
			t.Errorf("%s lacks %s", name, want)
		}
	}
}

// TestImagesOfExamples wants a Go with the fixes in each Dockerfile, and its folder among those whose images are kept up to date.
func TestImagesOfExamples(t *testing.T) {
	oldest, err := oldestGo("../..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../examples/*/Dockerfile")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	updates := read(t, ".github/dependabot.yml")
	for _, file := range files {
		name, err := filepath.Rel("../..", file)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`(?m)^FROM golang:([0-9.]+)`).FindStringSubmatch(read(t, filepath.ToSlash(name)))
		if m == nil || version.Compare("go"+m[1], oldest) < 0 {
			t.Errorf("%s: its Go is %q, want %s or newer", name, m, oldest)
		}
		if folder := `"/` + filepath.ToSlash(filepath.Dir(name)) + `"`; !strings.Contains(updates, folder) {
			t.Errorf(".github/dependabot.yml does not name %s", folder)
		}
	}
}
