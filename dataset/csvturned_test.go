package dataset

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestSamplesInColumns: the usual table of omics, genes by patients, in all forms, is joined by the ids in its first line.
func TestSamplesInColumns(t *testing.T) {
	named := "gene,P0,P1,P2\ng1,1,2,3\ng2,4,5,6\n"
	unnamed := ",P2,P0,P1\nm1,30,10,20\nm2,60,40,50\nm3,90,70,80\n"
	bare := "P0,P1,P2\n1,2,3\n4,5,6\n"
	rows := "id,h\nP2,3\nP0,1\nP1,2\n"
	labels := "id,label\nP1,k\nP2,l\nP0,k\n"
	for _, c := range []struct {
		name            string
		files           []string
		labels          string
		o               Options
		values, classes string
		features        string
	}{
		{"by option", []string{named}, "", Options{Orientation: ColumnsAreSamples}, "1 4|2 5|3 6", "[]", "g1 g2"},
		{"two by option, in another order", []string{named, unnamed}, labels, Options{Orientation: ColumnsAreSamples},
			"1 4|2 5|3 6 10 40 70|20 50 80|30 60 90", "[0 0 1]", "g1 g2"},
		{"without names of features", []string{bare}, labels, Options{Orientation: ColumnsAreSamples},
			"1 4|2 5|3 6", "[0 0 1]", ""},
		{"proved by the ids of the labels", []string{bare, unnamed}, labels, Options{},
			"1 4|2 5|3 6 10 40 70|20 50 80|30 60 90", "[0 0 1]", ""},
		{"proved by a view with rows", []string{named, rows}, "", Options{}, "1 4|2 5|3 6 1|2|3", "[]", "g1 g2"},
		{"ids on both sides", []string{",P0,P1\nP0,1,9\nP1,2,8\nP2,3,7\n"}, labels, Options{}, "1 9|2 8|3 7", "[0 0 1]", "P0 P1"},
		{"rows first", []string{rows, unnamed}, labels, Options{}, "3|1|2 30 60 90|10 40 70|20 50 80", "[1 0 0]", "h"},
		{"with tabs and without ids", []string{strings.ReplaceAll(named, ",", "\t")}, "",
			Options{Orientation: ColumnsAreSamples, NoIDs: true}, "1 4|2 5|3 6", "[]", "g1 g2"},
		{"a sample left out", []string{named}, "", Options{Orientation: ColumnsAreSamples, LeaveOut: []string{"P1"}},
			"1 4|3 6", "[]", "g1 g2"},
	} {
		for _, storage := range []Storage{AsStored, AllSparse} {
			c.o.Storage = storage
			paths := tables(t, c.files...)
			if c.o.LabelsFile = ""; c.labels != "" {
				c.o.LabelsFile = write(t, "clin.csv", c.labels)[0]
			}
			s, err := Open(context.Background(), paths, c.o)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			var got []string
			for v := range s.Views {
				got = append(got, values(&s.Views[v]))
			}
			if strings.Join(got, " ") != c.values || fmt.Sprint(s.Labels) != c.classes ||
				strings.Join(s.Views[0].Features, " ") != c.features {
				t.Errorf("%s: %s, labels %v, features %v", c.name, strings.Join(got, " "), s.Labels, s.Views[0].Features)
			}
			if (s.IDs == nil) != c.o.NoIDs || s.IDs != nil && s.IDs[0] != "P0" && !strings.HasPrefix(c.name, "rows") {
				t.Errorf("%s: ids %v", c.name, s.IDs)
			}
		}
	}
	for _, c := range []struct {
		files []string
		o     Options
		words []string
	}{
		{[]string{named}, Options{}, []string{"texts in column gene", "Options.Orientation columns"}},
		{[]string{bare, "P0,P1,P2\n1,2,3\n4,5,6\n7,8,8\n"}, Options{}, []string{"Options.Orientation columns"}},
		{[]string{"gene,P0,P1\ng1,1,2\nlabel,0,1\n"}, Options{Orientation: ColumnsAreSamples}, []string{"a row label"}},
		{[]string{"gene,P0,P1\ng1,1,2\ng2,3,x\n"}, Options{Orientation: ColumnsAreSamples},
			[]string{`column P1: "x" in line 3`, "leave the sample out"}},
		{[]string{"gene,P0,P1\ng1,1,2\ng2,x,y\n"}, Options{Orientation: ColumnsAreSamples}, []string{`column P0: "x" in line 3`}},
		{[]string{"gene,P0,P1\nsite,x,y\nunit,z,u\n"}, Options{Orientation: ColumnsAreSamples}, []string{"leave the sample out"}},
		{[]string{"gene,P0,P1\ng1,1,2\nNA,3,4\n"}, Options{Orientation: ColumnsAreSamples}, []string{"line 3, column gene"}},
		{[]string{"gene,P0,P0\ng1,1,2\ng2,3,4\n"}, Options{Orientation: ColumnsAreSamples},
			[]string{"first line has the id P0 twice"}},
		{[]string{"gene,P0,P1\ng1,1,2\ng2,3,NA\n"}, Options{Orientation: ColumnsAreSamples}, []string{"line 3, column P1"}},
	} {
		_, err := Open(context.Background(), tables(t, c.files...), c.o)
		wantError(t, err, c.words...)
	}
	// Some names that are ids prove nothing.
	_, err := Open(context.Background(), tables(t, "P0,P1,x\n1,2,3\n4,5,6\n7,8,8\n"),
		Options{LabelsFile: write(t, "l.csv", labels)[0]})
	wantError(t, err, "l.csv: has ids in column id", "a.csv has none")
	// Numbers in a header are no ids.
	s, err := Open(context.Background(), tables(t, ",0,1,2\n0,5,6,6\n1,7,8,8\n2,1,1,3\n"),
		Options{LabelsFile: write(t, "l.csv", "index,label\n0,a\n1,b\n2,a\n")[0]})
	if err != nil || values(&s.Views[0]) != "5 6 6|7 8 8|1 1 3" {
		t.Error(err)
	}
	checkRows(t, write(t, "genes.csv", named)[0], Options{Orientation: ColumnsAreSamples})
}
