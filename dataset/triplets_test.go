package dataset

import (
	"strings"
	"testing"
)

// TestTripletsOfTables: what names rows, columns or classes in a table of samples is part of the entries in one of triplets.
func TestTripletsOfTables(t *testing.T) {
	const want = "1.5 0|0 2.5|1 0"
	for _, text := range []string{
		"1,1,1.5\n2,2,2.5\n3,1,1\n",                   // rows that count up, as ids do
		"0,0,1.5\n1,1,2.5\n2,0,1\n",                   // from 0
		"id,feature,label\n1,1,1.5\n2,2,2.5\n3,1,1\n", // names of ids and classes
		"row,col,value\n3,1,1\n1,1,1.5\n2,2,2.5\n",
	} {
		for _, o := range []Options{{}, {NoIDs: true}, {NoLabels: true}} {
			o.Triplets = true
			s := mustRead(t, "t.csv", []byte(text), o)
			if got := values(&s.Views[0]); got != want || len(s.IDs)+len(s.Labels) > 0 {
				t.Errorf("%q: %s, want %s; ids %v, labels %v", text, got, want, s.IDs, s.Labels)
			}
			if notes := s.Reading.String(); strings.Contains(notes, "note") || strings.Contains(notes, "left out") {
				t.Errorf("%q:\n%s", text, notes)
			}
		}
	}
	// A first entry is no header.
	s := mustRead(t, "t.csv", []byte("1,2,3\n1,1,0.5\n2,1,1.5\n"), Options{Triplets: true})
	if got := values(&s.Views[0]); got != "0.5 3|1.5 0" {
		t.Error(got)
	}
	_, err := read("t.csv", []byte("1,2,3,4\n1,1,0.5,2\n"), Options{Triplets: true})
	wantError(t, err, "t.csv: t is 2×4; triplets need three columns")
}
