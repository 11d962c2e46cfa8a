package main

import (
	"fmt"
	"strings"

	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
)

// printed has what the paper prints of a data set: its name there, its size, and ACC, NMI and ARI in % by method.
type printed struct {
	name           string
	samples, views int
	scores         map[string][3]float64
}

// ownName is the name of the network in printed.scores.
const ownName = "LargeMvC-Net"

// printedOf has the tables of the paper by the names of the authors' files, without .mat and in lower case: this network, and the
// methods that package baseline has too.
var printedOf = map[string]printed{
	"animals": {"Animals", 10158, 2, map[string][3]float64{
		"LargeMvC-Net": {68.01, 71.80, 53.44},
		"LMVSC":        {27.91, 35.35, 15.43},
		"AIMC":         {58.09, 68.75, 49.66},
		"EMVGC-LG":     {62.82, 70.91, 52.69},
		"FDAGF":        {59.69, 69.93, 49.50},
	}},
	"caltech101all": {"Caltech102", 9144, 6, map[string][3]float64{
		"LargeMvC-Net": {48.64, 51.48, 51.91},
		"LMVSC":        {11.66, 25.31, 2.38},
		"AIMC":         {23.94, 34.35, 13.57},
		"EMVGC-LG":     {27.15, 51.03, 20.31},
		"FDAGF":        {30.03, 51.02, 24.32},
	}},
	"cifar10": {"Cifar10", 50000, 3, map[string][3]float64{
		"LargeMvC-Net": {99.13, 97.64, 98.10},
		"LMVSC":        {88.98, 79.17, 76.93},
		"AIMC":         {98.32, 97.12, 97.50},
		"EMVGC-LG":     {96.28, 91.78, 92.39},
		"FDAGF":        {96.27, 91.32, 92.04},
	}},
	"nuswideobj": {"NUSWIDEOBJ", 30000, 5, map[string][3]float64{
		"LargeMvC-Net": {27.79, 14.72, 10.83},
		"LMVSC":        {10.69, 8.28, 1.72},
		"AIMC":         {19.33, 13.29, 6.66},
		"EMVGC-LG":     {12.57, 11.70, 3.60},
		"FDAGF":        {13.37, 12.46, 4.06},
	}},
	"ytf50": {"YTF-50", 126054, 4, map[string][3]float64{
		"LargeMvC-Net": {80.13, 85.53, 67.68},
		"LMVSC":        {60.57, 78.66, 49.44},
		"AIMC":         {68.02, 84.70, 65.52},
		"EMVGC-LG":     {69.85, 84.17, 62.26},
		"FDAGF":        {67.86, 82.21, 56.56},
	}},
	"ytf100": {"YTF-100", 195537, 4, map[string][3]float64{
		"LargeMvC-Net": {76.52, 84.59, 62.46},
		"LMVSC":        {53.83, 76.83, 34.69},
		"AIMC":         {66.84, 83.28, 55.31},
		"EMVGC-LG":     {64.99, 83.45, 55.89},
		"FDAGF":        {61.83, 80.80, 46.09},
	}},
	"flickr": {"Flickr", 12154, 2, map[string][3]float64{
		"LargeMvC-Net": {53.37, 34.72, 29.72},
		"LMVSC":        {41.93, 23.11, 13.98},
		"AIMC":         {49.59, 32.40, 27.57},
		"EMVGC-LG":     {52.51, 33.91, 28.57},
		"FDAGF":        {45.02, 29.35, 19.98},
	}},
	"iaprtc12": {"IAPR", 7855, 2, map[string][3]float64{
		"LargeMvC-Net": {46.97, 24.95, 19.68},
		"LMVSC":        {38.97, 16.90, 13.04},
		"AIMC":         {38.50, 19.19, 14.66},
		"EMVGC-LG":     {43.89, 22.58, 17.91},
		"FDAGF":        {33.97, 17.43, 11.67},
	}},
}

// beside compares sets that have names of the authors' files with the figures of the paper. got has the scores by set, method and
// draw. A set of another size than in the paper is named in the text and left out.
func beside(chosen []*sets.Set, methods []row, got [][][]scores) (tables.Grid, string) {
	g := tables.Grid{Name: "table-printed", Title: "Beside the paper", Header: []string{"set, method"}}
	for _, m := range measures[:3] {
		g.Header = append(g.Header, m.name+", paper", m.name+", here")
	}
	text := ""
	for i, d := range chosen {
		p, ok := printedOf[strings.ToLower(d.Name)]
		if !ok {
			continue
		}
		if d.N != p.samples || len(d.Views) != p.views {
			text += fmt.Sprintf(" %s has %s in %s; the paper's %s has %d in %d, so it is not compared.",
				d.Name, textfile.Count(d.N, "sample"), textfile.Count(len(d.Views), "view"), p.name, p.samples, p.views)
			continue
		}
		for k, m := range methods {
			name, _, _ := strings.Cut(m.name, ",")
			want, ok := p.scores[name]
			if !ok || m.apart {
				continue
			}
			line := tables.Line{Name: p.name + ", " + m.name}
			for j, measure := range measures[:3] {
				line.Cells = append(line.Cells, tables.Cell{Text: fmt.Sprintf("%.2f", want[j])}, cellOf(got[i][k], measure.of))
			}
			g.Rows = append(g.Rows, line)
		}
	}
	if len(g.Rows) > 0 {
		text += " Sets with the names of the authors' files are compared with the figures of the paper in a table of their own. " +
			"What its ACC of " + ownName + " means is measured by the experiment protocol."
	}
	return g, text
}
