package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
)

func main() {
	// 300 samples in two views, in place of yours: a row is a sample, and row i is the same sample in every view.
	images, texts := mat.NewDense(300, 40, nil), mat.NewDense(300, 16, nil)
	hasText := make([]bool, 300)
	for i := range 300 {
		for j := range 40 {
			images.Set(i, j, rand.NormFloat64()+2*float64((i%3+j)%3))
		}
		for j := range 16 {
			texts.Set(i, j, rand.NormFloat64()+2*float64((i%3*j)%3))
		}
		hasText[i] = i%10 != 0
	}

	c, err := largemvc.Fit(context.Background(), []largemvc.View{
		largemvc.MatrixView(images),
		largemvc.MatrixView(texts).WithPresent(hasText), // rows of samples without a text are not read
	}, largemvc.Config{Clusters: 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Labels[:10], c.Sizes) // cluster 0 is the largest

	labels, err := c.Predict(context.Background(), []largemvc.View{ // samples that were not there
		largemvc.MatrixView(images.Slice(0, 5, 0, 40)),
		largemvc.MatrixView(texts.Slice(0, 5, 0, 16)),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(labels)
}
