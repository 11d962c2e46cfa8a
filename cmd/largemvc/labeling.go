package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/internal/textfile"
)

// labeling is the labels of samples in a CSV file.
type labeling struct {
	path   string
	names  []string    // of the classes, numbers in their order, else in alphabetical order
	labels []int       // of the samples, by their place in names
	keys   []keyColumn // the columns that name the samples, the surest first; nil: they are known by their places
	column string      // that the labels come from
}

// keyColumn is a column of ids, or of the numbers of the samples.
type keyColumn struct {
	column, name string // name is the column's in the order of keyNames
	at           int
	values       []string
	seen         map[string]int // the line of each
	twice        error          // where a value occurs twice
}

// labelNames are the names of columns of labels, the first the surest.
var labelNames = []string{"label", "labels", "cluster", "clusters", "class", "classes", "y", "gt", "truth", "target"}

// keyNames are the names of columns that name the samples.
var keyNames = []string{"id", "sample", "sample_id", "ids", "index", "name"}

// readLabeling reads a CSV or TSV file that has labels in the named column; empty: in the one that is called so, or its only
// one.
func readLabeling(path, column string) (*labeling, error) {
	text, err := textfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, reason(err))
	}
	defer text.Close()
	l := &labeling{path: path}
	if err := l.read(text.Reader, column); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	l.number()
	return l, nil
}

// read reads the labels, with their names in the order in which they come first: a text for each sample would take many times the
// memory of its number.
func (l *labeling) read(file *bufio.Reader, column string) error {
	r := newTable(file, true)
	record, err := r.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("is empty")
	}
	if err != nil {
		return err
	}
	at, header, err := l.columns(record, column)
	if err != nil {
		return err
	}
	known := map[string]int{}
	for first := true; ; first = false {
		if line, _ := r.FieldPos(0); !first || !header {
			text := strings.TrimSpace(record[at])
			if missingLabel(text) {
				but := ""
				if text != "" {
					but = fmt.Sprintf(", but %q, which means that it is missing", text)
				}
				return fmt.Errorf("line %d has no label in column %s%s; fill it in, or leave the sample out of both files",
					line, l.column, but)
			}
			k, ok := known[text]
			if !ok {
				text, k = strings.Clone(text), len(l.names) // a clone, for text is a part of the whole line
				known[text], l.names = k, append(l.names, text)
			}
			l.labels = append(l.labels, k)
			for k := range l.keys {
				l.keys[k].add(strings.TrimSpace(record[l.keys[k].at]), line)
			}
			if len(l.keys) > 0 && l.keys[0].twice != nil {
				return l.keys[0].twice
			}
		}
		if record, err = r.Read(); errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if len(l.labels) == 0 {
		return errors.New("has no labels under its header")
	}
	return nil
}

// missingLabel tells whether a text stands for a label that is missing: what the readers of data take for that.
func missingLabel(text string) bool {
	return slices.Contains([]string{"", "na", "n/a", "nan", "-nan", "null", "none", "?", "#n/a", "#na", "<na>"},
		strings.ToLower(text))
}

// add takes the key of the sample in a line.
func (k *keyColumn) add(value string, line int) {
	if before, twice := k.seen[value]; twice && k.twice == nil {
		k.twice = fmt.Errorf("lines %d and %d have the same %s, %q", before, line, k.column, value)
	}
	k.seen[value] = line
	k.values = append(k.values, value)
}

// labelTexts says in the help which texts newTable and the reader of data take.
const labelTexts = "with commas, tabs, semicolons or bars, in UTF-16 or packed by gzip too"

// newTable returns the reader of the records of a CSV or TSV file, whose comments it passes over as the reader of data does; with
// sure, comments that may be records are an error. FieldPos of it tells the lines of the file.
func newTable(text *bufio.Reader, sure bool) *csv.Reader {
	records := bufio.NewReaderSize(textfile.Records(text, sure), 1<<16)
	r := csv.NewReader(records)
	r.Comma, r.ReuseRecord, r.TrimLeadingSpace = separator(records), true, true
	return r
}

// separator is that of the first line that is not empty.
func separator(records *bufio.Reader) rune {
	line, _ := records.Peek(1 << 16) // less than that is as good, and an error comes again
	line = bytes.TrimLeft(line, "\r\n")
	line = line[:min(len(line), 4096)]
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	return textfile.Separator(line)
}

// columns finds the column of labels and those of keys, and tells whether the first record is a header.
func (l *labeling) columns(record []string, column string) (at int, header bool, err error) {
	names := make([]string, len(record))
	for i, name := range record {
		names[i] = strings.ToLower(strings.TrimSpace(name))
	}
	find := func(wanted []string) int {
		for _, name := range wanted {
			if i := slices.Index(names, name); i >= 0 {
				return i
			}
		}
		return -1
	}
	if at = find(labelNames); column != "" {
		if at = slices.Index(names, strings.ToLower(column)); at < 0 {
			return 0, false, fmt.Errorf("has no column %s, but %s", column, strings.Join(record, ", "))
		}
	}
	switch {
	case at >= 0:
		for _, name := range keyNames {
			if i := slices.Index(names, name); i >= 0 && i != at {
				k := keyColumn{column: strings.TrimSpace(record[i]), name: name, at: i, seen: map[string]int{}}
				l.keys = append(l.keys, k)
			}
		}
		l.column = record[at]
		return at, true, nil
	case len(record) == 1:
		l.column = "0"
		return 0, names[0] == "x", nil // R calls the only column x
	}
	return 0, false, fmt.Errorf("has %d columns, none of which is called label: say -column NAME", len(record))
}

// number puts the names in their order, and numbers the labels by it.
func (l *labeling) number() {
	texts := l.names
	l.names = slices.Sorted(slices.Values(texts))
	slices.SortStableFunc(l.names, func(a, b string) int {
		x, errX := strconv.ParseFloat(a, 64)
		y, errY := strconv.ParseFloat(b, 64)
		switch {
		case errX != nil || errY != nil || x == y:
			return strings.Compare(a, b)
		case x < y:
			return -1
		}
		return 1
	})
	place := make(map[string]int, len(l.names))
	for i, name := range l.names {
		place[name] = i
	}
	for i, k := range l.labels {
		l.labels[i] = place[texts[k]]
	}
}

// align returns the labels of b in the order of a's samples, and how the samples were matched: by the first column of keys
// that both have.
func (l *labeling) align(b *labeling) ([]int, string, error) {
	for _, k := range l.keys {
		j := slices.IndexFunc(b.keys, func(other keyColumn) bool { return other.name == k.name })
		if j < 0 {
			continue
		}
		labels, err := l.join(k, b, b.keys[j])
		return labels, "by " + k.column, err
	}
	if len(l.labels) != len(b.labels) {
		return nil, "", fmt.Errorf("%s has %d labels, %s has %d, and they have no column of ids to be joined by", l.path,
			len(l.labels), b.path, len(b.labels))
	}
	return b.labels, "by their places", nil
}

// join returns the labels of b in the order of the keys of a.
func (l *labeling) join(a keyColumn, b *labeling, of keyColumn) ([]int, error) {
	if a.twice != nil {
		return nil, fmt.Errorf("%s: %w", l.path, a.twice)
	}
	if of.twice != nil {
		return nil, fmt.Errorf("%s: %w", b.path, of.twice)
	}
	at := make(map[string]int, len(of.values))
	for i, key := range of.values {
		at[key] = i
	}
	out := make([]int, len(a.values))
	for i, key := range a.values {
		j, ok := at[key]
		if !ok {
			return nil, fmt.Errorf("%s has no label for the %s %q of %s", b.path, of.column, key, l.path)
		}
		out[i] = b.labels[j]
	}
	if len(of.values) > len(a.values) {
		return nil, fmt.Errorf("%s has labels of %d samples, %s of %d of them", b.path, len(of.values), l.path, len(a.values))
	}
	return out, nil
}
