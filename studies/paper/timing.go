package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
	"github.com/largemvc/largemvc/studies/internal/viz"
	"github.com/largemvc/largemvc/studies/internal/work"
)

// cost holds the resources of one run.
type cost struct {
	Epoch, Total   float64 // seconds of processor time: the median epoch; everything, for 100 epochs
	Peak, Estimate float64 // MiB: heap beyond what was there before; what EstimateMemory says
}

// timedEpochs of each training are measured; 100 are computed from their median.
const timedEpochs = 5

// growth is one kind of data at several sizes.
type growth struct {
	name    string
	preset  presets.Preset
	sizes   []int
	classes int
	make    func(ctx context.Context, n int) ([]largemvc.View, error)
}

// timing measures time and memory as n grows.
func timing(ctx context.Context, s *study) error {
	data := []growth{made([]int{944, 576, 512, 640}, 100, 2500, 5000, 10000, 20000),
		digits(3750, 7500, 15000, 30000, 60000)}
	if s.quick {
		data = []growth{made([]int{94, 57, 51, 64}, 20, 1000, 2000, 4000, 8000, 16000), digits(1000, 2000, 4000)}
	}
	var kinds []growth
	for _, preset := range []presets.Preset{presets.Paper, presets.Default} {
		for _, k := range data {
			k.name, k.preset = fmt.Sprintf("%s, %v preset", k.name, preset), preset
			kinds = append(kinds, k)
		}
	}
	return grow(ctx, s, kinds)
}

// grow measures all sizes of the kinds.
func grow(ctx context.Context, s *study, kinds []growth) error {
	var jobs []work.Job[cost]
	for _, k := range kinds {
		for _, n := range k.sizes {
			jobs = append(jobs, work.Job[cost]{
				Key: fmt.Sprintf("%s | n %d | c %d", k.name, n, k.classes),
				Do:  func(ctx context.Context) (cost, error) { return k.measure(ctx, n) },
			})
		}
	}
	got, err := work.All(ctx, s.path("work"), s.stderr, "time", jobs)
	if err != nil {
		return err
	}
	g := tables.Grid{Name: "time", Header: []string{"data, n", "epoch (s)", "100 epochs, start and labels (s)",
		"peak heap (MiB)", "EstimateMemory (MiB)"}}
	seconds := viz.Lines{Title: "Time of an epoch", XLabel: "n (samples)", YLabel: "seconds", LogX: true,
		LogY: true, Fit: true, Markers: true}
	total := viz.Lines{Title: "Time in total, 100 epochs", XLabel: "n (samples)", YLabel: "seconds",
		LogX: true, LogY: true, Fit: true, Markers: true}
	memory := viz.Lines{Title: "Peak memory", XLabel: "n (samples)", YLabel: "MiB", LogX: true, LogY: true,
		Fit: true, Markers: true}
	next := 0
	for _, k := range kinds {
		var n, epoch, whole, peak []float64
		for _, size := range k.sizes {
			c := got[next]
			next++
			g.Rows = append(g.Rows, tables.Line{Name: fmt.Sprintf("%s, %d", k.name, size), Cells: []tables.Cell{
				{Text: fmt.Sprintf("%.3g", c.Epoch)}, {Text: fmt.Sprintf("%.3g", c.Total)},
				{Text: fmt.Sprintf("%.0f", c.Peak)}, {Text: fmt.Sprintf("%.0f", c.Estimate)},
			}})
			n, epoch, whole, peak = append(n, float64(size)), append(epoch, c.Epoch), append(whole, c.Total), append(peak, c.Peak)
		}
		seconds.Series = append(seconds.Series, viz.Series{Name: k.name, X: n, Y: epoch})
		total.Series = append(total.Series, viz.Series{Name: k.name, X: n, Y: whole})
		memory.Series = append(memory.Series, viz.Series{Name: k.name, X: n, Y: peak})
	}
	caption := fmt.Sprintf("float32, L = 2, m = c, one run each; seconds of processor time, all threads together, which what "+
		"else the "+
		"machine does changes less than the time that passes. An epoch is the median of %d; the total is checks, "+
		"preprocessing (in the "+
		"default preset with the search of neighbours and the smoothing), start, 100 times that epoch, and the labels. Peak "+
		"heap is what "+
		"the Go heap held at most beyond what was there before, the views of the caller included; sampled every 20 ms. "+
		"Synthetic data: "+
		"Gaussian clusters in views of YTF-100's shape (944, 576, 512 and 640 features, 100 clusters; a tenth of the "+
		"features and 20 "+
		"clusters with -quick). MNIST: pixels, histograms of gradients and of local binary patterns. What the other methods "+
		"take is in "+
		"the table of scores.", timedEpochs)
	return s.publish(page{
		name: "time", title: "Time and memory", caption: caption,
		notes: "The paper compares run times with deep methods in a figure, gives no numbers in its text, and claims linear " +
			"cost. Thin lines are least-squares fits of a power law, whose exponent the legend gives; 1 is linear.",
		tables: []tables.Grid{g},
		figures: []picture{{"time-growth", "Processor time and memory over the number of samples, with the exponents of the " +
			"fitted power laws.",
			viz.Figure{Panels: []viz.Panel{seconds, total, memory}, Columns: 2, Width: 12}}},
	})
}

// made is Gaussian clusters.
func made(dims []int, classes int, sizes ...int) growth {
	const name = "synthetic data"
	return growth{name, presets.Paper, sizes, classes, func(ctx context.Context, n int) ([]largemvc.View, error) {
		set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: n, Clusters: classes, Dims: dims, Seed: 1})
		if err != nil {
			return nil, err
		}
		var views []largemvc.View
		for _, v := range set.Views {
			views = append(views, largemvc.DenseView(v.Rows, v.Cols, v.Float32))
		}
		return views, nil
	}}
}

// digits is MNIST.
func digits(sizes ...int) growth {
	return growth{"MNIST", presets.Paper, sizes, 10, func(ctx context.Context, n int) ([]largemvc.View, error) {
		d, err := sets.Digits(ctx, "", n, 0)
		if err != nil {
			return nil, err
		}
		return d.Views, nil
	}}
}

// measure runs the network on n samples and watches the heap.
func (k growth) measure(ctx context.Context, n int) (cost, error) {
	runtime.GC()
	debug.FreeOSMemory()
	before := heap()
	views, err := k.make(ctx, n)
	if err != nil {
		return cost{}, err
	}
	config := k.preset.Of(largemvc.Config{Clusters: k.classes, Epochs: timedEpochs, Seed: 1})
	config.Machine.Overwrite = true
	estimate, err := config.EstimateMemory(views)
	if err != nil {
		return cost{}, err
	}
	runtime.GC()
	var epochs []time.Duration // the processor time at the end of each
	config.Progress = func(e largemvc.Progress) error {
		if e.Training() {
			epochs = append(epochs, processorTime())
		}
		return nil
	}
	stop, peak := make(chan struct{}), make(chan uint64)
	began := processorTime()
	go watch(stop, peak)
	_, err = largemvc.Fit(ctx, views, config)
	whole := processorTime() - began
	close(stop)
	most := <-peak
	if err != nil {
		return cost{}, err
	}
	epoch := between(epochs)
	return cost{
		Epoch:    epoch.Seconds(),
		Total:    (whole + time.Duration(len(epochs)*(100/timedEpochs-1))*epoch).Seconds(),
		Peak:     float64(most-min(most, before)) / (1 << 20),
		Estimate: float64(estimate.Total) / (1 << 20),
	}, nil
}

// between is the median of the times between one moment and the next.
func between(moments []time.Duration) time.Duration {
	var apart []time.Duration
	for i := 1; i < len(moments); i++ {
		apart = append(apart, moments[i]-moments[i-1])
	}
	if len(apart) == 0 {
		return 0
	}
	slices.Sort(apart)
	return apart[len(apart)/2]
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// watch sends the most that the heap held until stop is closed.
func watch(stop <-chan struct{}, peak chan<- uint64) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	most := heap()
	for {
		select {
		case <-tick.C:
			most = max(most, heap())
		case <-stop:
			peak <- max(most, heap())
			return
		}
	}
}
