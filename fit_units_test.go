package largemvc

import (
	"bytes"
	"context"
	"slices"
	"testing"
)

// A fit whose units of ρ are given, as another has measured them, is that fit.
func TestGivenUnitsOfRho(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(60, 3, 0.7, 301, 9, 6)
	c := Config{Clusters: 3, Anchors: 5, Epochs: 4, Preset: PresetPaper, Noise: &RowShrink{Rho0: 0.3, DataScale: true}}
	want := mustFit(t, views, c)
	if want.scale[0] == 1 || want.scale[0] == want.scale[1] {
		t.Fatalf("the units are %v", want.scale)
	}
	c.Noise = &RowShrink{Rho0: 0.3, Scale: slices.Clone(want.scale)}
	got := mustFit(t, views, c)
	sameMatrix(t, "H", got.H, want.H)
	if !slices.Equal(got.scale, want.scale) {
		t.Errorf("the units are %v, want %v", got.scale, want.scale)
	}
}

// The unit of ρ that Fit measures is known to whoever labels new samples beside a module of a user's own, after Load too, and the
// configuration does not have it: with that other samples are measured anew.
func TestMeasuredUnitBesideOwnModule(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(60, 3, 0.7, 301, 9, 6)
	c := Config{
		Clusters: 3, Epochs: 3, Preset: PresetPaper, Represent: &ownSoft{}, Noise: &RowShrink{Rho0: 0.3, DataScale: true},
	}
	got := mustFit(t, views, c)
	labels, err := got.Predict(context.Background(), views)
	if err != nil || !slices.Equal(labels, got.Labels) {
		t.Fatalf("%v, %v, want %v", err, labels, got.Labels)
	}
	var file bytes.Buffer
	if _, err := got.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	loaded, err := ReadPredictor(&file, &ownSoft{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := loaded.Transform(context.Background(), views)
	if err != nil {
		t.Fatal(err)
	}
	want, err := got.Transform(context.Background(), views)
	if err != nil {
		t.Fatal(err)
	}
	sameMatrix(t, "H", again, want)
	if !bytes.Equal(encode(t, loaded), encode(t, got.Predictor)) {
		t.Error("the loaded model is saved otherwise")
	}
	others, _ := blobViews(60, 3, 0.7, 309, 9, 6, 4)
	anew := mustFit(t, others, c)
	if slices.Equal(anew.scale[:2], got.scale) {
		t.Fatalf("both data sets have the unit %v", got.scale)
	}
	for name, p := range map[string]*Predictor{"fitted": got.Predictor, "loaded": loaded} {
		c := p.Config()
		if noise := c.Noise.(*RowShrink); noise.Scale != nil || !noise.DataScale {
			t.Errorf("%s: the configuration has %+v", name, noise)
		}
		if fit := mustFit(t, others, c); !slices.Equal(fit.scale, anew.scale) {
			t.Errorf("%s: a fit with its configuration has the unit %v, want %v", name, fit.scale, anew.scale)
		}
	}
}
