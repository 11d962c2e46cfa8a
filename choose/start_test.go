package choose

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
)

// TestStart: even groups keep the default's start, which costs no stability. The configuration is then as it was.
func TestStart(t *testing.T) {
	views, _ := blobViews(90, 3, 0.5, 52, 6, 4)
	config := largemvc.Config{Clusters: 3, Seed: 4}
	got, found, err := Start(t.Context(), views, config)
	if err != nil {
		t.Fatal(err)
	}
	if found.Chosen != 0 || got.StartLabels != nil || got.Preprocess != 0 || len(found.Candidates) != 3 {
		t.Errorf("%v: %+v", found, got)
	}
	for _, c := range found.Candidates {
		if !math.IsNaN(c.Stability) || !(c.Evenness > 0.9) {
			t.Errorf("%+v", c)
		}
	}
	config.Known = slices.Repeat([]int{0, 1, -1}, 30)
	known, again, err := Start(t.Context(), views, config)
	if err != nil || again.String() != found.String() || !slices.Equal(known.Known, config.Known) {
		t.Errorf("with known labels: %v, %v", again, err)
	}
	config.Known, config.Preprocess = nil, largemvc.PreprocessZScore
	if _, found, err = Start(t.Context(), views, config); err != nil || len(found.Candidates) != 2 {
		t.Errorf("with a standardisation of its own: %v, %v", found, err)
	}
}

// TestStartOfUnevenClasses takes other starts on two sets whose classes are uneven, and a fit from there is better. The same
// seed gives the same start for any number of goroutines.
func TestStartOfUnevenClasses(t *testing.T) {
	testutil.Long(t, "it compares starts twice")
	views, classes := realSet(t, "webkb")
	config := largemvc.Config{Clusters: 4, Machine: machine.Options{Workers: 1}, NoStructure: true}
	got, found, err := Start(t.Context(), views, config)
	if err != nil {
		t.Fatal(err)
	}
	if found.Chosen != 1 || got.Preprocess != largemvc.PreprocessSample || got.StartLabels != nil {
		t.Errorf("%v", found)
	}
	config.Machine.Workers = 3
	if _, again, err := Start(t.Context(), views, config); err != nil || again.String() != found.String() {
		t.Errorf("with other workers: %v, %v", again, err)
	}
	before, after := accuracy(t, classes, fitted(t, views, config)), accuracy(t, classes, fitted(t, views, got))
	if after < before+0.01 {
		t.Errorf("%v: accuracy %v, by default %v", found, after, before)
	}
}

func accuracy(t *testing.T, classes []int, c *largemvc.Clustering) float64 {
	t.Helper()
	s, err := largemvc.Evaluate(classes, c.Labels)
	if err != nil {
		t.Fatal(err)
	}
	return s.ACC
}

// TestStabilityOfStart: the same clusters in all parts have the stability 1, and samples without groups a low one.
func TestStabilityOfStart(t *testing.T) {
	views, _ := blobViews(90, 3, 0.2, 52, 6, 4)
	plain := starters(largemvc.Config{Clusters: 3})[2]
	got, err := plain.stability(t.Context(), views, partsOf(views, 1))
	if err != nil || math.Abs(got-1) > 1e-12 {
		t.Errorf("stability %v, %v", got, err)
	}
	noise, _ := blobViews(90, 3, 1e3, 52, 6, 4)
	if got, err := plain.stability(t.Context(), noise, partsOf(noise, 1)); err != nil || got > 0.8 {
		t.Errorf("of noise: %v, %v", got, err)
	}
	few, _ := blobViews(9, 3, 0.2, 52, 6, 4)
	plain = starters(largemvc.Config{Clusters: 8})[2]
	if got, err := plain.stability(t.Context(), few, partsOf(few, 1)); err != nil || !math.IsNaN(got) {
		t.Errorf("of parts that are too small: %v, %v", got, err)
	}
	for n, labels := range map[float64][]int{1: {0, 1, 0, 1}, 0: {1, 1, 1, 1}} {
		if got := even(labels, 2); got != n {
			t.Errorf("the evenness of %v is %v", labels, got)
		}
	}
}

// A row that cannot be read, whenever that is, is an error, and not a clustering or an index of NaN.
func TestReadThatFails(t *testing.T) {
	const n = 40
	x, _ := testutil.Blobs(n, 2, 0.4, 52, 6, 4)
	s := testutil.NewSource(n, 4, x[1])
	views := []largemvc.View{largemvc.DenseView(n, 6, x[0]), largemvc.RowsView(s).Named("sensor")}
	config := largemvc.Config{Clusters: 2, Epochs: 1, Machine: machine.Options{Workers: 1}}
	plain := starters(config)[2]
	for name, call := range map[string]func() error{
		"Clusters": func() error {
			_, err := Clusters(t.Context(), views, config, Config{Clusters: []int{2, 3}, Samples: 20})
			return err
		},
		"Start":     func() error { _, _, err := Start(t.Context(), views, config); return err },
		"stability": func() error { _, err := plain.stability(t.Context(), views, partsOf(views, 1)); return err },
	} {
		s.EachReadFails(t, name, "view 1 (sensor)", call)
	}
}

// A scale for each input of both standardisations is no reason to refuse: the start of one standardisation is left out.
func TestStartWithScale(t *testing.T) {
	views, _ := blobViews(60, 3, 0.5, 52, 20, 18)
	c := largemvc.Config{Clusters: 3, Epochs: 1, Noise: &largemvc.RowShrink{Scale: []float64{1, 2, 1, 2}}}
	config, found, err := Start(t.Context(), views, c)
	if err != nil || len(found.Candidates) != 2 {
		t.Fatalf("%v, %v", found, err)
	}
	if _, err := largemvc.Fit(t.Context(), views, config); err != nil {
		t.Error(err)
	}
}

// TestStartErrors: what leaves no start to choose is an error before any work.
func TestStartErrors(t *testing.T) {
	views, _ := blobViews(40, 2, 0.2, 52, 6, 4)
	for want, c := range map[string]largemvc.Config{
		"without neighbours":   {Clusters: 2, Neighborhood: largemvc.Neighborhood{Neighbors: largemvc.None}},
		"StartLabels or Start": {Clusters: 2, StartLabels: slices.Repeat([]int{0, 1}, 20)},
		"FitSamples is set":    {Clusters: 2, FitSamples: 20},
		"Clusters is 41":       {Clusters: 41},
		"Machine.Comm is set":  {Clusters: 2, Machine: machine.Options{Comm: comm.Local(2)[0]}},
	} {
		if _, found, err := Start(t.Context(), views, c); err == nil || found != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if text := new(Starts).String(); text != "no initial clusterings were compared" {
		t.Error(text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Start(ctx, views, largemvc.Config{Clusters: 2}); err != context.Canceled {
		t.Error(err)
	}
}
