package main

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
)

func main() {
	// Made-up data: 300 samples of three kinds, in two views. Row i is sample i in both matrices.
	images, texts, hasText := mat.NewDense(300, 40, nil), mat.NewDense(300, 16, nil), make([]bool, 300)
	images.Apply(func(i, j int, _ float64) float64 { return float64(i*i*i*(j+3)%101)/32 + float64(2*((i+j)%3)) }, images)
	texts.Apply(func(i, j int, _ float64) float64 { return float64(i*i*i*(j+5)%97)/32 + float64(2*(i%3*j%3)) }, texts)
	for i := range hasText {
		hasText[i] = i%10 != 0
	}
	c, err := largemvc.Fit(context.Background(), []largemvc.View{
		largemvc.MatrixView(images),
		largemvc.MatrixView(texts).WithPresent(hasText), // rows with hasText[i] false are not read
	}, largemvc.Config{Clusters: 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Labels[:10], c.Sizes) // cluster 0 is the largest in the training
}
