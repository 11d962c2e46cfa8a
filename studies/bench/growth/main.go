// Command growth draws the curves of BenchmarkFit, which it reads from standard input:
//
//	go test -run '^$' -bench 'Fit$' -benchtime 3x . | go run -C studies ./bench/growth -out growth.svg
//
// A panel shows one size that grows, with lines for the fits and for the labels of new samples of each preset. The legend has the
// exponents.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/studies/internal/viz"
	"github.com/largemvc/largemvc/studies/internal/work"
)

func main() { work.Main("growth", run) }

func run(_ context.Context, args []string, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("growth", flag.ContinueOnError)
	f.SetOutput(stderr)
	out := f.String("out", "growth.svg", "`FILE` for the figure, .svg")
	if err := f.Parse(args); err != nil {
		return err
	}
	panels, err := read(os.Stdin)
	if err != nil {
		return err
	}
	figure := viz.Figure{Title: "Time of whole fits and of new samples", Columns: 2}
	for _, p := range panels {
		figure.Panels = append(figure.Panels, *p)
	}
	if err := figure.Save(*out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%d panels are in %s\n", len(panels), *out)
	return err
}

// sizes are what grows.
var sizes = map[string]string{
	"n": "Samples", "D": "Features of all views", "V": "Views", "m": "Anchors, 10 clusters", "k": "Clusters", "L": "Layers",
}

// read returns the panels of a benchmark's output, in its order.
func read(r io.Reader) (panels []*viz.Lines, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "BenchmarkFit/") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(fields[0], "BenchmarkFit/"), "-")
		preset, axis, _ := strings.Cut(name, "/")
		if sizes[axis] == "" {
			return nil, fmt.Errorf("%s is no size of a preset", fields[0])
		}
		at := slices.IndexFunc(panels, func(p *viz.Lines) bool { return p.XLabel == axis })
		if at < 0 {
			at, panels = len(panels), append(panels, &viz.Lines{
				Title: sizes[axis], XLabel: axis, YLabel: "seconds", LogX: true, LogY: true, Fit: true, Markers: true,
			})
		}
		for of, line := range map[string]string{"ms/": preset, "ms-predict/": preset + ", new samples"} {
			s, err := series(fields[2:], of+axis+"=")
			if err != nil {
				return nil, fmt.Errorf("%s: %w", fields[0], err)
			}
			s.Name = line
			panels[at].Series = append(panels[at].Series, s)
			panels[at].XTicks = s.X
		}
		slices.SortFunc(panels[at].Series, func(a, b viz.Series) int { return strings.Compare(a.Name, b.Name) })
	}
	if len(panels) == 0 && lines.Err() == nil {
		return nil, errors.New("standard input has no line of BenchmarkFit")
	}
	return panels, lines.Err()
}

// series returns the points of the metrics whose unit begins with of, by size.
func series(metrics []string, of string) (viz.Series, error) {
	points := map[float64]float64{}
	var out viz.Series
	for i := 0; i+1 < len(metrics); i += 2 {
		size, ok := strings.CutPrefix(metrics[i+1], of)
		if !ok {
			continue
		}
		x, wrong := strconv.ParseFloat(size, 64)
		ms, bad := strconv.ParseFloat(metrics[i], 64)
		if err := errors.Join(wrong, bad); err != nil {
			return out, err
		}
		out.X, points[x] = append(out.X, x), ms/1e3
	}
	slices.Sort(out.X)
	for _, x := range out.X {
		out.Y = append(out.Y, points[x])
	}
	if len(out.X) < 2 {
		return out, fmt.Errorf("%d sizes in the unit %s", len(out.X), of)
	}
	return out, nil
}
