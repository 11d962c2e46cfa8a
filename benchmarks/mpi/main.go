// Command mpi measures how much of their time several processes of a fit work: it fits made-up views with one process and with
// several, in turns, one thread each, and prints how their times compare.
//
//	go build -o mpibench ./benchmarks/mpi && ./mpibench [-n 240000] [-dims 784,392,160] [-preset default] [-epochs 10]
//
// The machine must have a core for each process, and nothing else to do. Times are without that of making the views.
// docs/mpi.md has figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/mpi"
)

type options struct {
	n, clusters, epochs, rounds int
	threads, cores              int
	dims, preset, ranks, launch string
	given, rank, detail, costs  bool
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 240_000, "samples")
	flag.StringVar(&o.dims, "dims", "784,392,160", "features of the views")
	flag.IntVar(&o.clusters, "clusters", 10, "clusters, and anchors")
	flag.StringVar(&o.preset, "preset", "default", "default or paper")
	flag.IntVar(&o.epochs, "epochs", 10, "epochs")
	flag.IntVar(&o.rounds, "rounds", 3, "turns")
	flag.StringVar(&o.ranks, "ranks", "1,2", "numbers of processes")
	flag.StringVar(&o.launch, "launch", "mpirun", "what starts processes, before -n and their number")
	flag.BoolVar(&o.given, "given", false, "the paper's first anchors are given, in place of a k-means, to time epochs alone")
	flag.BoolVar(&o.detail, "detail", false, "say of each kind of step how often it was done, its messages and bytes")
	flag.BoolVar(&o.rank, "rank", false, "be one of the processes, which this program starts")
	flag.BoolVar(&o.costs, "cost", false, "fit nothing: print what fits of the network of the paper cost, as counted")
	flag.IntVar(&o.threads, "threads", 1, "threads of each process, for -cost")
	flag.IntVar(&o.cores, "cores", math.MaxInt, "processes that work at a time, for -cost")
	probes := flag.Bool("probe", false, "be one of the processes that mpirun has started, and measure messages")
	flag.Parse()
	work := o.compare
	switch {
	case *probes:
		work = probe
	case o.costs:
		work = o.predict
	case o.rank:
		work = o.fit
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "mpi:", err)
		os.Exit(1)
	}
}

// numbers are those of a list with commas.
func numbers(list string) (out []int, err error) {
	for s := range strings.SplitSeq(list, ",") {
		n, e := strconv.Atoi(strings.TrimSpace(s))
		out, err = append(out, n), errors.Join(err, e)
	}
	return out, err
}

// figures are what rank 0 prints of a fit, in seconds but for the last two.
type figures struct{ total, prepare, start, epoch, finish, waits, steps, bytes float64 }

// compare starts the processes.
func (o *options) compare() error {
	ranks, err := numbers(o.ranks)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	all := make([][]figures, len(ranks))
	for range o.rounds {
		for k, r := range ranks {
			args := append(strings.Fields(o.launch), "-n", strconv.Itoa(r), exe, "-rank",
				"-n", strconv.Itoa(o.n), "-dims", o.dims,
				"-clusters", strconv.Itoa(o.clusters), "-preset", o.preset, "-epochs", strconv.Itoa(o.epochs),
				fmt.Sprintf("-given=%v", o.given), fmt.Sprintf("-detail=%v", o.detail))
			c := exec.Command(args[0], args[1:]...)
			c.Env, c.Stderr = append(os.Environ(), "GOMAXPROCS=1"), os.Stderr
			out, err := c.Output()
			if err != nil {
				return fmt.Errorf("%d processes: %w", r, err)
			}
			var f figures
			_, err = fmt.Sscan(string(out), &f.total, &f.prepare, &f.start, &f.epoch, &f.finish, &f.waits, &f.steps, &f.bytes)
			if err != nil {
				return fmt.Errorf("%d processes said %q: %w", r, out, err)
			}
			all[k] = append(all[k], f)
		}
	}
	fmt.Printf("%d × (%s), m = %d, preset %s, %d epochs, one thread a process, medians of %d\n\n",
		o.n, o.dims, o.clusters, o.preset, o.epochs, o.rounds)
	fmt.Println("processes | whole fit, s | preparation | start | epoch | clusters | in messages | messages | MB received | " +
		"efficiency | and of the paper's as counted: messages | MB | whole fit, s")
	first := 0.0
	for k, r := range ranks {
		of := func(field func(f figures) float64) float64 {
			var x []float64
			for _, f := range all[k] {
				x = append(x, field(f))
			}
			slices.Sort(x)
			return x[len(x)/2]
		}
		total := of(func(f figures) float64 { return f.total })
		if k == 0 {
			first = total * float64(r)
		}
		counted := ""
		if o.preset == "paper" && !o.given {
			c, err := o.simulate(r)
			if err != nil {
				return err
			}
			counted = fmt.Sprintf(" | %.0f | %.1f | %.2f", c.messages, c.bytes/1e6, c.seconds)
		}
		fmt.Printf("%d | %.2f | %.2f | %.2f | %.3f | %.2f | %.2f | %.0f | %.1f | %.0f %%%s\n", r, total,
			of(func(f figures) float64 { return f.prepare }), of(func(f figures) float64 { return f.start }),
			of(func(f figures) float64 { return f.epoch }), of(func(f figures) float64 { return f.finish }),
			of(func(f figures) float64 { return f.waits }), of(func(f figures) float64 { return f.steps }),
			of(func(f figures) float64 { return f.bytes })/1e6, 100*first/(float64(r)*total), counted)
	}
	return nil
}

// fit is one of the processes.
func (o *options) fit() error {
	w, err := mpi.Init()
	if err != nil {
		return err
	}
	dims, err := numbers(o.dims)
	if err != nil {
		return err
	}
	lo, hi, err := comm.Share(o.n, w.Rank(), w.Size())
	if err != nil {
		return err
	}
	config := largemvc.Config{Clusters: o.clusters, Epochs: o.epochs, Rotate: largemvc.None}
	if o.preset == "paper" {
		config.Preset = largemvc.PresetPaper
	}
	for v, d := range dims {
		if o.given {
			config.Start.Anchors = append(config.Start.Anchors, anchors(v, o.clusters, d))
		}
	}
	timed := &timedComm{Comm: w}
	config.Machine = machine.Options{Workers: 1, Overwrite: true, Device: machine.CPU, Comm: timed}
	var views []largemvc.View
	for v, d := range dims {
		views = append(views, largemvc.Float32View(hi-lo, d, rows(v, d, lo, hi, o.clusters)))
	}
	debug.FreeOSMemory()
	if err := w.Broadcast(context.Background(), 0, []byte{0}); err != nil { // until all are here
		return err
	}
	began := time.Now()
	found, err := largemvc.Fit(context.Background(), views, config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		w.Abort(err)
	}
	if w.Rank() == 0 {
		t := found.Timings
		if o.detail {
			for _, what := range slices.Sorted(maps.Keys(timed.each)) {
				s := timed.each[what]
				fmt.Fprintf(os.Stderr, "%6d  %6d  %12d  %8.3f  %8.3f  %s\n",
					s.times, s.messages, s.bytes, s.waits.Seconds(), s.moves.Seconds(), what)
			}
		}
		fmt.Println(time.Since(began).Seconds(), t.Prepare.Seconds(), t.Start.Seconds(), t.Epoch.Seconds(), t.Clusters.Seconds(),
			timed.waits.Seconds(), timed.steps, timed.bytes)
	}
	return w.Close()
}

// anchors are those that a training may begin with: orthonormal rows.
func anchors(view, m, d int) *mat.Dense {
	rng := rand.New(rand.NewPCG(uint64(view), 3))
	x := mat.NewDense(d, m, nil)
	x.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, x)
	var qr mat.QR
	qr.Factorize(x)
	var q mat.Dense
	qr.QTo(&q)
	return mat.DenseCopyOf(q.Slice(0, d, 0, m).T())
}

// rows makes the rows from lo to hi of a view: points around a centre for each cluster, with noise that has some directions more
// than others, the same whichever process makes them.
func rows(view, d, lo, hi, clusters int) []float32 {
	rng := rand.New(rand.NewPCG(uint64(view), 1))
	const wide = 8 // directions
	centres, directions := make([]float32, clusters*d), make([]float32, wide*d)
	for _, x := range [][]float32{centres, directions} {
		for j := range x {
			x[j] = float32(rng.NormFloat64())
		}
	}
	x := make([]float32, (hi-lo)*d)
	for i := lo; i < hi; i++ {
		own := rand.New(rand.NewPCG(uint64(i), uint64(view)+2))
		row, k := x[(i-lo)*d:(i-lo+1)*d], int(uint64(i)*0x9e3779b97f4a7c15>>32)%clusters
		copy(row, centres[k*d:(k+1)*d])
		for q := range wide {
			a := float32(own.NormFloat64())
			for j, e := range directions[q*d : (q+1)*d] {
				row[j] += a * e
			}
		}
		for j := range row {
			row[j] += 4 * (own.Float32() - 0.5)
		}
	}
	return x
}

// timedComm counts what the processes do together.
type timedComm struct {
	machine.Comm
	waits        time.Duration
	steps, bytes int
	what         string // of the step whose header was exchanged last
	heading      bool   // a header is being exchanged
	each         map[string]*step
}

// step is what the processes do together under one name.
type step struct {
	times, messages, bytes int
	waits, moves           time.Duration // until all are there, and in the messages after that
}

// count adds a message of which so many bytes were received.
func (c *timedComm) count(bytes int, began time.Time) {
	took := time.Since(began)
	c.waits += took
	if c.each == nil {
		c.each = map[string]*step{}
	}
	s := c.each[c.what]
	if s == nil {
		s = &step{}
		c.each[c.what] = s
	}
	s.messages, s.bytes = s.messages+1, s.bytes+bytes
	if c.heading {
		s.waits += took
	} else {
		s.moves += took
	}
	c.steps, c.bytes = c.steps+1, c.bytes+bytes
}

func (c *timedComm) AllGather(ctx context.Context, mine []byte, sizes []int, all []byte) error {
	if header := ranks.HeaderBytes; len(mine) == header && len(all) == header*len(sizes) {
		c.what = strings.TrimRight(string(mine[17:]), "\x00")
		c.heading = true
		defer func() { c.each[c.what].times++; c.heading = false }()
	}
	began := time.Now()
	defer func() { c.count(len(all)-len(mine), began) }()
	return c.Comm.AllGather(ctx, mine, sizes, all)
}

func (c *timedComm) AllToAll(ctx context.Context, mine []byte, to []int, all []byte, from []int) error {
	began := time.Now()
	defer func() { c.count(len(all)-from[c.Rank()], began) }()
	return c.Comm.(interface {
		AllToAll(ctx context.Context, mine []byte, to []int, all []byte, from []int) error
	}).AllToAll(ctx, mine, to, all, from)
}

func (c *timedComm) Broadcast(ctx context.Context, root int, x []byte) error {
	began := time.Now()
	defer func() { c.count(len(x), began) }()
	return c.Comm.Broadcast(ctx, root, x)
}
