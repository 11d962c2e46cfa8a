// Command choose looks for the number of clusters in data without labels: it fits a range of them, prints internal indices
// and draws them.
//
//	go run -C studies ./choose -out choose.svg
//
// With a folder of sets that have labels, it prints how near the suggestion, the eigengap and the silhouette come to the number
// of classes:
//
//	go run -C studies ./choose -data FOLDER
//
// With -starts too, it chooses the initial clustering of each set, and prints the change of the scores:
//
//	go run -C studies ./choose -data FOLDER -starts
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/choose"
	"github.com/largemvc/largemvc/examples/synthetic"
	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/viz"
)

func main() {
	out := flag.String("out", "choose.svg", "`FILE` to draw the indices to, .svg")
	data := flag.String("data", "", "`FOLDER` of sets with labels to try; several separated by commas")
	only := flag.String("only", "", "`NAMES` of sets of the folder, separated by commas")
	rows := flag.Int("rows", 1000, "`N` rows of a set at most, drawn at random")
	share := flag.Float64("share", 0.9, "`PART` of the rows of a set that is drawn at most")
	draws := flag.String("draws", "0,1,2", "`NUMBERS` of the draws of rows, separated by commas")
	starts := flag.Bool("starts", false, "choose the initial clustering of whole sets in place of a number of clusters")
	values := flag.String("values", "", "`FILE` for the values of every number of clusters, as CSV; none by default")
	flag.Parse()
	err := error(nil)
	if *data != "" {
		err = tryAll(trial{
			sets: sets.Choice{Path: *data, Only: *only, Warn: os.Stderr}, rows: *rows, share: *share, starts: *starts,
		}, *draws, *values)
	} else {
		err = run(context.Background(), *out, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// tryAll is trial.try with the numbers of the draws as text, and a file for the values.
func tryAll(t trial, draws, values string) error {
	for _, text := range strings.Split(draws, ",") {
		draw, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return fmt.Errorf("-draws: %w", err)
		}
		t.draws = append(t.draws, int(draw))
	}
	if t.starts {
		return t.tryStarts(context.Background(), os.Stdout)
	}
	if values == "" {
		return t.try(context.Background(), os.Stdout)
	}
	f, err := os.Create(values)
	if err != nil {
		return err
	}
	t.values = f
	return errors.Join(t.try(context.Background(), os.Stdout), f.Close())
}

func run(ctx context.Context, path string, w io.Writer) error {
	// 400 samples of 5 classes; the classes are not used.
	x, _ := synthetic.Views(1, 400, 5, 0.8, 30, 12)
	views := []largemvc.View{largemvc.MatrixView(x[0]), largemvc.MatrixView(x[1])}

	fmt.Fprintln(w, "clusters  silhouette  Calinski–Harabasz  Davies–Bouldin  stability")
	choices, err := choose.Clusters(ctx, views, largemvc.Config{Epochs: 30}, choose.Config{
		Clusters: []int{2, 3, 4, 5, 6, 7, 8},
		Progress: func(_, _ int, c choose.Choice) error {
			_, err := fmt.Fprintf(w, "%8d  %10.3f  %17.1f  %14.3f  %9.3f\n", c.Clusters, c.Silhouette,
				c.CalinskiHarabasz, c.DaviesBouldin, c.SeedARI)
			return err
		},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "suggested: %s\n", textfile.Count(choices.Suggested, "cluster"))
	if err := draw(choices).Save(path); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "The table and the figure, %s, show what speaks for each number of clusters; there are 5 classes.\n",
		path)
	return err
}

// draw puts the indices over the number of clusters, a panel each.
func draw(choices *choose.Choices) viz.Figure {
	figure := viz.Figure{Columns: 2}
	for _, index := range []struct {
		title string
		of    func(choose.Choice) float64
	}{
		{"Silhouette (high is good)", func(c choose.Choice) float64 { return c.Silhouette }},
		{"Calinski–Harabasz (high is good)", func(c choose.Choice) float64 { return c.CalinskiHarabasz }},
		{"Davies–Bouldin (low is good)", func(c choose.Choice) float64 { return c.DaviesBouldin }},
		{"Stability over seeds (high is good)", func(c choose.Choice) float64 { return c.SeedARI }},
	} {
		var line viz.Series
		for _, c := range choices.Choices {
			if y := index.of(c); !math.IsNaN(y) { // An index need not exist for every number.
				line.X, line.Y = append(line.X, float64(c.Clusters)), append(line.Y, y)
			}
		}
		if len(line.X) > 0 {
			figure.Panels = append(figure.Panels, viz.Lines{
				Title: index.title, XLabel: "clusters", YLabel: "index", Series: []viz.Series{line},
				Markers: true, XTicks: line.X,
			})
		}
	}
	return figure
}
