package largemvc

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestFeatureNames: names of features travel into the model and its file, which refuses others.
func TestFeatureNames(t *testing.T) {
	const n, d = 30, 4
	x := make([]float64, n*d)
	for i := range x {
		x[i] = float64(i%d*(i/d%3)) + float64(i*7%11)/10
	}
	names := []string{"a", "größe", "c\nd", ""}
	named := DenseView(n, d, x).WithFeatures(names)
	for _, config := range []Config{{Clusters: 3, Epochs: 1}, paper(Config{Clusters: 3, Epochs: 1, Float64: true})} {
		c, err := Fit(t.Context(), []View{named, DenseView(n, d, x)}, config)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := c.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		model, err := ReadPredictor(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*Predictor{c.Predictor, model} {
			if !slices.Equal(p.FeatureNames(0), names) || p.FeatureNames(1) != nil || p.FeatureNames(2) != nil {
				t.Errorf("names %q and %q", p.FeatureNames(0), p.FeatureNames(1))
			}
			for _, test := range []struct {
				names []string
				want  string
			}{
				{names, ""}, {nil, ""},
				{
					[]string{"größe", "a", "c\nd", ""},
					`feature 0 of view 0 is "größe", the network was trained on "a" there; "a" is feature 1 here`,
				},
				{[]string{"a", "größe", "c", ""}, `feature 2 of view 0 is "c"`},
				{[]string{"a"}, "4 features and 1 names"},
			} {
				_, err := p.Predict(t.Context(), []View{DenseView(n, d, x).WithFeatures(test.names), named})
				if (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("%q: error %v, want %q", test.names, err, test.want)
				}
			}
		}
	}
}

// TestNilContexts: a nil context is an error, as is a nil pointer in the interface.
func TestNilContexts(t *testing.T) {
	views := []View{DenseView(6, 2, []float64{0, 1, 5, 2, 0, 3, 5, 4, 1, 5, 6, 2})}
	c, err := Fit(t.Context(), views, paper(Config{Clusters: 2, Epochs: None}))
	if err != nil {
		t.Fatal(err)
	}
	var typed *nilContext
	var none context.Context
	for _, ctx := range []context.Context{none, typed} {
		for name, err := range map[string]error{
			"Fit":       errorOf(Fit(ctx, views, Config{Clusters: 2})),
			"Predict":   errorOf(c.Predict(ctx, views)),
			"Assign":    errorOf(c.Assign(ctx, views)),
			"Transform": errorOf(c.Transform(ctx, views)),
			"Resume":    errorOf(Resume(ctx, views, "none", nil)),
			"KMeans":    errorOf(KMeans(ctx, c.H, KMeansConfig{})),
		} {
			if err == nil || !strings.HasPrefix(err.Error(), "largemvc: the context is") {
				t.Errorf("%s of %s: error %v", name, fmt.Sprintf("%T", ctx), err)
			}
		}
	}
}

// nilContext is a context of another package.
type nilContext struct{ context.Context }

func errorOf[T any](_ T, err error) error { return err }
