package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/largemvc/largemvc/examples/internal/viz"
)

// drawings are the figures by the names of their files, or by what these begin with.
var drawings = map[string]func(name string, t []viz.Table) (viz.Figure, error){
	"time":                   drawing(viz.Table.Lines, timeFigure),
	"incomplete":             drawing(viz.Table.Lines, incompleteFigure),
	"ablation":               drawing(viz.Table.Bars, ablationFigure),
	"convergence":            drawing(viz.Table.Lines, convergenceFigure),
	"sensitivity-map":        drawing(viz.Table.HeatMap, mapFigure),
	"sensitivity-curves":     drawing(viz.Table.Lines, curvesFigure),
	"sensitivity-thresholds": drawing(viz.Table.Lines, thresholdsFigure),
	"noise-precision":        drawing(viz.Table.Lines, precisionFigure),
	"noise-acc":              drawing(viz.Table.Lines, corruptedFigure),
	"tsne-":                  drawingNamed(viz.Table.Scatter, embeddingFigure),
	"pca-":                   drawingNamed(viz.Table.Scatter, embeddingFigure),
}

func drawing[P viz.Panel](
	panel func(viz.Table) (P, error), figure func([]P) viz.Figure,
) func(string, []viz.Table) (viz.Figure, error) {
	return drawingNamed(panel, func(_ string, p []P) viz.Figure { return figure(p) })
}

func drawingNamed[P viz.Panel](
	panel func(viz.Table) (P, error), figure func(string, []P) viz.Figure,
) func(string, []viz.Table) (viz.Figure, error) {
	return func(name string, all []viz.Table) (viz.Figure, error) {
		var panels []P
		for _, t := range all {
			if len(t.Rows) == 0 {
				return viz.Figure{}, fmt.Errorf("a panel of %s has no values", name)
			}
			p, err := panel(t)
			if err != nil {
				return viz.Figure{}, err
			}
			panels = append(panels, p)
		}
		return figure(name, panels), nil
	}
}

// redraw draws the figures of a folder again from their data, the CSV files beside them.
func (s *study) redraw(stdout io.Writer) error {
	paths, err := filepath.Glob(s.path("*.csv"))
	if err != nil {
		return err
	}
	drawn := 0
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".csv")
		of := drawings[name]
		if prefix, _, ok := strings.Cut(name, "-"); ok && of == nil {
			of = drawings[prefix+"-"]
		}
		if _, err := os.Stat(s.path(name + ".svg")); of == nil || err != nil {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read, err := viz.ReadTables(bytes.NewReader(data))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		figure, err := of(name, read)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := s.draw(picture{name: name, figure: figure}); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		fmt.Fprintln(stdout, s.path(name+".svg"))
		drawn++
	}
	if drawn == 0 {
		return errors.New("no figure with its data in " + s.out)
	}
	return nil
}
