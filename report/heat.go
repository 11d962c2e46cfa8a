package report

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"html/template"
	"math"
	"strconv"
)

// heatMap shows the effects of the distinguishing features in all clusters.
type heatMap struct {
	Clusters int // columns, from cluster 0
	Rows     []heatRow
}

// heatRow is a feature.
type heatRow struct {
	View, Feature string
	Cells         []heatCell
}

// heatCell is the effect of a feature in a cluster.
type heatCell struct {
	Size   float64 // NaN: not tested
	Shade  float64 // 0 to 1
	Below  bool    // Size is negative
	Passed bool    // the feature distinguishes the cluster
}

// Known says whether the feature was tested in the cluster.
func (c heatCell) Known() bool { return !math.IsNaN(c.Size) }

const (
	mostHeatRows    = 40
	mostHeatColumns = 30
	fullHeat        = 2 // standard deviations from which a cell has the full colour
)

// newHeatMap takes the largest features of every cluster in turn, until there are enough. It returns nil without any.
func newHeatMap(p *Importance) *heatMap {
	type key struct{ view, column int }
	type cell struct {
		key
		cluster int
	}
	passed, list := map[cell]bool{}, make([][]Feature, len(p.Clusters))
	for _, f := range p.Features {
		passed[cell{key{f.View, f.Column}, f.Cluster}] = true
		list[f.Cluster] = append(list[f.Cluster], f)
	}
	out := &heatMap{Clusters: min(len(p.Clusters), mostHeatColumns)}
	shown := map[key]bool{}
	for rank, left := 0, true; left; rank++ {
		left = false
		for _, of := range list[:out.Clusters] {
			if rank >= len(of) || len(out.Rows) == mostHeatRows {
				continue
			}
			left = true
			f := of[rank]
			if at := (key{f.View, f.Column}); !shown[at] {
				shown[at] = true
				row := heatRow{View: f.ViewName, Feature: f.Name}
				for k, x := range f.Effects[:out.Clusters] {
					row.Cells = append(row.Cells, heatCell{x, min(1, math.Abs(x)/fullHeat), x < 0, passed[cell{at, k}]})
				}
				out.Rows = append(out.Rows, row)
			}
		}
	}
	if out.Rows == nil {
		return nil
	}
	return out
}

// mostLabelBytes is the size of the table of labels up to which the page has it.
const mostLabelBytes = 4 << 20

// labelsURL returns a data URL of a CSV file of the labels, "" if it is too large.
func labelsURL(labels []int, ids []string) template.URL {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	record := []string{"sample", "label"}
	if ids != nil {
		record = append([]string{"id"}, record...)
	}
	for i := -1; i < len(labels) && b.Len() <= mostLabelBytes; i++ {
		if i >= 0 {
			record[len(record)-2], record[len(record)-1] = strconv.Itoa(i), strconv.Itoa(labels[i])
			if ids != nil {
				record[0] = ids[i]
			}
		}
		_ = w.Write(record) // a buffer takes everything
	}
	if w.Flush(); b.Len() > mostLabelBytes {
		return ""
	}
	return template.URL("data:text/csv;charset=utf-8;base64," + base64.StdEncoding.EncodeToString(b.Bytes()))
}
