// Package tables has tables of means with their deviations, as Markdown and CSV.
package tables

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// Grid is a table of cells; its first column holds the names of the rows.
type Grid struct {
	Name   string
	Title  string
	Header []string
	Rows   []Line
	// Plain omits deviations from the Markdown.
	Plain bool
}

// Line is a row of a table.
type Line struct {
	Name  string
	Cells []Cell
	// Apart excludes the row from the ranking, because its method uses the labels.
	Apart bool
}

// Cell is a mean with its deviation over count seeds, or a text; the zero value is an empty cell.
type Cell struct {
	Mean  float64
	Std   float64
	Count int
	Text  string
	place int // 1 best, 2 second
}

// MeanOf returns the mean and the standard deviation (n−1) of values.
func MeanOf(values []float64) Cell {
	c := Cell{Count: len(values)}
	switch len(values) {
	case 0:
	case 1:
		c.Mean = values[0]
	default:
		c.Mean, c.Std = stat.MeanStdDev(values, nil)
	}
	return c
}

// Rank marks the best and the second of every column; higher is better. Cells that show the same figure share a place.
func (g *Grid) Rank() {
	shown := func(x float64) float64 { return math.Round(10 * x) }
	for j := range g.Header[1:] {
		first, second := math.Inf(-1), math.Inf(-1)
		for _, r := range g.Rows {
			if c := r.Cells[j]; c.Count > 0 && !r.Apart {
				switch m := shown(c.Mean); {
				case m > first:
					first, second = m, first
				case m < first && m > second:
					second = m
				}
			}
		}
		for i, r := range g.Rows {
			if c := r.Cells[j]; c.Count > 0 && !r.Apart {
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

func (c Cell) markdown(plain bool) string {
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
	if c.Count > 1 && !plain {
		text += fmt.Sprintf(" ±%.1f", c.Std)
	}
	return text
}

// Markdown writes the table.
func (g Grid) Markdown(b *strings.Builder) {
	if g.Title != "" {
		fmt.Fprintf(b, "### %s\n\n", g.Title)
	}
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(g.Header, " | "), strings.Repeat("---|", len(g.Header)))
	for _, r := range g.Rows {
		fmt.Fprintf(b, "| %s |", r.Name)
		for _, c := range r.Cells {
			fmt.Fprintf(b, " %s |", c.markdown(g.Plain))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// CSV has a line for every cell that is not empty.
func (g Grid) CSV() ([]byte, error) {
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
