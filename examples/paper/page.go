package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/largemvc/largemvc/viz"
)

// page is what an experiment puts out: a Markdown file with its tables and figures, and their data as CSV and JSON.
type page struct {
	name, title string
	caption     string // the protocol: seeds, epochs, preprocessing, who chose what
	notes       string // what differs from the paper, and why
	tables      []grid
	figures     []picture
}

// picture is a figure with the name of its files and its caption.
type picture struct {
	name, caption string
	figure        viz.Figure
}

// grid is a table of cells; its first column holds the names of the rows.
type grid struct {
	name   string
	Title  string   `json:"title"`
	Header []string `json:"header"`
	Rows   []line   `json:"rows"`
}

// line is a row of a table.
type line struct {
	Name  string `json:"name"`
	Cells []cell `json:"cells"`
	// apart keeps the row out of the comparison, as one that has seen the labels.
	apart bool
}

// cell is a mean with its deviation over count seeds, or a text; the zero value is an empty cell.
type cell struct {
	Mean  float64 `json:"mean"`
	Std   float64 `json:"std"`
	Count int     `json:"count"`
	Text  string  `json:"text,omitempty"`
	place int     // 1 best, 2 second
}

// meanOf returns the mean and the standard deviation (n−1) of values.
func meanOf(values []float64) cell {
	c := cell{Count: len(values)}
	for _, x := range values {
		c.Mean += x / float64(len(values))
	}
	if len(values) > 1 {
		for _, x := range values {
			c.Std += (x - c.Mean) * (x - c.Mean) / float64(len(values)-1)
		}
		c.Std = math.Sqrt(c.Std)
	}
	return c
}

// rank marks the best and the second of every column; higher is better. Cells that show the same figure share a place.
func (g *grid) rank() {
	shown := func(x float64) float64 { return math.Round(10 * x) }
	for j := range g.Header[1:] {
		first, second := math.Inf(-1), math.Inf(-1)
		for _, r := range g.Rows {
			if c := r.Cells[j]; c.Count > 0 && !r.apart {
				switch m := shown(c.Mean); {
				case m > first:
					first, second = m, first
				case m < first && m > second:
					second = m
				}
			}
		}
		for i, r := range g.Rows {
			if c := r.Cells[j]; c.Count > 0 && !r.apart {
				switch shown(c.Mean) {
				case first:
					g.Rows[i].Cells[j].place = 1
				case second:
					g.Rows[i].Cells[j].place = 2
				}
			}
		}
	}
}

func (c cell) markdown() string {
	switch {
	case c.Text != "":
		return c.Text
	case c.Count == 0:
		return ""
	}
	text := fmt.Sprintf("%.1f", c.Mean)
	switch c.place {
	case 1:
		text = "**" + text + "**"
	case 2:
		text = "<u>" + text + "</u>"
	}
	if c.Count > 1 {
		text += fmt.Sprintf(" ±%.1f", c.Std)
	}
	return text
}

func (g grid) markdown(b *strings.Builder) {
	if g.Title != "" {
		fmt.Fprintf(b, "### %s\n\n", g.Title)
	}
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(g.Header, " | "), strings.Repeat("---|", len(g.Header)))
	for _, r := range g.Rows {
		fmt.Fprintf(b, "| %s |", r.Name)
		for _, c := range r.Cells {
			fmt.Fprintf(b, " %s |", c.markdown())
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// csv has a line for every cell that is not empty.
func (g grid) csv() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.Write([]string{"row", "column", "mean", "std", "count", "text"}); err != nil {
		return nil, err
	}
	for _, r := range g.Rows {
		for j, c := range r.Cells {
			if c.Count == 0 && c.Text == "" {
				continue
			}
			record := []string{r.Name, g.Header[j+1], fmt.Sprint(c.Mean), fmt.Sprint(c.Std), fmt.Sprint(c.Count), c.Text}
			if err := w.Write(record); err != nil {
				return nil, err
			}
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// publish writes the page and everything on it.
func (s *study) publish(p page) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", p.title, p.caption)
	if p.notes != "" {
		fmt.Fprintf(&b, "**Against the paper.** %s\n\n", p.notes)
	}
	for _, g := range p.tables {
		g.markdown(&b)
		data, err := g.csv()
		if err != nil {
			return err
		}
		if err := writeWhole(s.path(g.name+".csv"), data); err != nil {
			return err
		}
	}
	for _, f := range p.figures {
		if err := s.draw(f); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Fprintf(&b, "![%s](%s.svg)\n\n*%s* Data: [%s.csv](%s.csv).\n\n", f.name, f.name, f.caption, f.name, f.name)
	}
	if err := s.writeJSON(p); err != nil {
		return err
	}
	return writeWhole(s.path(p.name+".md"), []byte(b.String()))
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
	return writeWhole(s.path(f.name+".csv"), b.Bytes())
}

// writeJSON writes the tables and, by their columns, the figures.
func (s *study) writeJSON(p page) error {
	type figure struct {
		Name    string      `json:"name"`
		Caption string      `json:"caption"`
		Panels  []viz.Table `json:"panels"`
	}
	out := struct {
		Title   string   `json:"title"`
		Caption string   `json:"caption"`
		Tables  []grid   `json:"tables"`
		Figures []figure `json:"figures"`
	}{Title: p.title, Caption: p.caption, Tables: p.tables}
	for _, f := range p.figures {
		out.Figures = append(out.Figures, figure{f.name, f.caption, f.figure.Tables()})
	}
	data, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return err
	}
	return writeWhole(s.path(p.name+".json"), data)
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
		fmt.Fprintf(&b, "- %s: %s\n", d.name, d.shape())
	}
	return writeWhole(s.path("index.md"), []byte(b.String()))
}
