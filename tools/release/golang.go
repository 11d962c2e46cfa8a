package main

import (
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/tools/internal/program"
)

// environment returns the environment of each call of Go for a target. It leaves out the settings of the user that would change
// the program, also those in the file that `go env -w` writes: Go reads that file for a variable that is missing or empty.
func (b *builder) environment(t target) []string {
	env := slices.DeleteFunc(os.Environ(), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return slices.Contains([]string{
			"GO111MODULE", "GOAMD64", "GOARCH", "GOARM64", "GOEXPERIMENT", "GOFIPS140", "GOOS",
		}, name)
	})
	env = append(env, b.places...)
	env = append(env, "CGO_ENABLED=0", "GOENV=off", "GOFLAGS=", "GOTOOLCHAIN=local", "GOWORK=off")
	if t.os != "" {
		env = append(env, "GOOS="+t.os, "GOARCH="+t.arch)
	}
	return env
}

// keepPlaces keeps the user's settings that do not change the program: where modules come from, and where they and the results
// of builds lie. go.sum and the build cache verify what comes from there.
func (b *builder) keepPlaces() error {
	names := []string{
		"GOCACHE", "GOINSECURE", "GOMODCACHE", "GONOPROXY", "GONOSUMDB", "GOPRIVATE", "GOPROXY", "GOSUMDB", "GOVCS",
	}
	values, err := goEnv("", nil, names...)
	if err != nil {
		return err
	}
	for i, name := range names {
		b.places = append(b.places, name+"="+values[i])
	}
	return nil
}

// goEnv returns the values of variables of Go, seen from a folder. nil means the environment of this program.
func goEnv(folder string, env []string, names ...string) ([]string, error) {
	c := exec.Command("go", append([]string{"env"}, names...)...)
	c.Dir, c.Env = folder, env
	out, err := program.Output(c)
	if err != nil {
		return nil, err
	}
	values := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(values) != len(names) {
		return nil, fmt.Errorf("go env %s: %d values", strings.Join(names, " "), len(values))
	}
	return values, nil
}

// settings returns the values of Go's variables of the given names where the command is built.
func (b *builder) settings(names ...string) ([]string, error) {
	return goEnv(b.root, b.environment(target{}), names...)
}

// goVersion returns the version of the Go that builds, as in go1.26.10.
func (b *builder) goVersion() (string, error) {
	values, err := b.settings("GOVERSION")
	if err != nil {
		return "", err
	}
	name, _, _ := strings.Cut(values[0], " ") // experiments may follow
	return name, nil
}

// allowList names the oldest Go for releases, beside the advisories that this Go has fixed.
const allowList = ".ci/vulncheck.allow"

// oldestLine is the line of allowList that names the oldest Go.
var oldestLine = regexp.MustCompile(`(?m)^go (\d+\.\d+\.\d+)\r?$`)

// oldestGo returns the oldest Go for releases, as in go1.26.10.
func oldestGo(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(allowList)))
	if err != nil {
		return "", err
	}
	m := oldestLine.FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s has no line with the oldest Go for releases, as in go 1.26.10", allowList)
	}
	return "go" + string(m[1]), nil
}

// checkGo refuses a Go that may not build releases. With anyGo it says so and goes on.
func (b *builder) checkGo(anyGo bool) error {
	oldest, err := oldestGo(b.root)
	if err != nil {
		return err
	}
	have, err := b.goVersion()
	if err != nil {
		return err
	}
	err = suits(have, oldest)
	if err != nil && anyGo {
		fmt.Fprintln(os.Stderr, "release: for a trial alone, do not publish:", err)
		return nil
	}
	return err
}

// suits returns an error if a version of Go may not build releases. An older one has advisories. One of another line builds
// programs for newer systems than the tags of the wheels say.
func suits(have, oldest string) error {
	if version.Compare(have, oldest) < 0 {
		return fmt.Errorf("%s is too old: %s accepts advisories that %s has fixed; build with %[3]s or newer",
			have, allowList, oldest)
	}
	if line := version.Lang(oldest); version.Lang(have) != line {
		return fmt.Errorf("%s is not of the line %s: the tags of the wheels for macOS in python/backend.py hold for this line; "+
			"build with %s or a newer one of its line", have, line, oldest)
	}
	return nil
}
