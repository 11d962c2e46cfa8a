package largemvc_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
	"github.com/largemvc/largemvc/score"
)

// shapesAndColours are 2n samples in two views, which fall into two groups.
func shapesAndColours(n int) []largemvc.View {
	x, y := make([]float64, 0, 6*n), make([]float64, 0, 8*n)
	for i := range 2 * n {
		wobble := float64(i%7) / 10
		if i < n {
			x, y = append(x, 3, 1+wobble, 0), append(y, 0, wobble, 2, 5)
		} else {
			x, y = append(x, 0, wobble, 4), append(y, 6, 1, wobble, 0)
		}
	}
	return []largemvc.View{largemvc.DenseView(2*n, 3, x).Named("shape"), largemvc.DenseView(2*n, 4, y).Named("colour")}
}

// A model is saved, loaded, and asked about a new sample.
func ExamplePredictor_Save() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "model.safetensors")

	ctx := context.Background()
	c, err := largemvc.Fit(ctx, shapesAndColours(20), largemvc.Config{Clusters: 2})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Save(path); err != nil {
		log.Fatal(err)
	}

	model, err := largemvc.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	sample := []largemvc.View{
		largemvc.DenseView(1, 3, []float64{0, 0.2, 3.9}),
		largemvc.DenseView(1, 4, make([]float64, 4)).WithPresent([]bool{false}), // this one has no colour
	}
	a, err := model.Assign(ctx, sample)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(model.Clusters, "clusters of", model.Sizes, "samples")
	fmt.Println("as the last training sample:", a.Labels[0] == c.Labels[39])
	fmt.Println("sure:", a.Near[0] < 0.2*a.Next[0])
	// Output:
	// 2 clusters of [20 20] samples
	// as the last training sample: true
	// sure: true
}

// things returns three views of 300 samples in three clusters. Samples 0 and 1 are in different clusters.
func things() []largemvc.View {
	set, err := dataset.Synthetic(dataset.SyntheticConfig{
		Samples: 300, Clusters: 3, Dims: []int{12, 8, 10}, Separation: 12, Seed: 1,
	})
	if err != nil {
		log.Fatal(err)
	}
	x, err := views.Of(set)
	if err != nil {
		log.Fatal(err)
	}
	return x
}

// A model passes through memory, for example into a database. It gives new samples the same labels afterwards.
func ExampleReadPredictor() {
	ctx := context.Background()
	c, err := largemvc.Fit(ctx, shapesAndColours(20), largemvc.Config{Clusters: 2})
	if err != nil {
		log.Fatal(err)
	}
	var stored bytes.Buffer
	if _, err := c.WriteTo(&stored); err != nil {
		log.Fatal(err)
	}
	model, err := largemvc.ReadPredictor(&stored)
	if err != nil {
		log.Fatal(err)
	}
	labels, err := model.Predict(ctx, shapesAndColours(2))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(labels)
	// Output: [0 0 1 1]
}

// The representation H has one row for each sample, over all views: features for a search or for another model.
func ExamplePredictor_Transform() {
	ctx := context.Background()
	c, err := largemvc.Fit(ctx, shapesAndColours(20), largemvc.Config{Clusters: 2, Anchors: 4})
	if err != nil {
		log.Fatal(err)
	}
	h, err := c.Transform(ctx, shapesAndColours(3))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(h.Dims())
	// Output: 6 4
}

// Novelty finds samples unlike those of the training: their labels mean little.
func ExamplePredictor_Novelty() {
	ctx := context.Background()
	x := things()
	c, err := largemvc.Fit(ctx, x, largemvc.Config{Clusters: 3})
	if err != nil {
		log.Fatal(err)
	}
	today := make([]largemvc.View, len(x)) // sample 0 of the training, and a sample of 30, −30, 30, …
	for v := range x {
		rows := x[v].Row(nil, 0)
		_, d := x[v].Dims()
		for j := range d {
			rows = append(rows, 30*float64(1-2*(j%2)))
		}
		today[v] = largemvc.DenseView(2, d, rows)
	}
	novelty, err := c.Novelty(ctx, today)
	if err != nil {
		log.Fatal(err)
	}
	for i, share := range novelty { // of the training samples that are less strange
		fmt.Println("sample", i, "is new:", share > 0.95)
	}
	// Output:
	// sample 0 is new: false
	// sample 1 is new: true
}

// Two samples have exchanged their rows of view 1. The view that each of them trusts least names the wrong row.
func ExamplePredictor_ViewTrust() {
	ctx := context.Background()
	x := things()
	order := numbers(0, 300)
	order[0], order[1] = 1, 0
	x[1] = x[1].Take(order)
	c, err := largemvc.Fit(ctx, x, largemvc.Config{Clusters: 3})
	if err != nil {
		log.Fatal(err)
	}
	trust, err := c.ViewTrust(ctx, x)
	if err != nil {
		log.Fatal(err)
	}
	for i := range order {
		for v := range trust {
			if trust[v][i] < 0.1 {
				fmt.Printf("sample %d: its row of view %d may belong to another sample\n", i, v)
			}
		}
	}
	// Output:
	// sample 0: its row of view 1 may belong to another sample
	// sample 1: its row of view 1 may belong to another sample
}

// A training that is stopped goes on from its checkpoint, to the same bits.
func ExampleResume() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)

	ctx := context.Background()
	views, config := shapesAndColours(20), largemvc.Config{Clusters: 2}
	config.Checkpoint.Path = filepath.Join(folder, "checkpoint")
	config.Progress = func(e largemvc.Progress) error {
		if e.Epoch == 50 {
			return largemvc.ErrStop
		}
		return nil
	}
	first, err := largemvc.Fit(ctx, views, config)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.Status, "after", first.Epochs, "epochs")

	c, err := largemvc.Resume(ctx, views, config.Checkpoint.Path, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Status, "after", c.Epochs, "epochs")
	// Output:
	// stopped after 50 epochs
	// epoch limit after 100 epochs
}

// A model is trained again on other samples, from the labels that the old one gives them; the clusters keep their old numbers by
// the samples that both know.
func ExampleConfig_startLabels() {
	ctx := context.Background()
	config := largemvc.Config{Clusters: 2}
	old, err := largemvc.Fit(ctx, shapesAndColours(20), config)
	if err != nil {
		log.Fatal(err)
	}
	today := shapesAndColours(30)
	for v, x := range today { // of the first kind 10 samples fewer, so that the clusters change their places
		today[v] = x.Take(numbers(10, 60))
	}
	was, err := old.Predict(ctx, today)
	if err != nil {
		log.Fatal(err)
	}
	config.StartLabels = was
	c, err := largemvc.Fit(ctx, today, config)
	if err != nil {
		log.Fatal(err)
	}
	table, err := score.NewContingency(was, c.Labels)
	if err != nil {
		log.Fatal(err)
	}
	number, err := table.Match() // of the old cluster, by that of the new one
	if err != nil {
		log.Fatal(err)
	}
	for k, size := range c.Sizes {
		fmt.Printf("cluster %d of %d samples was cluster %d\n", k, size, number[k])
	}
	// Output:
	// cluster 0 of 30 samples was cluster 1
	// cluster 1 of 20 samples was cluster 0
}

// numbers are those from lo to hi−1.
func numbers(lo, hi int) []int {
	out := make([]int, 0, hi-lo)
	for i := lo; i < hi; i++ {
		out = append(out, i)
	}
	return out
}
