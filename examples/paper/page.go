package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/largemvc/largemvc/examples/internal/tables"
	"github.com/largemvc/largemvc/examples/internal/viz"
	"github.com/largemvc/largemvc/examples/internal/work"
)

// page is what an experiment puts out: a Markdown file with its tables and figures, and their data as CSV and JSON.
type page struct {
	name, title string
	caption     string // the protocol: seeds, epochs, preprocessing, who chose what
	notes       string // what differs from the paper, and why
	tables      []tables.Grid
	figures     []picture
}

// picture is a figure with the name of its files and its caption.
type picture struct {
	name, caption string
	figure        viz.Figure
}

// publish writes the page and everything on it.
func (s *study) publish(p page) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", p.title, p.caption)
	if p.notes != "" {
		fmt.Fprintf(&b, "**Against the paper.** %s\n\n", p.notes)
	}
	for _, g := range p.tables {
		g.Markdown(&b)
		data, err := g.CSV()
		if err != nil {
			return err
		}
		if err := work.WriteWhole(s.path(g.Name+".csv"), data); err != nil {
			return err
		}
	}
	for _, f := range p.figures {
		if err := s.draw(f); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Fprintf(&b, "![%s](%s.svg)\n\n*%s* Data: [%s.csv](%s.csv).\n\n", f.figure.Title, f.name, f.caption, f.name, f.name)
	}
	if err := s.writeJSON(p); err != nil {
		return err
	}
	return work.WriteWhole(s.path(p.name+".md"), []byte(b.String()))
}

// draw writes a figure and the data beside it.
func (s *study) draw(f picture) error {
	endings := []string{".svg"}
	if s.png {
		endings = append(endings, ".png")
	}
	for _, ending := range endings {
		if err := f.figure.Save(s.path(f.name + ending)); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := f.figure.CSV(&b); err != nil {
		return err
	}
	return work.WriteWhole(s.path(f.name+".csv"), b.Bytes())
}

// writeJSON writes the tables and, by their columns, the figures.
func (s *study) writeJSON(p page) error {
	type figure struct {
		Name    string      `json:"name"`
		Caption string      `json:"caption"`
		Panels  []viz.Table `json:"panels"`
	}
	out := struct {
		Title   string        `json:"title"`
		Caption string        `json:"caption"`
		Tables  []tables.Grid `json:"tables"`
		Figures []figure      `json:"figures"`
	}{Title: p.title, Caption: p.caption, Tables: p.tables}
	for _, f := range p.figures {
		out.Figures = append(out.Figures, figure{f.name, f.caption, f.figure.Tables()})
	}
	data, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return err
	}
	return work.WriteWhole(s.path(p.name+".json"), data)
}

// index writes a page that leads to the others.
func (s *study) index(done []experiment) error {
	var b strings.Builder
	b.WriteString("# Experiments\n\n")
	for _, e := range done {
		fmt.Fprintf(&b, "- [%s](%s.md): %s\n", e.name, s.pageName(e.name), e.about)
	}
	b.WriteString("\nData sets:\n\n")
	for _, d := range s.sets {
		fmt.Fprintf(&b, "- %s: %s\n", d.Name, d.Shape())
	}
	return work.WriteWhole(s.path("index.md"), []byte(b.String()))
}
