package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: tomorrow DATA NEWDATA") // .mat, .npz, .npy, .csv, HDF5, or a folder
	}
	x, classes := read(os.Args[1])
	c, err := largemvc.Fit(context.Background(), x, largemvc.Config{Clusters: max(classes, 2)})
	check(err)
	check(c.Save("model.safetensors")) // one file, written whole or not at all

	model, err := largemvc.Load("model.safetensors") // tomorrow, in another process
	check(err)
	newX, _ := read(os.Args[2])
	a, err := model.Assign(context.Background(), newX)
	check(err)
	for i, label := range a.Labels {
		fmt.Println(label, a.Near[i]/a.Next[i]) // the closer to 1, the less sure
	}
}

// read returns the views of a file and the number of classes that it knows, 0 without labels.
func read(path string) ([]largemvc.View, int) {
	set, err := dataset.Open(context.Background(), []string{path}, dataset.Options{})
	check(err)
	x, err := views.Of(set)
	check(err)
	return x, set.Classes()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
