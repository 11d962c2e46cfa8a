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

func TestWrap(t *testing.T) {
	long := strings.Repeat("word ", 25)
	table := "| " + long + long + "|"
	for _, test := range [][2]string{
		{"short\nlines", "short\nlines"},
		{table + "\n\n```\n" + long + long + "\n```", table + "\n\n```\n" + long + long + "\n```"},
		{long + "of `code in blanks` and\nmore", long + "of\n`code in blanks` and more"},
		{"- short\n- " + long + "[a link](to it), " + long + "1. more", "- short\n- " + strings.TrimSpace(long) + "\n  [a link](to it), " +
			strings.Repeat("word ", 21) + "word\n  word word word 1. more"},
		{long + "and 1. no item", strings.TrimSpace(long) + "\nand 1. no item"},
	} {
		got := Wrap(test[0])
		if got != test[1] || Wrap(got) != got {
			t.Errorf("Wrap(%q) = %q, want %q", test[0], got, test[1])
		}
	}
}
