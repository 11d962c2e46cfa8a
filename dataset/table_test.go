package dataset

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTable makes several views of the columns of one table.
func TestTable(t *testing.T) {
	text := "id,c1,c2,c3,c4,area,label\np1,1,2,3,4,5,k\np2,6,7,8,9,10,l\n"
	view := func(name string, columns ...string) TableView { return TableView{name, columns} }
	for _, c := range []struct {
		table []TableView
		want  string // names of the features of the views
		left  string
	}{
		{[]TableView{view("colour", "c1-c2"), view("shape", "c3-c4", "area")}, "colour: c1 c2, shape: c3 c4 area", ""},
		{[]TableView{view("colour", "c*"), view("shape", "area")}, "colour: c1 c2 c3 c4, shape: area", ""},
		{[]TableView{view("colour", "c[13]"), view("shape", "c4", "c2")}, "colour: c1 c3, shape: c4 c2", "columns area"},
		{[]TableView{view("all", "*")}, "all: c1 c2 c3 c4 area", ""},
	} {
		s := mustRead(t, "t.csv", []byte(text), Options{Table: c.table})
		var got []string
		for _, v := range s.Views {
			got = append(got, v.Name+": "+strings.Join(v.Features, " "))
		}
		if strings.Join(got, ", ") != c.want || s.Classes() != 2 || len(s.IDs) != 2 {
			t.Errorf("%s, want %s", strings.Join(got, ", "), c.want)
		}
		left := ""
		for _, o := range s.Reading.LeftOut {
			left += o.What
		}
		if left != c.left {
			t.Errorf("left out %q, want %q", left, c.left)
		}
	}
	s := mustRead(t, "t.csv", []byte("1,7,2\n4,5,6\n"), Options{Table: []TableView{view("a", "2"), view("b", "0-1")}})
	if got := values(&s.Views[0]) + " " + values(&s.Views[1]); got != "2|6 1 7|4 5" {
		t.Error(got)
	}
	s = mustRead(t, "t.csv", []byte("c1,a,\n1,2,3.5\n4,5,6.5\n"), Options{Table: []TableView{view("c", "c*"), view("a", "a")}})
	if got := values(&s.Views[0]); got != "1|4" {
		t.Errorf("a pattern of names takes a column without one: %s", got)
	}
	for _, c := range []struct {
		table []TableView
		words []string
	}{
		{[]TableView{view("a", "z")}, []string{"no column z", "id, c1", "view a"}},
		{[]TableView{view("a", "c3-c1")}, []string{"c3-c1", "in reverse order"}},
		{[]TableView{view("a", "label")}, []string{"label", "the classes"}},
		{[]TableView{view("a", "id")}, []string{"id", "the ids"}},
		{[]TableView{view("a", "z*")}, []string{"z*"}},
		{[]TableView{view("a", "c1"), view("a", "c2")}, []string{"two views of Options.Table are named a"}},
		{[]TableView{view("", "c1")}, []string{"no name"}},
	} {
		_, err := read("t.csv", []byte(text), Options{Table: c.table})
		wantError(t, err, c.words...)
	}
}

// TestTableOfSeveralFiles: views of the columns of one file, beside files that have none of these columns.
func TestTableOfSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	products := file("products.csv", "id,name,i1,i2,t1\np1,hat,1,2,3\np2,bag,4,5,6\n")
	sales := file("sales.csv", "id,jan,feb\np2,7,8\np1,9,10\n")
	texts := file("texts.csv", "id,who\np1,a\np2,b\n")
	other := file("other.csv", "id,i1,z\np1,1,2\np2,3,4\n")
	table := []TableView{{"img", []string{"i[0-9]"}}, {"txt", []string{"t1"}}}
	s, err := Open(context.Background(), []string{products, sales}, Options{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range s.Views {
		got = append(got, s.Views[i].Name+": "+values(&s.Views[i]))
	}
	if want := "img: 1 2|4 5, txt: 3|6, sales: 9 10|7 8"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
	for _, c := range []struct {
		files []string
		table []TableView
		words []string
	}{
		{[]string{products, sales}, []TableView{{"img", []string{"img_*", "image"}}}, []string{
			"products.csv: has no column img_*,image",
			"sales.csv: has no column img_*,image", "view img"}},
		{[]string{products, sales}, []TableView{{"img", []string{"i1", "jan"}}}, []string{"products.csv: has no column jan"}},
		{[]string{products, texts}, table, []string{"texts.csv", "texts in column who", "Options.LeaveOut"}},
		{[]string{products, other}, table, []string{"products.csv and ", "other.csv have columns of view img", "only one file"}},
	} {
		_, err := Open(context.Background(), c.files, Options{Table: c.table})
		wantError(t, err, c.words...)
	}
}

// TestColumnOfTheFilesName: a file and a column of one name are two things.
func TestColumnOfTheFilesName(t *testing.T) {
	s := mustRead(t, "species.csv", []byte("a,species\n1,x\n2,y\n3,x\n"), Options{Labels: "species"})
	if got := values(&s.Views[0]) + fmt.Sprint(s.Labels, s.LabelNames); got != "1|2|3[0 1 0] [x y]" {
		t.Error(got)
	}
	_, err := read("species.csv", []byte("a,species\n1,x\n2,y\n3,x\n"), Options{Labels: "kind"})
	wantError(t, err, "no variable kind", "a, species")
	for text, want := range map[string]string{ // classes that are not used are no features; y beside x is one
		"a,label,class\n1,5,6\n2,6,7\n3,5,6\n": "1|2|3[0 1 0] [column class]",
		"x,y,label\n1,5,0\n2,6,1\n3,5,0\n":     "1 5|2 6|3 5[0 1 0] []",
	} {
		s = mustRead(t, "t.csv", []byte(text), Options{})
		var left []string
		for _, o := range s.Reading.LeftOut {
			left = append(left, o.What)
		}
		if got := values(&s.Views[0]) + fmt.Sprint(s.Labels, left); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	s = mustRead(t, "t.csv", []byte("a,kind,label\n1,5,6\n2,6,7\n3,5,6\n"), Options{Labels: "kind"})
	if got := values(&s.Views[0]) + fmt.Sprint(s.LabelNames); got != "1|2|3[5 6]" {
		t.Error(got)
	}
	s = mustRead(t, "target.csv", []byte("a,target\n1,5\n2,6\n3,5\n"), Options{})
	if got := values(&s.Views[0]) + fmt.Sprint(s.Labels); got != "1|2|3[0 1 0]" {
		t.Error(got)
	}
}
