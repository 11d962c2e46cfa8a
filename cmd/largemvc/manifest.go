package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/file"
)

// manifest lists the files of a path with %d, so that none can be missing unseen.
type manifest struct {
	Files []manifestFile `json:"files"`
}

type manifestFile struct {
	Name string `json:"name"`
	Rows int    `json:"rows"`
}

// manifestPath is where the manifest of a pattern lies: x-manifest.json for x-%d.npy.
func manifestPath(pattern string) string {
	pattern = cleanPattern(pattern)
	folder := filepath.Dir(pattern[:strings.Index(pattern, "%d")] + "x")
	rest := strings.TrimPrefix(strings.TrimPrefix(pattern, folder), string(filepath.Separator))
	rest = strings.TrimSuffix(strings.ReplaceAll(rest, string(filepath.Separator), "-"), filepath.Ext(rest))
	return filepath.Join(folder, strings.Replace(rest, "%d", "manifest", 1)+".json")
}

// cleanPattern writes a pattern as filepath.Glob writes the paths that it finds: x-%d.npy for ./x-%d.npy.
func cleanPattern(pattern string) string {
	if clean := filepath.Clean(pattern); isPattern(clean) {
		return clean
	}
	return pattern
}

// numberedFiles lists the files 0, 1, … of a pattern. A gap is an error.
func numberedFiles(pattern string) ([]string, error) {
	pattern = cleanPattern(pattern)
	before, after, _ := strings.Cut(pattern, "%d")
	found, err := filepath.Glob(globbed(before) + "*" + globbed(after))
	if err != nil {
		return nil, err
	}
	last := -1
	for _, path := range found {
		number := strings.TrimSuffix(strings.TrimPrefix(path, before), after)
		if k, err := strconv.Atoi(number); err == nil && strconv.Itoa(k) == number {
			last = max(last, k)
		}
	}
	if last < 0 {
		return nil, fmt.Errorf("%s: there is no %s", pattern, numbered(pattern, 0))
	}
	files := make([]string, last+1)
	for k := range files {
		files[k] = numbered(pattern, k)
		if _, err := os.Stat(files[k]); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: there is no %s, but %s: add what is missing", pattern, files[k], numbered(pattern, last))
		} else if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// globbed is a path as a pattern that it alone fits.
func globbed(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// rowsOf are the numbers of rows of opened files.
func rowsOf(sets []*dataset.RowSet) []int {
	rows := make([]int, len(sets))
	for i, set := range sets {
		rows[i] = set.Samples()
	}
	return rows
}

// checkManifest compares the files of a pattern and their rows with its manifest.
func checkManifest(pattern string, files []string, rows []int) error {
	path := manifestPath(pattern)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: the manifest %[4]s is missing, which lists the files. If the %[2]d files with %[3]d rows are "+
			"all, write it with: largemvc inspect -manifest '%[1]s'", pattern, len(files), total(rows), path)
	}
	if err != nil {
		return err
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for k, f := range m.Files {
		switch {
		case k >= len(files):
			return fmt.Errorf("%s: there is no %s, which %s lists", pattern, f.Name, path)
		case f.Name != filepath.Base(files[k]):
			return fmt.Errorf("%s: file %d is %q, and should be %q: it is the manifest of other files", path, k, f.Name,
				filepath.Base(files[k]))
		case f.Rows != rows[k]:
			return fmt.Errorf("%s has %d rows; %s says %d", files[k], rows[k], path, f.Rows)
		}
	}
	if len(files) > len(m.Files) {
		return fmt.Errorf("%s is not in %s: write that again with 'largemvc inspect -manifest %s'", files[len(m.Files)], path,
			pattern)
	}
	return nil
}

func total(rows []int) int {
	sum := 0
	for _, n := range rows {
		sum += n
	}
	return sum
}

// writeManifests writes the manifests of patterns.
func writeManifests(ctx context.Context, stdout io.Writer, patterns []string, o dataset.Options) error {
	for _, pattern := range patterns {
		if strings.Count(pattern, "%d") != 1 {
			return usagef("inspect: -manifest is for files with %%d in place of their numbers, and not for %s", pattern)
		}
		files, err := numberedFiles(pattern)
		if err != nil {
			return err
		}
		s := &shards{}
		err = s.add(ctx, pattern, slices.Collect(slices.Chunk(files, 1)), o)
		rows := rowsOf(s.sets)
		if err = errors.Join(err, s.close()); err != nil {
			return err
		}
		m := manifest{}
		for k, f := range files {
			m.Files = append(m.Files, manifestFile{filepath.Base(f), rows[k]})
		}
		text, err := json.MarshalIndent(m, "", " ")
		if err != nil {
			return err
		}
		path := manifestPath(pattern)
		err = file.Replace(path, func(w io.Writer) error {
			_, err := w.Write(append(text, '\n'))
			return err
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%s: %s in %s\n", path, count(total(rows), "row"), count(len(files), "file"))
	}
	return nil
}
