package comm_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/comm"
)

// rows returns the view of the samples from lo to hi−1, which are in two groups.
func rows(lo, hi int) []largemvc.View {
	x := make([]float32, 0, 3*(hi-lo))
	for i := lo; i < hi; i++ {
		wobble := float32(i%7) / 10
		x = append(x, float32(i%2)*5, wobble, float32(1-i%2)*5)
	}
	return []largemvc.View{largemvc.DenseView(hi-lo, 3, x)}
}

// Two ranks fit one data set. Each has only its own samples, and gets their labels.
func ExampleLocal() {
	const samples = 3000
	labels := make([]int, samples)
	var ranks sync.WaitGroup
	for _, world := range comm.Local(2) {
		ranks.Go(func() {
			lo, hi, err := comm.Share(samples, world.Rank(), world.Size())
			if err != nil {
				log.Fatal(err)
			}
			config := largemvc.Config{Clusters: 2, Epochs: 10}
			config.Machine.Comm = world
			c, err := largemvc.Fit(context.Background(), rows(lo, hi), config)
			if err != nil {
				log.Fatal(err)
			}
			copy(labels[lo:hi], c.Labels)
		})
	}
	ranks.Wait()
	fmt.Println(labels[:6], "to", labels[samples-6:])
	// Output: [0 1 0 1 0 1] to [0 1 0 1 0 1]
}

// A million samples are dealt out to three ranks.
func ExampleShare() {
	const samples, ranks = 1_000_000, 3
	fmt.Println("in pieces of", comm.Unit(samples))
	for rank := range ranks {
		lo, hi, err := comm.Share(samples, rank, ranks)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("rank %d has samples %d to %d\n", rank, lo, hi-1)
	}
	// Output:
	// in pieces of 4096
	// rank 0 has samples 0 to 331775
	// rank 1 has samples 331776 to 667647
	// rank 2 has samples 667648 to 999999
}
