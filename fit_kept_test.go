package largemvc

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"

	"gonum.org/v1/gonum/mat"
)

// spoilt is a configuration whose training takes the clusters apart: its steps are far too long.
func spoilt(config Config) Config {
	config.Clusters, config.Epochs, config.LearningRate = 4, 4, 2
	return config
}

// Where the clusters of the trained network have less information than those of the start, these are given, and the predictor has
// them too, saved, resumed or not.
func TestKept(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	views, classes := blobViews(120, 4, 0.5, 31, 20, 6)
	for name, config := range map[string]Config{
		"float32": {}, "float64": {Float64: true}, "landmarks": {Neighborhood: Neighborhood{Exact: None}},
		"plain rows": {PlainReadOut: true},
	} {
		config = spoilt(config)
		config.Checkpoint.Path = filepath.Join(t.TempDir(), "state")
		got := mustFit(t, views, config)
		if !got.Kept || !strings.Contains(got.String(), "start are kept") || !(got.TrainedScore < got.StartScore) {
			t.Fatalf("%s: %v, scores %v and %v", name, got, got.StartScore, got.TrainedScore)
		}
		said := fmt.Sprintf("score is %.4g, that after training %.4g", got.StartScore, got.TrainedScore)
		if len(got.Notes) != 1 || !strings.HasSuffix(got.Notes[0], said) {
			t.Errorf("%s: the notes %q do not say %q", name, got.Notes, said)
		}
		if acc := agree(t, got.Labels, classes); acc < 0.98 {
			t.Errorf("%s: ACC %v", name, acc)
		}
		if !samePartition(t, got.Labels, got.StartLabels) {
			t.Errorf("%s: other clusters than those of the start", name)
		}
		checkResult(t, views, got)
		h, err := got.Transform(ctx, views)
		if err != nil {
			t.Fatal(err)
		}
		if !mat.EqualApprox(h, got.H, 1e-5) {
			t.Errorf("%s: H of the samples as new ones differs", name)
		}
		var file bytes.Buffer
		if _, err := got.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		read, err := ReadPredictor(&file)
		if err != nil {
			t.Fatal(err)
		}
		samePredictor(t, got.Predictor, read)
		if labels, err := read.Predict(ctx, views); err != nil || !slices.Equal(labels, got.Labels) {
			t.Errorf("%s: the model that was read predicts other labels, %v", name, err)
		}
		resumed, err := Resume(ctx, views, config.Checkpoint.Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		sameResult(t, got, resumed)
	}
}

// A start is kept neither where it cannot be compared, nor beside a custom module, nor where training is of use.
func TestNotKept(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(120, 4, 0.5, 31, 20, 6)
	missing, err := testutil.Masked(views, absent(120, 2, 0.2, 7))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		views  []View
		config Config
	}{
		"absent rows":   {missing, spoilt(Config{})},
		"more anchors":  {views, spoilt(Config{Anchors: 6})},
		"given labels":  {views, spoilt(Config{StartLabels: slices.Repeat([]int{0, 1, 2, 3}, 30)})},
		"one term":      {views, spoilt(Config{Neighborhood: Neighborhood{HeldOutWeight: None}})},
		"no neighbours": {views, spoilt(Config{Neighborhood: Neighborhood{Neighbors: None}})},
		"custom module": {views, spoilt(Config{Represent: &ownSoft{}})},
		"untrained":     {views, Config{Clusters: 4, Epochs: None}},
		"trained":       {views, Config{Clusters: 4}},
	} {
		got := mustFit(t, test.views, test.config)
		if got.Kept || strings.Contains(got.String(), "kept") || got.Notes != nil {
			t.Errorf("%s: %v, %q", name, got, got.Notes)
		}
		if compared := got.StartScore != 0 || got.TrainedScore != 0; compared != (name == "trained") {
			t.Errorf("%s: scores %v and %v", name, got.StartScore, got.TrainedScore)
		}
	}
}

// A fit on some of the samples says as well that their start is kept.
func TestKeptOfSomeSamples(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(240, 4, 0.5, 31, 20, 6)
	got := mustFit(t, views, spoilt(Config{FitSamples: 120}))
	if !got.Kept || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "Fit kept the clusters of the start") {
		t.Errorf("kept %v, notes %q", got.Kept, got.Notes)
	}
}
