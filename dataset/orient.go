package dataset

import (
	"fmt"
	"slices"

	"github.com/largemvc/largemvc/internal/lists"
)

// orient decides whether the columns of all views are the samples, and the number of samples. labels is the number of
// labels, or of what else is counted, 0 where it is not known. Square views fit either way, so the others decide.
func orient(views []*variable, labels int, counted string, o Orientation) (turned bool, n int, why string, err error) {
	rows, cols := -1, -1 // the common number, −1 not seen yet, −2 different
	for _, v := range views {
		r, c, _ := v.shape2()
		if v.transposed {
			c = r
		}
		rows, cols = common(rows, r), common(cols, c)
	}
	fits := func(n int) bool { return n > 0 && (labels == 0 || n == labels) }
	byRows, byCols := fits(rows) && o != ColumnsAreSamples, fits(cols) && o != RowsAreSamples
	if why = orientedBy(byRows && byCols, labels, counted); o != AutoOrientation {
		why = "by option"
	}
	switch {
	case byRows:
		return false, rows, why, nil
	case byCols && !(o == AutoOrientation && slices.ContainsFunc(views, namesFeatures)):
		return true, cols, why, nil
	}
	return false, 0, "", unlikeSamples(views, labels, counted)
}

// orientedBy says what the orientation is taken from, where options do not give it. either: rows and columns both fit.
func orientedBy(either bool, labels int, counted string) string {
	switch {
	case either && labels > 0:
		return "rows and columns both fit the " + counted
	case either:
		return whyEither
	case labels > 0:
		return fmt.Sprintf("%d %s", labels, counted)
	}
	return whyOnly
}

// unlikeSamples is the error that the views have no common number of samples that fits the labels.
func unlikeSamples(views []*variable, labels int, counted string) error {
	shapes := lists.Texts(views, func(v *variable) string { return v.name + " " + v.shapeString() })
	with := "without labels"
	if labels > 0 {
		with = fmt.Sprintf("with %d %s", labels, counted)
	}
	hint := "; if columns are the samples, give Options.Orientation columns"
	if looksLikeTriplets(views) {
		hint += "; three columns each: they may be (row, column, value) triplets, see Options.Triplets"
	}
	return fmt.Errorf("dataset: %s: the views differ in the number of samples, among themselves or from the %s: %s, %s%s",
		views[0].file, counted, someNames(shapes), with, hint)
}

// namesFeatures reports whether a view is a table whose header names its columns. These are features unless the options or ids
// say otherwise.
func namesFeatures(v *variable) bool { return v.fromTable && v.names != nil }

// whyEither says that a matrix could as well be read the other way round.
const whyEither = "no labels, and rows and columns both fit"

// whyOnly says that it could not.
const whyOnly = "the only way that fits"

func common(seen, n int) int {
	if seen == -1 || seen == n {
		return n
	}
	return -2
}

// looksLikeTriplets reports whether all views have three columns.
func looksLikeTriplets(views []*variable) bool {
	return all(views, func(v *variable) bool {
		_, c, ok := v.shape2()
		return ok && c == 3 && v.kind == numeric
	})
}
