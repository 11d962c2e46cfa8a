package main

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/gonum/mat"

	"gonum.org/v1/gonum/floats"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
)

// labelColumns are the columns of a file of labels: the ids where the samples have some, the number of the sample, its label,
// and the squared distances to the two nearest centroids.
func labelColumns(ids []string, labels []int, near, next []float64) []dataset.Column {
	sample := make([]int, len(labels))
	for i := range sample {
		sample[i] = i
	}
	columns := []dataset.Column{{Name: "sample", Data: sample}, {Name: "label", Data: labels}, {Name: "near", Data: near},
		{Name: "next", Data: next}}
	if ids != nil {
		columns = append([]dataset.Column{{Name: "id", Data: ids}}, columns...)
	}
	return columns
}

// aboutTrust says what is in a file of the trust in the rows of views.
const aboutTrust = ", as CSV with the columns id (if the data have ids), sample (from 0),\na column per view with the " +
	"probability that the row belongs to the sample, and suspect, the view with the lowest;\n" +
	"- is standard output; none by default"

// writeTrust writes it, where it was asked for.
func writeTrust(stdout io.Writer, out *output, in *input, trust [][]float64) error {
	if trust == nil {
		return nil
	}
	columns := trustColumns(in, trust)
	return out.write(stdout, func(w io.Writer) error { return dataset.EncodeCSV(w, columns...) },
		func(path string) error { return dataset.WriteCSV(path, columns...) })
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
	if in.ids != nil {
		columns = append([]dataset.Column{{Name: "id", Data: in.ids}}, columns...)
	}
	return columns
}

// centroidDistances are the squared distances of the training samples to their centroid and to the nearest other one (+Inf
// if there is none), in H, or in its rows at norm 1. The views themselves may be overwritten by now.
func centroidDistances(c *largemvc.Clustering) (near, next []float64) {
	near, next = make([]float64, len(c.Labels)), make([]float64, len(c.Labels))
	centroids, unit := c.Centroids(), !c.Config().PlainReadOut
	var row []float64
	for i, label := range c.Labels {
		row = mat.Row(row, i, c.H)
		if norm := floats.Norm(row, 2); unit && norm > 0 {
			floats.Scale(1/norm, row)
		}
		next[i] = math.Inf(1)
		for k := range c.Clusters {
			d := 0.0
			for j, x := range centroids.RawRowView(k) {
				d += (row[j] - x) * (row[j] - x)
			}
			if k == label {
				near[i] = d
			} else {
				next[i] = min(next[i], d)
			}
		}
	}
	return near, next
}
