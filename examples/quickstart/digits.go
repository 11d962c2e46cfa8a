package main

import (
	"context"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/features"
	"github.com/largemvc/largemvc/internal/mnist"
)

// about explains the views.
var about = map[string]string{
	"grey": "the 28×28 pixels",
	"HOG":  "histograms of gradients: which way the strokes run, in 4×4 cells",
	"LBP":  "histograms of local binary patterns: edges, corners, ends, in 4×4 cells",
}

// digitSet is the data: the views for the network, the digits for the scores.
type digitSet struct {
	views  []largemvc.View
	values [][]float32 // of the views
	digits []int
}

// load reads the images and describes them.
func load(ctx context.Context, s settings) (*digitSet, error) {
	folder := s.folder
	if folder == "" {
		var err error
		if folder, err = mnist.Folder(); err != nil {
			return nil, err
		}
	}
	d, err := mnist.Training(folder, s.images)
	if err != nil {
		return nil, err
	}
	const cell = 7
	hog, err := features.NewHOG(d.Width, d.Height, cell, 2, 9)
	if err != nil {
		return nil, err
	}
	lbp, err := features.NewLBP(d.Width, d.Height, cell)
	if err != nil {
		return nil, err
	}
	set := &digitSet{digits: d.Labels}
	for _, view := range []struct {
		name       string
		descriptor features.Descriptor
	}{{"grey", features.Pixels(d.Width * d.Height)}, {"HOG", hog}, {"LBP", lbp}} {
		x, err := features.All(ctx, view.descriptor, d.Pixels, d.Len(), s.workers)
		if err != nil {
			return nil, err
		}
		set.values = append(set.values, x)
		set.views = append(set.views, largemvc.Float32View(d.Len(), view.descriptor.Len(), x).Named(view.name))
	}
	return set, nil
}

// baseline is what one would do without the network: put the views side by side, bring each feature to mean 0 and variance
// 1, and run k-means.
func baseline(ctx context.Context, set *digitSet, s settings) (outcome, error) {
	began := time.Now()
	n, width := len(set.digits), 0
	for _, v := range set.values {
		width += len(v) / n
	}
	x := mat.NewDense(n, width, nil)
	for i := range n {
		row := x.RawRowView(i)
		for _, v := range set.values {
			d := len(v) / n
			for j, value := range v[i*d : (i+1)*d] {
				row[j] = float64(value)
			}
			row = row[d:]
		}
	}
	standardise(x)
	r, err := largemvc.KMeans(ctx, x, largemvc.KMeansConfig{Clusters: clusters, Seed: s.seed, Workers: s.workers})
	if err != nil {
		return outcome{}, err
	}
	return outcome{"k-means, features standardised", r.Labels, time.Since(began).Seconds()}, nil
}

// standardise brings each column to mean 0 and variance 1; constant ones become 0.
func standardise(x *mat.Dense) {
	n, d := x.Dims()
	mean, square := make([]float64, d), make([]float64, d)
	for i := range n {
		for j, v := range x.RawRowView(i) {
			mean[j] += v / float64(n)
		}
	}
	for i := range n {
		for j, v := range x.RawRowView(i) {
			square[j] += (v - mean[j]) * (v - mean[j]) / float64(n)
		}
	}
	for i := range n {
		row := x.RawRowView(i)
		for j, v := range row {
			row[j] = 0
			if square[j] > 1e-12 {
				row[j] = (v - mean[j]) / math.Sqrt(square[j])
			}
		}
	}
}
