package choose_test

import (
	"context"
	"fmt"
	"log"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/choose"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
)

// Three numbers of clusters are tried on data of three groups.
func ExampleClusters() {
	set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 150, Clusters: 3, Dims: []int{6, 4}, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	x, err := views.Of(set)
	if err != nil {
		log.Fatal(err)
	}
	found, err := choose.Clusters(context.Background(), x, largemvc.Config{Epochs: 10}, choose.Config{Clusters: []int{2, 3, 4}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("suggested:", found.Suggested, "clear:", found.Clear)
	for _, c := range found.Choices {
		fmt.Printf("%d clusters: structure %v\n", c.Clusters, c.Structure.Judgement)
	}
	// Output:
	// suggested: 3 clear: true
	// 2 clusters: structure none
	// 3 clusters: structure clear
	// 4 clusters: structure none
}

// The start of a fit is chosen for groups of even sizes, where it stays the default's.
func ExampleStart() {
	set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 150, Clusters: 3, Dims: []int{6, 4}, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	x, err := views.Of(set)
	if err != nil {
		log.Fatal(err)
	}
	config, found, err := choose.Start(context.Background(), x, largemvc.Config{Clusters: 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Candidates[found.Chosen].Name)
	fit, err := largemvc.Fit(context.Background(), x, config)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fit.Sizes)
	// Output:
	// smoothed views
	// [50 50 50]
}
