package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// classes turns values into classes 0 … c−1 in the order of the values, and names them.
func classes(values []float64) (labels []int, names []string) {
	distinct := slices.Clone(values)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	for _, d := range distinct {
		names = append(names, strconv.FormatFloat(d, 'g', -1, 64))
	}
	labels = make([]int, len(values))
	for i, x := range values {
		labels[i], _ = slices.BinarySearch(distinct, x)
	}
	return labels, names
}

// textClasses does the same for strings; those that are all numbers are ordered as numbers.
func textClasses(values []string) (labels []int, names []string) {
	numbers := make([]float64, len(values))
	for i, s := range values {
		x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || math.IsNaN(x) {
			distinct := slices.Clone(values)
			slices.Sort(distinct)
			distinct = slices.Compact(distinct)
			labels = make([]int, len(values))
			for i, s := range values {
				labels[i], _ = slices.BinarySearch(distinct, s)
			}
			return labels, distinct
		}
		numbers[i] = x
	}
	return classes(numbers)
}

// labelLen is the number of samples that a label variable speaks of, 0 where its shape does not tell.
func (v *variable) labelLen() int {
	n, _ := v.vectorLen()
	return n
}

// readLabels reads one label variable. n is the number of samples.
func readLabels(v *variable, n int, lim *limits) ([]int, []string, error) {
	if v.kind == text {
		s, err := v.strings()
		if err != nil {
			return nil, nil, v.wrap(err)
		}
		if len(s) != n {
			return nil, nil, v.errorf("holds %d labels for %d samples", len(s), n)
		}
		labels, names := textClasses(s)
		return labels, names, nil
	}
	rows, cols, ok := v.shape2()
	if !ok || v.kind != numeric {
		return nil, nil, v.errorf("is %s of class %s; labels are a vector", v.shapeString(), v.class)
	}
	if rows != 1 && cols != 1 {
		labels, err := oneHot(v, rows, cols, n, lim)
		if err != nil {
			return nil, nil, err
		}
		x := make([]float64, n)
		for i, l := range labels {
			x[i] = float64(l + 1)
		}
		l, names := classes(x)
		return l, names, nil
	}
	if rows*cols != n {
		return nil, nil, v.errorf("holds %d labels for %d samples", rows*cols, n)
	}
	x, err := readFloats(v, lim)
	if err != nil {
		return nil, nil, err
	}
	for i, l := range x {
		if math.IsNaN(l) || math.IsInf(l, 0) {
			return nil, nil, v.errorf("has the label %g for sample %d (from 0)", l, i)
		}
	}
	labels, names := classes(x)
	return labels, names, nil
}

// oneHot reads labels given as a matrix with exactly one nonzero entry for each sample.
func oneHot(v *variable, rows, cols, n int, lim *limits) ([]int, error) {
	x, err := readMatrix(v, lim)
	if err != nil {
		return nil, err
	}
	byColumn := rows != n
	if byColumn && cols != n {
		return nil, v.errorf("is %s, which is no label for each of %d samples", v.shapeString(), n)
	}
	labels := make([]int, n)
	for i := range labels {
		labels[i] = -1
	}
	for k, value := range x {
		if value == 0 {
			continue
		}
		i, j := k/cols, k%cols
		if byColumn {
			i, j = j, i
		}
		if labels[i] >= 0 {
			return nil, v.errorf("is %s and marks more than one class for sample %d (from 0)", v.shapeString(), i)
		}
		labels[i] = j
	}
	if i := slices.Index(labels, -1); i >= 0 {
		return nil, v.errorf("is %s and marks no class for sample %d (from 0)", v.shapeString(), i)
	}
	return labels, nil
}

// agree compares the labels of two variables as partitions with the same names.
func agree(a, b []int, an, bn []string) error {
	if len(a) != len(b) {
		return fmt.Errorf("hold %d and %d labels", len(a), len(b))
	}
	for i := range a {
		if an[a[i]] != bn[b[i]] {
			return fmt.Errorf("disagree on sample %d (from 0): %s and %s", i, an[a[i]], bn[b[i]])
		}
	}
	return nil
}
