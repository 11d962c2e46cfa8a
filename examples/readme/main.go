// Command readme is the code of README.md: what stands there between the lines ```go and ``` stands here between the
// comments "README" and "end", to the letter. A test compares them.
package main

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/internal/synthetic"
)

func main() {
	// 320 samples of 3 classes in two views; the last 20 are new to the network.
	x, _ := synthetic.Views(1, 320, 3, 0.5, 40, 16)
	images, texts := x[0].Slice(0, 300, 0, 40), x[1].Slice(0, 300, 0, 16)
	newViews := []largemvc.View{
		largemvc.MatrixView(x[0].Slice(300, 320, 0, 40)),
		largemvc.MatrixView(x[1].Slice(300, 320, 0, 16)),
	}
	fmt.Println(tenLines(images, texts, newViews))
}

// tenLines is the program of the README. It returns the labels of the new samples.
func tenLines(images, texts mat.Matrix, newViews []largemvc.View) []int {
	// README: in ten lines
	views := []largemvc.View{
		largemvc.MatrixView(images), // any gonum matrix, n×d: a row a sample
		largemvc.MatrixView(texts),  // another view of the same samples, in the same order
	}
	c, err := largemvc.Fit(context.Background(), views, largemvc.Config{Clusters: 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Labels[:10], c.Sizes)                      // cluster 0 is the largest
	labels, err := c.Predict(context.Background(), newViews) // samples that were not there
	// end
	if err != nil {
		log.Fatal(err)
	}
	return labels
}
