package views_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
)

// A data set in memory is clustered.
func ExampleOf() {
	set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 90, Clusters: 3, Dims: []int{20, 12}, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	x, err := views.Of(set)
	if err != nil {
		log.Fatal(err)
	}
	c, err := largemvc.Fit(context.Background(), x, largemvc.Config{Clusters: set.Classes()})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Sizes)
	// Output: [30 30 30]
}

// A data set on disk is clustered: its rows are read when they are needed.
func ExampleOfRows() {
	dir, err := os.MkdirTemp("", "views")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "data.npz")
	set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 90, Clusters: 3, Dims: []int{20, 12}, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := set.WriteNPZ(path, false); err != nil { // not compressed, so that rows are read in place
		log.Fatal(err)
	}

	ctx := context.Background()
	rows, err := dataset.OpenRows(ctx, []string{path}, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	x, err := views.OfRows(rows)
	if err != nil {
		log.Fatal(err)
	}
	c, err := largemvc.Fit(ctx, x, largemvc.Config{Clusters: 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Sizes)
	// Output: [30 30 30]
}
