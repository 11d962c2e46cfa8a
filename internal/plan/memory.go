package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/known"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
)

// Memory is the memory that a fit holds at the same time, in bytes, by its use. Total is Views + Neighbors + Result + the larger
// of Start and State + Network. Device is memory of a GPU and not part of Total.
type Memory struct {
	Views, Neighbors, State, Network, Start, Result, Device, Total int64
}

// String returns the total and its parts in MiB.
func (m Memory) String() string {
	neighbors := ""
	if m.Neighbors > 0 {
		neighbors = fmt.Sprintf("neighbours %.1f, ", mib(m.Neighbors))
	}
	return fmt.Sprintf("%.1f MiB (views %.1f, %sstate of the samples %.1f, network %.1f, start %.1f, result %.1f)",
		mib(m.Total), mib(m.Views), neighbors, mib(m.State), mib(m.Network), mib(m.Start), mib(m.Result))
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// The number of n×m arrays of the graph of custom modules in training, for each view and layer and besides: Gorgonia keeps the
// values of all nodes, forward and backward. Measured, rounded up.
const (
	arraysOfView = 24
	arraysOfRest = 12
)

// chosenByNeighbors is the largest number of rows that all starts of a k-means use.
const chosenByNeighbors = 10_000

// Check returns an error for sizes whose memory exceeds an integer.
func (f *Fit) Check() error {
	width := 0
	for v, x := range f.Views {
		if x.Cols < 1 {
			return fmt.Errorf("%s has %d features", x.Label(v), x.Cols)
		}
		if x.Cols > math.MaxInt-width {
			return fmt.Errorf("the views have more than %d features", math.MaxInt)
		}
		width += x.Cols
	}
	n, s := f.samples(), &f.Spec
	if n < 1 {
		return fmt.Errorf("%d samples", n)
	}
	row := float64(width) + float64(s.Anchors+64)*float64(s.Layers*(len(f.Views)+3))
	if most := float64(n) * row * 64; f.Sample == 0 && most > math.MaxInt64/64 {
		return fmt.Errorf("%d samples of %d features in %d layers of %d anchors do not fit in memory", n, width, s.Layers,
			s.Anchors)
	}
	return nil
}

// estimate is a Memory, with the part of State that grows with the samples.
type estimate struct {
	Memory
	rowState int64
}

// sum sets the total.
func (e *estimate) sum() {
	e.Total = e.Views + e.Neighbors + e.Result + max(e.Start, e.State+e.Network)
}

// estimate returns the memory of a fit whose rows are in memory.
func (f *Fit) estimate() estimate {
	if f.Sample > 0 {
		return f.sampled()
	}
	n, size := f.samples(), f.size()
	dims, in := make([]int, len(f.Views)), smooth.Bytes{}
	var e estimate
	for v, x := range f.Views {
		dims[v] = x.Cols
		e.Views += prepare.Bytes(x, size)
	}
	width := f.width() // of the rows for the initial clustering
	if f.Smooth != nil {
		in = f.Smooth.Bytes(f.Views, size)
		dims = in.Columns
		width = f.Spec.Anchors
		e.addNeighbors(f, &in)
	}
	e.addNetwork(f, dims, in.Idle)
	e.Start = max(e.Start, in.Start+kmeans.Bytes(f.Spec.Anchors, f.KMeansStarts, n, width, size))
	e.addChoices(f, width)
	if f.Known > 0 { // after the training, when the state of the samples is released
		e.Start = max(e.Start, known.Bytes(known.Features(dims, f.Spec.Anchors), f.Classes, f.Known))
	}
	e.Result = int64(n) * 2 * 8
	if f.Spec.Noise {
		e.Result += int64(n) * int64(len(dims)) * 8
	}
	e.sum()
	return e
}

// addNeighbors adds the inputs before smoothing, the graph and its memory in the terms of the loss.
func (e *estimate) addNeighbors(f *Fit, in *smooth.Bytes) {
	n, m, size := f.samples(), f.Spec.Anchors, f.size()
	e.Views, e.Neighbors, e.Start = in.Inputs, in.Graph, in.Work
	if f.HeldOut {
		e.Neighbors += information.Bytes(n, total(in.Columns), m, size)
	}
	e.State = information.NeighborBytes(n, m, in.Atoms, f.Spec.Workers, size) // and Q of both terms
	if in.Start > 0 && f.Unit {
		e.Neighbors += in.Last(n, m, size)
	}
}

// addNetwork adds the network for inputs with dims columns each. Its state uses the memory of the views in idle.
func (e *estimate) addNetwork(f *Fit, dims, idle []int) {
	size, n := f.size(), int64(f.samples())
	spec := f.Spec
	spec.Samples, spec.Dims = f.samples(), dims
	// ‖x_i‖² once more, of the data.
	network := engine.StateBytes(&spec, spec.Samples, int(size), f.Start, true) - n*size // all but the weights of the samples
	if !f.Custom {
		network -= engine.SparedBytes(&spec, spec.Samples, int(size), idle)
	}
	e.State += network + n*size + 8*n*int64(len(dims))
	e.rowState = network
	e.Network = engine.NetworkBytes(&spec, spec.Samples, size)
	if f.Custom {
		e.State += n * int64(spec.Anchors) * size * int64(arraysOfView*len(dims)*spec.Layers+arraysOfRest)
		if f.Encoder { // the views as nodes, and the copies that an encoder gets
			e.State += 2 * n * int64(total(dims)) * size
		}
		return
	}
	bytes := device.Bytes[float32]
	if f.Float64 {
		bytes = device.Bytes[float64]
	}
	if need, err := bytes(&spec, nil, false, true); err == nil { // else the sizes exceed a launch
		e.Device = need
	}
}

// addChoices adds the memory of choosing among starts of k-means, and between the clusters of the initial clustering and of the
// network: the scores of labels, the labels of some starts, and the rows, of the given width, that all starts use.
func (e *estimate) addChoices(f *Fit, width int) {
	if f.Smooth == nil || !f.Neighbors {
		return
	}
	n, m, size := f.samples(), f.Spec.Anchors, f.size()
	scores := information.LabelScoreBytes(n, m, size)
	choice := scores + int64(n)*8*16 + int64(min(n, chosenByNeighbors))*int64(width)*size
	e.Start += choice
	switch {
	case f.Keeps && f.Clusters > m: // k-means on rows in as many columns as anchors
		rows := int64(n) * int64(kernel.Pad(m)) * size
		means := rows + kmeans.Bytes(f.Clusters, f.KMeansStarts, n, m, size)
		e.State += rows + max(information.LabelScoreBytes(n, f.Clusters, size), means)
	case f.Keeps:
		e.State += scores + information.HeldOutScoreBytes(n, m, size)
	case f.Chooses:
		e.State += choice
	}
}

// sampled is the memory of a fit that trains on some samples and labels all.
func (f *Fit) sampled() estimate {
	some, drawn := *f, int64(0)
	some.Sample, some.Views = 0, slices.Clone(f.Views)
	for v, x := range some.Views {
		if !x.Empty() && x.Source == nil {
			x = x.Window(0, min(f.Sample, x.Rows)) // fewer rows on each rank
		}
		x.Source, x.Present, x.Rows = nil, nil, f.Sample
		some.Views[v] = x
		drawn += prepare.Bytes(x, 4)
	}
	e := some.estimate()
	n, width := int64(f.samples()), f.width()
	labels := n * (8 + f.size()*int64(kernel.Pad(f.Spec.Anchors)))
	if f.Spec.Noise {
		labels += n * 8 * int64(len(f.Views)*max(1, f.Kinds))
	}
	if view.Outside(f.Views) {
		labels += 2 * int64(view.PassRows(width)) * int64(width) * 4
	}
	e.Views += drawn
	e.Result += labels
	e.Total += drawn + labels
	return e
}

// resident is the memory of a fit that holds the rows outside memory: without neighbours as the network's inputs, with neighbours
// as they are read, because the inputs come from rows that are standardised at each read.
func (f *Fit) resident(e estimate) estimate {
	for _, x := range f.Views {
		if x.Source != nil && f.Smooth != nil {
			e.Views += int64(x.Rows) * int64(x.Cols) * 4
		}
	}
	e.sum()
	return e
}

// streamed is the memory of a fit that reads the rows outside memory in every pass.
func (f *Fit) streamed(e estimate) estimate {
	for _, x := range f.Views {
		if x.Source == nil {
			continue
		}
		if f.Smooth == nil {
			e.Views -= prepare.Bytes(x, f.size())
		}
		e.Views += int64(f.Kinds) * view.StreamedBytes(x, x.Cols, f.Spec.Workers, f.size())
	}
	e.sum()
	return e
}

// recomputed is the memory of a fit that keeps no state of its samples between passes; e if such a fit is impossible.
func (f *Fit) recomputed(e estimate) estimate {
	sparse := slices.ContainsFunc(f.Views, func(x view.View) bool { return x.Sparse != nil })
	if f.Whole || f.Smooth != nil || f.Sample > 0 || sparse {
		return e
	}
	spec := f.Spec
	spec.Samples, spec.Dims = f.samples(), make([]int, len(f.Views))
	for v, x := range f.Views {
		spec.Dims[v] = x.Cols
	}
	e.State += engine.RecomputedBytes(&spec, spec.Samples, int(f.size())) - e.rowState
	e.rowState = 0
	e.sum()
	return e
}

func total(x []int) (sum int) {
	for _, e := range x {
		sum += e
	}
	return sum
}
