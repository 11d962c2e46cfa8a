package dataset

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMaskFile: the columns of a mask belong to the views that its header names, its rows to the samples of its ids.
func TestMaskFile(t *testing.T) {
	plain := []string{"a,b\n1,2\n3,4\n5,6\n", "c,d\n1,2\n3,4\n5,6\n"}
	named := []string{"id,a,b\np,1,2\nq,3,4\nr,5,6\n", "id,c,d\np,1,2\nq,3,4\nr,5,6\n"}
	const want = "[[true true] [true false] [false true]]"
	for name, c := range map[string]struct {
		views []string
		mask  string
		o     Options
		words []string // of the error
		note  string
	}{
		"as it stands":             {views: plain, mask: "1,1\n1,0\n0,1\n"},
		"the views in their order": {views: plain, mask: "ids,idsB\n1,1\n1,0\n0,1\n"},
		"the views swapped":        {views: plain, mask: "idsB,ids\n1,1\n0,1\n1,0\n"},
		"in capitals":              {views: plain, mask: "IDSB,Ids\n1,1\n0,1\n1,0\n"},
		"numbers of the views":     {views: plain, mask: "1,0\n1,1\n0,1\n1,0\n", o: Options{Header: WithHeader}},
		"another name": {views: plain, mask: "ids,other\n1,1\n1,0\n0,1\n",
			words: []string{"mask.csv", `"other" is no view`, "The views are ids, idsB", "Options.LeaveOut"}},
		"a view twice":      {views: plain, mask: "ids,ids\n1,1\n1,0\n0,1\n", words: []string{"none is the view idsB"}},
		"a column too many": {views: plain, mask: "ids,idsB,n\n1,1,5\n1,0,6\n0,1,7\n", words: []string{`"n" is no view`}},
		"one left out":      {views: plain, mask: "idsB,n,ids\n1,6,1\n0,5,1\n1,7,0\n", o: Options{LeaveOut: []string{"n"}}},
		"texts": {views: plain, mask: "ids,idsB,site\n1,1,u\n1,0,v\n0,1,u\n",
			words: []string{"mask.csv: has texts in column site", "Options.LeaveOut site"}},
		"ids":                  {views: named, mask: "id,ids,idsB\np,1,1\nq,1,0\nr,0,1\n"},
		"ids in another order": {views: named, mask: "idsB,ids,id\n1,0,r\n1,1,p\n0,1,q\n"},
		"ids without a name":   {views: named, mask: ",ids,idsB\nr,0,1\np,1,1\nq,1,0\n"},
		"ids without a header": {views: named, mask: "r,0,1\np,1,1\nq,1,0\n", words: []string{"Options.Header yes"}},
		"ids that are no samples": {views: named, mask: "id,ids,idsB\nz,0,0\nr,0,1\np,1,1\nq,1,0\n",
			note: "z"},
		"ids that lack a sample": {views: named, mask: "id,ids,idsB\nr,0,1\np,1,1\n",
			words: []string{"mask.csv: lacks 1 of the 3 samples", "q", "add them with 0 and 1"}},
		"ids that the data do not have": {views: plain, mask: "id,ids,idsB\np,1,1\nq,1,0\nr,0,1\n",
			words: []string{"mask.csv: has ids in column id, and ", "ids.csv has none", "Options.NoIDs"}},
		"those left out": {views: plain, mask: "id,ids,idsB\np,1,1\nq,1,0\nr,0,1\n", o: Options{LeaveOut: []string{"id"}}},
		"ids not wanted": {views: plain, mask: "id,ids,idsB\np,1,1\nq,1,0\nr,0,1\n", o: Options{NoIDs: true}},
		"counted rows":   {views: plain, mask: ",ids,idsB\n0,1,1\n1,1,0\n2,0,1\n", note: "its ids are row numbers"},
		"a value": {views: plain, mask: "idsB,ids\n1,1\n0,2\n1,1\n",
			words: []string{"has 2 in row 1 and column 1", "view ids"}},
		"rows too many":    {views: plain, mask: "ids,idsB\n1,1\n1,0\n0,1\n0,1\n", words: []string{"4×2", "3×2"}},
		"an unread header": {views: plain, mask: "1,0\n1,1\n0,1\n1,0\n", words: []string{"4×2", "Options.Header yes"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			paths := []string{filepath.Join(dir, "ids.csv"), filepath.Join(dir, "idsB.csv"), filepath.Join(dir, "mask.csv")}
			for i, text := range append(append([]string{}, c.views...), c.mask) {
				if err := os.WriteFile(paths[i], []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c.o.MaskFile = paths[2]
			s, err := Open(context.Background(), paths[:2], c.o)
			if c.words != nil {
				wantError(t, err, c.words...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(s.Present); got != want || !strings.Contains(s.Reading.String(), c.note) {
				t.Errorf("present %s, want %s\n%s", got, want, &s.Reading)
			}
			if s.Samples() != 3 || s.Views[0].Cols != 2 {
				t.Errorf("%d samples of %d features", s.Samples(), s.Views[0].Cols)
			}
			c.o.MaskFile = ""
			s, err = Open(context.Background(), []string{dir}, c.o) // the mask by its name among the files
			if err != nil || fmt.Sprint(s.Present) != want {
				t.Error(err)
			}
		})
	}
}

// TestMaskOfArrays: the rows of a mask in a file of arrays belong to the samples that the ids of that file name.
func TestMaskOfArrays(t *testing.T) {
	file := func(name string, arrays ...Array) string {
		path := filepath.Join(t.TempDir(), name)
		if err := writeBytes(path, npzBytes(t, true, arrays...)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	x, w := Array{"X0", []int{3, 2}, []int{1, 2, 3, 4, 5, 6}}, Array{"X1", []int{3, 2}, []int{1, 2, 3, 4, 5, 6}}
	present := Array{"present", []int{3, 2}, []int{0, 1, 1, 1, 1, 0}} // of samples 9, 7 and 8
	ids, other := Array{"id", nil, []int{7, 8, 9}}, Array{"id", nil, []int{9, 7, 8}}
	first := file("a.npz", x, ids)
	for name, c := range map[string]struct {
		paths []string
		mask  string
	}{
		"beside a view":       {paths: []string{first, file("b.npz", w, present, other)}},
		"in a file of a mask": {paths: []string{first, file("b.npz", w, ids)}, mask: file("mask.npz", present, other)},
	} {
		s, err := Open(context.Background(), c.paths, Options{MaskFile: c.mask})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := fmt.Sprint(s.Present); got != "[[true true] [true false] [false true]]" {
			t.Errorf("%s: present %s", name, got)
		}
	}
	_, err := Open(context.Background(), []string{file("a.npz", x, w)}, Options{MaskFile: file("mask.npz", present, other)})
	wantError(t, err, "mask.npz: has ids in column id, and ", "a.npz has none")
	_, err = Open(context.Background(), []string{file("a.npz", Array{"X0", []int{4, 1}, []int{1, 2, 3, 4}},
		Array{"id", nil, []int{7, 8, 9, 5}}), file("b.npz", w, present, other)}, Options{})
	wantError(t, err, "b.npz: present is in a file that lacks 1 of the 4 samples: put the mask into a table of its own")
}
