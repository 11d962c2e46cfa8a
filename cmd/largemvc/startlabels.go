package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/largemvc/largemvc/dataset"
)

// readStartLabels reads labels from 0 to m−1, and puts them in the order of the samples by their ids or their places.
func (o *dataOptions) readStartLabels(ctx context.Context, path string, n, m int, ids []string) ([]int, error) {
	options := o.options(32)
	read, err := dataset.ReadLabels(ctx, path, dataset.Options{Header: o.header, IDs: options.IDs, NoIDs: options.NoIDs})
	if err != nil {
		return nil, err
	}
	numbers := make([]int, len(read.Names))
	for k, name := range read.Names {
		if numbers[k], err = strconv.Atoi(name); err != nil || numbers[k] < 0 || numbers[k] >= m {
			return nil, fmt.Errorf("%s: the label %q is not a whole number from 0 to %d", path, name, m-1)
		}
	}
	rows, _, err := read.Align(o.data[0], ids, n)
	if err != nil {
		return nil, err
	}
	out := make([]int, n)
	for i, row := range rows {
		out[i] = numbers[read.Labels[row]]
	}
	return out, nil
}
