package baseline

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/spectral"
)

// KMeansZScored is k-means on the concatenated views, every column at mean 0 and variance 1.
func KMeansZScored(ctx context.Context, views []mat.Matrix, c int, seed uint64) ([]int, error) {
	return jointKMeans(ctx, views, nil, c, seed, zScore)
}

// KMeansUnitRows is k-means on the concatenated views, every sample of every view at mean 0 and norm 1.
func KMeansUnitRows(ctx context.Context, views []mat.Matrix, c int, seed uint64) ([]int, error) {
	return jointKMeans(ctx, views, nil, c, seed, unitRow)
}

// MeanImputed is KMeansUnitRows for incomplete data: present[i][v] says whether sample i has view v. The mean of the view's rows
// replaces an absent row.
func MeanImputed(ctx context.Context, views []mat.Matrix, present [][]bool, c int, seed uint64) ([]int, error) {
	return jointKMeans(ctx, views, present, c, seed, unitRow)
}

func jointKMeans(ctx context.Context, views []mat.Matrix, present [][]bool, c int, seed uint64, how scaling) ([]int, error) {
	x, err := load(ctx, views, present, c, how)
	if err != nil {
		return nil, err
	}
	return labelsOf(ctx, x, c, seed, false)
}

// labelsOf returns the labels of runKMeans.
func labelsOf(ctx context.Context, x []*block, c int, seed uint64, full bool) ([]int, error) {
	r, err := runKMeans(ctx, x, c, seed, full)
	if err != nil {
		return nil, err
	}
	return r.Labels, nil
}

// runKMeans clusters the concatenation of the views, from 10 starts.
func runKMeans(ctx context.Context, x []*block, c int, seed uint64, full bool) (*kmeans.Result[float32], error) {
	views := make([]kmeans.View[float32], len(x))
	for v, b := range x {
		views[v] = kmeans.View[float32]{Rows: rows.NewDense(b.n, b.d, b.d, b.x), Weight: 1}
	}
	src, err := kmeans.NewSource(nil, views...)
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	r, err := kmeans.Run(ctx, src, kmeans.Config{Clusters: c, Seed: seed, Full: full, Relocate: true})
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	return r, nil
}

// BestView runs k-means on each view alone, columns z-scored, and returns the labels with the highest score, and their view. A
// score that compares labels with classes makes it an oracle, not a method: tables must call it label-picked.
func BestView(
	ctx context.Context, views []mat.Matrix, c int, seed uint64, score func(labels []int) (float64, error),
) (labels []int, view int, err error) {
	x, err := load(ctx, views, nil, c, zScore)
	if err != nil {
		return nil, 0, err
	}
	best := 0.0
	for v := range x {
		r, err := runKMeans(ctx, x[v:v+1], c, seed, false)
		if err != nil {
			return nil, 0, err
		}
		s, err := score(r.Labels)
		if err != nil {
			return nil, 0, fmt.Errorf("baseline: %w", err)
		}
		if labels == nil || s > best {
			labels, view, best = r.Labels, v, s
		}
	}
	return labels, view, nil
}

// SpectralKMeans is k-means on the first c left singular vectors of the concatenated views, samples standardised.
func SpectralKMeans(ctx context.Context, views []mat.Matrix, c int, seed uint64) ([]int, error) {
	x, err := load(ctx, views, nil, c, sample)
	if err != nil {
		return nil, err
	}
	data, total := make([]rows.Matrix[float32], len(x)), 0
	for v, b := range x {
		data[v] = rows.NewDense(b.n, b.d, b.d, b.x)
		total += b.d
	}
	rank := min(c, total)
	basis, err := spectral.Find(ctx, data, spectral.Config{Rank: rank, Seed: seed})
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	u, err := spectral.Project(ctx, basis, data, 0)
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	n, ld := x[0].n, kernel.Pad(rank)
	left := &block{n: n, d: rank, x: make([]float32, n*rank)}
	for i := range n {
		for j, s := range basis.S {
			if s > 1e-6*basis.S[0] {
				left.x[i*rank+j] = u[i*ld+j] / float32(s)
			}
		}
	}
	return labelsOf(ctx, []*block{left}, c, seed, true)
}
