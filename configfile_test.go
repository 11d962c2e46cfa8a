package largemvc

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/machine"
)

// otherNoise is a module of a user's own.
type otherNoise struct {
	NoNoise
	Strength float64
}

// A configuration comes out of JSON as it went in, modules included, or is refused with the name of the field.
func TestConfigInJSON(t *testing.T) {
	for name, want := range map[string]Config{
		"zero":     {},
		"defaults": (Config{Clusters: 3}).WithDefaults(),
		"paper":    (paper(Config{Clusters: 3})).WithDefaults(),
		"modules": {
			Clusters: 4, Represent: &SoftThreshold{OneSided: true, Theta0: 0.5, Activation: SELU},
			Noise: &RowShrink{Scale: []float64{2, 3}}, Anchor: &FixedAnchors{}, StartLabels: []int{0, 1, 3},
			Epochs: None, Machine: machine.Options{Workers: 3}, Checkpoint: Checkpoint{Path: "x", Every: 2},
		},
		"some": {Noise: &NoNoise{}},
	} {
		for _, x := range []any{want, &want} {
			text, err := json.Marshal(x)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var got Config
			if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v, %+v, want %+v, of %s", name, err, got, want, text)
			}
		}
	}
	for want, c := range map[string]Config{
		"Noise is a *largemvc.otherNoise":            {Noise: &otherNoise{Strength: 2}},
		"Represent is a nil *largemvc.SoftThreshold": {Represent: (*SoftThreshold)(nil)},
		"StartAnchors": {StartAnchors: []mat.Matrix{mat.NewDense(1, 1, nil)}},
		"ExtraLoss":    {ExtraLoss: func(Network) (*gorgonia.Node, error) { return nil, nil }},
	} {
		if text, err := json.Marshal(c); err == nil || !strings.Contains(err.Error(), "largemvc: "+want) {
			t.Errorf("%s, %v, want an error that says %q", text, err, want)
		}
	}
}

// What is not in a text stays as it is, and what cannot be read leaves all as it was.
func TestConfigFromJSON(t *testing.T) {
	begin := Config{Clusters: 3, Layers: 5, Noise: &NoNoise{}, Anchor: &FixedAnchors{}}
	got := begin
	text := `{"Clusters":7,"Reduction":"mean","Anchor":null,"Represent":{"Type":"SoftThreshold"}}`
	want := Config{Clusters: 7, Layers: 5, Reduction: ReductionMean, Noise: begin.Noise, Represent: &SoftThreshold{}}
	if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %+v, want %+v", err, got, want)
	}
	for text, want := range map[string]string{
		`{"Clusters":9,"Noise":{"Type":"*example.org/own.Noise"}}`:              "Noise is of type \"*example.org/own.Noise\"",
		`{"Clusters":9,"Noise":{"Strength":2}}`:                                 "Noise is of type \"\"",
		`{"Clusters":9,"Noise":{"Type":"Procrustes"}}`:                          "Noise cannot be a Procrustes",
		`{"Clusters":9,"Noise":{"Type":"RowShrink","Settings":{"Rho0":"few"}}}`: "the settings of Noise",
		`{"Clusters":9,"Reduction":"other"}`:                                    "other",
	} {
		got := begin
		if err := json.Unmarshal([]byte(text), &got); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that says %q", text, err, want)
		}
		if !reflect.DeepEqual(got, begin) {
			t.Errorf("%s: %+v was read", text, got)
		}
	}
}
