package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
	"github.com/largemvc/largemvc/studies/internal/viz"
	"github.com/largemvc/largemvc/studies/internal/work"
)

// page writes the output of an experiment: a Markdown file with its tables and figures, and their data as CSV.
type page struct {
	name, title string
	caption     string // what the experiment does beyond what all of them share
	notes       string // what differs from the paper, and why
	tables      []tables.Grid
	data        []tables.Grid // that go to files alone
	figures     []picture
}

// picture is a figure with the name of its files and its caption.
type picture struct {
	name, caption string
	figure        viz.Figure
}

// grids are the tables of the page, and those that go to files alone.
func (p page) grids() []tables.Grid { return slices.Concat(p.tables, p.data) }

// publish writes the page and everything on it.
func (s *study) publish(p page) error {
	for _, g := range p.grids() {
		data, err := g.CSV()
		if err != nil {
			return err
		}
		if err := work.WriteWhole(s.path(g.Name+".csv"), data); err != nil {
			return err
		}
	}
	for i, f := range p.figures {
		p.figures[i].figure.Title = f.caption
		if err := s.save(p.figures[i]); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", p.title, s.protocolText())
	p.write(&b, "")
	s.pages = append(s.pages, p)
	return work.WriteWhole(s.path(p.name+".md"), []byte(tables.Wrap(b.String())))
}

// write writes the page without its title; what it refers to is in the folder.
func (p page) write(b *strings.Builder, folder string) {
	fmt.Fprintf(b, "%s\n\n", p.caption)
	if p.notes != "" {
		fmt.Fprintf(b, "**Against the paper.** %s\n\n", p.notes)
	}
	for _, g := range p.tables {
		g.Markdown(b)
	}
	var files []string
	for _, g := range p.grids() {
		files = append(files, fmt.Sprintf("[%s.csv](%s%s.csv)", g.Name, folder, g.Name))
	}
	if len(files) > 0 {
		fmt.Fprintf(b, "Data: %s.\n\n", strings.Join(files, ", "))
	}
	for _, f := range p.figures {
		fmt.Fprintf(b, "![%s](%s%s.svg)\n\n*%s* Data: [%s.csv](%s%s.csv).\n\n",
			f.caption, folder, f.name, f.caption, f.name, folder, f.name)
	}
}

// save writes a figure and the data beside it.
func (s *study) save(f picture) error {
	if err := f.figure.Save(s.path(f.name + ".svg")); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := f.figure.CSV(&b); err != nil {
		return err
	}
	return work.WriteWhole(s.path(f.name+".csv"), b.Bytes())
}

// firstSection is where in the page of -page that begins which the program writes.
const firstSection = "## Protocol\n"

// whole writes the page of -page with all that was published, and copies what it shows into a folder beside it.
func (s *study) whole() error {
	kept, err := os.ReadFile(s.page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	head, _, _ := strings.Cut(string(kept), firstSection)
	if head == "" {
		head = "# Results\n\n"
	}
	folder := strings.TrimSuffix(s.page, filepath.Ext(s.page))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n%s Sets: %s.\n\n", head, firstSection, s.protocolText(), sets.Names(s.sets))
	for _, p := range s.pages {
		fmt.Fprintf(&b, "## %s\n\n", p.title)
		p.write(&b, filepath.Base(folder)+"/")
		var files []string
		for _, g := range p.grids() {
			files = append(files, g.Name+".csv")
		}
		for _, f := range p.figures {
			files = append(files, f.name+".svg", f.name+".csv")
		}
		for _, name := range files {
			data, err := os.ReadFile(s.path(name))
			if err != nil {
				return err
			}
			if err := work.WriteWhole(filepath.Join(folder, name), data); err != nil {
				return err
			}
		}
	}
	return work.WriteWhole(s.page, []byte(tables.Wrap(strings.TrimRight(b.String(), "\n")+"\n")))
}
