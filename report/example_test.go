package report_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/choose"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
	"github.com/largemvc/largemvc/report"
)

// products returns two views of 120 samples in three groups, and their classes.
func products() (x []largemvc.View, classes []int) {
	set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 120, Clusters: 3, Dims: []int{6, 4}, Separation: 12, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	x, err = views.Of(set)
	if err != nil {
		log.Fatal(err)
	}
	return x, set.Labels
}

// headings prints the headings of a page.
func headings(page string) {
	for _, part := range strings.Split(page, "<h2")[1:] {
		_, text, _ := strings.Cut(part, ">")
		text, _, _ = strings.Cut(text, "<")
		fmt.Println(text)
	}
}

// A page on a fit. A program writes it to a file; this one prints the headings.
func ExampleWrite() {
	ctx := context.Background()
	x, classes := products()
	c, err := largemvc.Fit(ctx, x, largemvc.Config{Clusters: 3})
	if err != nil {
		log.Fatal(err)
	}
	var page bytes.Buffer
	err = report.Write(ctx, &page, c, report.Options{
		Data:       "products.npz",
		Views:      x,
		Classes:    classes,
		ClassNames: []string{"bags", "hats", "shoes"},
		Facts:      []report.Fact{{Name: "Season", Value: "autumn"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	headings(page.String())
	// Output:
	// Summary
	// Map of the samples
	// Clusters
	// Confidence
	// Samples that fit no cluster
	// Each cluster
	// Features
	// Views
	// Known classes
	// Training
	// Model card
	// How to read this
}

// A page on new samples, to which a model has given labels. The clustering, and so its samples, need not be kept.
func ExampleWritePredictions() {
	ctx := context.Background()
	x, _ := products()
	c, err := largemvc.Fit(ctx, x, largemvc.Config{Clusters: 3})
	if err != nil {
		log.Fatal(err)
	}
	today := []largemvc.View{x[0].Take([]int{3, 1, 4, 15, 9}), x[1].Take([]int{3, 1, 4, 15, 9})}
	var page bytes.Buffer
	if err := report.WritePredictions(ctx, &page, c.Predictor, today, report.Options{Title: "Today"}); err != nil {
		log.Fatal(err)
	}
	headings(page.String())
	// Output:
	// Summary
	// Map of the samples
	// Clusters
	// Confidence
	// Novelty
	// Each cluster
	// Views
	// Training
	// Model card
	// How to read this
}

// A figure of the indices of several numbers of clusters, to be put on a page or into a document.
func ExampleWriteChoices() {
	ctx := context.Background()
	x, _ := products()
	found, err := choose.Clusters(ctx, x, largemvc.Config{Epochs: 10}, choose.Config{Clusters: []int{2, 3, 4}})
	if err != nil {
		log.Fatal(err)
	}
	var figure bytes.Buffer
	if err := report.WriteChoices(&figure, found); err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.HasPrefix(figure.String(), "<svg"), found.Suggested)
	// Output: true 3
}

// The features that distinguish clusters apart, without a page.
func ExampleFeatures() {
	ctx := context.Background()
	x, _ := products()
	c, err := largemvc.Fit(ctx, x, largemvc.Config{Clusters: 3})
	if err != nil {
		log.Fatal(err)
	}
	found, err := report.Features(ctx, c, report.Options{Views: x})
	if err != nil {
		log.Fatal(err)
	}
	f := found.Features[0]
	fmt.Printf("of %d tests %d pass\n", found.Tests, len(found.Features))
	fmt.Printf("cluster %d: %s of %s, effect %+.1f\n", f.Cluster, f.Name, f.ViewName, f.Effect)
	// Output:
	// of 30 tests 22 pass
	// cluster 0: feature 3 of X1, effect +1.8
}
