package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/dataset"
)

// aboutLabels says what is in the first columns of a file of labels.
const aboutLabels = "`FILE` for the labels: .npy, an array of them alone; .h5ad or .h5mu, a copy of the data with them; else " +
	"CSV or .parquet;\nits columns are the ids (if the data have ids, under their name there), sample (from 0), label, " +
	"confidence (0 to 1; how often the label is found again, docs/trust.md), "

// figure is a column of numbers about the samples; it is left out if it has none.
type figure struct {
	name   string
	values []float64
}

// labelColumns are the columns of a file of labels: the number of the sample, its label, and what else is known.
func labelColumns(labels []int, figures ...figure) []dataset.Column {
	sample := make([]int, len(labels))
	for i := range sample {
		sample[i] = i
	}
	columns := []dataset.Column{{Name: "sample", Data: sample}, {Name: "label", Data: labels}}
	for _, f := range figures {
		if f.values != nil {
			columns = append(columns, dataset.Column{Name: f.name, Data: f.values})
		}
	}
	return columns
}

// plainName matches a name of a column that begins no comment and no formula, and that a list of columns can have.
var plainName = regexp.MustCompile(`^[\pL_][^,]*$`)

// withIDs returns columns with the ids of their samples before them, if these have some, under the name that r has for them.
func withIDs(r *dataset.Reading, ids []string, columns []dataset.Column) []dataset.Column {
	if ids == nil {
		return columns
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return slices.Insert(columns, 0, dataset.Column{Name: idName(r.IDColumn, names), Data: ids})
}

// idName returns the name of the column of ids in a file of labels. It is their name in the data if that is plain and no other
// column has it, else id.
func idName(name string, others []string) string {
	taken := func(other string) bool { return strings.EqualFold(other, name) }
	if !plainName.MatchString(name) || slices.ContainsFunc(others, taken) {
		return "id"
	}
	return name
}

// arrayHead precedes n labels of 8 bytes in a file of arrays.
func arrayHead(n int) string {
	text := fmt.Sprintf("{'descr': '<i8', 'fortran_order': False, 'shape': (%d,), }", n)
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	return "\x93NUMPY\x01\x00" + string([]byte{byte(len(text)), byte(len(text) >> 8)}) + text
}

// aboutTrust says what is in a file of the trust in the rows of views.
const aboutTrust = ", as CSV with the ids (if the data have ids), sample (from 0),\na column per view with the " +
	"probability that the row belongs to the sample, and suspect, the view with the lowest;\n" +
	"- is standard output; none by default"

// writeTrust writes it, where it was asked for.
func writeTrust(stdout io.Writer, out *output, in *input, trust [][]float64) error {
	if trust == nil {
		return nil
	}
	columns := trustColumns(in, trust)
	return out.writeTable(stdout, columns...)
}

// trustColumns are the columns of a file of the trust in the rows of views.
func trustColumns(in *input, trust [][]float64) []dataset.Column {
	sample, suspect := make([]int, in.samples), make([]string, in.samples)
	names := make([]string, len(trust))
	for v := range names {
		if names[v] = in.names[v]; names[v] == "" {
			names[v] = fmt.Sprintf("view %d", v)
		}
	}
	for i := range sample {
		sample[i] = i
		least := 0
		for v := range trust {
			if trust[v][i] < trust[least][i] {
				least = v
			}
		}
		suspect[i] = names[least]
	}
	columns := []dataset.Column{{Name: "sample", Data: sample}}
	for v, name := range names {
		columns = append(columns, dataset.Column{Name: name, Data: trust[v]})
	}
	columns = append(columns, dataset.Column{Name: "suspect", Data: suspect})
	return withIDs(&in.reading, in.ids, columns)
}
