// Command scale measures what docs/scale.md and docs/mpi.md say of data larger than memory, a row of their tables each:
//
//	go run -C studies ./bench/scale -folder FOLDER [-data FOLDER,FOLDER] [-rows epochs,sample,…]
//
// The folder is on the disk that is measured, and has room for 4 GB. The rows sample, whole and ranks are of mnist3v, numbers of three
// small sets; without -data these rows are left out. ranks needs Open MPI, nodes 20 GB
// of memory.
//
// Every fit is a process of its own, in a memory control group where the system permits one. Times need an idle machine.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/sets"
)

// bench holds the flags.
type bench struct {
	ctx                                                     context.Context
	folder, data, labels, features                          string
	n, seeds, workers, fit, some, made, rounds, paper, then int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := bench{ctx: ctx}
	child := flag.String("job", "", "be a process of this program, which starts it")
	rows := flag.String("rows", "epochs,sample,whole,labels,numbers", "the rows to measure")
	flag.StringVar(&b.folder, "folder", "", "folder on the disk that is measured, with room for 4 GB")
	flag.StringVar(&b.data, "data", "", "folders with mnist3v.npz, ucidigit.npz, skdigits3v.npz and msrcv1.npz, separated by commas")
	flag.StringVar(&b.labels, "labels", "1000000,10000000", "numbers of rows of the row labels")
	flag.IntVar(&b.some, "labels-held", 200_000, "how many of them are labelled from memory too, for the time of the arithmetic")
	flag.IntVar(&b.n, "n", 262_144, "samples of the row epochs, in views of 784, 342 and 210 features")
	flag.IntVar(&b.rounds, "rounds", 3, "how many times the rows epochs, ranks and nodes are measured, alternated")
	flag.IntVar(&b.paper, "paper-epochs", 2, "epochs of each fit of the row epochs")
	flag.IntVar(&b.seeds, "seeds", 5, "seeds of the rows sample, numbers, many and views")
	flag.IntVar(&b.made, "made", 20_000, "samples of the rows many and views")
	flag.StringVar(&b.features, "features", "256,128", "features of each view of the row many")
	flag.IntVar(&b.fit, "fit-samples", 10_000, "samples that the row sample trains on")
	flag.IntVar(&b.then, "then", 0, "epochs of a fit on all samples that begins at the labels of the row sample")
	flag.IntVar(&b.workers, "workers", 0, "goroutines; 0: all cores")
	flag.Parse()
	var err error
	if *child != "" {
		err = runJob(ctx, *child)
	} else {
		err = b.measure(*rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// runJob does a job and prints its result for the parent process.
func runJob(ctx context.Context, text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	r, err := j.run(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

func (b *bench) measure(rows string) error {
	if b.folder == "" {
		return errors.New("-folder is wanted")
	}
	if b.rounds < 1 || b.paper < 1 {
		return errors.New("-rounds and -paper-epochs are 1 or more")
	}
	known := map[string]struct {
		labelled bool
		of       func(folder string) error
	}{
		"epochs": {false, b.ofEpochs}, "labels": {false, b.ofLabels}, "many": {false, b.ofMany}, "views": {false, b.ofViews},
		"numbers": {true, b.ofNumbers}, "ranks": {true, b.ofRanks}, "nodes": {false, b.ofNodes},
		"sample": {true, func(folder string) error { return b.ofSample(folder, b.fit) }},
		"whole":  {true, func(folder string) error { return b.ofSample(folder, 0) }},
	}
	for name := range strings.SplitSeq(rows, ",") {
		row, found := known[name]
		if !found {
			return fmt.Errorf("there is no row %q", name)
		}
		if row.labelled && b.data == "" {
			fmt.Printf("%s: left out, without -data\n", name)
			continue
		}
		folder, err := os.MkdirTemp(b.folder, "scale-")
		if err == nil {
			err = errors.Join(row.of(folder), os.RemoveAll(folder))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

const mib = 1 << 20

// start runs a job in its own process, in a control group of limit MiB; 0: in none.
func (b *bench) start(j job, limit int) (*result, error) {
	g, err := newGroup(limit)
	if err != nil {
		fmt.Printf("without a control group: %v\n", err)
	}
	defer g.remove()
	j.Workers, j.Group = b.workers, g.processes()
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(b.ctx, program, "-job", string(text))
	c.Stderr = os.Stderr
	if limit > 0 { // What the collector has yet to collect counts too.
		c.Env = append(os.Environ(), "GOMEMLIMIT="+strconv.Itoa(limit*3/4)+"MiB")
	}
	out, err := c.Output()
	if err != nil {
		return nil, err
	}
	r := &result{}
	if err := json.Unmarshal(out, r); err != nil {
		return nil, err
	}
	r.Group = g.most()
	return r, nil
}

// way says where a fit keeps rows and state.
type way struct {
	name       string
	limit, max int // MiB: of the control group, and of MaxMemory; 0: none
}

// ofEpochs is the network of the paper on rows from disk.
func (b *bench) ofEpochs(folder string) error {
	files, bytes, _, err := blobs(folder, b.n, 10, 784, 342, 210)
	if err != nil {
		return err
	}
	fmt.Printf("epochs: %d samples, %.2f GB\n", b.n, float64(bytes)/1e9)
	ways := []way{
		{name: "rows and state in memory"}, {"rows on disk, state in memory", 330, 245},
		{"rows on disk, state computed again", 134, 100},
	}
	resident, ratios, hash := 0.0, make([][]float64, len(ways)), ""
	before, err := diskRate(files)
	if err != nil {
		return err
	}
	for range b.rounds { // alternated, with the rate of the disk right before and after each
		asPaper := presets.Paper.Of(largemvc.Config{Clusters: 10, Epochs: b.paper})
		for k, w := range ways {
			r, err := b.start(job{
				Files: files, Streamed: w.limit > 0, Scratch: folder, MaxMemory: int64(w.max) * mib,
				Fit: &asPaper,
			}, w.limit)
			if err != nil {
				return err
			}
			after, err := diskRate(files)
			if err != nil {
				return err
			}
			passes := 5 * float64(bytes) / ((before + after) / 2)
			if w.limit == 0 {
				resident, hash = r.Epoch, r.Hash
			}
			ratio := r.Epoch / max(passes, resident)
			ratios[k] = append(ratios[k], ratio)
			fmt.Printf("epochs: %s, %d MiB: %v; the disk gives %.2f and %.2f GB/s, five passes take %.1f s; epoch %.2f times "+
				"max(five passes, epoch in memory); the bits of memory: %v\n",
				w.name, w.limit, r, before/1e9, after/1e9, passes, ratio, r.Hash == hash)
			before = after
		}
	}
	for k, w := range ways {
		slices.Sort(ratios[k])
		fmt.Printf("epochs: %s: median of %d: %.2f, from %.2f to %.2f\n", w.name, b.rounds, ratios[k][len(ratios[k])/2],
			ratios[k][0], ratios[k][len(ratios[k])-1])
	}
	return nil
}

// scored runs a fit with several seeds and prints each, and the mean scores and processor time.
func (b *bench) scored(name string, j job) error {
	var mean [3]float64
	processor := 0.0
	for seed := range b.seeds {
		config := *j.Fit
		config.Seed = uint64(seed + 1)
		j.Fit = &config
		r, err := b.start(j, 0)
		if err != nil {
			return err
		}
		fmt.Printf("%s, seed %d: %v\n", name, seed+1, r)
		processor += r.Processor / float64(b.seeds)
		for i, s := range r.Scores {
			mean[i] += s / float64(b.seeds)
		}
	}
	fmt.Printf("%s, mean of %d seeds: ACC %.1f, NMI %.1f, ARI %.1f, %.1f s of processors\n", name, b.seeds, mean[0], mean[1],
		mean[2], processor)
	return nil
}

// ofMany measures fits of 1,000 clusters.
func (b *bench) ofMany(folder string) error {
	var dims []int
	for text := range strings.SplitSeq(b.features, ",") {
		d, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		dims = append(dims, d)
	}
	return b.ofMade("many: "+b.features+" features", folder, 1000, dims)
}

// ofViews measures fits of the same number of features in two views and in sixteen.
func (b *bench) ofViews(folder string) error {
	for _, views := range []int{2, 16} {
		dims := slices.Repeat([]int{512 / views}, views)
		if err := b.ofMade(fmt.Sprintf("views: %d", views), folder, 10, dims); err != nil {
			return err
		}
	}
	return nil
}

// ofMade measures default fits of rows around k centres.
func (b *bench) ofMade(name, folder string, k int, dims []int) error {
	files, _, truth, err := blobs(folder, b.made, k, dims...)
	if err != nil {
		return err
	}
	labels, err := writeTruth(folder, truth)
	if err != nil {
		return err
	}
	return b.scored(name, job{Files: files, Labels: labels, Fit: &largemvc.Config{Clusters: k}})
}

// ofSample measures fits on k of the samples; 0: on all.
func (b *bench) ofSample(folder string, k int) error {
	data := shuffled{}
	files, labels, err := data.write(b.ctx, folder, sets.Find(b.data, "mnist3v"))
	if err != nil {
		return err
	}
	j := job{Files: files, Labels: labels, Fit: &largemvc.Config{Clusters: len(data.set.LabelNames), FitSamples: k}}
	name := "sample: trained on all"
	if k > 0 {
		name, j.Then = fmt.Sprintf("sample: trained on %d of %d", k, data.set.Samples()), b.then
	}
	if j.Then > 0 {
		name += fmt.Sprintf(", and %d epochs on all from there", j.Then)
	}
	return b.scored(name, j)
}

// ofLabels measures the labelling of many rows with a model.
func (b *bench) ofLabels(folder string) error {
	for text := range strings.SplitSeq(b.labels, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		files, bytes, _, err := blobs(folder, n, 10, 8, 6)
		if err != nil {
			return err
		}
		rate, err := diskRate(files)
		if err != nil {
			return err
		}
		for _, preset := range []presets.Preset{presets.Paper, presets.Default} {
			model := filepath.Join(folder, string(preset))
			fit := preset.Of(largemvc.Config{Clusters: 10, Epochs: 20, FitSamples: 20_000})
			if _, err := b.start(job{Files: files, First: b.some, Model: model, Fit: &fit}, 0); err != nil {
				return err
			}
			held, err := b.start(job{Files: files, First: b.some, Model: model}, 0)
			if err != nil {
				return err
			}
			r, err := b.start(job{Files: files, Streamed: true, Model: model}, 0)
			if err != nil {
				return err
			}
			times := float64(n) / float64(min(n, b.some))
			fmt.Printf("labels: %d rows, preset %v: %v; the disk takes %.1f s, the arithmetic %.1f s, %.1f s of processors\n",
				n, preset, r, float64(bytes)/rate, times*held.Seconds, times*held.Processor)
		}
	}
	return nil
}

// ofNumbers measures the loss of quality with fewer bytes for each value.
func (b *bench) ofNumbers(folder string) error {
	for _, name := range []string{"ucidigit", "skdigits3v", "msrcv1"} {
		// By columns, so that the rows are made into files of Scratch.
		data := shuffled{turned: true}
		files, labels, err := data.write(b.ctx, folder, sets.Find(b.data, name))
		if err != nil {
			return err
		}
		for _, preset := range []presets.Preset{presets.Default, presets.Paper} {
			for _, numbers := range []dataset.Numbers{dataset.Float32Numbers, dataset.BFloat16Numbers, dataset.Uint8Numbers} {
				name := fmt.Sprintf("numbers: %s, preset %v, %v", data.set.Name, preset, numbers)
				config := preset.Of(largemvc.Config{Clusters: len(data.set.LabelNames)})
				j := job{Files: files, Labels: labels, Streamed: true, Scratch: folder, Numbers: numbers, Fit: &config}
				if err := b.scored(name, j); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
