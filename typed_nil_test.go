package largemvc

import (
	"context"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/neighbor"
)

// panicking is a module of a user's own whose Init panics.
type panicking struct{ RowShrink }

func (*panicking) Init(Env) error { panic("no such thing") }

// A nil pointer in an interface, and a panic of a user's module, are errors that say what is wrong.
func TestTypedNils(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var matrix *mat.Dense
	good := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 7})
	two := Config{Clusters: 2}
	fit := func(x ...View) error { _, err := Fit(ctx, x, two); return err }
	build := func(b interface {
		Build(Env, *Data, StartPoint) error
	}) error {
		data, err := NewData(tensor.Float64, []mat.Matrix{good}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b.Build(Env{G: gorgonia.NewGraph()}, data, StartPoint{Anchors: []mat.Matrix{good.Slice(0, 2, 0, 2)}})
	}
	fitted, err := KMeans(ctx, good, KMeansConfig{Clusters: 2})
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		run  func() error
		want string
	}{
		"view": {func() error { return fit(MatrixView(matrix)) }, "view 0"},
		"predict": {func() error {
			c, err := Fit(ctx, []View{MatrixView(good)}, two)
			if err == nil {
				_, err = c.Predict(ctx, []View{MatrixView(matrix)})
			}
			return err
		}, "view 0"},
		"data":           {func() error { _, err := NewData(tensor.Float64, []mat.Matrix{matrix}, nil); return err }, "view 0"},
		"k-means":        {func() error { _, err := KMeans(ctx, matrix, KMeansConfig{Clusters: 1}); return err }, "matrix"},
		"k-means, again": {func() error { _, err := fitted.Predict(matrix); return err }, "matrix"},
		"smoothing": {func() error {
			_, err := neighbor.Smooth[float64](ctx, (*neighbor.Graph)(nil), nil, 1, 1)
			return err
		}, "neighbor"},
		"module": {func() error { return build(&Model[*SoftThreshold, *panicking, *Procrustes]{}) }, "nil"},
		"module in an interface": {func() error {
			return build(&Model[*SoftThreshold, Noise, *Procrustes]{Noise: (*panicking)(nil)})
		}, "nil"},
		"module that panics": {func() error {
			return build(&Model[*SoftThreshold, *panicking, *Procrustes]{Noise: &panicking{}})
		}, "largemvc: building the network: panic: no such thing"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := x.run(); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v, want it to say %q", err, x.want)
			}
		})
	}
}
