package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/tools/internal/program"
)

// licenceFile matches the names of files that must go along with a program.
var licenceFile = regexp.MustCompile(`(?i)^(third[_-]?party[_-]?)?(licen[cs]es?|copying|notices?|patents)([._-].*)?$`)

// licenceFolder matches the names of folders whose files are all licences, such as THIRD_PARTY_LICENSES of gonum.
var licenceFolder = regexp.MustCompile(`(?i)^(third[_-]?party[_-]?)?(licen[cs]es|notices)$`)

// linked is a module with linked packages.
type linked struct {
	path, version, dir string
	packages           []string
}

// licences returns the licences of all modules that are linked into the command for a target, and of Go.
func (b *builder) licences(t target) ([]byte, error) {
	modules, err := b.linked(t)
	if err != nil {
		return nil, err
	}
	settings, err := b.settings("GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	modules = append([]linked{{path: "Go", version: settings[1], dir: settings[0]}}, modules...)
	var text bytes.Buffer
	text.WriteString("The command largemvc is under the licence in LICENSE. It contains parts of the following modules.\n")
	for _, m := range modules {
		files, err := licenceFiles(m)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, "\n%s\n%s %s\n", strings.Repeat("=", 80), m.path, m.version)
		for _, file := range files {
			data, err := os.ReadFile(filepath.Join(m.dir, file))
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&text, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 80), filepath.ToSlash(file),
				strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n")))
		}
	}
	return text.Bytes(), nil
}

// linked returns the modules that are linked into the command for a target, without this one.
func (b *builder) linked(t target) ([]linked, error) {
	const format = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}"
	c := exec.Command("go", "list", "-deps", "-f", format, command)
	c.Dir, c.Env = b.root, b.environment(t)
	out, err := program.Output(c)
	if err != nil {
		return nil, err
	}
	byPath := map[string]*linked{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 4 {
			continue
		}
		m := byPath[fields[0]]
		if m == nil {
			m = &linked{path: fields[0], version: fields[1], dir: fields[2]}
			byPath[fields[0]] = m
		}
		m.packages = append(m.packages, fields[3])
	}
	var modules []linked
	for _, m := range byPath {
		modules = append(modules, *m)
	}
	slices.SortFunc(modules, func(x, y linked) int { return strings.Compare(x.path, y.path) })
	return modules, nil
}

// licenceFiles returns the licences of a module: those at its top, and those in the folders of the packages that are linked
// in. A module without any is an error, for it may not be given away.
func licenceFiles(m linked) ([]string, error) {
	folders := append([]string{m.dir}, m.packages...)
	slices.Sort(folders)
	var files []string
	for _, folder := range slices.Compact(folders) {
		found, err := licencesIn(folder)
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			relative, err := filepath.Rel(m.dir, path)
			if err != nil {
				return nil, err
			}
			files = append(files, relative)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no licence", m.path)
	}
	return files, nil
}

// licencesIn returns the paths of the licences in a folder, and of all files in its folders of licences, code of Go aside.
func licencesIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if filepath.Ext(path) == ".go" {
			continue
		}
		switch {
		case !e.IsDir() && licenceFile.MatchString(e.Name()):
			paths = append(paths, path)
		case e.IsDir() && licenceFolder.MatchString(e.Name()):
			inside, err := os.ReadDir(path)
			if err != nil {
				return nil, err
			}
			for _, text := range inside {
				if !text.IsDir() && filepath.Ext(text.Name()) != ".go" {
					paths = append(paths, filepath.Join(path, text.Name()))
				}
			}
		}
	}
	return paths, nil
}
