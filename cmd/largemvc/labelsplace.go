package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/textfile"
)

// placeLabels puts the labels of a file of -labels, and the ids that it gives, where its column sample says: what -out wrote,
// sorted by the label since, still says which samples of the data have which. Data that have ids are joined to the file by them,
// and -id none asks for the order of the file.
func (o *dataOptions) placeLabels(labels []int, ids []string, r *dataset.Reading) error {
	if labels == nil || o.id == "none" || strings.Contains(r.IDs, "joined by") || !strings.HasSuffix(r.IDs, " of "+o.labels) {
		return nil
	}
	samples, lines, own, err := sampleColumn(o.labels, len(labels))
	if samples == nil || err != nil {
		// The reader of data may have understood more of the file than this does, as where the header is a comment.
		switch {
		case strings.HasSuffix(r.IDs, " from column sample of "+o.labels) && len(ids) == len(labels):
			samples, lines, own = ids, make([]int, len(ids)), false
		case err != nil:
			return fmt.Errorf("%s: has a column sample, which says whose the labels are, but %w; mend it, or match the "+
				"file by its order with -id none", o.labels, err)
		default:
			return nil
		}
	}
	at, err := places(samples, lines)
	switch {
	case err != nil && own:
		return fmt.Errorf("%s: %w, and the data have no ids to join the labels by: give all samples of the data, or match the "+
			"file by its order with -id none", o.labels, err)
	case err != nil || slices.IsSorted(at):
		return nil
	}
	wasLabels, wasIDs := slices.Clone(labels), slices.Clone(ids)
	for i, k := range at {
		labels[k] = wasLabels[i]
		if ids != nil {
			ids[k] = wasIDs[i]
		}
	}
	r.Labels += ", in the order of its column sample"
	// The reader of data, which does not know that column, has said that the file goes by places.
	r.Notes = slices.DeleteFunc(r.Notes, func(note string) bool { return strings.HasSuffix(note, "matched by their places") })
	return nil
}

// sampleColumn returns the n values of the column sample of a CSV file, nil where it has none, with their lines, and whether the
// file has the columns of what -out writes.
func sampleColumn(path string, n int) (samples []string, lines []int, own bool, err error) {
	text, err := textfile.Open(path)
	if err != nil {
		return nil, nil, false, nil // no text: of another format
	}
	defer text.Close()
	r := newTable(text.Reader, false) // the reader of data has taken comments for what they look like
	record, err := r.Read()
	if err != nil {
		return nil, nil, false, nil
	}
	at := columnNamed(record, "sample")
	if at < 0 {
		return nil, nil, false, nil
	}
	own = true
	for _, name := range []string{"label", "near", "next"} {
		own = own && columnNamed(record, name) >= 0
	}
	for len(samples) <= n {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, false, err
		}
		line, _ := r.FieldPos(at)
		samples, lines = append(samples, strings.TrimSpace(record[at])), append(lines, line)
	}
	switch {
	case len(samples) < n:
		return nil, nil, false, fmt.Errorf("it has %d values where %d labels were read", len(samples), n)
	case len(samples) > n:
		return nil, nil, false, fmt.Errorf("it has a value in line %d beyond the %d labels that were read", lines[n], n)
	}
	return samples, lines, own, nil
}

// places reads the numbers of samples, which are each of those from 0 once, and stand in the given lines of a file.
func places(samples []string, lines []int) ([]int, error) {
	at, first := make([]int, len(samples)), make([]int, len(samples)) // first: where a number stands, plus 1
	for i, text := range samples {
		k, err := strconv.Atoi(text)
		if err != nil || k < 0 || k >= len(samples) {
			return nil, fmt.Errorf("line %d: the sample %q is not one of 0 to %d, the samples of the data", lines[i], text,
				len(samples)-1)
		}
		if first[k] > 0 {
			return nil, fmt.Errorf("lines %d and %d have the same sample, %d", lines[first[k]-1], lines[i], k)
		}
		at[i], first[k] = k, i+1
	}
	return at, nil
}
