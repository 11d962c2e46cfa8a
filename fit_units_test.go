package largemvc

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
)

// The units of ρ that are given are those of the thresholds as applied, beside a module of a user's own and after Load too.
func TestUnitsOfRho(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(60, 3, 0.7, 301, 9, 6)
	units := []float64{2, 5}
	for name, represent := range map[string]Represent{"stock": nil, "own": &ownSoft{}} {
		got := mustFit(t, views, paper(Config{
			Clusters: 3, Epochs: 3, Represent: represent, Noise: &RowShrink{Rho0: 0.3, Scale: units},
		}))
		for l, layer := range got.Rho {
			for v, rho := range layer {
				learned, _, err := got.Parameter(fmt.Sprintf("rho_%d_%d", l+1, v))
				if err != nil || math.Abs(rho-units[v]*learned[0]) > 1e-6*rho {
					t.Errorf("%s: ρ of layer %d and view %d is %v, learned as %v, %v", name, l+1, v, rho, learned, err)
				}
			}
		}
		labels, err := got.Predict(context.Background(), views)
		if err != nil || !slices.Equal(labels, got.Labels) {
			t.Fatalf("%s: %v, %v, want %v", name, err, labels, got.Labels)
		}
		loaded, err := ReadPredictor(bytes.NewReader(encode(t, got.Predictor)), own(represent)...)
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
			t.Errorf("%s: the loaded model is saved otherwise", name)
		}
	}
}

// own returns a new module to load beside a model with the module m, none where m is nil.
func own(m Represent) []Module {
	if m == nil {
		return nil
	}
	return []Module{&ownSoft{}}
}
