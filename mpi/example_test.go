package mpi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/mpi"
)

// A program for a job of several processes, started by mpirun -n 4 PROGRAM. Every process fits its own samples. Started without a
// launcher, the program is a job of one process. Without an MPI library, Init returns an error that lists the names tried.
func ExampleInit() {
	world, err := mpi.Init()
	if err != nil {
		log.Fatal(err)
	}
	defer world.Close()

	const samples = 100_000
	lo, hi, err := comm.Share(samples, world.Rank(), world.Size())
	if err != nil {
		log.Print(err)
		world.Abort(err) // ends the other processes too
	}
	x := make([]float32, 0, 3*(hi-lo)) // a program reads the rows from lo to hi−1
	for i := lo; i < hi; i++ {
		x = append(x, float32(i%2)*5, float32(i%7)/10, float32(1-i%2)*5)
	}
	config := largemvc.Config{Clusters: 2}
	config.Machine.Comm = world
	c, err := largemvc.Fit(context.Background(), []largemvc.View{largemvc.DenseView(hi-lo, 3, x)}, config)
	if err != nil {
		log.Print(err)
		world.Abort(err)
	}
	fmt.Println("rank", world.Rank(), "has the labels of", len(c.Labels), "samples")
}
