package largemvc

import (
	"bytes"
	"context"
	"math"
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

// stuckMatrix panics from row 1 on.
type stuckMatrix struct{ mat.Matrix }

func (m stuckMatrix) At(i, j int) float64 {
	if i > 0 {
		panic("no such row")
	}
	return m.Matrix.At(i, j)
}

// A nil pointer in an interface, and a panic of a user's module, are errors that say what is wrong.
func TestTypedNils(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var matrix *mat.Dense
	var none context.Context
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
	trained := mustFit(t, []View{MatrixView(good)}, two).Predictor
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
		"matrix that panics": {func() error {
			_, err := KMeans(ctx, stuckMatrix{good}, KMeansConfig{Clusters: 2})
			return err
		}, "largemvc: reading the matrix: panic: no such row"},
		"matrix that panics, again": {func() error {
			_, err := fitted.Predict(stuckMatrix{good})
			return err
		}, "no such row"},
		"result of nothing": {func() error {
			_, err := (&KMeansResult{}).Predict(good)
			return err
		}, "KMeans makes one"},
		"no result": {func() error {
			_, err := (*KMeansResult)(nil).Predict(good)
			return err
		}, "KMeans makes one"},
		"emit": {func() error {
			return trained.AssignRows(ctx, []View{MatrixView(mat.NewDense(1, 2, []float64{math.NaN(), 0}))}, nil)
		}, "largemvc: the function that takes the assignments is nil"},
		"writer": {func() error {
			_, err := trained.WriteTo(nil)
			return err
		}, "largemvc: the writer is nil"},
		"writer, typed": {func() error {
			_, err := trained.WriteTo((*bytes.Buffer)(nil))
			return err
		}, "the writer is nil"},
		"reader": {func() error {
			_, err := ReadPredictor(nil)
			return err
		}, "largemvc: loading a model: the reader is nil"},
		"reader, typed": {func() error {
			_, err := ReadPredictor((*bytes.Buffer)(nil))
			return err
		}, "the reader is nil"},
		"product": {func() error {
			return neighbor.Mul[float64](ctx, nil, 1, nil, nil, 16)
		}, "the operator is nil"},
		"product of a graph": {func() error {
			return neighbor.Mul[float32](ctx, (*neighbor.Graph)(nil), 1, nil, nil, 16)
		}, "is nil"},
		"product of nothing": {func() error {
			return neighbor.Mul[float32](ctx, &neighbor.Factor{}, 1, nil, nil, 16)
		}, "is empty"},
		"product without a context": {func() error {
			return neighbor.Mul[float32](none, &neighbor.Factor{}, 1, nil, nil, 16)
		}, "the context is nil"},
		"data": {func() error {
			_, err := NewData(tensor.Float64, []mat.Matrix{matrix}, nil)
			return err
		}, "view 0"},
		"k-means": {func() error {
			_, err := KMeans(ctx, matrix, KMeansConfig{Clusters: 1})
			return err
		}, "matrix"},
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
		"start anchors that panic": {func() error {
			_, err := Fit(ctx, []View{MatrixView(good).Named("pixels")}, Config{
				Clusters: 2, StartAnchors: []mat.Matrix{stuckMatrix{good.Slice(0, 2, 0, 2)}},
				Neighborhood: Neighborhood{Neighbors: None},
			})
			return err
		}, "largemvc: row 1, column 0 of StartAnchors of view 0 (pixels) cannot be read: panic: no such row"},
		"data that panic": {func() error {
			_, err := NewData(tensor.Float32, []mat.Matrix{good, stuckMatrix{good}}, nil)
			return err
		}, "largemvc: view 1, row 1, column 0 cannot be read: panic: no such row"},
		"start that panics": {func() error {
			data, err := NewData(tensor.Float64, []mat.Matrix{good}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return new(LargeMvCNet).Build(Env{G: gorgonia.NewGraph()}, data,
				StartPoint{Anchors: []mat.Matrix{stuckMatrix{good.Slice(0, 2, 0, 2)}}})
		}, "largemvc: row 1, column 0 of the starting anchors of view 0 cannot be read: panic: no such row"},
		"module without a graph":  {func() error { return new(SoftThreshold).Init(Env{}) }, "largemvc: no graph in Env.G"},
		"module without a graph,": {func() error { return new(RowShrink).Init(Env{}) }, "largemvc: no graph in Env.G"},
		"module without a type": {func() error {
			return new(SoftThreshold).Init(Env{G: gorgonia.NewGraph()})
		}, "largemvc: Env.Of is neither"},
		"module without sizes": {func() error {
			return new(SoftThreshold).Init(Env{G: gorgonia.NewGraph(), Of: tensor.Float32, Layers: 2, Views: 1})
		}, "largemvc: Env.Layers is 2, Views 1 and Anchors 0, want"},
		"mean of nothing": {func() error { _, err := Env{}.MeanViews(); return err }, "mean over 0 matrices for 0 views"},
		"mean of nil":     {func() error { _, err := Env{Views: 1}.MeanViews(nil); return err }, "largemvc: "},
	} {
		t.Run(name, func(t *testing.T) {
			if err := x.run(); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v, want it to say %q", err, x.want)
			}
		})
	}
}
