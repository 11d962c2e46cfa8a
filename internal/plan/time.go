package plan

import (
	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/neighbor"
)

// Costs estimates the time of the phases of a fit, in nanoseconds of one processor. Only the ratios matter, and only until a
// phase has advanced. The factors are fitted to the times of five sets of 210 to 60,000 samples in 3 to 6 views of 9 to 2,000
// features, with both presets. Most are right to a factor of two.
func (f *Fit) Costs() meter.Costs {
	out := f.computing()
	for p, x := range f.reading() {
		out[p] += x
	}
	return out
}

// computing is the time that the processors are busy.
func (f *Fit) computing() (out meter.Costs) {
	n, m := float64(f.trained()), float64(f.Spec.Anchors)
	kinds, inputs := float64(f.Kinds), float64(f.Kinds*len(f.Views))
	width := 0.0 // of the inputs
	for _, x := range f.Views {
		kept := f.prepare(&out, float64(x.Cols))
		if f.HeldOut {
			out[meter.Regression] += kinds * kept * (5*n + 0.07*n*kept + 4*kept*kept)
		}
		width += kinds * kept
	}
	if f.Smooth != nil {
		f.smooth(&out, width)
	}
	means := 45 * float64(f.KMeansStarts) * min(n, 10_000) * m * m
	out[meter.Anchors] = 1.4*means + n*width*(m+10)
	out[meter.Training] = float64(max(f.Epochs, 0)) *
		(float64(f.Spec.Layers)*n*m*(0.12*width+14*inputs) + 4e5*inputs)
	out[meter.Structure] = float64(f.Judged) * (1.1e6 + 1000*float64(f.Judged))
	out[meter.Clusters] = 0.5*means + 5*n*m*m
	for p := meter.Preparation; p <= meter.Anchors; p++ {
		out[meter.Draws] += float64(f.Draws) * out[p]
	}
	return out
}

// prepare adds the checks and the preparation of a view of d features, and returns the number of columns of its inputs.
func (f *Fit) prepare(out *meter.Costs, d float64) (kept float64) {
	n, kinds := float64(f.trained()), float64(f.Kinds)
	kept = min(d, n)
	if f.Smooth == nil && d > n {
		out[meter.Preparation] += 0.3 * kinds * n * n * d // rotated
	}
	if f.Smooth != nil {
		if directions := float64(f.Smooth.Directions); directions > 0 && directions < d {
			kept = min(directions, n)
			out[meter.Preparation] += kinds * kept * (0.12*n*d + 12*kept*kept)
		}
	}
	out[meter.Checks] += 0.3 * n * d
	out[meter.Preparation] += 8 * kinds * n * d
	return kept
}

// smooth adds the search for neighbours and the smoothing of inputs that are width columns together.
func (f *Fit) smooth(out *meter.Costs, width float64) {
	n, inputs := float64(f.trained()), float64(f.Kinds*len(f.Views))
	spaces, rowSteps := inputs+float64(f.Kinds), n*float64(max(f.Smooth.Steps, 0))
	if f.Smooth.Searched(f.trained()) {
		out[meter.Neighbors] = n * n * (0.1*width + 2.8*spaces)
		out[meter.Smoothing] = rowSteps * (2500 + 4*width)
		return
	}
	landmarks := float64(f.Smooth.Landmarks)
	if landmarks == 0 {
		landmarks = float64(neighbor.DefaultLandmarks(f.trained()))
	}
	out[meter.Neighbors] = n * landmarks * (0.045*width + 2.8*spaces)
	out[meter.Smoothing] = rowSteps * (2500 + 0.8*width*spaces)
}

// fromDisk is the time for reading a value of four bytes from disk, in nanoseconds.
const fromDisk = 4

// reading is the time of the passes over rows outside memory, in which the processors wait for the disk. With neighbours, the
// initial clustering and the training use data in memory.
func (f *Fit) reading() (out meter.Costs) {
	once, streamed := 0.0, 0.0
	for _, x := range f.Views {
		if x.Source == nil {
			continue
		}
		pass := fromDisk * float64(parallel.Workers(f.Spec.Workers)) * float64(x.Rows) * float64(x.Cols)
		once += pass
		if x.Streams() {
			streamed += pass
		}
	}
	if f.Sample > 0 { // the others are read for their labels
		out[meter.Clusters] = once
		return out
	}
	out[meter.Checks], out[meter.Preparation] = once, once
	if f.Hashed { // the rows are read once more for the hash of a checkpoint
		out[meter.Checks] += 3 * once
	}
	if f.Smooth != nil {
		out[meter.Neighbors] = streamed
		if f.HeldOut {
			out[meter.Regression] = streamed
		}
		return out
	}
	out[meter.Anchors], out[meter.Clusters] = 7*streamed, 3*streamed
	out[meter.Training] = float64(max(f.Epochs, 0)*(2*f.Spec.Layers+1)) * streamed
	return out
}

// Loops reports which phases have many loops, in unknown number.
func (f *Fit) Loops() (out [meter.Phases]bool) {
	out[meter.Draws], out[meter.Regression], out[meter.Clusters] = true, true, true
	out[meter.Checks] = f.Hashed
	out[meter.Neighbors] = f.Smooth == nil || !f.Smooth.Searched(f.trained()) // landmarks
	return out
}
