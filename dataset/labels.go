package dataset

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/dataset/internal/columnar"
	"github.com/largemvc/largemvc/dataset/internal/elem"
	"github.com/largemvc/largemvc/internal/lists"
)

// classes turns values into classes 0 … c−1 in the order of the values, and names them. Integers stay apart that float64 would
// round.
func classes[T cmp.Ordered](values []T) (labels []int, names []string) {
	distinct := slices.Compact(slices.Sorted(slices.Values(values)))
	names = lists.Texts(distinct, func(d T) string { return className(d) })
	labels = make([]int, len(values))
	for i, x := range values {
		labels[i], _ = slices.BinarySearch(distinct, x)
	}
	return labels, names
}

func className(x any) string {
	if f, ok := x.(float64); ok {
		return string(columnar.AppendFloat(nil, f, 64))
	}
	return fmt.Sprint(x)
}

// mostDigits is how many digits of a number float64 keeps.
const mostDigits = 15

// textClasses does the same for strings. Those that are all numbers are ordered as numbers, unless they have more digits than
// float64 keeps, which would make one class of two. One number or text in two spellings is an error.
func textClasses(values []string) (labels []int, names []string, err error) {
	labels, names = numberClasses(values)
	spelling := make([]string, len(names))
	for i, s := range values {
		switch first := spelling[labels[i]]; first {
		case "":
			spelling[labels[i]] = s
		case s:
		default:
			return nil, nil, fmt.Errorf("has the labels %q and %q, which are equal as numbers: write one class in one way; if "+
				"they are two classes, add a letter",
				first, s)
		}
	}
	trimmed := map[string]string{}
	for _, name := range names {
		short := printed(name)
		number := strings.Replace(short, ",", ".", 1)
		x, err := strconv.ParseFloat(number, 64)
		if err == nil && x == x && countDigits(number) <= mostDigits && !strings.ContainsAny(number, "_xX") {
			short = className(x)
		}
		if other, ok := trimmed[short]; ok {
			return nil, nil, fmt.Errorf("has the labels %+q and %+q, which are equal as numbers, differ only in spaces or look "+
				"alike: write one class in one way; if they are two classes, add a letter", other, name)
		}
		trimmed[short] = name
	}
	return labels, names, nil
}

func numberClasses(values []string) (labels []int, names []string) {
	whole, ok := make([]int64, len(values)), true
	for i, s := range values {
		x, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if ok = err == nil; !ok {
			break
		}
		whole[i] = x
	}
	if ok {
		return classes(whole)
	}
	numbers := make([]float64, len(values))
	for i, s := range values {
		x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || math.IsNaN(x) || countDigits(s) > mostDigits || strings.ContainsAny(s, "_xX") {
			return classes(values)
		}
		numbers[i] = x
	}
	return classes(numbers)
}

// countDigits is the number of digits in a text.
func countDigits(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			n++
		}
	}
	return n
}

// usedClasses renumbers the classes where some do not occur.
func usedClasses(labels []int, names []string) ([]int, []string) {
	count := make([]int, len(names))
	for _, l := range labels {
		count[l]++
	}
	if !slices.Contains(count, 0) {
		return labels, names
	}
	to, kept := make([]int, len(names)), []string(nil)
	for c, k := range count {
		if k > 0 {
			to[c] = len(kept)
			kept = append(kept, names[c])
		}
	}
	for i, l := range labels {
		labels[i] = to[l]
	}
	return labels, kept
}

// readLabels reads one label variable. n is the number of samples.
func readLabels(v *variable, n int, lim *limits) ([]int, []string, error) {
	if v.kind == text {
		return readTextLabels(v, n)
	}
	rows, cols, ok := v.shape2()
	if !ok || v.kind != numeric {
		return nil, nil, v.errorf("is %s of class %s; labels are a vector", v.shapeString(), v.class)
	}
	if rows != 1 && cols != 1 {
		return readIndicators(v, rows, cols, n, lim)
	}
	if rows*cols != n {
		return nil, nil, v.errorf("holds %d labels for %d samples", rows*cols, n)
	}
	switch v.typ.Kind {
	case elem.Int64:
		return readIntegerLabels[int64](v, n, lim)
	case elem.Uint64:
		return readIntegerLabels[uint64](v, n, lim)
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

// readAllLabels is readLabels where none may be missing.
func readAllLabels(v *variable, n int, lim *limits) ([]int, []string, error) {
	labels, names, err := readLabels(v, n, lim)
	if i := slices.Index(labels, -1); i >= 0 {
		err = v.errorf("has no label for sample %d (from 0): add it, or give Options.NoLabels and the labels of some samples "+
			"as Config.Known", i)
	}
	return labels, names, err
}

// readTextLabels reads n labels that are texts.
func readTextLabels(v *variable, n int) ([]int, []string, error) {
	s, err := v.strings()
	if err != nil {
		return nil, nil, v.wrap(err)
	}
	if len(s) != n {
		return nil, nil, v.errorf("holds %d labels for %d samples", len(s), n)
	}
	labels, names, err := someClasses(s)
	return labels, names, v.wrap(err)
}

// someClasses is textClasses for strings, some missing: the class of "" is −1.
func someClasses(values []string) (labels []int, names []string, err error) {
	given := slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" })
	labels = slices.Repeat([]int{-1}, len(values))
	if len(given) == 0 {
		return labels, nil, nil
	}
	classes, names, err := textClasses(given)
	if err != nil {
		return nil, nil, err
	}
	k := 0
	for i, s := range values {
		if s != "" {
			labels[i] = classes[k]
			k++
		}
	}
	return labels, names, nil
}

// readIntegerLabels reads labels of 64 bits, every bit of them.
func readIntegerLabels[T int64 | uint64](v *variable, n int, lim *limits) ([]int, []string, error) {
	x, err := exactInts[T](v, n, lim)
	if err != nil {
		return nil, nil, err
	}
	labels, names := classes(x)
	return labels, names, nil
}

// exactInts reads a vector of n integers of 64 bits.
func exactInts[T int64 | uint64](v *variable, n int, lim *limits) ([]T, error) {
	if err := v.prove(false); err != nil {
		return nil, err
	}
	if err := lim.Take("labels", 16*int64(n)); err != nil {
		return nil, v.wrap(err)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if v.typ.Big {
		order = binary.BigEndian
	}
	x := make([]T, n)
	err := v.stream(func(off int, raw []byte) error {
		if off < 0 || off+len(raw)/8 > n {
			return errMore
		}
		_, err := binary.Decode(raw, order, x[off:off+len(raw)/8])
		return err
	})
	return x, v.wrap(err)
}

// readIndicators reads n labels from a matrix with one column (or row) for each class, and exactly one nonzero entry for each
// sample. The names of the classes are their numbers, from 1.
func readIndicators(v *variable, rows, cols, n int, lim *limits) ([]int, []string, error) {
	x, err := readMatrix(v, lim)
	if err != nil {
		return nil, nil, err
	}
	byColumn := rows != n
	if byColumn && cols != n {
		return nil, nil, v.errorf("is %s, want one label for each of the %d samples", v.shapeString(), n)
	}
	numbers := make([]int, n) // 0: none yet
	for k, value := range x {
		switch value {
		case 0:
			continue
		case 1:
		default:
			return nil, nil, v.errorf("has %g in row %d and column %d (from 0); a matrix of classes holds 0 and 1", value, k/cols,
				k%cols)
		}
		i, j := k/cols, k%cols
		if byColumn {
			i, j = j, i
		}
		if numbers[i] > 0 {
			return nil, nil, v.errorf("is %s and marks more than one class for sample %d (from 0)", v.shapeString(), i)
		}
		numbers[i] = j + 1
	}
	if i := slices.Index(numbers, 0); i >= 0 {
		return nil, nil, v.errorf("is %s and marks no class for sample %d (from 0)", v.shapeString(), i)
	}
	labels, names := classes(numbers)
	return labels, names, nil
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
