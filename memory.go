package largemvc

import (
	"errors"
	"fmt"
	"math"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// Memory is an estimate of what Fit holds at the same time, in bytes.
type Memory struct {
	Views     int64 // the network's inputs in the arithmetic of the fit; the caller's own views where Config.Overwrite allows it, else a copy
	Neighbors int64 // the graph of neighbours, and what is kept to attach new samples to it; 0 without Config.Neighbors
	State     int64 // what is kept for each sample in training: H, Y = XPᵀ, residuals and their derivatives
	Network   int64 // anchors and their decompositions, and the sums of the chunks of rows in work
	Start     int64 // smoothing, and k-means of the start; given back before training
	Result    int64 // labels and trust
	Total     int64 // Views + Neighbors + Result + the larger of Start and State + Network
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

// EstimateMemory returns about how much memory Fit takes for n samples in dense views of dims[v] features. The caller's
// views come on top unless they are overwritten; so does what the Go runtime keeps for later, which debug.SetGCPercent
// bounds, and Config.ExtraLoss. Sparse views, and those that Config.Rotate reduces, take less. It returns an error where Fit
// would, as far as the sizes tell.
func EstimateMemory(samples int, dims []int, config Config) (Memory, error) {
	views := make([]View, len(dims))
	width := 0
	for v, d := range dims {
		if d < 1 {
			return Memory{}, fmt.Errorf("largemvc: view %d has %d features", v, d)
		}
		if d > math.MaxInt-width {
			return Memory{}, fmt.Errorf("largemvc: the views have more than %d features", math.MaxInt)
		}
		views[v].in = view.View{Rows: samples, Cols: d}
		width += d
	}
	c := config.withDefaults()
	switch {
	case len(dims) == 0:
		return Memory{}, errors.New("largemvc: no views")
	case samples < 1:
		return Memory{}, fmt.Errorf("largemvc: %d samples", samples)
	}
	if err := c.check(samples, views); err != nil {
		return Memory{}, err
	}
	// Every part is below this product: then none overflows.
	if most := float64(samples) * (float64(width) + float64(c.Anchors+64)*float64(c.Layers*(len(dims)+3))) * 64; most > math.MaxInt64/64 {
		return Memory{}, fmt.Errorf("largemvc: %d samples of %d features in %d layers of %d anchors fit no memory", samples, width, c.Layers, c.Anchors)
	}
	size := int64(4)
	if c.Float == Float64 {
		size = 8
	}
	n := int64(samples)
	m := Memory{Views: n * int64(width) * size, Result: n * 2 * 8}
	if c.Neighbors != None {
		own := make([]bool, len(dims))
		for v := range own {
			own[v] = true
		}
		inputs := c.smoothing().Bytes(samples, dims, own, size)
		dims, m.Views = inputs.Columns, inputs.Inputs
		if width = c.Anchors; c.Start == JointKMeans || c.Start == PerView { // of the rows that the start's k-means sees
			width = 0
			for _, d := range dims {
				width += d
			}
		}
		m.Neighbors = inputs.Graph + c.heldOutBytes(samples, dims, size)
		m.State = n * int64(2*kernel.Pad(c.Anchors)+2*c.Anchors) * (size + 8) // H and Q in the loss
		m.Start = inputs.Work
	}
	m.State += c.stateBytes(samples, dims, int(size))
	m.Network = c.networkBytes(samples, dims, size)
	m.Start = max(m.Start, c.startBytes(samples, width, size))
	if c.Neighbors != None && c.NeighborWeight > 0 && !c.LowestInertia {
		// A choice by neighbours: Q and AQ of labels, the labels of some starts, and the rows that all starts see.
		choice := n*int64(2*neighbor.Stride(c.Anchors))*size + n*8*16 + int64(min(samples, 10_000))*int64(width)*size
		m.Start += choice
		if samples <= sharedReadOut {
			m.State += choice
		}
	}
	if c.Variant == Large {
		m.Result += n * int64(len(dims)) * 8
	}
	m.Total = m.Views + m.Neighbors + m.Result + max(m.Start, m.State+m.Network)
	return m, nil
}

// heldOutBytes is the memory of the regression for inputs of the given columns, and of the term that uses it.
func (c *Config) heldOutBytes(n int, columns []int, size int64) int64 {
	if c.HeldOutWeight <= 0 || c.Anchors < 2 {
		return 0
	}
	width := 0
	for _, k := range columns {
		width += k
	}
	return int64(n) * int64(kernel.Pad(min(information.DefaultDirections(n), n, width))+4*kernel.Pad(c.Anchors)) * size
}

// stateBytes is the memory of the samples' state.
func (c *Config) stateBytes(n int, dims []int, size int) int64 {
	spec := engine.Spec{Samples: n, Dims: dims, Anchors: c.Anchors, Layers: c.Layers, Noise: c.Variant == Large,
		Anchored: c.Variant != RMvC, Represent: engine.Activation(c.Activation)}
	return engine.StateBytes(&spec, n, size, false, true) + 8*int64(n*len(dims)) // and ‖x_i‖² once more, of the data
}

// networkBytes is the memory that does not grow with n: per view and layer m×d_v matrices, and m×m ones.
func (c *Config) networkBytes(n int, dims []int, size int64) int64 {
	m, layers := int64(c.Anchors), int64(c.Layers)
	padded := int64(kernel.Pad(c.Anchors))
	chunks := int64(min(2*parallel.Workers(c.Workers), (n+511)/512)) // in work, or waiting to be added up
	var b int64
	for _, dim := range dims {
		d := int64(dim)
		k := min(m, d)
		pad := int64(kernel.Pad(int(k)))
		b += 4*m*d*8 + m*d*8       // scratch and sums, P of the start
		b += chunks * m * d * size // M of a chunk
		b += 3 * padded * d * size // packed P and dM
		b += chunks * 3 * m * m * size
		if c.Variant != RMvC {
			b += layers * (3*m*d + 5*m*d + 7*k*pad + 2*k*k + 3*m*m) * 8 // P, its cotangent and decomposition, C, K, W
		}
	}
	return b + chunks*2*m*m*size
}

// startBytes is the memory of k-means over the concatenated views.
func (c *Config) startBytes(n, width int, size int64) int64 {
	rows := int64(n)
	b := rows * (8 + 5*8) // norms, labels before and after, the order of updates
	if n > 5000 {         // the starts run on a sample
		b += int64(min(n, max(2048, min(100*c.Anchors, 10000), c.Anchors))) * (int64(width)*size + 6*8)
	}
	group := int64(max(1, 256/c.Anchors)) // starts that advance together: centroids, their sums and packed forms
	return b + min(group, int64(c.KMeansStarts))*int64(c.Anchors)*int64(width)*(8+4*size)
}
