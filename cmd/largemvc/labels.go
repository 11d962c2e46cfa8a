package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/lists"
)

// aboutLabels says what is in the first columns of a file of labels.
const aboutLabels = "`FILE` for the labels. .npy: the labels alone; .h5ad, .h5mu: a copy of the data with them; .parquet, or " +
	"CSV with any\nother name: a table with the ids (if the data have ids), sample (from 0), label, confidence (0 to 1; " +
	"docs/trust.md),\n"

// figure is a column of numbers about the samples; it is left out if it has none.
type figure struct {
	name   string
	values []float64
}

// numbers is the column of the numbers of n samples, from first on.
func numbers(first, n int) dataset.Column {
	sample := make([]int, n)
	for i := range sample {
		sample[i] = first + i
	}
	return dataset.Column{Name: "sample", Data: sample}
}

// labelColumns are the columns of a file of labels: the number of the sample, from first on, its label, and what else is known.
func labelColumns(first int, labels []int, figures ...figure) []dataset.Column {
	columns := []dataset.Column{numbers(first, len(labels)), {Name: "label", Data: labels}}
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
	names := lists.Texts(columns, func(c dataset.Column) string { return c.Name })
	return append([]dataset.Column{{Name: idName(r.IDColumn, names), Data: ids}}, columns...) // columns stays as it is
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

// arrayHead precedes the numbers in a file of arrays, <i8 integers or <f8 numbers of 8 bytes.
func arrayHead(kind, shape string) string {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", kind, shape)
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	return "\x93NUMPY\x01\x00" + string([]byte{byte(len(text)), byte(len(text) >> 8)}) + text
}

// aboutTrust says what is in a file of the trust in the rows of views.
const aboutTrust = ", CSV or .parquet: the ids (if the data have ids), sample (from 0), for each\nview the probability that " +
	"its row belongs to the sample, and suspect, the view with the lowest;\n- is standard output; none by default"

// writeTrust writes it, where it was asked for.
func writeTrust(stdout io.Writer, out *output, in *input, trust [][]float64) error {
	if trust == nil {
		return nil
	}
	return out.writeTable(stdout, in.withIDs(0, trustColumns(in, 0, trust))...)
}

// trustColumns are the columns of a file of the trust in the rows of views.
func trustColumns(in *input, first int, trust [][]float64) []dataset.Column {
	suspect := make([]string, len(trust[0]))
	names := make([]string, len(trust))
	for v := range names {
		names[v] = cmp.Or(in.names[v], fmt.Sprintf("view %d", v))
	}
	for i := range suspect {
		least := 0
		for v := range trust {
			if trust[v][i] < trust[least][i] {
				least = v
			}
		}
		suspect[i] = names[least]
	}
	columns := []dataset.Column{numbers(first, len(suspect))}
	for v, name := range names {
		columns = append(columns, dataset.Column{Name: name, Data: trust[v]})
	}
	return append(columns, dataset.Column{Name: "suspect", Data: suspect})
}
