// Command release builds the archives of a release: the command for Linux, macOS and Windows on amd64 and arm64, without cgo,
// with shell completions, the licences and the list of all that is linked in, the wheels of the Python package with the same
// commands, an OCI image for Linux, and the checksums of all.
// The same commit gives the same bytes wherever its working copy lies. CONTRIBUTING.md says how it is used:
//
//	cd tools && go run ./release -out ../dist
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/largemvc/largemvc/tools/internal/program"
)

// targets are the systems that archives are made for.
var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

type target struct{ os, arch string }

// command is the package of the command, seen from the root of the repository.
const command = "./cmd/largemvc"

func main() {
	root := flag.String("root", "..", "`FOLDER` of the repository")
	out := flag.String("out", "", "`FOLDER` for the archives; it is made where it is missing")
	only := flag.String("only", "", "`OS/ARCH` to build for alone")
	anyGo := flag.Bool("any-go", false, "build with any version of Go, for a trial")
	python := flag.String("python", "python3", "`PROGRAM` that builds the wheels, Python 3.11 or newer; none: no wheels")
	program.Arguments("release [flags] -out FOLDER", 0)
	program.End("release", program.Failed, run(*root, *out, *only, *python, *anyGo))
}

func run(root, out, only, python string, anyGo bool) error {
	if out == "" {
		return fmt.Errorf("no -out folder given")
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	b := builder{root: root}
	if err := b.keepPlaces(); err != nil {
		return err
	}
	if err := b.checkGo(anyGo); err != nil {
		return err
	}
	if err := b.describe(); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	names, err := b.all(out, only, python)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
	}
	fmt.Print(sums.String())
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// all writes the archives, wheels and images into a folder, and returns their names.
func (b *builder) all(out, only, python string) (names []string, err error) {
	scripts, err := b.completions()
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		if only != "" && only != t.os+"/"+t.arch {
			continue
		}
		made, err := b.target(t, scripts, out, python)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", t.os, t.arch, err)
		}
		names = append(names, made...)
	}
	if only == "" {
		name, err := b.image(out)
		return append(names, name), err
	}
	if names == nil {
		return nil, fmt.Errorf("no target %s", only)
	}
	return names, nil
}

// builder knows the commit that is built.
type builder struct {
	root    string
	version string // the tag without its v, or the number of the commit
	when    time.Time
	places  []string // where modules and the results of builds lie, for the environment of Go
}

// describe reads the commit. A working copy with changes is refused: nobody could build its archives again.
func (b *builder) describe() error {
	changes, err := b.git("status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("the working copy has changes:\n%s", changes)
	}
	if b.version, err = b.git("describe", "--tags", "--always", "--match", "v*", "--exclude", "*/*"); err != nil {
		return err
	}
	b.version = strings.TrimPrefix(b.version, "v")
	seconds, err := b.git("log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	b.when = time.Unix(n, 0).UTC()
	return err
}

func (b *builder) git(args ...string) (string, error) {
	out, err := program.Run(b.root, "git", args...)
	return strings.TrimSpace(string(out)), err
}

// compile builds the command. -trimpath and an empty build ID keep the place of the sources out of it; the version and the
// commit come from the working copy.
func (b *builder) compile(t target, out string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", out}, flags...)
	c := exec.Command("go", append(args, command)...)
	c.Dir, c.Env = b.root, b.environment(t)
	_, err := program.Output(c)
	return err
}

// completions builds the command for this machine and asks it for its scripts.
func (b *builder) completions() ([]file, error) {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "largemvc")
	if err := b.compile(target{}, path); err != nil {
		return nil, err
	}
	var files []file
	for _, s := range []struct{ shell, name string }{{"bash", "largemvc.bash"}, {"zsh", "_largemvc"}, {"fish", "largemvc.fish"}} {
		script, err := program.Output(exec.Command(path, "completion", s.shell))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: "completions/" + s.name, data: script, mode: 0o644})
	}
	return files, nil
}

// target writes the archive and the wheel of a target, and returns their names.
func (b *builder) target(t target, scripts []file, out, python string) (names []string, err error) {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	executable := "largemvc"
	if t.os == "windows" {
		executable += ".exe"
	}
	if err := b.compile(t, filepath.Join(dir, executable)); err != nil {
		return nil, err
	}
	licences, err := b.licences(t)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "LICENSES.txt"), licences, 0o644); err != nil {
		return nil, err
	}
	list, err := billOfMaterials(b, t)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "sbom.cdx.json"), list, 0o644); err != nil {
		return nil, err
	}
	name, archive, err := b.archive(t, dir, executable, scripts)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(out, name), archive, 0o644); err != nil || python == "none" {
		return []string{name}, err
	}
	wheel, err := b.wheel(t, dir, executable, out, python)
	return []string{name, wheel}, err
}

// image writes the image for Linux, and returns its name. Its command is linked statically, without GPUs.
func (b *builder) image(out string) (string, error) {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	data, err := image(b.version, b.when, targets[:2], func(t target) ([]file, error) {
		path := filepath.Join(dir, t.arch)
		if err := b.compile(t, path, "-tags=nogpu"); err != nil {
			return nil, err
		}
		program, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		licences, err := b.licences(t)
		if err != nil {
			return nil, err
		}
		return b.imageFiles(program, licences)
	})
	if err != nil {
		return "", err
	}
	name := "largemvc-" + b.version + "-image.tar"
	return name, os.WriteFile(filepath.Join(out, name), data, 0o644)
}

// imageFiles returns the files of the image for one processor. LICENSES.txt refers to LICENSE.
func (b *builder) imageFiles(program, licences []byte) ([]file, error) {
	licence, err := os.ReadFile(filepath.Join(b.root, "LICENSE"))
	return []file{{"largemvc", program, 0o755}, {"LICENSE", licence, 0o644}, {"LICENSES.txt", licences, 0o644}}, err
}

// wheel writes the wheel of a target with the command in dir, and returns its name.
func (b *builder) wheel(t target, dir, executable, out, python string) (string, error) {
	c := exec.Command(python, "-c", "import backend, sys; print(backend.build_wheel(sys.argv[1]))", out)
	c.Dir = filepath.Join(b.root, "python")
	c.Env = append(b.environment(t), "LARGEMVC_TARGET="+t.os+"/"+t.arch, "LARGEMVC_BINARY="+filepath.Join(dir, executable),
		"LARGEMVC_LICENSES="+filepath.Join(dir, "LICENSES.txt"), fmt.Sprint("SOURCE_DATE_EPOCH=", b.when.Unix()))
	name, err := program.Output(c)
	return strings.TrimSpace(string(name)), err
}

// archive returns the name and the bytes of a target's archive, of the command and licences in dir.
func (b *builder) archive(t target, dir, executable string, scripts []file) (name string, data []byte, err error) {
	files := []file{{name: executable, mode: 0o755}, {name: "LICENSES.txt", mode: 0o644}, {name: "sbom.cdx.json", mode: 0o644}}
	for _, document := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		files = append(files, file{name: document, mode: 0o644})
	}
	for i, f := range files {
		from := b.root
		if i < 3 {
			from = dir
		}
		if files[i].data, err = os.ReadFile(filepath.Join(from, f.name)); err != nil {
			return "", nil, err
		}
	}
	files = append(files, scripts...)
	slices.SortFunc(files, func(x, y file) int { return strings.Compare(x.name, y.name) })
	folder := fmt.Sprintf("largemvc-%s-%s-%s", b.version, t.os, t.arch)
	if t.os == "windows" {
		data, err = zipped(folder, files, b.when)
		return folder + ".zip", data, err
	}
	data, err = tarred(folder, files, b.when)
	return folder + ".tar.gz", data, err
}
