package tables

import (
	"strings"
	"testing"
)

func TestRank(t *testing.T) {
	g := Grid{Header: []string{"", "a"}, Rows: []Line{
		{Cells: []Cell{{Mean: 70.01, Count: 1}}}, {Cells: []Cell{{Mean: 70.04, Count: 1}}}, {Cells: []Cell{{Mean: 60, Count: 1}}},
		{Cells: []Cell{{Mean: 90, Count: 1}}, Apart: true}, {Cells: []Cell{{}}},
	}}
	g.Rank()
	var b strings.Builder
	g.Markdown(&b)
	if n := strings.Count(b.String(), "**70.0**"); n != 2 {
		t.Errorf("%d best cells, want the 2 that show one figure", n)
	}
	if !strings.Contains(b.String(), "<u>60.0</u>") || strings.Contains(b.String(), "**90.0**") {
		t.Errorf("second or label-picked row marked wrongly:\n%s", b.String())
	}
	if c := MeanOf([]float64{1, 2, 3}); c.Mean != 2 || c.Std != 1 {
		t.Errorf("%+v", c)
	}
}

func TestCSV(t *testing.T) {
	data, err := Grid{Header: []string{"", "a", "b"}, Rows: []Line{
		{Name: "one, two", Cells: []Cell{MeanOf([]float64{1, 3}), {}}}, {Name: "text", Cells: []Cell{{}, {Text: "yes"}}},
	}}.CSV()
	if err != nil {
		t.Fatal(err)
	}
	want := "row,column,mean,std,count,text\n\"one, two\",a,2,1.4142135623730951,2,\ntext,b,0,0,0,yes\n"
	if string(data) != want {
		t.Errorf("%s, want %s", data, want)
	}
}
