package dataset

import (
	"errors"
	"reflect"
	"testing"
)

// TestCureNamesColumnsOfTheFile: the options that an error proposes name columns of the table, so a column of NaN is named only
// where a column of the view is one of the table.
func TestCureNamesColumnsOfTheFile(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          Options
		want       [][2]string
	}{
		{"a column of the table", "a,b,c\n1,nan,2\n3,nan,4\n5,nan,7\n", Options{}, [][2]string{{"Options.LeaveOut", "b"}}},
		{"triplets, a column beyond those of the table", "0 0 1\n1 0 2\n2 0 3\n0 4 nan\n1 4 nan\n2 4 nan\n",
			Options{Triplets: true}, nil},
		{"triplets, a column that counts like one of the table", "0 0 1\n1 0 2\n0 1 nan\n1 1 nan\n0 3 2\n1 3 2\n",
			Options{Triplets: true}, nil},
		{"a row of a table whose columns are the samples", "0.5,1.5,2.5,0.5\nnan,nan,nan,nan\n3.5,7.5,5.5,0.25\n",
			Options{Orientation: ColumnsAreSamples, Header: NoHeader}, nil},
	} {
		_, err := read("t.csv", []byte(c.text), c.o)
		var cured interface{ Cure() [][2]string }
		if !errors.As(err, &cured) {
			t.Errorf("%s: %v has no proposal", c.name, err)
			continue
		}
		if got := cured.Cure(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: proposes %v, want %v", c.name, got, c.want)
		}
	}
}
