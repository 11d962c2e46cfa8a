package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/mpi"
)

// A job's cost is made of what its processes do together, step by step, as the code does it, and of times that were measured.

// What was measured of one process with one thread and the network of the paper, two layers, on views of measuredSize = m·Σ d_v,
// with the commands of docs/mpi.md. Of other views the times for a row are taken to grow with m·Σ d_v: of 20 times as much an
// epoch took 17 times as long.
const (
	measuredSize = 10 * 1336
	epochRow     = 4.5  // µs of a row in an epoch
	restRow      = 14.4 // µs of a row in all else
	fixed        = 0.69 // s that do not grow with the rows
)

// What was measured of messages between two processes of one machine (-probe).
const (
	latency   = 7.5 // µs of one of a header
	bandwidth = 4.5 // GB/s received, of 4 MiB
)

// exchange is a step that processes do together some times.
type exchange struct {
	what           string
	times          int
	numbers, chunk int // of a branch of a tree of sums, and the rows of a chunk
	each           int // bytes of each process
	gathered       int // bytes of all processes together, spread evenly over the rows
}

// exchanges are those of a fit with the network of the paper: complete dense views in float32, as many clusters as anchors, two
// layers, no checkpoint.
func (o *options) exchanges(dims []int) []exchange {
	const (
		layers, startPasses, lastPasses = 2, 4, 10
		float, double                   = 4, 8
		told, settings                  = 2000, 1371 // samples that tell how far others are; bytes of the configuration
	)
	m, views, width := o.clusters, len(dims), 0
	for _, d := range dims {
		width += d
	}
	sample, chunk := max(2048, min(100*m, 10_000)), func(some int) int { return parallel.ChunkRows(o.n, some) }
	forward := views*m*m + views
	backward := 2*m*m + 2*views*m*m + views + 1
	out := []exchange{
		{what: "the sizes", times: 1, each: settings},
		{what: "the absent views", times: 1, each: double * views},
		{what: "what is left of a view", times: views, each: double},
		{what: "the squares of a view", times: views, numbers: 1, chunk: 1024},
		{what: "the samples of each view", times: 1, each: double * views},
		{what: "rows for the k-means", times: 1, gathered: sample * m * float},
		{what: "the sums of the clusters", times: startPasses, numbers: m*(width+2*views+1) + 1, chunk: chunk(1024)},
		{what: "the sums of the clusters", times: lastPasses, numbers: m*(m+3) + 1, chunk: chunk(1024)},
		{what: "the clusters in use", times: 2, each: double * m},
		{what: "the inertia", times: 2, numbers: 1, chunk: 1024},
		{what: "the first samples of the clusters", times: 2, each: double * m},
		{what: "the sizes of the clusters", times: 3, each: double * m},
		{what: "how far samples are", times: 1, gathered: told * double},
		{what: "the end of an epoch", times: o.epochs, each: double},
		{what: "the sums of a pass", times: (o.epochs+1)*layers + o.epochs, numbers: forward + m*width, chunk: chunk(512)},
		{what: "the sums of a pass", times: 1, numbers: forward, chunk: chunk(512)},
		{what: "the sums of a pass", times: o.epochs, numbers: backward, chunk: chunk(512)},
		{what: "the sums of a pass", times: o.epochs * (layers - 1), numbers: backward + m*width, chunk: chunk(512)},
	}
	for _, d := range dims {
		out = append(out, exchange{what: "rows for the k-means", times: 1, gathered: sample * d * float},
			exchange{what: "the sums of the start's clusters", times: 1, numbers: m * d, chunk: chunk(256)})
	}
	return out
}

// branches returns how many branches of the tree of chunks each process has.
func branches(n, chunk, processes int) ([]int, error) {
	out := make([]int, processes)
	for r := range out {
		lo, hi, err := comm.Share(n, r, processes)
		if err != nil {
			return nil, err
		}
		tree := parallel.NewVectorTree(0)
		for c := lo / chunk; c*chunk < hi; c++ {
			tree.Push(c, nil)
		}
		if r == processes-1 {
			tree.Finish()
		}
		out[r] = len(tree.Nodes())
	}
	return out, nil
}

// cost is what a fit takes of process 0.
type cost struct {
	bytes, messages float64
	seconds, waits  float64 // of all, and of it in messages
}

// simulate counts what the processes of a fit exchange, and adds up the times that were measured.
func (o *options) simulate(processes int) (cost, error) {
	dims, err := numbers(o.dims)
	if err != nil {
		return cost{}, err
	}
	out := cost{messages: 1, bytes: float64(ranks.HeaderBytes * (processes - 1))} // the end
	trees := map[int][]int{}
	for _, e := range o.exchanges(dims) {
		bytes, messages := ranks.HeaderBytes*(processes-1)+e.each*(processes-1)+e.gathered/processes*(processes-1), 2
		if e.numbers > 0 {
			if trees[e.chunk] == nil {
				if trees[e.chunk], err = branches(o.n, e.chunk, processes); err != nil {
					return cost{}, err
				}
			}
			bytes, messages = ranks.Received(trees[e.chunk], e.numbers, 0)
		}
		out.bytes += float64(e.times * bytes)
		out.messages += float64(e.times * messages)
	}
	width := 0
	for _, d := range dims {
		width += d
	}
	up := float64(width*o.clusters) / measuredSize
	lo, hi, err := comm.Share(o.n, 0, processes)
	if err != nil {
		return cost{}, err
	}
	rows := float64(hi-lo) / float64(o.threads)
	if processes > o.cores { // of one machine
		rows *= float64(processes) / float64(o.cores)
	}
	out.waits = out.messages*latency*1e-6 + out.bytes/bandwidth*1e-9
	if processes == 1 {
		out.waits = 0
	}
	out.seconds = fixed + rows*up*1e-6*(restRow+float64(o.epochs)*epochRow) + out.waits
	return out, nil
}

// predict prints what fits cost.
func (o *options) predict() error {
	processes, err := numbers(o.ranks)
	if err != nil {
		return err
	}
	fmt.Printf("%d × (%s), m = %d, preset paper, %d epochs, %d threads a process: counted, with times of one machine\n\n",
		o.n, o.dims, o.clusters, o.epochs, o.threads)
	fmt.Println("processes | messages | GB received by each | s in messages | whole fit, s | GB of views of each in float32")
	dims, err := numbers(o.dims)
	if err != nil {
		return err
	}
	width := 0
	for _, d := range dims {
		width += d
	}
	for _, r := range processes {
		c, err := o.simulate(r)
		if err != nil {
			return err
		}
		fmt.Printf("%d | %.0f | %.3g | %.3g | %.4g | %.3g\n", r, c.messages, c.bytes/1e9, c.waits, c.seconds,
			4e-9*float64(o.n)*float64(width)/float64(r))
	}
	return nil
}

// probe measures messages, as one of the processes.
func probe() error {
	w, err := mpi.Init()
	if err != nil {
		return err
	}
	for _, size := range []int{ranks.HeaderBytes, 4 << 20} {
		sizes, all := slices.Repeat([]int{size}, w.Size()), make([]byte, size*w.Size())
		times := 200
		if size < 1000 {
			times = 20_000
		}
		mine := all[size*w.Rank() : size*(w.Rank()+1)]
		began := time.Now()
		for range times {
			if err := w.AllGather(context.Background(), mine, sizes, all); err != nil {
				return err
			}
		}
		if took := time.Since(began).Seconds() / float64(times); w.Rank() == 0 {
			fmt.Printf("%d bytes of each of %d: %.3g µs, %.3g GB/s received\n", size, w.Size(), took*1e6,
				float64(size*(w.Size()-1))/took*1e-9)
		}
	}
	return w.Close()
}
