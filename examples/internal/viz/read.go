package viz

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
)

// ReadTables reads what Figure.CSV wrote, all fields as texts.
func ReadTables(r io.Reader) ([]Table, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = -1
	records, err := in.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("viz: %w", err)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("viz: no header")
	}
	lead := 0
	if records[0][0] == "panel" {
		lead = 1
	}
	var out []Table
	for line, record := range records {
		if len(record) <= lead {
			return nil, fmt.Errorf("viz: record %d has %d fields", line, len(record))
		}
		if line == 0 || lead == 1 && record[0] == "panel" {
			out = append(out, Table{Columns: record[lead:]})
			continue
		}
		t := &out[len(out)-1]
		if lead == 1 {
			t.Title = record[0]
		}
		row := make([]any, len(record)-lead)
		for i := range row {
			row[i] = record[lead+i]
		}
		t.Rows = append(t.Rows, row)
	}
	return out, nil
}

// reading takes values out of a table of texts, and keeps the first error.
type reading struct {
	Table
	err error
}

func (r *reading) text(row, column int) string {
	if column >= len(r.Rows[row]) {
		return ""
	}
	s, _ := r.Rows[row][column].(string)
	return s
}

// number is a value, NaN where there is none.
func (r *reading) number(row, column int) float64 {
	s := r.text(row, column)
	if s == "" {
		return math.NaN()
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("viz: %q, row %d of the values: %w", r.Title, row, err)
	}
	return x
}

// wants is an error unless the table has so many columns.
func (t Table) wants(counts ...int) error {
	if !slices.Contains(counts, len(t.Columns)) {
		return fmt.Errorf("viz: %q has the columns %q", t.Title, t.Columns)
	}
	return nil
}

// Lines is the panel that the table is of.
func (t Table) Lines() (Lines, error) {
	if err := t.wants(3, 5); err != nil {
		return Lines{}, err
	}
	l, r := Lines{Title: t.Title, XLabel: t.Columns[1], YLabel: t.Columns[2]}, reading{Table: t}
	for i := range t.Rows {
		name := r.text(i, 0)
		if n := len(l.Series); n == 0 || l.Series[n-1].Name != name {
			l.Series = append(l.Series, Series{Name: name})
		}
		s := &l.Series[len(l.Series)-1]
		s.X, s.Y = append(s.X, r.number(i, 1)), append(s.Y, r.number(i, 2))
		if r.text(i, 3) != "" {
			s.Low, s.High = append(s.Low, r.number(i, 3)), append(s.High, r.number(i, 4))
		}
	}
	return l, r.err
}

// place is the index of a name, which is added where it is new.
func place(names *[]string, name string) int {
	at := slices.Index(*names, name)
	if at < 0 {
		at, *names = len(*names), append(*names, name)
	}
	return at
}

// HeatMap is the panel that the table is of.
func (t Table) HeatMap() (HeatMap, error) {
	if err := t.wants(3); err != nil {
		return HeatMap{}, err
	}
	h, r := HeatMap{Title: t.Title, YLabel: t.Columns[0], XLabel: t.Columns[1]}, reading{Table: t}
	for i := range t.Rows {
		place(&h.Rows, r.text(i, 0))
		place(&h.Columns, r.text(i, 1))
	}
	h.Values = make([][]float64, len(h.Rows))
	for i := range h.Values {
		h.Values[i] = slices.Repeat([]float64{math.NaN()}, len(h.Columns))
	}
	for i := range t.Rows {
		h.Values[place(&h.Rows, r.text(i, 0))][place(&h.Columns, r.text(i, 1))] = r.number(i, 2)
	}
	return h, r.err
}

// Bars is the panel that the table is of.
func (t Table) Bars() (Bars, error) {
	if err := t.wants(3, 4); err != nil {
		return Bars{}, err
	}
	b, r := Bars{Title: t.Title, YLabel: t.Columns[2]}, reading{Table: t}
	var series []string
	for i := range t.Rows {
		place(&b.Groups, r.text(i, 0))
		place(&series, r.text(i, 1))
	}
	for _, name := range series {
		b.Series = append(b.Series, BarSeries{Name: name, Values: slices.Repeat([]float64{math.NaN()}, len(b.Groups))})
	}
	for i := range t.Rows {
		g, s := place(&b.Groups, r.text(i, 0)), &b.Series[place(&series, r.text(i, 1))]
		s.Values[g] = r.number(i, 2)
		if r.text(i, 3) == "" {
			continue
		}
		if s.Errors == nil {
			s.Errors = slices.Repeat([]float64{math.NaN()}, len(b.Groups))
		}
		s.Errors[g] = r.number(i, 3)
	}
	return b, r.err
}

// Scatter is the panel that the table is of, its classes in the order of their names: of their numbers where all are numbers.
func (t Table) Scatter() (Scatter, error) {
	if err := t.wants(3); err != nil {
		return Scatter{}, err
	}
	s, r := Scatter{Title: t.Title}, reading{Table: t}
	for i := range t.Rows {
		place(&s.Names, r.text(i, 2))
	}
	sort.Slice(s.Names, func(i, j int) bool {
		a, first := strconv.Atoi(s.Names[i])
		b, second := strconv.Atoi(s.Names[j])
		if first != nil || second != nil {
			return s.Names[i] < s.Names[j]
		}
		return a < b
	})
	for i := range t.Rows {
		s.X, s.Y = append(s.X, r.number(i, 0)), append(s.Y, r.number(i, 1))
		s.Class = append(s.Class, place(&s.Names, r.text(i, 2)))
	}
	return s, r.err
}
