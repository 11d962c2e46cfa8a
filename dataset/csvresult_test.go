package dataset

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestResultsAndOthers: a table is a result of the command only where its names and numbers show it. Else the rules for all
// tables say which column has the ids.
func TestResultsAndOthers(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		id   string // Options.IDs
		ids  string // joined by blanks; else what the error says
	}{
		"a result":                     {"patient,sample,label\nc,0,x\na,1,y\nb,2,x\n", "", "c a b"},
		"in another order":             {"patient,sample,label,confidence\nc,2,x,1\na,0,y,1\nb,1,x,1\n", "", "c a b"},
		"some of its rows":             {"patient,sample,label,confidence\nc,2,x,1\na,5,y,1\nb,7,x,1\n", "", "c a b"},
		"ids of a column sample":       {"id,sample,label\nc,0,x\na,1,y\nb,2,x\n", "sample", "c a b"},
		"an index of pandas":           {",sample,label\n0,7,x\n1,5,y\n2,6,x\n", "", "7 5 6"},
		"an index and -id":             {",sample,label\n0,7,x\n1,5,y\n2,6,x\n", "sample", "7 5 6"},
		"an index that counts with it": {",sample,label\n0,0,x\n1,1,y\n2,2,x\n", "", "0 1 2"},
		"an index before figures":      {",sample,label,confidence\n0,2,x,1\n1,0,y,1\n2,1,x,1\n", "", "2 0 1"},
		"an index with a name":         {"Unnamed: 0,sample,label\n0,7,x\n1,5,y\n2,6,x\n", "", "7 5 6"},
		"numbers of rows":              {"nr,sample,label\n0,7,x\n1,5,y\n2,6,x\n", "", "7 5 6"},
		"two names of ids":             {"index,sample,label\n0,7,x\n1,5,y\n2,6,x\n", "", "several columns"},
		"an index made afterwards":     {"index,sample,label,confidence\n0,2,x,1\n1,0,y,1\n2,1,x,1\n", "", "several columns"},
		"another column and -id":       {"key,sample,label\nc,0,x\na,1,y\nb,2,x\n", "sample", "0 1 2"},
	} {
		l, err := ReadLabels(context.Background(), tables(t, c.text)[0], Options{IDs: c.id})
		switch {
		case strings.HasPrefix(c.ids, "several"):
			wantError(t, err, c.ids, "Options.IDs")
		case err != nil || strings.Join(l.IDs, " ") != c.ids || fmt.Sprint(l.Labels, l.Names) != "[0 1 0] [x y]":
			t.Errorf("%s: %+v, %v, want the ids %s", name, l, err, c.ids)
		}
	}
	s := mustRead(t, "t.csv", []byte("a,sample,label\n1.5,S1,x\n2.5,S2,y\n"), Options{})
	if values(&s.Views[0]) != "1.5|2.5" || strings.Join(s.IDs, " ") != "S1 S2" || s.Classes() != 2 {
		t.Errorf("data with a column sample: %v", s)
	}
}
