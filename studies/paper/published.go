package main

import (
	_ "embed" // of the tables
	"encoding/json"
	"fmt"
	"strings"

	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
)

// printed has what the paper prints of a data set: its name there, its size, and ACC, NMI and ARI in % by method.
type printed struct {
	Name           string
	Samples, Views int
	Scores         map[string][3]float64
}

// ownName is the name of the network in printed.Scores.
const ownName = "LargeMvC-Net"

// printedOf has the tables of the paper by the names of the authors' files, without .mat and in lower case: this network, and the
// methods that package baseline has too.
var printedOf map[string]printed

//go:embed printed.json
var printedText []byte

func init() {
	if err := json.Unmarshal(printedText, &printedOf); err != nil {
		panic(err)
	}
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
		if d.N != p.Samples || len(d.Views) != p.Views {
			text += fmt.Sprintf(" %s has %s in %s; the paper's %s has %d in %d, so it is not compared.",
				d.Name, textfile.Count(d.N, "sample"), textfile.Count(len(d.Views), "view"), p.Name, p.Samples, p.Views)
			continue
		}
		for k, m := range methods {
			name, _, _ := strings.Cut(m.name, ",")
			want, ok := p.Scores[name]
			if !ok || m.apart {
				continue
			}
			line := tables.Line{Name: p.Name + ", " + m.name}
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
