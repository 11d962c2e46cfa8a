package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// readStartLabels reads n labels from 0 to m−1 from the column label, or the only column, of a CSV file. Where it has a
// column sample too, that must count the samples from 0.
func readStartLabels(path string, n, m int) ([]int, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := csv.NewReader(file)
	r.ReuseRecord = true
	label, sample := 0, -1
	labels := make([]int, 0, n)
	for line := 1; ; line++ {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if line == 1 {
			if at := slices.Index(record, "label"); at >= 0 {
				label, sample = at, slices.Index(record, "sample")
				continue
			}
			if len(record) > 1 {
				return nil, fmt.Errorf("%s: has %d columns, none of which is called label", path, len(record))
			}
		}
		l, err := strconv.Atoi(strings.TrimSpace(record[label]))
		if err != nil || l < 0 || l >= m {
			return nil, fmt.Errorf("%s: line %d: the label %q is no number from 0 to %d", path, line, record[label], m-1)
		}
		if sample >= 0 && strings.TrimSpace(record[sample]) != strconv.Itoa(len(labels)) {
			return nil, fmt.Errorf("%s: line %d: sample %q where %d was to come", path, line, record[sample], len(labels))
		}
		labels = append(labels, l)
	}
	if len(labels) != n {
		return nil, fmt.Errorf("%s: %d labels for %d samples", path, len(labels), n)
	}
	return labels, nil
}
