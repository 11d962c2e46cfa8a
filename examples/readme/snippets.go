package main

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
)

// fromFile clusters the samples of a file.
func fromFile(ctx context.Context, path string) (*largemvc.Clustering, error) {
	// README: a file
	set, err := dataset.Open(path, dataset.Options{}) // .mat, .npz, .npy, .csv, HDF5, or a folder
	if err != nil {
		return nil, err
	}
	x, err := views.Of(set)
	if err != nil {
		return nil, err
	}
	return largemvc.Fit(ctx, x, largemvc.Config{Clusters: set.Classes()})
	// end
}

// missingView clusters samples, some of which have no text.
func missingView(ctx context.Context, images, texts mat.Matrix, hasText []bool) (*largemvc.Clustering, error) {
	// README: a missing view
	views := []largemvc.View{
		largemvc.MatrixView(images),
		largemvc.MatrixView(texts).WithPresent(hasText), // hasText[i]: sample i has a text; else its row is not read
	}
	return largemvc.Fit(ctx, views, largemvc.Config{Clusters: 3})
	// end
}

// saveLoadPredict keeps a model in a file, and labels new samples with it.
func saveLoadPredict(ctx context.Context, c *largemvc.Clustering, path string, newViews []largemvc.View) ([]int, error) {
	// README: save, load, predict
	if err := c.Save(path); err != nil { // one file, written whole or not at all
		return nil, err
	}
	model, err := largemvc.Load(path) // tomorrow, in another process
	if err != nil {
		return nil, err
	}
	a, err := model.Assign(ctx, newViews)
	if err != nil {
		return nil, err
	}
	fmt.Println("sample 0 is in cluster", a.Labels[0], "and as near to the next one as", a.Near[0]/a.Next[0])
	return a.Labels, nil
	// end
}
