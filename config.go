package largemvc

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
)

// Config says how Fit clusters. Clusters is required; every other field may be left zero, which means what its comment
// says. Fit does not change it.
type Config struct {
	Clusters int // c, the number of clusters: from 1 to n

	Anchors int // m, the number of anchors: from 1 to n; 0: Clusters
	Layers  int // L, the number of unfolded layers; 0: 2
	Epochs  int // steps of the optimiser; 0: 100; NoTraining: none

	LearningRate float64 // of Adam; 0: 0.01
	Seed         uint64  // of everything random; equal seeds and data give equal bits, for any number of workers
	Restarts     int     // runs with seeds Seed, Seed+1, …, of which the one with the lowest loss is kept; 0: 1

	Variant    Variant     // which modules the network has; default all three
	Activation Activation  // σ of both thresholds; default ReLU
	Preset     Preset      // what the fields that say "preset" default to
	Preprocess Preprocess  // what is done to the views first; default preset (Default: Both, Paper: PerSample)
	Start      StartMethod // where the first anchors come from; default preset (Default: ScaledSpectral, Paper: JointKMeans)

	// StartLabels, n values from 0 to m−1, replace the start: P_v = polar(ZᵀX_v) for their one-hot matrix Z.
	StartLabels []int
	// StartAnchors, one m×d_v matrix a view in the coordinates of the preprocessed views, replace the start. They need
	// Neighbors: None.
	StartAnchors []mat.Matrix

	Float   Float // arithmetic of everything that grows with n; default Float32
	Workers int   // goroutines; 0: GOMAXPROCS

	Theta0        float64   // first θ of every layer; 0: 0.01
	Rho0          float64   // first ρ̃ of every layer and view; 0: 0.01
	RhoScale      RhoScale  // unit of ρ; default 1
	Signs         Signs     // whether θ and ρ are kept ≥ 0; default preset (Default: kept, Paper: free)
	OneSided      bool      // S_θ(a) = σ(a−θ), which makes H ≥ 0, in place of σ(a−θ) − σ(−a−θ)
	Lipschitz     float64   // L_p ≥ 1: R starts at (1 − 1/L_p) I and U at I/L_p; 0: 1
	Reduction     Reduction // of the loss over a view's entries; default preset (Default: Relative, Paper: Mean)
	DetachAnchors bool      // treat the anchors as constants in the backward pass

	Tolerance float64 // relative decrease of the loss that counts as progress; 0: no early stop
	Patience  int     // epochs without progress before the early stop; 0 with a Tolerance: 5

	// KMeansStarts is the number of starts of each k-means, of which that of the lowest inertia is kept; 0: 10. With
	// NeighborWeight, and more than one anchor, the first anchors (but for PerView) and the clusters of up to 5,000 samples
	// after training are chosen in another way, unless LowestInertia is set: of three times as many starts, and of those
	// whose inertia is at most a tenth above the lowest, the one of the highest NeighborInformation is kept.
	KMeansStarts int
	ReadOut      ReadOut // what the last k-means sees of H; default preset (Default: UnitRows, Paper: PlainRows)

	// Overwrite lets Fit standardise views given by Float32View (with Float32) or Float64View (with Float64) in place, in
	// place of a copy. Their values are lost to the caller; no two of them may share memory.
	Overwrite bool

	// Progress, if not nil, is called after every epoch, from the goroutine that called Fit. An error ends the training
	// with Status Stopped; it is returned by Fit unless it is ErrStop.
	Progress func(Epoch) error

	// ExtraLoss, if not nil, returns a scalar node that is added to the loss. It may use the nodes of the network (H, P,
	// T) and make nodes in its graph.
	ExtraLoss func(net Network) (*gorgonia.Node, error)

	// Checkpoint, if not empty, is the path of a file to which Fit writes the state of the training, in place of what was
	// there: every CheckpointEvery epochs, at the end of every run and when the training is cancelled or stopped. Resume
	// continues from it. A state that cannot be written ends the training with Status Stopped and an error.
	Checkpoint      string
	CheckpointEvery int // epochs; 0: 10

	Rotate Rotation // exact reduction of views of low rank, without Neighbors; default RotateAuto

	// Neighbors joins every sample to those that are most like it, in all views together and in each alone: k mutual
	// nearest neighbours or, for many samples, a few of some landmarks. Views are smoothed along that graph before the
	// network sees them, and the loss has a term for neighbours that share a cluster and one for clusters that can be told
	// from the features. 0: preset (Default 10, Paper None); None: the network sees the views as Preprocess leaves them, and
	// the fields below have no effect and must be zero.
	Neighbors      int
	Directions     int     // singular directions that are kept of each view; 0: 200; None: all
	FilterSteps    int     // steps of smoothing; 0: 6, or log₂(n/10) where that is more; None: no smoothing
	NeighborWeight float64 // of NeighborInformation in the loss; 0: 3; None: without that term
	HeldOutWeight  float64 // of HeldOutInformation in the loss, of the views before they are smoothed; 0: 3; None: without that term
	Temperature    float64 // of both terms; 0: 0.1
	ExactNeighbors int     // the number of samples up to which neighbours are searched, with landmarks above; 0: 10,000; None: landmarks always
	Landmarks      int     // where there are landmarks, their number; 0: n/4, at least 40 and at most 1,000
	LowestInertia  bool    // choose among the starts of a k-means by inertia alone, with NeighborWeight too (see KMeansStarts)
}

const (
	// NoTraining as Config.Epochs leaves the network at its start.
	NoTraining = -1
	// None switches off what a field of Config counts or weighs where its zero stands for a default.
	None = -1
)

// ErrStop is what a Progress callback returns to end the training without an error from Fit.
var ErrStop = errors.New("largemvc: stopped by the progress callback")

// withDefaults returns the configuration with every zero that means something else replaced.
func (c Config) withDefaults() Config {
	set := func(x *int, value int) {
		if *x == 0 {
			*x = value
		}
	}
	setFloat := func(x *float64, value float64) {
		if *x == 0 {
			*x = value
		}
	}
	set(&c.Anchors, c.Clusters)
	set(&c.Layers, 2)
	set(&c.Epochs, 100)
	set(&c.Restarts, 1)
	set(&c.KMeansStarts, 10)
	set(&c.CheckpointEvery, 10)
	setFloat(&c.LearningRate, 0.01)
	setFloat(&c.Theta0, 0.01)
	setFloat(&c.Rho0, 0.01)
	setFloat(&c.Lipschitz, 1)
	if c.Tolerance > 0 {
		set(&c.Patience, 5)
	}
	if c.RhoScale == PresetRhoScale {
		c.RhoScale = UnitScale
	}
	c.fromPreset()
	if c.Neighbors != None {
		set(&c.Directions, 200)
		setFloat(&c.NeighborWeight, 3)
		setFloat(&c.HeldOutWeight, 3)
		setFloat(&c.Temperature, 0.1)
		set(&c.ExactNeighbors, 10_000)
	}
	return c
}

// fromPreset fills the fields that are left to the preset.
func (c *Config) fromPreset() {
	paper := c.Preset == Paper
	if c.Neighbors == 0 {
		c.Neighbors = 10
		if paper {
			c.Neighbors = None
		}
	}
	if c.Preprocess == PresetPreprocess {
		c.Preprocess = Both
		if paper || c.Neighbors == None {
			c.Preprocess = PerSample
		}
	}
	if c.Start == PresetStart {
		c.Start = ScaledSpectral
		if paper || c.Neighbors == None {
			c.Start = JointKMeans
		}
	}
	if c.Reduction == PresetReduction {
		c.Reduction = Relative
		if paper {
			c.Reduction = Mean
		}
	}
	if c.ReadOut == PresetReadOut {
		c.ReadOut = UnitRows
		if paper {
			c.ReadOut = PlainRows
		}
	}
	if c.Signs == PresetSigns {
		c.Signs = Nonnegative
		if paper {
			c.Signs = Unconstrained
		}
	}
}

// forSamples fills the fields whose defaults depend on the number of samples.
func (c *Config) forSamples(n int) {
	if c.Neighbors != None && c.FilterSteps == 0 {
		// A step reaches the neighbours of neighbours, and the steps across a graph of n samples are about log n.
		c.FilterSteps = max(6, int(math.Round(math.Log2(float64(n)/10))))
	}
}
