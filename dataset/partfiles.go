package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/dataset/internal/columnar"
)

// isPart reports whether a file of this name is a part of a table that fills a folder. Spark, pandas and Dask write
// part-00000….parquet or part.0.parquet, DuckDB data_0.parquet.
func isPart(name string) bool {
	name = strings.ToLower(name)
	for _, begin := range []string{"part-", "part_", "part.", "data_"} {
		if rest, ok := strings.CutPrefix(name, begin); ok && digits(rest) > 0 && filepath.Ext(rest) == ".parquet" {
			return true
		}
	}
	return false
}

// openParts opens the parts of a table in a folder, in numeric order of their names, as one file.
func openParts(folder string, as role, o *Options, lim *limits) (_ *source, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fileError(folder, err)
	}
	var names []string
	for _, e := range entries {
		if isPart(e.Name()) && !o.leavesOut(e.Name()) {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil, fileError(folder, errors.New("is a folder, not a file"))
	}
	slices.SortFunc(names, compareNumeric)
	s := &source{path: folder, role: as}
	s.close = func() error {
		var errs []error
		for _, p := range s.parts {
			errs = append(errs, p.close())
		}
		return errors.Join(errs...)
	}
	if err := s.listParts(names, o, lim); err != nil {
		return nil, errors.Join(s.blamed(o.ctx, named(folder, err)), s.close())
	}
	return s, nil
}

// listParts lists the columns of parts.
func (s *source) listParts(names []string, o *Options, lim *limits) error {
	var tables []*columnar.Table
	for _, name := range names {
		p, err := openFile(filepath.Join(s.path, name), s.role)
		if err != nil {
			return err
		}
		s.parts, s.size = append(s.parts, p), s.size+p.size
		lim.AddFile(p.size)
		t, err := openTable(p.raw, p.size, lim)
		if err != nil {
			return fileError(p.path, err)
		}
		tables = append(tables, t)
	}
	t, err := columnar.Join(tables, names)
	if err != nil {
		return err
	}
	s.format = "Parquet"
	s.notes = append(s.notes, fmt.Sprintf("%s: its %d files are parts of one table, from %s to %s", s.path, len(names), names[0],
		names[len(names)-1]))
	return s.listTable(t, o, lim)
}
