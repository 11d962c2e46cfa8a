package largemvc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/predict"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/unfold"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/machine"
)

// Memory is an estimate of what Fit holds at the same time, in bytes.
type Memory struct {
	// the network's inputs in the arithmetic of the fit; the caller's own views where Config.Machine.Overwrite allows it,
	// else a copy; with neighbours the rows of a RowsView too where they are held
	Views     int64
	Neighbors int64 // the graph of neighbours, and what is kept to attach new samples to it; 0 without neighbours
	State     int64 // what is kept for each sample in training: H, Y = XPᵀ, residuals and their derivatives
	Network   int64 // anchors and their decompositions, and the sums of the chunks of rows in work
	Start     int64 // smoothing, and k-means of the start; given back before training
	Result    int64 // labels and trust
	Device    int64 // of a GPU, where the network is trained on one: rows and their state, without the terms; not in Total
	Total     int64 // Views + Neighbors + Result + the larger of Start and State + Network

	rowState int64 // of State, what grows with the samples
}

// String returns the total and its parts in MiB.
func (m Memory) String() string {
	mib := func(b int64) float64 { return float64(b) / (1 << 20) }
	neighbors := ""
	if m.Neighbors > 0 {
		neighbors = fmt.Sprintf("neighbours %.1f, ", mib(m.Neighbors))
	}
	return fmt.Sprintf("%.1f MiB (views %.1f, %sstate of the samples %.1f, network %.1f, start %.1f, result %.1f)",
		mib(m.Total), mib(m.Views), neighbors, mib(m.State), mib(m.Network), mib(m.Start), mib(m.Result))
}

// EstimateMemory returns about how much memory Fit takes with this configuration for n samples in dense views of dims[v]
// features. The caller's views come on top unless they are overwritten; so does what the Go runtime keeps for later, which
// debug.SetGCPercent bounds, and Config.ExtraLoss. Of modules that are not from this package it counts what the network keeps
// around them, the views of an Encoder included, and not what their own ops make. Views that Config.Rotate reduces take less;
// for sparse ones there is EstimateViews. It returns an error where Fit would, as far as the sizes tell.
func (c Config) EstimateMemory(samples int, dims []int) (Memory, error) {
	views := make([]View, len(dims))
	for v, d := range dims {
		views[v].in = view.View{Rows: samples, Cols: d}
	}
	return estimate(samples, views, c)
}

// EstimateViews is EstimateMemory for given views, of which sparse ones count by their entries. It reads no values.
func (c Config) EstimateViews(views []View) (Memory, error) {
	n, err := checkShapes(views)
	if err != nil {
		return Memory{}, err
	}
	_, m, err := c.keep(n, views)
	return m, err
}

// kept is where a fit keeps rows and state.
type kept struct {
	streamed bool   // rows outside memory are read whenever they are needed
	rows     bool   // they are read into memory first, where nothing that is held of a fit has their place: with neighbours
	again    bool   // of the samples' state nothing is kept: every pass computes it again
	why      string // of these; "" where there was no choice
}

// keep chooses where a fit keeps rows and state, in the memory that it may use, and estimates what it takes then. It refuses a
// fit that has no room.
func (c Config) keep(samples int, views []View) (kept, Memory, error) {
	held, err := estimate(samples, views, c)
	if err != nil {
		return kept{}, held, err
	}
	c = c.WithDefaults()
	most, neighbors := c.Machine.MaxMemory, c.Neighborhood.Neighbors != None
	outside := view.Outside(inner(views)) && !c.samples(samples)
	room := func(m Memory) string {
		return fmt.Sprintf("%.1f of %.1f MiB", float64(m.Total)/(1<<20), float64(most)/(1<<20))
	}
	least, how, begin := held, kept{}, "" // where there is little room, and how it begins to say so
	if outside {
		resident, read := c.resident(held, inner(views)), c.streamed(held, inner(views))
		why := "rows are read whenever they are needed, their state "
		switch {
		case most == 0:
			return kept{streamed: true, why: why + "is in memory"}, read, nil
		case resident.Total <= most:
			return kept{rows: neighbors, why: "rows and state have room in memory: " + room(resident)}, resident, nil
		case read.Total <= most:
			return kept{streamed: true, why: why + "has room in memory: " + room(read)}, read, nil
		}
		least, how, begin = read, kept{streamed: true}, "rows are read whenever they are needed, "
		if resident.Total < read.Total { // few rows, which take less than the blocks that they are read in
			least, how, begin = resident, kept{rows: neighbors}, "rows are in memory, "
		}
	} else if most == 0 || held.Total <= most {
		return kept{}, held, nil
	}
	again := c.recomputed(least, samples, inner(views))
	if again.Total <= most && again.Total < least.Total {
		how.again = true
		how.why = begin + "the state of the samples is computed again in every pass, the rest has room in memory: " + room(again)
		return how, again, nil
	}
	ways := ""
	if again.Total < least.Total {
		ways = fmt.Sprintf("; with state that is computed again in every pass it takes %.1f MiB", float64(again.Total)/(1<<20))
	}
	if !outside && !neighbors && !c.samples(samples) {
		ways += "; RowsView reads the views from disk"
	}
	if !c.samples(samples) {
		ways += "; FitSamples trains on some of the samples"
	}
	if c.Machine.Comm == nil && !c.searched(samples) && c.checkRanks(views, false) == nil {
		ways += "; several processes, joined by Machine.Comm, hold a part of the samples each"
	}
	if parallel.Workers(c.Machine.Workers) > 1 { // each has memory of its own
		c.Machine.Workers = 1
		if _, alone, err := c.keep(samples, views); err == nil {
			ways += fmt.Sprintf("; with a single goroutine, Machine.Workers 1, it takes %.1f MiB", float64(alone.Total)/(1<<20))
		}
	}
	return kept{}, least, fmt.Errorf("largemvc: the fit takes %v, and Machine.MaxMemory allows %.1f MiB%s",
		least, float64(most)/(1<<20), ways)
}

// place chooses where a fit of a configuration that was checked keeps rows and state, and refuses one that has no room, or whose
// rows cannot be where it wants them.
func (c *Config) place(samples int, views []View) (kept, error) {
	sized := *c
	if c.samples(samples) {
		sized.Start.Labels = nil // those of a state are of the samples that are drawn
	}
	where, _, err := sized.keep(samples, views)
	if err == nil && where.streamed && c.Neighborhood.Neighbors == None && c.rotation().Choice == prepare.RotateAlways {
		err = errors.New("largemvc: rows that are read whenever they are needed cannot be rotated: give Machine.MaxMemory " +
			"with room for them, or leave out RotateAlways")
	}
	return where, err
}

// resident is the estimate of a fit that holds the rows outside memory: without neighbours as the network's inputs, and with them
// as they are read, for those are made of rows that are standardised whenever they are needed.
func (c *Config) resident(m Memory, views []view.View) Memory {
	for _, x := range views {
		if x.Source != nil && c.Neighborhood.Neighbors != None {
			m.Views += int64(x.Rows) * int64(x.Cols) * 4
		}
	}
	m.add()
	return m
}

// streamed is the estimate of a fit that reads the rows outside memory whenever it needs them.
func (c *Config) streamed(m Memory, views []view.View) Memory {
	size, neighbors := int64(4), c.Neighborhood.Neighbors != None
	if c.Float64 {
		size = 8
	}
	for _, x := range views {
		if x.Source == nil {
			continue
		}
		if !neighbors {
			m.Views -= prepare.Bytes(x, size)
		}
		m.Views += int64(len(c.Preprocess.kind().Parts())) * view.StreamedBytes(x, x.Cols, c.Machine.Workers, size)
	}
	m.add()
	return m
}

// recomputed is the estimate of a fit that keeps nothing of its samples' state from one pass to the next; m where there is none:
// without terms of H, and all else that wants the state as a whole.
func (c *Config) recomputed(m Memory, samples int, views []view.View) Memory {
	sparse := slices.ContainsFunc(views, func(x view.View) bool { return x.Sparse != nil })
	if c.Neighborhood.Neighbors != None || !c.stock() || c.ExtraLoss != nil || sparse || c.samples(samples) ||
		c.Rotate == RotateAlways {
		return m
	}
	size, dims := 4, make([]int, len(views))
	if c.Float64 {
		size = 8
	}
	for v, x := range views {
		dims[v] = x.Cols
	}
	spec := c.spec(samples, dims, c.Machine.Workers)
	m.State += engine.RecomputedBytes(&spec, samples, size) - m.rowState
	m.rowState = 0
	m.add()
	return m
}

// add sets the total.
func (m *Memory) add() { m.Total = m.Views + m.Neighbors + m.Result + max(m.Start, m.State+m.Network) }

// estimateSamples is the estimate of a fit of which some samples are trained on and all are labelled.
func estimateSamples(samples int, views []View, c Config) (Memory, error) {
	k, some := c.FitSamples, slices.Clone(views)
	c.forSamples(samples)
	c.FitSamples, c.Start.Labels = 0, nil
	var drawn int64
	outside := view.Outside(inner(views))
	for v := range some {
		if some[v].in = views[v].in; !some[v].in.Empty() && some[v].in.Source == nil {
			some[v].in = some[v].in.Window(0, k)
		}
		some[v].in.Source, some[v].in.Present, some[v].in.Rows = nil, nil, k
		drawn += prepare.Bytes(some[v].in, 4)
	}
	m, err := estimate(k, some, c)
	if err != nil {
		return m, err
	}
	size, width := int64(4), 0
	if c.Float64 {
		size = 8
	}
	for _, x := range views {
		width += x.in.Cols
	}
	labels := int64(samples) * (8 + size*int64(kernel.Pad(c.Anchors)))
	if !c.noiseless() {
		labels += int64(samples) * 8 * int64(len(views)*max(1, len(c.Preprocess.kind().Parts())))
	}
	if outside {
		labels += 2 * int64(view.PassRows(width)) * int64(width) * 4
	}
	m.Views += drawn
	m.Result += labels
	m.Total += drawn + labels
	return m, nil
}

func estimate(samples int, views []View, config Config) (Memory, error) {
	width, dims := 0, make([]int, len(views))
	for v, x := range views {
		d := x.in.Cols
		if d < 1 {
			return Memory{}, fmt.Errorf("largemvc: view %d has %d features", v, d)
		}
		if d > math.MaxInt-width {
			return Memory{}, fmt.Errorf("largemvc: the views have more than %d features", math.MaxInt)
		}
		dims[v] = d
		width += d
	}
	c := config.WithDefaults()
	switch {
	case len(dims) == 0:
		return Memory{}, errors.New("largemvc: no views")
	case samples < 1:
		return Memory{}, fmt.Errorf("largemvc: %d samples", samples)
	}
	if err := c.check(samples, views); err != nil {
		return Memory{}, err
	}
	if c.samples(samples) {
		return estimateSamples(samples, views, c)
	}
	// Every part is below this product: then none overflows.
	row := float64(width) + float64(c.Anchors+64)*float64(c.Layers*(len(dims)+3))
	if most := float64(samples) * row * 64; most > math.MaxInt64/64 {
		return Memory{}, fmt.Errorf(
			"largemvc: %d samples of %d features in %d layers of %d anchors fit no memory",
			samples, width, c.Layers, c.Anchors,
		)
	}
	size := int64(4)
	if c.Float64 {
		size = 8
	}
	n := int64(samples)
	m, filled, idle := Memory{Result: n * 2 * 8}, int64(0), []int(nil)
	for _, x := range views {
		m.Views += prepare.Bytes(x.in, size)
	}
	if c.Neighborhood.Neighbors != None {
		inputs := c.smoothing().Bytes(inner(views), size)
		dims, m.Views, idle = inputs.Columns, inputs.Inputs, inputs.Idle
		width = c.Anchors // of the rows that the start's k-means sees
		if c.Start.Method == StartJoint || c.Start.Method == StartPerView {
			width = sum(dims)
		}
		m.Neighbors = inputs.Graph
		if c.hasHeldOutLoss() {
			m.Neighbors += information.Bytes(samples, sum(dims), c.Anchors, size)
		}
		m.State = information.NeighborBytes(samples, c.Anchors, inputs.Atoms, c.Machine.Workers, size) // and Q of both terms
		m.Start = inputs.Work
		filled = inputs.Start
		if filled > 0 && c.ReadOut == ReadOutUnit {
			m.Neighbors += inputs.Last(samples, c.Anchors, size)
		}
	}
	spec := c.spec(samples, dims, c.Machine.Workers)
	// And ‖x_i‖² once more, of the data.
	network := engine.StateBytes(&spec, samples, int(size), false, true) - n*size // all but the weights of the samples
	if c.stock() {
		network -= engine.SparedBytes(&spec, samples, int(size), idle)
	}
	m.State += network + n*size + 8*n*int64(len(dims))
	m.rowState = network
	if !c.stock() {
		m.State += unfold.StateBytes(samples, c.Anchors, c.Layers, len(dims), size)
		if _, ok := c.Represent.(Encoder); ok {
			m.State += unfold.EncoderBytes(samples, sum(dims), size)
		}
	}
	m.Network = engine.NetworkBytes(&spec, samples, size)
	if c.stock() {
		bytes := device.Bytes[float32]
		if c.Float64 {
			bytes = device.Bytes[float64]
		}
		if need, err := bytes(&spec, nil, false, true); err == nil { // else no launch can have the sizes
			m.Device = need
		}
	}
	m.Start = max(m.Start, filled+kmeans.Bytes(c.Anchors, c.KMeansStarts, samples, width, size))
	if c.Neighborhood.Neighbors != None && c.Neighborhood.Weight > 0 && !c.Neighborhood.LowestInertia {
		// A choice by neighbours: Q and AQ of labels, the labels of some starts, and the rows that all starts see.
		scores := information.LabelScoreBytes(samples, c.Anchors, size)
		choice := scores + n*8*16 + int64(min(samples, 10_000))*int64(width)*size
		m.Start += choice
		switch {
		case c.mayKeep(): // the clusters of the start and those of the network are compared by both kinds of information
			m.State += scores + information.HeldOutScoreBytes(samples, c.Anchors, size)
		case samples <= sharedReadOut && !c.beginsAtStart():
			m.State += choice
		}
	}
	if !c.noiseless() {
		m.Result += n * int64(len(dims)) * 8
	}
	m.add()
	return m, nil
}

func sum(x []int) (total int) {
	for _, e := range x {
		total += e
	}
	return total
}

// spec is the shape of a network of stock modules.
func (c *Config) spec(samples int, dims []int, workers int) engine.Spec {
	out := engine.Spec{
		Samples: samples, Dims: dims, Anchors: c.Anchors, Layers: c.Layers, Anchored: !c.fixedAnchors(), Workers: workers,
	}
	if soft, ok := c.Represent.(*SoftThreshold); ok {
		out.Represent, out.OneSided = soft.Activation.sigma(), soft.OneSided
	}
	if shrink, ok := c.Noise.(*RowShrink); ok {
		out.Noise, out.Shrink = true, shrink.Activation.sigma()
	}
	return out
}

// onDevice is where a fit runs.
type onDevice struct {
	session *device.Session // nil: the CPU
	why     string          // of the device, or of the CPU
}

type deviceKey struct{}

// deviceOf returns the device of a fit by its context, nil without one.
func deviceOf(ctx context.Context) *device.Session {
	s, _ := ctx.Value(deviceKey{}).(*device.Session)
	return s
}

// openDevice opens the device that the configuration asks for, before any work. Where the fit cannot run on it, auto is the CPU
// and CUDA an error.
func (c *Config) openDevice(views []view.View) (onDevice, error) {
	if c.Machine.Device == machine.CPU {
		return onDevice{why: "as was asked for"}, nil
	}
	session, err := c.tryDevice(views)
	switch {
	case err == nil && c.Machine.Device == machine.CUDA:
		return onDevice{session, "as was asked for"}, nil
	case err == nil:
		return onDevice{session, "which is there"}, nil
	case c.Machine.Device == machine.CUDA:
		return onDevice{}, fmt.Errorf("largemvc: the fit cannot run on a GPU: %w", err)
	}
	return onDevice{why: err.Error()}, nil
}

// tryDevice opens a device, or says why the fit cannot run on one.
func (c *Config) tryDevice(views []view.View) (*device.Session, error) {
	must := c.Machine.Device == machine.CUDA
	if c.Machine.Comm != nil {
		return nil, errors.New("several processes compute on their CPUs")
	}
	if !c.stock() {
		return nil, errors.New("modules that are not from this package are trained on the CPU")
	}
	for v, x := range views {
		if x.Sparse != nil && c.Neighborhood.Neighbors == None {
			return nil, fmt.Errorf("%s is sparse, and without neighbours sparse views are trained on the CPU", x.Label(v))
		}
	}
	if slices.ContainsFunc(views, view.View.Streams) && c.Neighborhood.Neighbors == None {
		return nil, errors.New("rows that are read whenever they are needed are trained on the CPU")
	}
	if c.Float64 && !must {
		return nil, errors.New("float64 is for the CPU unless a GPU is asked for")
	}
	drv, err := device.Open()
	if err != nil {
		return nil, err
	}
	s := device.NewSession(drv, must)
	dims, size := make([]int, len(views)), int64(4)
	for v, x := range views {
		dims[v] = x.Cols
	}
	if c.Float64 {
		size = 8
	}
	if c.Neighborhood.Neighbors != None {
		dims = c.smoothing().Bytes(views, size).Columns
	}
	spec := c.spec(views[0].Rows, dims, c.Machine.Workers)
	if err := s.Fits(&spec, nil, c.Float64); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// ran says where the fit has run.
func (d *onDevice) ran() machine.Ran {
	if d.session == nil {
		return machine.Ran{Device: "CPU", Why: d.why}
	}
	left := strings.Join(d.session.Left(), "; ")
	switch {
	case d.session.Trains() && left == "":
		return machine.Ran{Device: d.session.Name(), Why: d.why}
	case d.session.Trains():
		return machine.Ran{Device: d.session.Name(), Why: d.why + "; left to the CPU: " + left}
	}
	return machine.Ran{Device: "CPU", Why: cmp.Or(left, "nothing was trained")}
}

// close closes the device. What it held is nothing that the result needs.
func (d *onDevice) close() { _ = d.session.Close() }

// explained adds to an error of a device what can be done.
func (d *onDevice) explained(err error, c *Config) error {
	var failed *device.FailedError
	if !errors.As(err, &failed) {
		return err
	}
	if c.Checkpoint.Path == "" {
		return fmt.Errorf("largemvc: %w; what it held is lost, and without a checkpoint the training starts over, on the CPU "+
			"if need be", err)
	}
	return fmt.Errorf("largemvc: %w; what it held is lost: resume from %s, on the CPU if need be", err, c.Checkpoint.Path)
}

// elsewhere is the device of a call that takes samples through a trained network.
type elsewhere struct {
	session *device.Session // nil: the CPU
	must    bool            // what the device cannot do is an error
	why     string          // of the device, or of the CPU
}

type elsewhereKey struct{}

// open puts the device that a call asks for (machine.On) into its context. close gives it back and says what ran. Where the
// samples cannot go there, Auto is the CPU and CUDA an error.
func (p *Predictor) open(ctx context.Context, views []view.View) (with context.Context, close func(), err error) {
	d, ran := machine.Asked(ctx)
	if d == machine.CPU && ran == nil {
		return ctx, func() {}, nil
	}
	e := &elsewhere{must: d == machine.CUDA, why: "as was asked for"}
	switch {
	case !d.Known():
		return nil, nil, fmt.Errorf("largemvc: the samples are asked for on the unknown device %d", int(d))
	case d != machine.CPU:
		if e.session, err = p.tryDevice(views, e.must); err != nil && e.must {
			return nil, nil, fmt.Errorf("largemvc: the samples cannot be labelled on a GPU: %w", err)
		}
		if err != nil {
			e.why = err.Error()
		} else if !e.must {
			e.why = "which is there"
		}
	}
	return context.WithValue(ctx, elsewhereKey{}, e), func() {
		at := machine.Ran{Device: "CPU", Why: e.why}
		if e.session != nil {
			at.Device = e.session.Name()
			_ = e.session.Close() // what it held is nothing that the result needs
		}
		if ran != nil {
			*ran = at
		}
	}, nil
}

// tryDevice opens a device for samples, or says why they cannot go there.
func (p *Predictor) tryDevice(views []view.View, must bool) (*device.Session, error) {
	if err := p.model.batches(); err != nil {
		return nil, err
	}
	for v, x := range views {
		if x.Sparse != nil && p.config.Neighborhood.Neighbors == None {
			return nil, fmt.Errorf("%s is sparse, and without neighbours sparse views go through the network on the CPU",
				x.Label(v))
		}
	}
	if p.config.Float64 && !must {
		return nil, errors.New("float64 is for the CPU unless a GPU is asked for")
	}
	drv, err := device.Open()
	if err != nil {
		return nil, err
	}
	return device.NewSession(drv, must), nil
}

// batches is nil if the network can take samples in batches elsewhere than in memory; else it says why it cannot.
func (f *fitted[T]) batches() error {
	_, err := f.network(1).Layers()
	return err
}

// run takes samples through preprocessing, layers and clusters, the layers on the device of the context, if it has one.
func (f *fitted[T]) run(ctx context.Context, views []view.View, workers int, to *predict.Output[T]) error {
	net := f.network(workers)
	e, _ := ctx.Value(elsewhereKey{}).(*elsewhere)
	if e == nil || e.session == nil {
		return net.Run(ctx, views, workers, to)
	}
	layers, err := net.Layers()
	if err != nil {
		return err
	}
	spec, passes := layers.Passes()
	err = net.RunIn(ctx, device.NewFrozen[T](e.session, spec, passes), views, workers, to)
	var full *device.MemoryError
	var failed *device.FailedError
	if err == nil || e.must || !errors.As(err, &full) && !errors.As(err, &failed) {
		return err
	}
	// Nothing is lost with the device: the CPU takes these samples and all that follow.
	_ = e.session.Close() // it is of no use any more
	e.session, e.why = nil, err.Error()
	return net.Run(ctx, views, workers, to)
}
