package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
	"github.com/largemvc/largemvc/studies/internal/work"
)

// folder returns a folder with two small sets, and one that cannot be used.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i, name := range []string{"apples", "pears"} {
		set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 60 + 30*i, Clusters: 3,
			Dims: []int{12, 8}, Seed: uint64(i)})
		if err != nil {
			t.Fatal(err)
		}
		if err := set.WriteNPZ(filepath.Join(dir, name+".npz"), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.npz"), []byte("no archive"), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// small returns a study of the two sets.
func smallStudy(t *testing.T) *study {
	t.Helper()
	s := &study{data: folder(t), out: t.TempDir(), draws: 2, tableDraws: 2, epochs: 3, stderr: io.Discard}
	if err := s.prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// records reads a CSV file of the output folder.
func records(t *testing.T, s *study, name string) [][]string {
	t.Helper()
	f, err := os.Open(s.path(name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	all, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Every experiment writes a page, and a picture and a CSV file for every figure on the page.
func TestExperiments(t *testing.T) {
	s := smallStudy(t)
	for _, e := range experiments() {
		if err := e.run(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		page, err := os.ReadFile(s.path(e.name + ".md"))
		if err != nil {
			t.Fatal(err)
		}
		content := s.pages[len(s.pages)-1]
		if !strings.Contains(string(page), tables.Wrap(content.caption)) || !strings.Contains(string(page), "Against the paper") {
			t.Errorf("%s: the page lacks its protocol", e.name)
		}
		if len(content.tables)+len(content.figures) == 0 {
			t.Errorf("%s: nothing to see", e.name)
		}
		for _, f := range content.figures {
			if info, err := os.Stat(s.path(f.name + ".svg")); err != nil || info.Size() < 1000 {
				t.Errorf("%s.svg: %v", f.name, err)
			}
			rows := 0
			for _, p := range f.figure.Panels {
				rows += len(p.Table().Rows) + 1
			}
			if got := len(records(t, s, f.name+".csv")); got != rows || rows < 3 {
				t.Errorf("%s.csv has %d lines, the panels %d", f.name, got, rows)
			}
			if !strings.Contains(string(page), "("+f.name+".svg)") {
				t.Errorf("%s: %s is not on the page", e.name, f.name)
			}
		}
	}
	wholePage(t, s)
}

// wholePage wants the page of all experiments to keep what was written above its first section, to have every section, and all
// that it refers to beside it.
func wholePage(t *testing.T, s *study) {
	t.Helper()
	s.page = filepath.Join(t.TempDir(), "found.md")
	if err := os.WriteFile(s.page, []byte("# Mine\n\nMy words.\n\n"+firstSection+"\nof another day\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := s.whole(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(s.page)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	if !strings.HasPrefix(page, "# Mine\n\nMy words.\n\n"+firstSection) || strings.Contains(page, "another day") {
		t.Errorf("the page begins with %.100q", page)
	}
	for _, p := range s.pages {
		if !strings.Contains(page, "\n## "+p.title+"\n") {
			t.Errorf("no section %q", p.title)
		}
	}
	links := regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(page, -1)
	for _, link := range links {
		if _, err := os.Stat(filepath.Join(filepath.Dir(s.page), link[1])); err != nil {
			t.Error(err)
		}
	}
	if len(s.pages) != len(experiments()) || len(links) < 15 {
		t.Errorf("%d sections, %d links", len(s.pages), len(links))
	}
}

// The table's figures are those of fits done by hand.
func TestTableAgainstFits(t *testing.T) {
	s := smallStudy(t)
	s.draws = 1 // of the other experiments
	if err := table(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	d := s.sets[1]
	var accs []float64
	for draw := range 2 {
		d := d.InOrder(draw)
		c, err := largemvc.Fit(context.Background(), d.Views,
			presets.Paper.Of(largemvc.Config{Clusters: 3, Epochs: 3, Seed: uint64(draw)}))
		if err != nil {
			t.Fatal(err)
		}
		e, err := largemvc.Evaluate(d.Labels, c.Labels)
		if err != nil {
			t.Fatal(err)
		}
		accs = append(accs, 100*e.ACC)
	}
	want := (accs[0] + accs[1]) / 2
	std := math.Abs(accs[0]-accs[1]) / math.Sqrt2
	found := false
	for _, r := range records(t, s, "table-draws.csv") {
		if r[0] != "LargeMvC-Net, paper preset" || r[1] != "pears ACC" {
			continue
		}
		found = true
		if math.Abs(number(t, r[2])-want) > 1e-9 || math.Abs(number(t, r[3])-std) > 1e-9 || r[4] != "2" {
			t.Errorf("%q, want %v ± %v of 2", r, want, std)
		}
	}
	if !found {
		t.Error("no such row")
	}
}

// Labels pick the epoch of the highest purity among the fits of all epochs.
func TestPublishedProtocol(t *testing.T) {
	s := smallStudy(t)
	d := s.sets[0]
	got, err := presetCourse(largemvc.Config{})(context.Background(), s, d, 1)
	if err != nil {
		t.Fatal(err)
	}
	best := -1.0
	for i, epochs := range []int{largemvc.None, 1, 2} { // those up to 3
		c, err := largemvc.Fit(context.Background(), d.Views, largemvc.Config{Clusters: 3, Epochs: epochs, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		e, err := largemvc.Evaluate(d.Labels, c.Labels)
		if err != nil {
			t.Fatal(err)
		}
		if best = max(best, 100*e.Purity); got.ACC[i] != 100*e.ACC || got.Epochs[i] != max(epochs, 0) {
			t.Errorf("epoch %d: %v of %v, want %v", epochs, got.ACC[i], got.Epochs[i], 100*e.ACC)
		}
	}
	if got.Purity[got.picked()] != best || len(got.ACC) != 3 {
		t.Errorf("%+v, want the best purity %v", got, best)
	}
}

// From E = X − H·P, H = Z, the first layer gives S_θ(Z), whatever the views are.
func TestResidualStart(t *testing.T) {
	s := smallStudy(t)
	data, start, err := publishedStart(context.Background(), standardised(s.sets[0]), 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	net := largemvc.Model[*residual, *largemvc.RowShrink, *largemvc.Procrustes]{Represent: &residual{}}
	if err := net.Build(largemvc.Env{G: gorgonia.NewGraph(), Layers: 1}, data, start); err != nil {
		t.Fatal(err)
	}
	h, err := net.H(1)
	vm := gorgonia.NewTapeMachine(net.Loss().Graph())
	defer vm.Close()
	if err := errors.Join(err, vm.RunAll()); err != nil {
		t.Fatal(err)
	}
	for i, x := range h.Value().Data().([]float64) {
		if want := max(0, start.H.At(i/3, i%3)-0.01); math.Abs(x-want) > 1e-15 {
			t.Fatalf("row %d, column %d of H is %g, want %g", i/3, i%3, x, want)
		}
	}
}

// Rows 1, 1, −1, −1 in one direction with λ‖X‖² = 1: without itself a row scores 1/5 for its label and −2/5 for the other.
func TestPredicted(t *testing.T) {
	p := information.RegressionRows[float32]{Rank: 1, Stride: 1, Y: []float32{1, 1, -1, -1}, Weight: []float64{0.2},
		Leverage: slices.Repeat([]float32{0.2}, 4), Rest: slices.Repeat([]float32{0.8}, 4)}
	if right, margin := predicted(p, []int{0, 0, 1, 1}, 2); right != 100 || math.Abs(margin-0.75) > 1e-6 {
		t.Errorf("%g %% right, margin %g", right, margin)
	}
	if right, margin := predicted(p, []int{0, 1, 0, 1}, 2); right != 0 || math.Abs(margin+0.25) > 1e-6 {
		t.Errorf("mixed labels: %g %% right, margin %g", right, margin)
	}
}

// J is that of the solver, for what the solver found.
func TestObjective(t *testing.T) {
	s := smallStudy(t)
	for _, d := range s.sets {
		r, x, err := solve(context.Background(), d, 7)
		if err != nil {
			t.Fatal(err)
		}
		got, noise := objective(x, r.H, r.P, r.Trust, objectiveAlpha, r.Beta)
		want := r.Objective[len(r.Objective)-1]
		if math.Abs(got-want) > 1e-5*want || !(noise > 0 && noise < 1) {
			t.Errorf("%s: J = %v, the solver's %v; noise %v", d.Name, got, want, noise)
		}
	}
}

// A training of few epochs is the beginning of a longer one.
func TestBeginningOfTraining(t *testing.T) {
	s := smallStudy(t)
	s.epochs = 10
	long, err := networkWay(context.Background(), s, s.sets[1])
	if err != nil {
		t.Fatal(err)
	}
	s.epochs = 5
	short, err := networkWay(context.Background(), s, s.sets[1])
	if err != nil {
		t.Fatal(err)
	}
	if len(long.Loss) != 11 || len(short.Loss) != 6 || len(long.J) != 5 || len(short.J) != 4 {
		t.Fatalf("%d and %d losses, %d and %d states", len(long.Loss), len(short.Loss), len(long.J), len(short.J))
	}
	if !slices.Equal(long.Loss[:6], short.Loss) || !slices.Equal(long.J[:4], short.J) ||
		!slices.Equal(long.Noise[:4], short.Noise) {
		t.Errorf("%+v is not the beginning of %+v", short, long)
	}
}

// The order of the ablation's networks is told as it came out.
func TestAblationOrder(t *testing.T) {
	line := func(name string, values ...float64) tables.Line {
		out := tables.Line{Name: name}
		for _, x := range values {
			out.Cells = append(out.Cells, tables.Cell{Mean: x, Count: 1})
		}
		return out
	}
	text := ablationOrder(tables.Grid{Rows: []tables.Line{
		line("R (one)", 60, 50, 70, 60), line("A (two)", 59, 51, 66, 60), line("L (three)", 61, 52, 65, 66),
	}})
	for _, want := range []string{"L 61.0, R 60.0, A 59.0", "anchor module ACC is higher on 1 of 3 sets and lower on 1",
		"addition ACC is higher on 2 of 3 sets and lower on 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}

// The times of a table are processor time, which work takes and waiting does not.
func TestProcessorTime(t *testing.T) {
	began, sum := work.ProcessorTime(), 0.0
	for range 300 {
		for i := range 100000 {
			sum += math.Sqrt(float64(i))
		}
	}
	if took := work.ProcessorTime() - began; took <= 0 || sum == 0 {
		t.Errorf("work took %v", took)
	}
}

func TestRunErrors(t *testing.T) {
	ctx := context.Background()
	data, out := folder(t), t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no experiment named"},
		{[]string{"cooking"}, `no experiment "cooking"`},
		{[]string{"table", "-draws", "0"}, "0 draws"},
		{[]string{"table", "-table-draws", "0"}, "0 of the table"},
		{[]string{"table", "-page", "x.md"}, "-page is for several"},
		{[]string{"rivals,dancing"}, `no experiment "dancing"`},
		{[]string{"table", "-data", filepath.Join(data, "none.npz"), "-out", out}, "none.npz"},
		{[]string{"table", "-data", data, "-sets", "plums", "-out", out}, `no set "plums"`},
		{[]string{"table", "-data", t.TempDir(), "-out", out}, "no data set"},
		{[]string{"table", "extra"}, `"extra" is not a flag`},
	} {
		if err := run(ctx, c.args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
	if err := run(ctx, []string{"table", "-help"}, io.Discard, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("%v, want flag.ErrHelp", err)
	}
	var stdout, stderr bytes.Buffer
	if err := run(ctx, []string{"ablation", "-data", data, "-out", out, "-draws", "1", "-epochs", "1",
		"-limit", "60"}, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stderr.String(), "left out broken") || !strings.Contains(stderr.String(), "left out pears: 90 samples") {
		t.Errorf("standard error does not say what was left out: %q", stderr.String())
	}
	if !strings.Contains(stdout.String(), "ablation.md") {
		t.Errorf("standard output: %q", stdout.String())
	}
}

// Among all experiments, an experiment of few sets takes the cheapest of those that -sets names; alone it takes all of these.
func TestSmall(t *testing.T) {
	s := &study{only: "a,b,c"}
	for i, name := range []string{"a", "b", "c"} {
		x := sets.Matrix{N: 10, D: 9 - i, X: make([]float32, 10*(9-i))}
		s.sets = append(s.sets, sets.New(name, []sets.Matrix{x}, make([]int, 10), 1))
	}
	if got := sets.Names(s.small(2)); got != "a, b, c" {
		t.Errorf("alone: %s", got)
	}
	if s.several = true; sets.Names(s.small(2)) != "b, c" {
		t.Errorf("among all: %s", sets.Names(s.small(2)))
	}
}

// The experiment protocol leaves out sets with a view of fewer features than clusters, and says so.
func TestProtocolLeavesNarrow(t *testing.T) {
	wide := &sets.Set{Name: "wide", Classes: 3, Values: []sets.Matrix{{D: 3}, {D: 4}}}
	narrow := &sets.Set{Name: "narrow", Classes: 3, Values: []sets.Matrix{{D: 9}, {D: 2}}}
	s := &study{sets: []*sets.Set{narrow, wide}}
	if names := s.leaveNarrow(); names != "narrow" || len(s.sets) != 1 || s.sets[0] != wide {
		t.Errorf("left out %q, kept %s", names, sets.Names(s.sets))
	}
	s.sets = []*sets.Set{narrow}
	if err := protocol(context.Background(), s); err == nil || !strings.Contains(err.Error(), "in every view: narrow") {
		t.Error(err)
	}
	if len(s.sets) != 1 {
		t.Error("the sets of the study are others after the experiment")
	}
}

// Sets with the names of the authors' files stand beside the figures of the paper, unless their size is another.
func TestBesideThePaper(t *testing.T) {
	s := smallStudy(t)
	scores := map[string][3]float64{ownName: {81.25, 70, 60}, "LMVSC": {12, 13, 14}}
	printedOf["apples"], printedOf["pears"] = printed{"Apples", 60, 2, scores}, printed{"Pears", 91, 2, scores}
	defer func() { delete(printedOf, "apples"); delete(printedOf, "pears") }()
	if err := table(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range records(t, s, "table-printed.csv")[1:] {
		got[r[0]+": "+r[1]] = r[2] + r[5]
	}
	here := ""
	for _, r := range records(t, s, "table-draws.csv") {
		if r[0] == "LMVSC" && r[1] == "apples NMI" {
			here = r[2]
		}
	}
	if len(got) != 24 || got["Apples, LargeMvC-Net, paper preset: ACC, paper"] != "081.25" || here == "" ||
		got["Apples, LMVSC: NMI, here"] != here {
		t.Errorf("%v, want an NMI of LMVSC of %s", got, here)
	}
	if notes := s.pages[0].notes; !strings.Contains(notes, "pears has 90 samples in 2 views; the paper's Pears has 91") {
		t.Error(notes)
	}
	if len(printedOf) != 8+2 {
		t.Errorf("%d sets", len(printedOf))
	}
	for name, p := range printedOf {
		if name != strings.ToLower(name) || len(p.Scores) < 2 || p.Scores[ownName][0] == 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
