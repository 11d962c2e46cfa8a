package viz

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// Table holds the data of a panel: named columns, rows of texts and numbers.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]any // string, int or float64
}

// CSV writes the tables below one another, each with a header line; the first column is the panel's title where there is
// more than one.
func (f Figure) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	for _, p := range f.Panels {
		t := p.Table()
		var lead []string
		if len(f.Panels) > 1 {
			lead = []string{"panel"}
		}
		if err := out.Write(append(lead, t.Columns...)); err != nil {
			return err
		}
		for _, row := range t.Rows {
			var fields []string
			if len(f.Panels) > 1 {
				fields = append(fields, t.Title)
			}
			for _, x := range row {
				fields = append(fields, field(x))
			}
			if err := out.Write(fields); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

func field(x any) string {
	if f, ok := x.(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return fmt.Sprint(x)
}
