package largemvc

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/unfold"
	"github.com/largemvc/largemvc/internal/view"
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
// around them, the views of an Encoder included, and not what their own ops make. Views of low rank,
// which are trained in fewer columns, take less; for sparse ones there is EstimateViews. It returns an error where Fit would, as
// far as the sizes tell.
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
	_, m, err := sizing{c, n, views}.keep()
	return m, err
}

// kept is where a fit keeps rows and state.
type kept struct {
	streamed bool   // rows outside memory are read whenever they are needed
	rows     bool   // they are read into memory first, where nothing that is held of a fit has their place: with neighbours
	again    bool   // of the samples' state nothing is kept: every pass computes it again
	why      string // of these; "" where there was no choice
}

// sizing is a fit of some samples whose memory is estimated.
type sizing struct {
	config  Config
	samples int
	views   []View
}

// keep chooses where a fit keeps rows and state, in the memory that it may use, and estimates what it takes then. It refuses a
// fit that has no room.
func (s sizing) keep() (kept, Memory, error) {
	samples, views := s.samples, s.views
	held, err := estimate(samples, views, s.config)
	if err != nil {
		return kept{}, held, err
	}
	c := s.config.WithDefaults()
	most, neighbors := c.Machine.MaxMemory, c.Neighborhood.Neighbors != None
	outside := view.Outside(inner(views)) && !c.samples(samples)
	room := func(m Memory) string {
		return fmt.Sprintf("%.1f of %.1f MiB", float64(m.Total)/(1<<20), float64(most)/(1<<20))
	}
	least, how, begin := held, kept{}, "" // where there is little room, and how it begins to say so
	if outside {
		resident, read := residentMemory(&c, held, inner(views)), streamedMemory(&c, held, inner(views))
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
	again := recomputedMemory(&c, least, samples, inner(views))
	if again.Total <= most && again.Total < least.Total {
		how.again = true
		how.why = begin + "the state of the samples is computed again in every pass, the rest has room in memory: " + room(again)
		return how, again, nil
	}
	return kept{}, least, fmt.Errorf("largemvc: the fit takes %v, and Config.Machine.MaxMemory allows %.1f MiB%s",
		least, float64(most)/(1<<20), sizing{c, samples, views}.otherWays(least, again))
}

// otherWays lists what makes room for a fit that has none, by the estimates without and with recomputing.
func (s sizing) otherWays(least, again Memory) string {
	c, ways := &s.config, ""
	if again.Total < least.Total {
		ways = fmt.Sprintf("; with state that is computed again in every pass it takes %.1f MiB", float64(again.Total)/(1<<20))
	}
	if c.samples(s.samples) {
		return ways + s.oneWorker()
	}
	if !view.Outside(inner(s.views)) && c.Neighborhood.Neighbors == None {
		ways += "; RowsView reads the views from disk"
	}
	ways += "; Config.FitSamples trains on some of the samples"
	if c.Machine.Comm == nil && !c.searched(s.samples) && checkRanks(c, s.views, false) == nil {
		ways += "; several processes, joined by Config.Machine.Comm, hold a part of the samples each"
	}
	return ways + s.oneWorker()
}

// oneWorker offers a fit with a single goroutine, where that has room: each has memory of its own.
func (s sizing) oneWorker() string {
	if parallel.Workers(s.config.Machine.Workers) == 1 {
		return ""
	}
	s.config.Machine.Workers = 1
	_, alone, err := s.keep()
	if err != nil {
		return ""
	}
	return fmt.Sprintf("; with a single goroutine, Config.Machine.Workers 1, it takes %.1f MiB", float64(alone.Total)/(1<<20))
}

// place chooses where a fit of a configuration that was checked keeps rows and state, and refuses one that has no room.
func (s sizing) place() (kept, error) {
	c := &s.config
	if c.samples(s.samples) {
		c.Start.Labels = nil // those of a state are of the samples that are drawn
	}
	where, _, err := s.keep()
	return where, err
}

// residentMemory is the estimate of a fit that holds the rows outside memory: without neighbours as the network's inputs, and
// with them as they are read, for those are made of rows that are standardised whenever they are needed.
func residentMemory(c *Config, m Memory, views []view.View) Memory {
	for _, x := range views {
		if x.Source != nil && c.Neighborhood.Neighbors != None {
			m.Views += int64(x.Rows) * int64(x.Cols) * 4
		}
	}
	m.add()
	return m
}

// streamedMemory is the estimate of a fit that reads the rows outside memory whenever it needs them.
func streamedMemory(c *Config, m Memory, views []view.View) Memory {
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

// recomputedMemory is the estimate of a fit that keeps nothing of its samples' state from one pass to the next; m where there is
// none: without terms of H, and all else that wants the state as a whole.
func recomputedMemory(c *Config, m Memory, samples int, views []view.View) Memory {
	sparse := slices.ContainsFunc(views, func(x view.View) bool { return x.Sparse != nil })
	if c.Neighborhood.Neighbors != None || !c.stock() || c.ExtraLoss != nil || sparse || c.samples(samples) {
		return m
	}
	size, dims := 4, make([]int, len(views))
	if c.Float64 {
		size = 8
	}
	for v, x := range views {
		dims[v] = x.Cols
	}
	spec := engineSpec(c, samples, dims, c.Machine.Workers)
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

// estimate returns the memory of a fit whose rows are in memory.
func estimate(samples int, views []View, config Config) (Memory, error) {
	c := config.WithDefaults()
	dims, err := checkSized(samples, views, &c)
	if err != nil {
		return Memory{}, err
	}
	if c.samples(samples) {
		return estimateSamples(samples, views, c)
	}
	size, n := valueBytes(&c), int64(samples)
	m, in := Memory{Result: n * 2 * 8}, smooth.Bytes{}
	width := sum(dims) // of the rows that k-means of the start sees
	for _, x := range views {
		m.Views += prepare.Bytes(x.in, size)
	}
	if c.Neighborhood.Neighbors != None {
		in = smoothOptions(&c).Bytes(inner(views), size)
		dims = in.Columns
		width = c.Anchors
		m.addNeighbors(&c, samples, &in)
	}
	m.addNetwork(&c, samples, dims, in.Idle)
	m.Start = max(m.Start, in.Start+kmeans.Bytes(c.Anchors, c.KMeansStarts, samples, width, size))
	m.addChoices(&c, samples, width)
	if !c.noiseless() {
		m.Result += n * int64(len(dims)) * 8
	}
	m.add()
	return m, nil
}

// valueBytes is the number of bytes of a value in the arithmetic of the fit.
func valueBytes(c *Config) int64 {
	if c.Float64 {
		return 8
	}
	return 4
}

// checkSized checks a configuration for the sizes of views, and returns the features of each. No part of an estimate for what it
// accepts overflows.
func checkSized(samples int, views []View, c *Config) ([]int, error) {
	width, dims := 0, make([]int, len(views))
	for v, x := range views {
		d := x.in.Cols
		if d < 1 {
			return nil, fmt.Errorf("largemvc: view %d has %d features", v, d)
		}
		if d > math.MaxInt-width {
			return nil, fmt.Errorf("largemvc: the views have more than %d features", math.MaxInt)
		}
		dims[v] = d
		width += d
	}
	switch {
	case len(dims) == 0:
		return nil, errors.New("largemvc: no views")
	case samples < 1:
		return nil, fmt.Errorf("largemvc: %d samples", samples)
	}
	if err := checkConfig(c, samples, views); err != nil || c.samples(samples) {
		return dims, err
	}
	row := float64(width) + float64(c.Anchors+64)*float64(c.Layers*(len(dims)+3))
	if most := float64(samples) * row * 64; most > math.MaxInt64/64 {
		return nil, fmt.Errorf(
			"largemvc: %d samples of %d features in %d layers of %d anchors fit no memory",
			samples, width, c.Layers, c.Anchors,
		)
	}
	return dims, nil
}

// addNeighbors adds the inputs that are smoothed, the graph and what the terms of the loss keep of them.
func (m *Memory) addNeighbors(c *Config, samples int, in *smooth.Bytes) {
	size := valueBytes(c)
	m.Views, m.Neighbors, m.Start = in.Inputs, in.Graph, in.Work
	if c.hasHeldOutLoss() {
		m.Neighbors += information.Bytes(samples, sum(in.Columns), c.Anchors, size)
	}
	m.State = information.NeighborBytes(samples, c.Anchors, in.Atoms, c.Machine.Workers, size) // and Q of both terms
	if in.Start > 0 && c.ReadOut == ReadOutUnit {
		m.Neighbors += in.Last(samples, c.Anchors, size)
	}
}

// addNetwork adds the network for inputs with dims columns each. The views in idle lend their memory to its state.
func (m *Memory) addNetwork(c *Config, samples int, dims, idle []int) {
	size, n := valueBytes(c), int64(samples)
	spec := engineSpec(c, samples, dims, c.Machine.Workers)
	// And ‖x_i‖² once more, of the data.
	network := engine.StateBytes(&spec, samples, int(size), false, true) - n*size // all but the weights of the samples
	if c.stock() {
		network -= engine.SparedBytes(&spec, samples, int(size), idle)
	}
	m.State += network + n*size + 8*n*int64(len(dims))
	m.rowState = network
	m.Network = engine.NetworkBytes(&spec, samples, size)
	if !c.stock() {
		m.State += unfold.StateBytes(samples, c.Anchors, c.Layers, len(dims), size)
		if _, ok := c.Represent.(Encoder); ok {
			m.State += unfold.EncoderBytes(samples, sum(dims), size)
		}
		return
	}
	bytes := device.Bytes[float32]
	if c.Float64 {
		bytes = device.Bytes[float64]
	}
	if need, err := bytes(&spec, nil, false, true); err == nil { // else no launch can have the sizes
		m.Device = need
	}
}

// addChoices adds what the choices among starts of k-means, and between the clusters of the start and of the network, take: the
// scores of labels, the labels of some starts, and the rows of some width that all starts see.
func (m *Memory) addChoices(c *Config, samples, width int) {
	if c.Neighborhood.Neighbors == None || c.Neighborhood.Weight <= 0 {
		return
	}
	size := valueBytes(c)
	scores := information.LabelScoreBytes(samples, c.Anchors, size)
	choice := scores + int64(samples)*8*16 + int64(min(samples, 10_000))*int64(width)*size
	m.Start += choice
	switch {
	case c.mayKeep():
		m.State += scores + information.HeldOutScoreBytes(samples, c.Anchors, size)
	case samples <= sharedReadOut && !c.beginsAtStart():
		m.State += choice
	}
}

func sum(x []int) (total int) {
	for _, e := range x {
		total += e
	}
	return total
}

// Check returns the error with which Fit would refuse the configuration for the views, as far as it can tell without reading
// their values, and nil if there is none. The message has a line for everything that is out of range; where nothing is, it may
// say that Machine.MaxMemory has no room for the fit.
func (c Config) Check(views []View) error {
	n, err := checkShapes(views)
	if err != nil {
		return err
	}
	c = c.WithDefaults()
	c.forSamples(n)
	err = checkConfig(&c, n, views)
	if err != nil || c.Machine.Comm != nil { // how many samples the other processes have is not known
		return err
	}
	_, err = sizing{c, n, views}.place()
	return err
}
