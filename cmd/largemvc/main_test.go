package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
)

// writeSet writes n samples of three well separated classes in two views, with labels if asked for, and returns the path.
func writeSet(t *testing.T, n int, labels bool) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	dims := []int{12, 8}
	var arrays []dataset.Array
	for v, d := range dims {
		centres := make([]float64, 3*d)
		for i := range centres {
			centres[i] = rng.NormFloat64()
		}
		x := make([]float64, n*d)
		for i := range x {
			x[i] = centres[i/d%3*d+i%d] + 0.1*rng.NormFloat64()
		}
		arrays = append(arrays, dataset.Array{Name: fmt.Sprintf("X%d", v), Shape: []int{n, d}, Data: x})
	}
	if labels {
		y := make([]int, n)
		for i := range y {
			y[i] = i % 3
		}
		arrays = append(arrays, dataset.Array{Name: "y", Data: y})
	}
	path := filepath.Join(t.TempDir(), "set.npz")
	if err := dataset.WriteNPZ(path, false, arrays...); err != nil {
		t.Fatal(err)
	}
	return path
}

// runLine runs the command line and returns what it left.
func runLine(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(context.Background(), args, &out, &errs)
	return status, out.String(), errs.String()
}

// object decodes exactly one JSON object.
func object(t *testing.T, s string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v in %q", err, s)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("something follows the object: %q", s)
	}
	return m
}

// keys are those that scripts may rely on.
var keys = strings.Fields(`samples views dims missing_rate clusters anchors layers epochs variant activation
	preprocess plain_read_out
	inputs seed float status
	loss_first loss_last init_seconds seconds_per_epoch fit_seconds train_seconds peak_rss_mb cluster_sizes
	acc nmi ari purity start_acc start_nmi start_ari`)

func TestFitJSON(t *testing.T) {
	path := writeSet(t, 60, true)
	status, stdout, stderr := runLine("fit", "-data", path, "-epochs", "12", "-seed", "7", "-json")
	if status != exitOK {
		t.Fatalf("status %d: %s", status, stderr)
	}
	m := object(t, stdout)
	for _, k := range keys {
		if v, ok := m[k]; !ok || v == nil {
			t.Errorf("%s is %v", k, v)
		}
	}
	for k, want := range map[string]any{"samples": 60.0, "views": 2.0, "clusters": 3.0, "anchors": 3.0, "layers": 2.0,
		"epochs": 12.0, "epochs_asked": 12.0,
		"variant": "large", "activation": "relu", "preprocess": "both",
		"plain_read_out": false,
		"neighbors":      10.0, "landmarks": nil, "filter_steps": 6.0, "neighbor_weight": 3.0, "held_out_weight": 3.0,
		"seed": 7.0, "float": 32.0,
		"status": "epoch limit", "missing_rate": 0.0, "acc": 1.0, "nmi": 1.0, "ari": 1.0, "purity": 1.0, "start_acc": 1.0} {
		if m[k] != want {
			t.Errorf("%s is %v, want %v", k, m[k], want)
		}
	}
	if s := fmt.Sprint(m["dims"], m["cluster_sizes"], m["inputs"]); s != "[12 8] [20 20 20] [13 9]" {
		t.Errorf("dims, sizes and inputs are %s", s)
	}
	if first, last := m["loss_first"].(float64), m["loss_last"].(float64); !(last < first) {
		t.Errorf("the loss went from %v to %v", first, last)
	}
	if rss := m["peak_rss_mb"].(float64); rss < 1 || rss > 10000 {
		t.Errorf("peak_rss_mb is %v", rss)
	}
	if !strings.Contains(stderr, "epoch 12/12") {
		t.Errorf("standard error has no progress: %q", stderr)
	}
}

// TestFitNeighbors wants the report to say what the neighbours did.
func TestFitNeighbors(t *testing.T) {
	path := writeSet(t, 60, true)
	for _, test := range []struct {
		args, json, text string
	}{
		{"", "both 10 <nil> 6 3 [13 9]", "10 nearest samples, mutual, 6 steps of smoothing, weight 3 in " +
			"the loss, held-out information 3"},
		{"-preset paper", "sample <nil> <nil> <nil> <nil> [12 8]", "neighbours   none"},
		{"-set Neighborhood.Neighbors=none", "sample <nil> <nil> <nil> <nil> [12 8]", "neighbours   none"},
		{"-preset paper -set Neighborhood.Neighbors=4", "sample 4 <nil> 6 3 [12 8]", "4 nearest samples, mutual"},
		{"-set Neighborhood.Exact=none -set Neighborhood.Steps=none", "both <nil> 40 0 3 [13 9]",
			"by 40 landmarks, no smoothing, weight 3"},
		{"-set Neighborhood.Exact=20 -set Neighborhood.Landmarks=30 -set Neighborhood.Weight=none", "both <nil> 30 6 0 [13 9]",
			"by 30 landmarks, 6 steps of smoothing, none in the loss"},
		{"-set Neighborhood.HeldOutWeight=none", "both 10 <nil> 6 3 [13 9]",
			"mutual, 6 steps of smoothing, weight 3 in the loss\n"},
		{"-set Neighborhood.HeldOutWeight=1.5", "both 10 <nil> 6 3 [13 9]", "held-out information 1.5"},
		{"-set Neighborhood.Directions=5 -set Preprocess=zscore -set Neighborhood.Steps=1",
			"zscore 10 <nil> 1 3 [5 5]", "2 inputs of 5 + 5 columns"},
	} {
		args := append([]string{"fit", "-data", path, "-epochs", "3", "-quiet"}, strings.Fields(test.args)...)
		status, stdout, stderr := runLine(append(slices.Clone(args), "-json")...)
		if status != exitOK {
			t.Errorf("%s: %s", test.args, stderr)
			continue
		}
		m := object(t, stdout)
		got := fmt.Sprint(m["preprocess"], " ", m["neighbors"], " ", m["landmarks"], " ",
			m["filter_steps"], " ", m["neighbor_weight"], " ", m["inputs"])
		if got != test.json || m["acc"] != 1.0 {
			t.Errorf("%s: %s with ACC %v, want %s", test.args, got, m["acc"], test.json)
		}
		if _, stdout, _ = runLine(args...); !strings.Contains(stdout, test.text) {
			t.Errorf("%s: the summary lacks %q:\n%s", test.args, test.text, stdout)
		}
	}
}

func TestFitNulls(t *testing.T) {
	path := writeSet(t, 30, false)
	status, stdout, stderr := runLine("fit", "-data", path, "-clusters", "3", "-epochs", "0", "-json", "-quiet")
	if status != exitOK || stderr != "" {
		t.Fatalf("status %d: %q", status, stderr)
	}
	m := object(t, stdout)
	for _, k := range strings.Fields("seconds_per_epoch acc nmi ari purity start_acc start_nmi start_ari classes") {
		if v, ok := m[k]; !ok || v != nil {
			t.Errorf("%s is %v (there: %v), want null", k, v, ok)
		}
	}
	if m["epochs"] != 0.0 || m["loss_first"] != m["loss_last"] {
		t.Errorf("without training: %v epochs, loss %v and %v", m["epochs"], m["loss_first"], m["loss_last"])
	}
}

func TestNumber(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if number(x) != nil {
			t.Errorf("%v becomes a number", x)
		}
	}
	if p := number(0.5); p == nil || *p != 0.5 {
		t.Error("0.5 is lost")
	}
}

func TestLabelsFile(t *testing.T) {
	path := writeSet(t, 30, true)
	out := filepath.Join(t.TempDir(), "labels.csv")
	args := []string{"fit", "-data", path, "-epochs", "3", "-out", out}
	status, stdout, stderr := runLine(args...)
	if status != exitOK {
		t.Fatalf("status %d: %s", status, stderr)
	}
	for _, want := range []string{"30 samples, 2 views, 12 + 8 features", "clusters", "ACC 100.0 %"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the summary lacks %q:\n%s", want, stdout)
		}
	}
	first, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(first)), "\n")
	if len(lines) != 31 || lines[0] != "sample,label,confidence,remoteness" {
		t.Fatalf("%d lines, the first %q", len(lines), lines[0])
	}
	numbers := map[string]bool{}
	for i, l := range lines[1:] {
		// The classes 0, 1, 2, 0, … come back in an order of their own, since they have equal sizes.
		label := strings.Split(lines[1+i%3], ",")[1]
		numbers[label] = true
		if want := fmt.Sprintf("%d,%s,", i, label); !strings.HasPrefix(l, want) {
			t.Errorf("line %d is %q, want %q", i+2, l, want)
		}
	}
	if !maps.Equal(numbers, map[string]bool{"0": true, "1": true, "2": true}) {
		t.Errorf("the labels are %v", numbers)
	}
	// The same line again gives the same labels; they start another run.
	if status, _, _ = runLine(args...); status != exitOK {
		t.Fatal("the second run fails")
	}
	if second, err := os.ReadFile(out); err != nil || !bytes.Equal(first, second) {
		t.Error("the same seed gives other labels")
	}
	status, stdout, stderr = runLine("fit", "-data", path, "-epochs", "2", "-json", "-start", out)
	if m := object(t, stdout); status != exitOK || m["start_acc"] != 1.0 {
		t.Errorf("status %d, start_acc %v: %s", status, m["start_acc"], stderr)
	}
}

func TestSeedsGiveTheSameNumbers(t *testing.T) {
	path := writeSet(t, 60, true)
	loss := func(workers, seed string) any {
		_, stdout, _ := runLine("fit", "-data", path, "-epochs", "5", "-workers", workers, "-seed", seed, "-json", "-quiet")
		return object(t, stdout)["loss_last"]
	}
	if a, b := loss("1", "3"), loss("2", "3"); a != b {
		t.Errorf("loss %v with one worker, %v with two", a, b)
	}
}

func TestUsageErrors(t *testing.T) {
	path := writeSet(t, 12, false)
	for _, test := range []struct {
		args string
		want string
	}{
		{"", "no command given"},
		{"cluster", `unknown command "cluster"`},
		{"fit -transform a=log2 -data x.npy -clusters 3", "must be log1p, clr, tfidf"},
		{"fit", "-data FILE is missing"},
		{"fit -mpi -data x.npy", "with -mpi no classes are read from the data"},
		{"fit -mpi -data x.npy -clusters 3 -memberships m.npz", "-memberships m.npz: with -mpi the file is written part by part"},
		{"fit -mpi -data x.npy -preset paper -clusters 3 -features 2", "-features cannot be given with -mpi: leave out one"},
		{"predict -mpi -model m -data x.npy -report r.html", "-report cannot be given with -mpi: leave out one"},
		{"predict -mpi -model m -data x%d-%d.npy", "has %d more than once"},
		{"predict -mpi -model m -data x.npy -out p.parquet", "-from-disk or -mpi the file is written block by block"},
		{"fit -mpi -data - -preset paper -clusters 3", "-mpi does not read standard input"},
		{"fit -mpi -data x%d-%d.npy -preset paper -clusters 3", "has %d more than once"},
		{"fit -mpi -data x.npy -preset paper -clusters 3 -out -", "give -out, -save, -report, -trust and -write-config"},
		{"predict -model m -data x.npz -workers -1", "-workers is -1, want 0 to 4096"},
		{"predict -model m -data x.npz -workers 5000", "-workers is 5000, want 0 to 4096"},
		{"fit -data x.npz more*", `no file matches "more*"`},
		{"fit -dota x.npz", "-dota"},
		{"fit -data", "-data"},
		{"fit -data x.npz -set Noise=Quiet", "which is not from this package"},
		{"fit -data x.npz -set Float64=16", "-set Float64 is 16: must be true or false"},
		{"fit -data x.npz -set Neighborhood.KnownWeight=-1", "KnownWeight"},
		{"fit -data x.npz -epochs -1", "-epochs is -1"},
		{"fit -data x.npz -epochs ten", "-epochs"},
		{"fit -data x.npz -set Layers=-1", "-set Layers is -1: must be at least 1"},
		{"fit -data x.npz -set Optimizer.LearningRate=-1", "-set Optimizer.LearningRate is -1: must be a number above 0"},
		{"fit -data x.npz -set Optimizer.LearningRate=NaN", "-set Optimizer.LearningRate is NaN: must be a number, or none"},
		{"fit -data x.npz -set Represent.Lipschitz=0.5", "-set Represent.Lipschitz is 0.5: must be at least 1"},
		{"fit -data x.npz -clusters -2", "-clusters is -2"},
		{"fit -data " + path + " -clusters 2 -out l.npz", "-out l.npz: the table is not written as .npz"},
		{"predict -model m -data x.npz -out l.csv.gz", "-out l.csv.gz: the table is not written as .gz"},
		{"fit -data " + path + " -clusters 2 -trust t.npy", "-trust t.npy: the table is not written as .npy"},
		{"fit -data " + path + " -clusters 2 -report r.pdf", "-report r.pdf: the report is not written as .pdf"},
		{"choose -data " + path + " -figure c.png", "-figure c.png: the figure is not written as .png"},
		{"fit -data x.npz -missing 0.1", "there is no flag -missing"},
		{"fit -data x.npz -max-memory 700MiB", `"700MiB" for flag -max-memory: must be a whole number of 0 or more`},
		{"fit -data x.npz -seed -1", `"-1" for flag -seed: must be a whole number of 0 or more`},
		{"fit -data x.npz -layers 3", "there is no flag -layers: -set Layers=VALUE sets it"},
		{"fit -data x.npz -held-out-weight 3", "-set Neighborhood.HeldOutWeight=VALUE sets it"},
		{"choose -data x.npz -layers 3", "there is no flag -layers"},
		{"fit -data x.npz -sparse no", "must be auto, keep, never, always"},
		{"fit -data x.npz -orientation up", "must be auto, rows, columns"},
		{"fit -data x.npz -set FitSamples=-1", "-set FitSamples is -1"},
		{"fit -data x.npz -max-memory -1", "-max-memory is -1"},
		{"fit -data x.npz -set Neighborhood.Neighbors=few", "must be a whole number, or none"},
		{"fit -data x.npz -set Neighborhood.Neighbors=2.5", "must be a whole number, or none"},
		{"fit -data x.npz -set Neighborhood.Neighbors=-3", "-set Neighborhood.Neighbors is -3"},
		{"fit -data x.npz -set Neighborhood.Directions=-2", "-set Neighborhood.Directions is -2"},
		{"fit -data x.npz -set Neighborhood.Weight=inf", "must be a number, or none"},
		{"fit -data x.npz -set Neighborhood.Landmarks=-1", "-set Neighborhood.Landmarks is -1"},
		{"fit -data x.npz -set Neighborhood.Neighbors=none -set Neighborhood.Directions=5", "no effect without neighbours"},
		{"fit -data x.npz -preset paper -set Neighborhood.Directions=9", "no effect without neighbours"},
		{"fit -data x.npz -preset paper -set Preprocess=twice", "unknown preprocessing"},
		{"predict -data x.npz", "-model FILE is missing"},
		{"predict -model m", "-data FILE is missing"},
		{"predict -model m x[1].npz", `no file matches "x[1].npz"`},
		{"predict -epochs 3", "-epochs"},
		{"inspect", "FILE is missing"},
		{"inspect -clusters -1 x.npz", "-clusters is -1"},
		{"inspect x.npz -bad", "-bad"},
		{"version now", `unexpected argument "now"`},
		{"help cluster", `unknown command "cluster"`},
		{"fit -data " + path, "has no labels to count classes in"},
		{"fit -data " + path + " -clusters 13", "-clusters is 13, and the data have only 12 samples"},
	} {
		status, stdout, stderr := runLine(strings.Fields(test.args)...)
		checkFailure(t, test.args, exitUsage, status, stdout, stderr, test.want)
	}
}

// checkFailure wants the status, nothing on standard output and one line with want on standard error.
func checkFailure(t *testing.T, name string, wantStatus, status int, stdout, stderr, want string) {
	t.Helper()
	if status != wantStatus {
		t.Errorf("%s: status %d, want %d", name, status, wantStatus)
	}
	if stdout != "" {
		t.Errorf("%s: standard output has %q", name, stdout)
	}
	if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "largemvc: ") || !strings.Contains(stderr, want) {
		t.Errorf("%s: standard error is %q, want one line with %q", name, stderr, want)
	}
}

func TestBadFiles(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole, err := os.ReadFile(writeSet(t, 30, true))
	if err != nil {
		t.Fatal(err)
	}
	good := write("good.npz", whole)
	npz := func(name string, arrays ...dataset.Array) string {
		path := filepath.Join(folder, name)
		if err := dataset.WriteNPZ(path, false, arrays...); err != nil {
			t.Fatal(err)
		}
		return path
	}
	labels := write("start.csv", []byte("sample,label\n0,1\n2,0\n"))
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"missing", []string{"-data", filepath.Join(folder, "none.npz")}, "none.npz"},
		{"truncated", []string{"-data", write("cut.npz", whole[:len(whole)/2])}, "cut.npz"},
		{"empty", []string{"-data", write("empty.npz", nil)}, "empty.npz"},
		{"text", []string{"-data", write("noise.npz", bytes.Repeat([]byte("no numbers here\n"), 20))}, "noise.npz"},
		{"NaN", []string{"-data", npz("nan.npz",
			dataset.Array{Name: "X0", Shape: []int{3, 2}, Data: []float64{1, 2, 3, math.NaN(), 5, 6}},
			dataset.Array{Name: "y", Data: []int{0, 1, 1}})}, "row 1"},
		{"different n", []string{"-data", npz("sizes.npz",
			dataset.Array{Name: "X0", Shape: []int{3, 2}, Data: []float64{1, 2, 3, 4, 5, 6}},
			dataset.Array{Name: "X1", Shape: []int{2, 3}, Data: []float64{1, 2, 3, 4, 5, 6}},
			dataset.Array{Name: "y", Data: []int{0, 1, 1}})}, "sizes.npz"},
		{"constant", []string{"-data", npz("constant.npz",
			dataset.Array{Name: "X0", Shape: []int{3, 2}, Data: []float64{1, 1, 1, 1, 1, 1}},
			dataset.Array{Name: "y", Data: []int{0, 1, 1}})}, "constant"},
		{"no folder for the labels", []string{"-data", good, "-out", filepath.Join(folder, "none", "labels.csv")}, "no folder"},
		{"labels over a folder", []string{"-data", good, "-out", folder}, "is a folder"},
		{"start labels out of step", []string{"-data", good, "-start", labels}, "has ids in column sample, and "},
		{"a missing row", []string{"-data", npz("absent.npz",
			dataset.Array{Name: "X0", Shape: []int{3, 2}, Data: []float64{1, 2, math.NaN(), math.NaN(), 5, 6}},
			dataset.Array{Name: "X1", Shape: []int{3, 2}, Data: []float64{1, 2, 4, 3, 5, 6}},
			dataset.Array{Name: "y", Data: []int{0, 1, 1}})}, "give -missing-rows"},
		{"no such labels", []string{"-data", good, "-labels", "none.csv"}, "no variable none.csv for the labels"},
		{"no such view", []string{"-data", good, "-views", "X0,Z"}, "no variable Z"},
		{"mask of another size", []string{"-data", good, "-mask", good}, "mask"},
		{"no start labels", []string{"-data", good, "-start", filepath.Join(folder, "none.csv")}, "none.csv"},
	} {
		status, stdout, stderr := runLine(append([]string{"fit", "-epochs", "2", "-quiet"}, test.args...)...)
		stderr = strings.SplitAfter(stderr, "\n")[0] // a line that reads the files may follow
		checkFailure(t, test.name, exitError, status, stdout, stderr, test.want)
	}
}

func TestStartLabels(t *testing.T) {
	for _, test := range []struct {
		text, want string
		ids        []string
	}{
		{"id,sample,label\nc,0,0\na,1,1\nb,2,0\n", "", []string{"a", "b", "c"}},
		{"id,sample,label\nc,0,0\na,1,1\nc,2,0\n", "has the id c twice", []string{"a", "b", "c"}},
		{"id,sample,label\nc,0,0\na,1,1\nd,2,0\n", "no label for 1 of the 3 samples", []string{"a", "b", "c"}},
		{"\ufeffid,label\nc,0\na,1\nb,0\n", "", []string{"a", "b", "c"}},
		{"Label, ID\n0,c\n1,a\n0,b\n", "", []string{"a", "b", "c"}},
		{"\ufefflabel\n1\n0\n1\n", "", nil},
		{"0\n1\n1\n", "", nil},
		{"label,sample\n0,0\n1,1\n0,2\n", "", nil},
		{"0\n1\n", "2 labels for the 3 samples of x.npz", nil},
		{"0\n1\n1\n0\n", "4 labels for the 3 samples of x.npz", nil},
		{"id,label\na,0\nb,1\nc,0\n", "has ids in column id", nil},
		{"label\n0\n1\n0\n", "x.npz: has ids, and ", []string{"a", "b", "c"}},
		{"0\n2\n1\n", `the label "2" is not a whole number from 0 to 1`, nil},
		{"0\nx\n1\n", `the label "x"`, nil},
		{"a,b\n0,1\n", "no vector of labels", nil},
		{"label,x\n0,1\n1\n", "has 1 fields in line 3", nil},
		{gzipped(t, "Label, ID\n0,c\n1,a\n0,b\n"), "", []string{"a", "b", "c"}},
		{inUTF16("label;id\n0;c\n1;a\n0;b\n"), "", []string{"a", "b", "c"}},
		{"label\tid\n0\tc\n1\ta\n0\tb\n", "", []string{"a", "b", "c"}},
	} {
		path := filepath.Join(t.TempDir(), "labels.csv")
		if err := os.WriteFile(path, []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		labels, err := (&dataOptions{data: []string{"x.npz"}}).readStartLabels(t.Context(), path, 3, 2, test.ids)
		if test.want == "" && (err != nil || len(labels) != 3 || test.ids != nil && fmt.Sprint(labels) != "[1 0 0]") {
			t.Errorf("%q: %v, %v", test.text, labels, err)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%q: error %v, want %q", test.text, err, test.want)
		}
	}
}

// TestStartLabelsID: -id names the column of the ids in the file of -start too, if the file has it.
func TestStartLabelsID(t *testing.T) {
	for _, name := range []string{"key", "id"} {
		path := writeText(t, "labels.csv", name+",label\n30,0\n10,1\n20,0\n")
		o := &dataOptions{data: []string{"x.npz"}, id: "key"}
		labels, err := o.readStartLabels(t.Context(), path, 3, 2, []string{"10", "20", "30"})
		if err != nil || fmt.Sprint(labels) != "[1 0 0]" {
			t.Errorf("%s: %v, %v", name, labels, err)
		}
	}
}

// trigger cancels when the first line of progress is written.
type trigger struct {
	bytes.Buffer
	cancel context.CancelFunc
}

func (w *trigger) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("epoch ")) {
		w.cancel()
	}
	return w.Buffer.Write(p)
}

func TestInterrupt(t *testing.T) {
	path := writeSet(t, 60, true)
	ctx, cancel := context.WithCancel(context.Background())
	var stdout bytes.Buffer
	stderr := &trigger{cancel: cancel}
	out := filepath.Join(t.TempDir(), "labels.csv")
	status := run(ctx, []string{"fit", "-data", path, "-epochs", "500", "-json", "-out", out}, &stdout, stderr)
	m := object(t, stdout.String())
	if status != exitError || m["status"] != "cancelled" || m["epochs"] != 1.0 || m["epochs_asked"] != 500.0 {
		t.Errorf("status %d, %v after %v of %v epochs", status, m["status"], m["epochs"], m["epochs_asked"])
	}
	if !strings.Contains(stderr.String(), "largemvc: cancelled after 1 of 500 epochs") {
		t.Errorf("standard error is %q", stderr.String())
	}
	if b, err := os.ReadFile(out + partialEnding); err != nil || bytes.Count(b, []byte("\n")) != 61 {
		t.Errorf("labels: %v, %q", err, b)
	}
	// Before the first epoch there is nothing to print.
	stdout.Reset()
	var errs bytes.Buffer
	status = run(ctx, []string{"fit", "-data", path, "-json"}, &stdout, &errs)
	checkFailure(t, "cancelled at once", exitError, status, stdout.String(), errs.String(), "no result")
}

func TestResume(t *testing.T) {
	path := writeSet(t, 60, true)
	folder := t.TempDir()
	state, model := filepath.Join(folder, "state"), filepath.Join(folder, "model")
	args := []string{"fit", "-data", path, "-epochs", "40", "-seed", "3", "-set", "Layers=3",
		"-json", "-quiet"}
	_, whole, _ := runLine(args...)
	want := object(t, whole)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var stdout bytes.Buffer
	line := append(slices.DeleteFunc(slices.Clone(args), func(s string) bool { return s == "-quiet" }), "-checkpoint", state)
	if status := run(ctx, line, &stdout, &trigger{cancel: cancel}); status != exitError {
		t.Fatalf("interrupted: status %d", status)
	}
	status, resumed, stderr := runLine("fit", "-data", path, "-resume", state, "-save", model, "-json", "-quiet")
	if status != exitOK {
		t.Fatalf("resumed: status %d, %s", status, stderr)
	}
	got := object(t, resumed)
	for _, k := range strings.Fields("loss_first loss_last epochs epochs_asked layers seed clusters variant status acc") {
		if got[k] != want[k] {
			t.Errorf("%s is %v, without an interruption %v", k, got[k], want[k])
		}
	}
	if _, err := largemvc.Load(model); err != nil {
		t.Errorf("the model: %v", err)
	}
	status, resumed, stderr = runLine("fit", "-data", path, "-resume", state, "-epochs", "50", "-json", "-quiet")
	if status != exitOK {
		t.Fatalf("trained on: status %d, %s", status, stderr)
	}
	_, whole, _ = runLine(append(slices.Clone(args), "-epochs", "50")...)
	longer := object(t, whole)
	if got = object(t, resumed); got["epochs"] != 50.0 || got["loss_last"] != longer["loss_last"] ||
		got["loss_last"] == want["loss_last"] {
		t.Errorf("trained on: %v epochs, loss %v after %v, want %v", got["epochs"], got["loss_last"], want["loss_last"],
			longer["loss_last"])
	}

	status, out, stderr := runLine("fit", "-data", path, "-resume", state, "-set", "Layers=2")
	checkFailure(t, "another setting", exitUsage, status, out, stderr, "-set Layers cannot be given with -resume")
	status, out, stderr = runLine("fit", "-data", path, "-resume", path, "-quiet")
	checkFailure(t, "no checkpoint", exitError, status, out, stderr, "set.npz")
	status, out, stderr = runLine("fit", "-data", path, "-resume", state, "-set", "Float64=true", "-quiet")
	checkFailure(t, "other arithmetic", exitError, status, out, stderr, "give -set Float64=false")
	status, out, stderr = runLine("fit", "-data", writeSet(t, 30, true), "-resume", state, "-quiet")
	checkFailure(t, "other data", exitError, status, out, stderr, "60×12")
}

func TestSeveralFiles(t *testing.T) {
	folder := t.TempDir()
	rng := rand.New(rand.NewPCG(2, 2))
	var args []string
	for _, name := range []string{"shape", "colour"} {
		x := make([]float64, 40*6)
		for i := range x {
			x[i] = float64(i/6%2)*float64(i%6) + 0.1*rng.NormFloat64()
		}
		path := filepath.Join(folder, name+".npz")
		if err := dataset.WriteNPZ(path, true, dataset.Array{Name: "X0", Shape: []int{40, 6}, Data: x}); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-data", path)
	}
	status, stdout, stderr := runLine(append([]string{"fit", "-clusters", "2", "-epochs", "2", "-json", "-set", "Float64=true",
		"-set", "Noise=NoNoise", "-set", "Represent.Activation=selu", "-preset", "paper", "-set", "Preprocess=balanced"},
		args...)...)
	if status != exitOK {
		t.Fatalf("status %d: %s", status, stderr)
	}
	m := object(t, stdout)
	for k, want := range map[string]any{"views": 2.0, "float": 64.0, "variant": "amvc", "activation": "selu",
		"preprocess": "balanced"} {
		if m[k] != want {
			t.Errorf("%s is %v, want %v", k, m[k], want)
		}
	}
}

// TestFitSaysThatTheStartIsKept: far too long steps spoil the clusters; summary, JSON and warnings have both scores.
func TestFitSaysThatTheStartIsKept(t *testing.T) {
	args := []string{"fit", "-data", writeSet(t, 120, true), "-set", "Optimizer.LearningRate=2", "-epochs", "4", "-quiet"}
	status, stdout, stderr := runLine(append(args, "-json")...)
	m := object(t, stdout)
	start, _ := m["start_score"].(float64)
	trained, _ := m["trained_score"].(float64)
	if status != exitOK || m["kept"] != true || !(start > trained) || len(m["notes"].([]any)) != 1 {
		t.Fatalf("status %d, kept %v, scores %v and %v, notes %v", status, m["kept"], start, trained, m["notes"])
	}
	if want := fmt.Sprintf("score is %.4g, after training it is %.4g", start, trained); !strings.Contains(stderr, want) {
		t.Errorf("standard error does not say %q: %s", want, stderr)
	}
	_, stdout, _ = runLine(args...)
	want := fmt.Sprintf("the initial clusters: their score (%.4g) is above the score after the training (%.4g)", start, trained)
	if !strings.Contains(stdout, want) {
		t.Errorf("the summary does not say %q:\n%s", want, stdout)
	}
}
