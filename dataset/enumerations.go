package dataset

import "strconv"

// String is the option's name on the command line: auto, rows or columns.
func (o Orientation) String() string { return nameOf(o, "auto", "rows", "columns") }

// String is the option's name on the command line: keep, never, always or auto.
func (s Storage) String() string { return nameOf(s, "keep", "never", "always", "auto") }

// String is the option's name on the command line: auto, yes or no.
func (h Header) String() string { return nameOf(h, "auto", "yes", "no") }

// String is the option's name on the command line: auto, point or comma.
func (d Decimal) String() string { return nameOf(d, "auto", "point", "comma") }

// String is the option's name on the command line: none, mean, median or neighbors.
func (m Impute) String() string { return nameOf(m, "none", "mean", "median", "neighbors") }

// String is the option's name on the command line: none, log1p, clr or tfidf.
func (t Transform) String() string { return nameOf(t, "none", "log1p", "clr", "tfidf") }

// nameOf is the name of a value, or its number where it is unknown.
func nameOf[T ~uint8](x T, names ...string) string {
	if int(x) < len(names) {
		return names[x]
	}
	return strconv.Itoa(int(x))
}
