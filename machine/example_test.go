package machine_test

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/machine"
)

// rows returns a view of n samples in two groups.
func rows(n int) []largemvc.View {
	x := make([]float32, 0, 3*n)
	for i := range n {
		wobble := float32(i%7) / 10
		x = append(x, float32(i%2)*5, wobble, float32(1-i%2)*5)
	}
	return []largemvc.View{largemvc.DenseView(n, 3, x)}
}

// A fit on the CPU, in two goroutines and at most 256 MiB. A bound that is too low is an error.
func ExampleOptions() {
	c, err := largemvc.Fit(context.Background(), rows(200), largemvc.Config{
		Clusters: 2,
		Machine:  machine.Options{Workers: 2, MaxMemory: 256 << 20, Device: machine.CPU},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Sizes, "on the", c.Ran.Device)

	_, err = largemvc.Fit(context.Background(), rows(200), largemvc.Config{
		Clusters: 2,
		Machine:  machine.Options{MaxMemory: 1000},
	})
	fmt.Println("refused before any work:", err != nil)
	// Output:
	// [100 100] on the CPU
	// refused before any work: true
}

// A device is read from the command line.
func ExampleDevice() {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	var o machine.Options
	flags.TextVar(&o.Device, "device", o.Device, "auto, cpu or cuda")
	if err := flags.Parse([]string{"-device", "cpu"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("device:", o.Device)
	// Output: device: cpu
}

// counted is a Comm that counts the bytes that a rank sends through another one.
type counted struct {
	machine.Comm
	sent int
}

func (c *counted) AllGather(ctx context.Context, mine []byte, sizes []int, all []byte) error {
	c.sent += len(mine)
	return c.Comm.AllGather(ctx, mine, sizes, all)
}

// A Comm of your own joins the ranks of a job: over a network of your own, or around another Comm, as here.
func ExampleComm() {
	world := &counted{Comm: comm.Local(1)[0]}
	config := largemvc.Config{Clusters: 2}
	config.Machine.Comm = world
	c, err := largemvc.Fit(context.Background(), rows(200), config)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Sizes, "by", world.Size(), "rank; bytes were sent:", world.sent > 0)
	// Output: [100 100] by 1 rank; bytes were sent: true
}
