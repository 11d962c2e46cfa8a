package dataset

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// sheet is a table whose samples a test knows: its row k is sample rows[k].
type sheet struct {
	ids  func(sample, row int) string // nil without
	name string                       // of their column
	rows []int
}

// text writes the sheet with a column of values.
func (s *sheet) text(name string, value func(sample int) string) string {
	var b strings.Builder
	if s.ids != nil {
		b.WriteString(s.name + ",")
	}
	b.WriteString(name + "\n")
	for row, sample := range s.rows {
		if s.ids != nil {
			b.WriteString(s.ids(sample, row) + ",")
		}
		b.WriteString(value(sample) + "\n")
	}
	return b.String()
}

// idForms are ids as files have them. Those of sheets of one group name the same sample by the same text.
var idForms = map[string]struct {
	name  string
	group string
	of    func(sample, row int) string
}{
	"none":              {},
	"texts":             {"id", "text", func(s, _ int) string { return fmt.Sprintf("P%02d", s) }},
	"patients":          {"patient_id", "text", func(s, _ int) string { return fmt.Sprintf("P%02d", s) }},
	"row names":         {`""`, "text", func(s, _ int) string { return fmt.Sprintf("%q", fmt.Sprintf("P%02d", s)) }},
	"others":            {"id", "other", func(s, _ int) string { return fmt.Sprintf("Q%02d", s) }},
	"capitals":          {"id", "lower", func(s, _ int) string { return fmt.Sprintf("p%02d", s) }},
	"a pandas index":    {"", "from 0", func(s, _ int) string { return fmt.Sprint(s) }},
	"an index":          {"index", "from 0", func(s, _ int) string { return fmt.Sprint(s) }},
	"sample":            {"sample", "from 0", func(s, _ int) string { return fmt.Sprint(s) }},
	"sample as floats":  {"sample", "from 0", func(s, _ int) string { return fmt.Sprintf("%d.0", s) }},
	"sample from 1":     {"sample", "from 1", func(s, _ int) string { return fmt.Sprint(s + 1) }},
	"far numbers":       {"sample_id", "far", func(s, _ int) string { return fmt.Sprint(1000 + 7*s) }},
	"counts of rows":    {"", "rows", func(_, row int) string { return fmt.Sprint(row) }},
	"counts from 1":     {"index", "rows", func(_, row int) string { return fmt.Sprint(row + 1) }},
	"barcodes":          {"barcode", "bar", func(s, _ int) string { return fmt.Sprintf("AC-%d", s*s) }},
	"ids in quotes":     {`"sample_id"`, "text", func(s, _ int) string { return fmt.Sprintf("\"P%02d\"", s) }},
	"ids with blanks":   {"id", "blanks", func(s, _ int) string { return fmt.Sprintf("P %02d", s) }},
	"ids that are long": {"uuid", "long", func(s, _ int) string { return fmt.Sprintf("%032d", 1<<40+s) }},
}

// plainID is an id as it is read.
func plainID(text string) string { return strings.TrimSuffix(strings.Trim(text, `"`), ".0") }

// TestJoinsOfAllForms joins a table of data with a further view, labels, a mask, and a file of labels that is read alone, for all
// forms of ids and orders of rows. Where it is no error, each value stands by its sample; a join by places is right only if the
// rows are in one order.
func TestJoinsOfAllForms(t *testing.T) {
	const n = 12
	rng := rand.New(rand.NewPCG(1, 2))
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	save := func(name, text string) string {
		if err := writeBytes(path(name), []byte(text)); err != nil {
			t.Fatal(err)
		}
		return path(name)
	}
	plain, reversed := make([]int, n), make([]int, n)
	for i := range n {
		plain[i], reversed[n-1-i] = i, i
	}
	orders := map[string][]int{"plain": plain, "reversed": reversed, "shuffled": rng.Perm(n)}
	number := func(s int) string { return fmt.Sprintf("%d.5", 100+s) }
	class := func(s int) string { return fmt.Sprintf("c%02d", s/2) }
	bit := func(s int) string { return fmt.Sprint((s+1)%4/3 ^ 1) }
	read := map[string]int{}
	for _, formA := range slices.Sorted(maps.Keys(idForms)) {
		a := idForms[formA]
		for _, orderA := range slices.Sorted(maps.Keys(orders)) {
			rowsA := orders[orderA]
			one := sheet{a.of, a.name, rowsA}
			data := save("a.csv", one.text("x", number))
			for _, formB := range slices.Sorted(maps.Keys(idForms)) {
				b := idForms[formB]
				for _, orderB := range slices.Sorted(maps.Keys(orders)) {
					rowsB := orders[orderB]
					if !testutil.Slow && rng.IntN(12) > 0 {
						continue
					}
					two := sheet{b.of, b.name, rowsB}
					// By places rows are matched if nothing says more: without ids, or by numbers of the rows.
					counts := func(f string, of func(int, int) string, rows []int) bool {
						return of == nil || f == "rows" || (f == "from 0" || f == "from 1") && slices.IsSorted(rows)
					}
					byPlace := (a.of == nil || b.of == nil) && counts(a.group, a.of, rowsA) && counts(b.group, b.of, rowsB)
					same := slices.Equal(rowsA, rowsB)
					// Numbers of rows that both files have are ids of the samples as far as anybody can tell.
					rowIDs := a.group == "rows" || b.group == "rows"
					check := func(join string, err error, right func() bool) {
						t.Helper()
						if err == nil {
							read[join]++
						}
						known := a.of != nil && b.of != nil && a.group == b.group && !rowIDs
						switch {
						case err == nil && !(byPlace || rowIDs) && !right():
							t.Errorf("%s: %s %s, %s %s: silently on the wrong rows", join, formA, orderA, formB, orderB)
						case err == nil && same && !rowIDs && !right():
							t.Errorf("%s: %s %s, %s %s: wrong rows in one order", join, formA, orderA, formB, orderB)
						case err != nil && (known || byPlace):
							t.Errorf("%s: %s %s, %s %s: %v", join, formA, orderA, formB, orderB, err)
						case err != nil && !strings.Contains(err.Error(), "Options.NoIDs") && join != "alone":
							t.Errorf("%s: %s %s, %s %s: no cure in %v", join, formA, orderA, formB, orderB, err)
						}
					}
					open := func(o Options, paths ...string) (*Set, error) {
						s, err := Open(context.Background(), paths, o)
						if err == nil && s.IDs != nil && a.of != nil && a.group != "rows" {
							for i, sample := range rowsA {
								if want := plainID(a.of(sample, i)); s.IDs[i] != want {
									t.Errorf("%s %s, %s: id %s beside the row of %s", formA, orderA, formB, s.IDs[i], want)
								}
							}
						}
						if err == nil && s.IDs != nil && a.of == nil {
							t.Errorf("%s %s, %s %s: ids beside rows of data without", formA, orderA, formB, orderB)
						}
						return s, err
					}
					s, err := open(Options{}, data, save("b.csv", two.text("w", number)))
					check("view", err, func() bool { return values(&s.Views[0]) == values(&s.Views[1]) })
					labels := save("labels.csv", two.text("label", class))
					s, err = open(Options{LabelsFile: labels}, data)
					check("labels", err, func() bool {
						for i, sample := range rowsA {
							if s.LabelNames[s.Labels[i]] != class(sample) {
								return false
							}
						}
						return true
					})
					mask := save("mask.csv", two.text("a", func(s int) string { return bit(s) + ",1" }))
					mask = save("mask.csv", strings.Replace(string(mustFile(t, mask)), "a\n", "a,second\n", 1))
					s, err = open(Options{MaskFile: mask}, data, save("second.csv", one.text("z", number)))
					check("mask", err, func() bool {
						for i, sample := range rowsA {
							if s.Present[i][0] != (bit(sample) == "1") {
								return false
							}
						}
						return true
					})
					l, err := ReadLabels(context.Background(), labels, Options{})
					if err != nil {
						t.Fatal(err)
					}
					var ids []string
					if a.of != nil {
						for i, sample := range rowsA {
							ids = append(ids, plainID(a.of(sample, i)))
						}
					}
					rows, _, err := l.Align("data", ids, n)
					check("alone", err, func() bool {
						for i, sample := range rowsA {
							if l.Names[l.Labels[rows[i]]] != class(sample) {
								return false
							}
						}
						return true
					})
				}
			}
		}
	}
	for join, count := range read {
		t.Logf("%s: %d joins are read", join, count)
	}
}

// TestOtherNamesBesideLabels: a column without a name of ids in a file of labels may name the samples all the same.
func TestOtherNamesBesideLabels(t *testing.T) {
	data := write(t, "x.csv", "a,b\n1,5\n2,7\n3,1\n4,4\n")
	order := []int{2, 0, 3, 1}
	for _, name := range []string{"nr", "row", "key", "name", "file", "who"} {
		for form, of := range map[string]func(s int) string{
			"0": func(s int) string { return fmt.Sprint(s) }, "1": func(s int) string { return fmt.Sprint(s + 1) },
			"text": func(s int) string { return fmt.Sprintf("P%d", s) },
		} {
			text := name + ",label\n"
			for _, s := range order {
				text += fmt.Sprintf("%s,%d\n", of(s), s%2)
			}
			labels := write(t, "l.csv", text)[0]
			_, err := Open(context.Background(), data, Options{LabelsFile: labels})
			wantError(t, err, "l.csv", "column "+name, "Options.IDs "+name, "Options.NoIDs")
			s, err := Open(context.Background(), data, Options{LabelsFile: labels, NoIDs: true})
			if err != nil || s.Labels[1] != 0 {
				t.Errorf("%s, %s: %v", name, form, err)
			}
		}
	}
	// What counts the rows, or has no different values, says nothing of them.
	for _, text := range []string{"nr,label\n1,0\n2,1\n3,0\n4,1\n", "fold,label\n1,0\n1,1\n2,0\n2,1\n",
		"p,label\n.1,0\n.2,1\n.3,0\n.4,1\n"} {
		s, err := Open(context.Background(), data, Options{LabelsFile: write(t, "l.csv", text)[0]})
		if err != nil || fmt.Sprint(s.Labels) != "[0 1 0 1]" {
			t.Errorf("%q: %v", text, err)
		}
	}
	path := filepath.Join(t.TempDir(), "l.npz")
	if err := WriteNPZ(path, false, Array{"y", nil, []int{1, 0, 1, 0}}, Array{"order", nil, []int{2, 0, 3, 1}}); err != nil {
		t.Fatal(err)
	}
	_, err := Open(context.Background(), data, Options{LabelsFile: path})
	wantError(t, err, "l.npz", "order", "Options.NoIDs")
}
