package dataset

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/textfile"
)

func itoa(i int) string { return strconv.Itoa(i) }

// table writes lines of cells in aligned columns.
func table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, "  "+strings.TrimRight(strings.Join(lists.Texts(row, textfile.Printable), "\t"), "\t"))
	}
	t.Flush() // a strings.Builder takes everything
}

func (f *FileReport) print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s, %s\n", textfile.Printable(f.Path), f.Format, size(f.Bytes))
	rows := [][]string{{"variable", "class", "shape", "read as", ""}}
	for _, v := range f.Variables {
		rows = append(rows, []string{v.Name, v.Class, v.Shape, v.Role, v.Note})
	}
	table(w, rows)
}

func (r *Report) print(w io.Writer) {
	if len(r.Views) > 0 {
		fmt.Fprintf(w, "\n%s, %s, %s, %s in memory\n", textfile.Count(r.Samples, "sample"),
			textfile.Count(len(r.Views), "view"), r.Orientation, size(r.Bytes))
		r.printViews(w)
		if r.Incomplete > 0 {
			fmt.Fprintf(w, "%s without all views; %.1f %% of the view rows are absent\n", textfile.Count(r.Incomplete, "sample"),
				100*r.MissingRate)
		}
		r.printClasses(w)
	}
	if len(r.Reading.Views)+len(r.Reading.LeftOut)+len(r.Reading.Notes) > 0 {
		fmt.Fprintf(w, "\n%s\n", r.Reading.String())
	}
	if r.Problem != nil {
		for _, line := range strings.Split(r.Problem.Error(), "\n") {
			fmt.Fprintf(w, "cannot be read so: %s\n", textfile.Printable(strings.TrimPrefix(line, "dataset: ")))
		}
	}
}

func (r *Report) printViews(w io.Writer) {
	rows := [][]string{{"view", "name", "features", "fill", "held", "range", "median sd", "max sd", "constant columns",
		"zero rows", "absent", "not finite"}}
	for i := range r.Views {
		v := &r.Views[i]
		held := "dense"
		if v.Sparse {
			held = "sparse"
		}
		bad := "0"
		if v.FirstBad != nil {
			bad = fmt.Sprintf("%d NaN, %d Inf, first in row %d, column %d", v.NaN, v.Inf, v.FirstBad.Row, v.FirstBad.Column)
		}
		rows = append(rows, []string{itoa(i), v.Name, itoa(v.Features), fmt.Sprintf("%.3g %%", 100*v.Fill), held,
			fmt.Sprintf("%.4g … %.4g", v.Min, v.Max), fmt.Sprintf("%.3g", v.MedianStd), fmt.Sprintf("%.3g", v.MaxStd),
			itoa(v.ConstantColumns), itoa(v.ZeroRows), itoa(v.Absent), bad})
	}
	table(w, rows)
}

// sized is the name with the number of samples.
func (c ClassReport) sized() string { return fmt.Sprintf("%s (%d)", c.Name, c.Count) }

func (r *Report) printClasses(w io.Writer) {
	if r.Classes == nil {
		fmt.Fprintln(w, "no labels")
		return
	}
	fmt.Fprintf(w, "%s:", textfile.Count(len(r.Classes), "class"))
	for i, c := range r.Classes {
		if i == 50 {
			fmt.Fprintf(w, " …")
			break
		}
		fmt.Fprint(w, " "+textfile.Printable(c.sized()))
	}
	fmt.Fprintln(w)
}
