package dataset_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/largemvc/largemvc/dataset"
)

// Write a set with two views, read it again, and make it incomplete.
func Example() {
	dir, err := os.MkdirTemp("", "dataset")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "toy.npz")
	err = dataset.WriteNPZ(path, true,
		dataset.Array{Name: "X0", Shape: []int{4, 2}, Data: []float32{0, 1, 0, 2, 5, 6, 5, 7}},
		dataset.Array{Name: "X1", Shape: []int{4, 1}, Data: []uint8{1, 1, 9, 9}},
		dataset.Array{Name: "y", Data: []int{1, 1, 2, 2}})
	if err != nil {
		log.Fatal(err)
	}
	set, err := dataset.Open(context.Background(), []string{path}, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Samples(), "samples,", set.Dims(), "features,", set.Labels, set.LabelNames)

	mask, err := dataset.Drop(set.Samples(), len(set.Views), 0.25, 1)
	if err != nil {
		log.Fatal(err)
	}
	part, err := set.Incomplete(mask)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.0f %% of the view rows are absent\n", 100*part.MissingRate())
	// Output:
	// 4 samples, [2 1] features, [0 0 1 1] [1 2]
	// 25 % of the view rows are absent
}

// A CSV file in memory: the header names the column of the labels.
func ExampleRead() {
	text := []byte("width,height,label\n1,2,cat\n3,4,dog\n")
	set, err := dataset.Read(context.Background(), "animals.csv", bytes.NewReader(text), int64(len(text)),
		dataset.Options{Float: 64})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Views[0].Float64, set.Labels, set.LabelNames)

	text[19] = 'x'
	_, err = dataset.Read(context.Background(), "animals.csv", bytes.NewReader(text), int64(len(text)), dataset.Options{})
	what, _, _ := strings.Cut(err.Error(), ";") // what to do follows
	fmt.Println(what)
	// Output:
	// [1 2 3 4] [0 1] [cat dog]
	// dataset: animals.csv: has a value that is not a number in column width: "x" in line 2
}

func ExampleEncodeCSV() {
	err := dataset.EncodeCSV(os.Stdout, dataset.Column{Name: "label", Data: []int{1, 0, 1}},
		dataset.Column{Name: "distance", Data: []float64{0.5, 0.25, 2}})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// label,distance
	// 1,0.5
	// 0,0.25
	// 1,2
}
