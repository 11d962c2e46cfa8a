package dataset

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// namesOf are the names of d columns, as programs write them.
var namesOf = map[string]func(d int) []string{
	"texts":            func(d int) []string { return numberedNames(d, func(j int) string { return fmt.Sprintf("f%d", j) }) },
	"counts from 0":    func(d int) []string { return numberedNames(d, strconv.Itoa) },
	"counts from 1":    func(d int) []string { return numberedNames(d, func(j int) string { return strconv.Itoa(j + 1) }) },
	"counts backwards": func(d int) []string { return numberedNames(d, func(j int) string { return strconv.Itoa(d - 1 - j) }) },
	"years":            func(d int) []string { return numberedNames(d, func(j int) string { return strconv.Itoa(1990 + 5*j) }) },
	"wave numbers": func(d int) []string {
		return numberedNames(d, func(j int) string { return fmt.Sprint(4000 - 3.5*float64(j)) })
	},
	"two tables": func(d int) []string {
		return numberedNames(d, func(j int) string { return strconv.Itoa(j % ((d + 1) / 2)) })
	},
	"a class added": func(d int) []string { return numberedNames(d, func(j int) string { return strconv.Itoa(j % (d - 1)) }) },
}

func numberedNames(d int, of func(j int) string) []string {
	names := make([]string, d)
	for j := range names {
		names[j] = of(j)
	}
	return names
}

// TestTablesOfKnownTruth writes tables with and without names, indices and classes: each is read as it is meant, or it is an
// error that names the option which says how it is meant, and is right with that.
func TestTablesOfKnownTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	outcomes := map[string]int{}
	for round := range 3000 {
		n, d := 4+rng.IntN(6), 4+rng.IntN(6)
		value := func() string { return strconv.Itoa(rng.IntN(100)) }
		if rng.IntN(2) == 0 {
			value = func() string { return fmt.Sprintf("%.3f", 20*rng.NormFloat64()) }
		}
		kind := []string{"", "texts", "counts from 0", "counts from 1", "counts backwards", "years", "wave numbers", "two tables",
			"a class added"}[rng.IntN(9)]
		index := []string{"", "", "unnamed", "id", "gene"}[rng.IntN(5)]
		class := []string{"", "", "label", "species"}[rng.IntN(4)]
		var lines []string
		if kind != "" {
			line := namesOf[kind](d)
			if index != "" {
				line = append([]string{strings.TrimPrefix(index, "unnamed")}, line...)
			}
			if class != "" {
				line = append(line, class)
			}
			lines = append(lines, strings.Join(line, ","))
		}
		want := make([][]string, n)
		for i := range n {
			for range d {
				want[i] = append(want[i], value())
			}
			line := want[i]
			if index != "" {
				line = append([]string{fmt.Sprintf("s%d", n-i)}, line...)
			}
			if class != "" {
				line = append(line[:len(line):len(line)], []string{"lin", "fib"}[(i+i/2)%2])
			}
			lines = append(lines, strings.Join(line, ","))
		}
		text := strings.Join(lines, "\n") + "\n"
		o := Options{Float: 64}
		if index == "gene" {
			o.IDs = "gene"
		}
		if index != "" && kind == "" {
			o.IDs = "0"
		}
		if class == "species" || class != "" && kind == "" {
			o.Labels = "-1"
		}
		s, err := read("t.csv", []byte(text), o)
		outcome := "read"
		if err != nil && strings.Contains(err.Error(), "Options.Header") {
			outcome = "asks"
			if o.Header = NoHeader; kind != "" {
				o.Header = WithHeader
			}
			s, err = read("t.csv", []byte(text), o)
		}
		outcomes[outcome]++
		if err != nil {
			t.Errorf("round %d, names %q, index %q, class %q:\n%s%v", round, kind, index, class, text, err)
			continue
		}
		v := &s.Views[0]
		same := v.Rows == n && v.Cols == d && (v.Features != nil) == (kind != "") && (s.IDs != nil) == (index != "") &&
			(s.Labels != nil) == (class != "")
		for i := 0; same && i < n; i++ {
			for j := range d {
				x, err := strconv.ParseFloat(want[i][j], 64)
				same = same && err == nil && v.At(i, j) == x
			}
		}
		if !same {
			t.Errorf("round %d, names %q, index %q, class %q: %d×%d instead of %d×%d, %v\n%s", round, kind, index, class, v.Rows,
				v.Cols, n, d, v.Features, text)
		}
	}
	t.Log(outcomes)
}

// TestJoinsOfColumns: a table with its samples in columns is joined with labels of all forms and orders, or it is an error.
func TestJoinsOfColumns(t *testing.T) {
	const n = 8
	rng := rand.New(rand.NewPCG(5, 6))
	for _, form := range []string{"texts", "barcodes", "ids with blanks", "others"} {
		a := idForms[form]
		columns := rng.Perm(n)
		text := "gene"
		for _, s := range columns {
			text += "," + a.of(s, 0)
		}
		for g := range 5 {
			text += fmt.Sprintf("\ng%d", g)
			for _, s := range columns {
				text += fmt.Sprintf(",%d.5", 100*g+s)
			}
		}
		data := write(t, "genes.csv", text+"\n")
		for name, b := range idForms {
			rows := rng.Perm(n)
			two := sheet{b.of, b.name, rows}
			labels := write(t, "l.csv", two.text("label", func(s int) string { return fmt.Sprintf("c%d", s/2) }))[0]
			for _, orientation := range []Orientation{AutoOrientation, ColumnsAreSamples} {
				s, err := Open(context.Background(), data, Options{LabelsFile: labels, Orientation: orientation})
				if joins := b.of != nil && b.group == a.group; err != nil {
					if joins {
						t.Errorf("%s, %s, %v: %v", form, name, orientation, err)
					}
					continue
				} else if !joins {
					t.Errorf("%s, %s, %v: joined by nothing", form, name, orientation)
				}
				for k, sample := range columns {
					if s.Samples() != n || s.LabelNames[s.Labels[k]] != fmt.Sprintf("c%d", sample/2) ||
						s.Views[0].At(k, 2) != float64(200+sample)+0.5 || s.IDs[k] != a.of(sample, 0) {
						t.Fatalf("%s, %s, %v: sample %d is on the wrong row", form, name, orientation, sample)
					}
				}
			}
		}
	}
}
