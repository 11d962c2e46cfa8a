package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/internal/textfile"
)

// readStartLabels reads n labels from 0 to m−1 from the column label, or the only column, of a CSV file. Where it has a
// column id and the samples have ids, they are joined by it, in any order. Else, where it has a column sample, that must count
// the samples from 0. The names may be in capitals, and the file is read as newTable and textfile.Open read it.
func readStartLabels(path string, n, m int, ids []string) ([]int, error) {
	text, err := textfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, reason(err))
	}
	defer text.Close()
	r := newTable(text.Reader, true)
	label, sample, id := 0, -1, -1
	labels := make([]int, 0, n)
	var named []string // the ids of the labels
	for first := true; ; first = false {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		line, _ := r.FieldPos(0)
		if first {
			if at := columnNamed(record, "label"); at >= 0 {
				if label, sample = at, columnNamed(record, "sample"); ids != nil {
					id = columnNamed(record, "id")
				}
				continue
			}
			if len(record) > 1 {
				return nil, fmt.Errorf("%s: has %d columns, none of which is called label", path, len(record))
			}
		}
		l, err := strconv.Atoi(strings.TrimSpace(record[label]))
		if len(labels) == n { // what follows may be without end
			return nil, fmt.Errorf("%s: line %d: has more labels than there are samples, %d", path, line, n)
		}
		if err != nil || l < 0 || l >= m {
			return nil, fmt.Errorf("%s: line %d: the label %q is not a whole number from 0 to %d", path, line, record[label], m-1)
		}
		if id >= 0 {
			named, labels = append(named, record[id]), append(labels, l)
			continue
		}
		if sample >= 0 && strings.TrimSpace(record[sample]) != strconv.Itoa(len(labels)) {
			return nil, fmt.Errorf("%s: line %d: sample %q where %d was to come", path, line, record[sample], len(labels))
		}
		labels = append(labels, l)
	}
	if len(labels) != n {
		return nil, fmt.Errorf("%s: %d labels for %d samples", path, len(labels), n)
	}
	if id >= 0 {
		return joinStartLabels(path, labels, named, ids)
	}
	return labels, nil
}

// columnNamed is the column of a name in a header; −1 without.
func columnNamed(header []string, name string) int {
	return slices.IndexFunc(header, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), name) })
}

// joinStartLabels puts labels in the order of the samples.
func joinStartLabels(path string, labels []int, named, ids []string) ([]int, error) {
	of := make(map[string]int, len(labels))
	for i, id := range named {
		if _, twice := of[id]; twice {
			return nil, fmt.Errorf("%s: has the id %s twice", path, id)
		}
		of[id] = labels[i]
	}
	out := make([]int, len(ids))
	for i, id := range ids {
		l, ok := of[id]
		if !ok {
			return nil, fmt.Errorf("%s: has no label for the sample %s", path, id)
		}
		out[i] = l
	}
	return out, nil
}
