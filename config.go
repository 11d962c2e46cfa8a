package largemvc

import (
	"cmp"
	"errors"
	"math"
	"reflect"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/structure"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/optim"
)

// Config has the settings of Fit. Clusters is required. The zero value of each other field stands for the default that its
// comment states. Fit does not change a Config, nor the modules in it. A Config can be written to JSON and read again, see
// MarshalJSON.
type Config struct {
	Clusters int // number of clusters, 1 to n, or to FitSamples
	Anchors  int // m, number of anchors of each view, 1 to n; default Clusters; with neighbours, 48 for more than 200 clusters
	Layers   int // L, number of layers, up to 1,000; default 2

	// Represent, Noise and Anchor are the modules of the network; default &SoftThreshold{}, &RowShrink{} and &Procrustes{}.
	// &NoNoise{} makes it AMvC-Net, &NoNoise{} and &FixedAnchors{} make it RMvC-Net. Each restart trains copies of the modules.
	//
	// A custom module is allowed, see Module. It makes training several times slower and takes more memory (EstimateMemory).
	Represent Represent
	Noise     Noise
	Anchor    Anchor

	Preprocess   Preprocess   // standardisation of the views; default PreprocessBoth, without neighbours PreprocessSample
	Neighborhood Neighborhood // use of nearest neighbours; default up to 10 neighbours

	// StartLabels (n values, 0 to m−1) are the initial clustering; default k-means, see the package documentation. With their
	// one-hot matrix Z the first anchors are P_v = polar(ZᵀX_v). The final clusters are numbered by size all the same:
	// score.Contingency.Match pairs them with StartLabels. With several ranks, each gives the labels of its samples.
	StartLabels []int
	// Start is the initial state of the network, E and P in the coordinates of the preprocessed views; default H = 0, E = 0 and
	// anchors of the initial clustering. It requires Neighborhood.Neighbors: None. Give anchors or StartLabels, not both. H
	// needs one of them. E needs noise. With H or E, FitSamples and machine.CUDA are errors, and the fit runs on the CPU. With
	// several ranks, each gives H and E of its samples.
	Start StartPoint `json:"-"`

	// Known has the class of each sample (n values, 0 to c−1), −1 where it is not known; default nil. By these labels Fit gives
	// all samples their classes (Clustering.Classes), and Predictor.Classify new ones. They change the clusters and H only if
	// Neighborhood.KnownWeight is set. Known needs neighbours and two known classes. Machine.Overwrite then has no effect.
	// With several ranks, each gives the labels of its samples.
	Known []int

	// Epochs is the number of optimiser steps, up to 1,000,000,000; default 30 with neighbours, 100 without. None: no training.
	Epochs    int
	Optimizer optim.Options // learning rate (default 0.03 with neighbours), weight decay and schedule of Adam, or another solver
	Reduction Reduction     // weights of the views in the loss; default ReductionRelative
	Tolerance float64       // relative decrease of the loss that counts as progress; default 0, no early stop
	Patience  int           // epochs without progress before the early stop; default 5 if Tolerance is set
	Seed      uint64        // seed of all random numbers; equal seeds and data give equal bits for any number of workers
	// Restarts is the number of trainings, with seeds Seed, Seed+1, … and the inputs and neighbours of Seed, up to 10,000. Fit
	// keeps the one with the lowest loss. Default 1.
	Restarts int

	// PlainReadOut runs the last k-means on the rows of H as they are, as in the paper. By default each row is scaled to norm 1,
	// as in the loss terms of Neighborhood.
	PlainReadOut bool
	// KMeansStarts is the number of starts of each k-means, up to 1,000; default 10; with neighbours, 1 for more than 200
	// clusters. The start of the lowest inertia is kept. With Neighborhood.Weight the initial clustering has three times as many
	// starts, and neighbour information chooses among the best (package documentation).
	KMeansStarts int

	Float64 bool // computes in float64; default float32

	// FitSamples is the number of samples to train on, drawn by Seed; default all. All samples are then labelled in one pass.
	// Fit draws three times and takes the draw whose initial clustering agrees best with the others, on up to 5,000 samples.
	// With StartLabels or Start.Anchors it draws once. The neighbours are landmarks unless Neighborhood.Exact is set.
	FitSamples int

	// NoStructure leaves out Structure, Confidence, Remoteness and Outlier of the Clustering.
	NoStructure bool

	Machine machine.Options // goroutines, memory limit, GPU and processes of the fit

	Checkpoint Checkpoint // file of the training state; default none

	// Progress, if not nil, is called after every epoch and from time to time in the other phases, in the goroutine of Fit.
	// An error from it ends the fit, in the training with Status Stopped. Fit returns the result and the error, nil for ErrStop.
	// Before the training there is no result: Fit then returns the error alone, also for ErrStop.
	Progress func(Progress) error `json:"-"`

	// ExtraLoss, if not nil, returns a scalar node that is added to the loss; a nil node adds nothing. It may use the nodes of
	// net (H, P, T and the nodes of its modules) and make new nodes of the element type net.Env().Of in their graph. Without
	// FitSamples, row i of H is sample i of the views.
	ExtraLoss func(net Network) (*gorgonia.Node, error) `json:"-"`
}

// Neighborhood has the settings of the neighbours. Each sample is linked to the samples that are most like it, in all views
// together and in each view alone: k mutual nearest neighbours or, for many samples, a few landmarks. Fit smooths the views
// along this graph. The loss rewards clusters that neighbours share, and clusters that other samples predict from the features.
type Neighborhood struct {
	// Neighbors is k, the number of neighbours of a sample; default 10, from 100 samples on at most 0.7·n/Clusters, but at least
	// 3. None: the network sees the views as Config.Preprocess leaves them, and all other fields must be zero.
	Neighbors  int
	Directions int // number of singular directions kept of each input; default 200; None: all
	Steps      int // number of smoothing steps, up to 1,000; default max(6, log₂(n/10)); None: no smoothing

	Weight        float64 // weight of the neighbour information in the loss (package terms); default 3; None: no such term
	HeldOutWeight float64 // weight of the held-out information in the loss (package terms); default 3; None: no such term
	// KnownWeight is the weight of the labels of Config.Known in the loss (terms.KnownClusters); default 0. Fit then begins with
	// the classes that Known gives to an untrained network. Column j of H is the j-th lowest class in Known, and Anchors must be
	// their number. FitSamples must be 0, and Resume needs the same Known (docs/known.md).
	KnownWeight float64

	// The next fields are for studies of the method.

	Exact     int // most samples whose neighbours are searched, landmarks above; default 10,000; None: always landmarks
	Landmarks int // number of landmarks; default n/4, at least 40 and at most 1,000
}

// Checkpoint has the file and the interval of the training state. Fit replaces the file when it has chosen a draw of FitSamples,
// when it has found the neighbours, before the first epoch, every Every epochs, at the end of each restart, and when the training
// is cancelled or stopped. With several ranks the file lacks the neighbours. When ctx ends, Fit writes the state after
// the last finished epoch at once, while the running epoch goes on. Resume continues from it. If the state cannot be written, the
// training ends with Status Stopped and an error; before the first epoch there is no result.
type Checkpoint struct {
	Path  string // path of the file; "": no checkpoints
	Every int    // epochs between two writes; default 10
}

// ErrStop, returned by Config.Progress, ends the fit. Fit returns it as an error only before the training begins.
var ErrStop = errors.New("largemvc: stopped by the progress callback")

// PaperConfig returns the settings of the paper's network: no neighbours, θ and ρ may become negative, the loss is the mean
// of squares, and the last k-means runs on the rows of H as they are. What the paper does not name are choices: PreprocessSample,
// Adam, the first θ and ρ of 0.01, first anchors from one k-means of all views, and means of squares where the paper has sums.
func PaperConfig(clusters int) Config {
	return Config{
		Clusters:     clusters,
		Represent:    &SoftThreshold{Unconstrained: true},
		Noise:        &RowShrink{Unconstrained: true},
		Preprocess:   PreprocessSample,
		Neighborhood: Neighborhood{Neighbors: None},
		Reduction:    ReductionMean,
		PlainReadOut: true,
	}
}

// WithDefaults returns the configuration with its defaults filled in and copies of its modules. Defaults that depend on the
// samples stay zero: Neighborhood.Steps and Landmarks, and with FitSamples also Exact. Neighborhood.Neighbors is 10 where it
// is not given, though a fit of small clusters takes fewer.
func (c Config) WithDefaults() Config {
	if c.Clusters > structure.MostClusters && c.Neighborhood.Neighbors != None { // the paper's network has an anchor for each
		c.Anchors, c.KMeansStarts = cmp.Or(c.Anchors, manyAnchors), cmp.Or(c.KMeansStarts, manyStarts)
	}
	c.Anchors = cmp.Or(c.Anchors, c.Clusters)
	c.Layers = cmp.Or(c.Layers, 2)
	if c.Neighborhood.Neighbors != None { // three times the rate of PaperConfig, and fewer steps, have equal scores
		c.Epochs = cmp.Or(c.Epochs, 30)
		if c.Optimizer.Solver == nil {
			c.Optimizer.LearningRate = cmp.Or(c.Optimizer.LearningRate, 0.03)
		}
	}
	c.Epochs = cmp.Or(c.Epochs, 100)
	c.Restarts = cmp.Or(c.Restarts, 1)
	c.KMeansStarts = cmp.Or(c.KMeansStarts, 10)
	c.Checkpoint.Every = cmp.Or(c.Checkpoint.Every, 10)
	c.Optimizer = c.Optimizer.WithDefaults()
	if c.Tolerance > 0 {
		c.Patience = cmp.Or(c.Patience, 5)
	}
	if n := &c.Neighborhood; n.Neighbors != None {
		n.Neighbors = cmp.Or(n.Neighbors, 10)
		n.Directions = cmp.Or(n.Directions, 200)
		n.Weight = cmp.Or(n.Weight, 3)
		n.HeldOutWeight = cmp.Or(n.HeldOutWeight, 3)
		if c.FitSamples == 0 {
			n.Exact = cmp.Or(n.Exact, 10_000)
		}
		c.Preprocess = cmp.Or(c.Preprocess, PreprocessBoth)
	}
	c.Preprocess = cmp.Or(c.Preprocess, PreprocessSample)
	c.Reduction = cmp.Or(c.Reduction, ReductionRelative)
	fillModules(&c)
	return c
}

// manyAnchors and manyStarts are the anchors and the starts of k-means for more than structure.MostClusters clusters.
const manyAnchors, manyStarts = 48, 1

// fillModules puts copies of the modules in their place, those of this package where they are nil, with their defaults filled.
func fillModules(c *Config) {
	if c.Represent = copied(c.Represent); c.Represent == nil {
		c.Represent = &SoftThreshold{}
	}
	if c.Noise = copied(c.Noise); c.Noise == nil {
		c.Noise = &RowShrink{}
	}
	if c.Anchor = copied(c.Anchor); c.Anchor == nil {
		c.Anchor = &Procrustes{}
	}
	if s, ok := c.Represent.(*SoftThreshold); ok && s != nil {
		s.Theta0, s.Lipschitz = cmp.Or(s.Theta0, defaultTheta), cmp.Or(s.Lipschitz, 1)
		s.env, s.theta, s.r, s.u = Env{}, nil, nil, nil
	}
	if r, ok := c.Noise.(*RowShrink); ok && r != nil {
		r.Rho0 = cmp.Or(r.Rho0, defaultRho)
		r.env, r.rho = Env{}, nil
	}
}

// copied returns a module for one network: a copy of the struct that the pointer m points to, m itself where it is none. What a
// custom module points to is its own affair; the units of ρ, which a caller may change, are copied too.
func copied[M any](m M) M {
	v := reflect.ValueOf(m)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return m
	}
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	out, ok := c.Interface().(M)
	if !ok {
		return m
	}
	if shrink, ok := any(out).(*RowShrink); ok {
		shrink.Scale = slices.Clone(shrink.Scale)
	}
	return out
}

// noiseless says whether E = 0.
func (c *Config) noiseless() bool { _, ok := c.Noise.(*NoNoise); return ok }

// fixedAnchors says whether the anchors keep their start.
func (c *Config) fixedAnchors() bool { _, ok := c.Anchor.(*FixedAnchors); return ok }

// addsNodes says whether the loss has a node outside the fused passes.
func addsNodes(c *Config) bool { return c.ExtraLoss != nil || c.Neighborhood.KnownWeight > 0 }

// stock says whether all modules are from this package, so that the fused passes train them.
func (c *Config) stock() bool { return stock(c.Represent) && stock(c.Noise) && stock(c.Anchor) }

// perModule says whether each step of the modules is an op of its own.
func perModule(c *Config) bool { return c.Machine.PerModule || !c.stock() }

// forSamples fills the fields whose defaults depend on the number of samples.
func (c *Config) forSamples(n int) {
	exact := 10_000
	if c.samples(n) {
		exact = None
	}
	if c.Neighborhood.Neighbors != None {
		c.Neighborhood.Exact = cmp.Or(c.Neighborhood.Exact, exact)
	}
	if c.Neighborhood.Neighbors != None && c.Neighborhood.Steps == 0 {
		// A step reaches the neighbours of neighbours, and the steps across a graph of n samples are about log n. Where only some
		// of them are trained on, it is the graph of all that theirs stands for.
		c.Neighborhood.Steps = max(6, int(math.Round(math.Log2(float64(n)/10))))
	}
}

// fewestAdapted is the number of samples from which small clusters have fewer neighbours: below, measured sets lost by it.
const fewestAdapted = 100

// adaptNeighbors sets the number of neighbours for n samples if it was not given: a sample of a small class has few neighbours of
// its class, and more would be of others.
func adaptNeighbors(c, given *Config, n int) {
	n = trainedOn(c, n)
	if h := &c.Neighborhood; given.Neighborhood.Neighbors == 0 && n >= fewestAdapted && c.Clusters > 0 {
		h.Neighbors = min(h.Neighbors, max(3, int(math.Round(0.7*float64(n)/float64(c.Clusters)))))
	}
}

// searched says whether the neighbours of n samples are searched among all of them, in place of landmarks.
func (c *Config) searched(n int) bool {
	return c.Neighborhood.Neighbors != None && n <= max(c.Neighborhood.Exact, 1)
}

// samples says whether only some of n samples are trained on.
func (c *Config) samples(n int) bool { return c.FitSamples > 0 && c.FitSamples < n }

// comparesDraws says whether several draws of some of n samples are compared, by their starts.
func (c *Config) comparesDraws(n int) bool {
	return c.samples(n) && c.StartLabels == nil && c.Start.Anchors == nil
}

// trainedOn is the number of samples that are trained on, of n.
func trainedOn(c *Config, n int) int {
	if c.samples(n) {
		return c.FitSamples
	}
	return n
}

// hasNeighborLoss says whether the loss has the term of Neighborhood.Weight. A single anchor has no information.
func (c *Config) hasNeighborLoss() bool {
	return c.Neighborhood.Neighbors != None && c.Neighborhood.Weight > 0 && c.Anchors > 1
}

// hasHeldOutLoss says whether the loss has the term of Neighborhood.HeldOutWeight. A single anchor has no information.
func (c *Config) hasHeldOutLoss() bool {
	return c.Neighborhood.Neighbors != None && c.Neighborhood.HeldOutWeight > 0 && c.Anchors > 1
}

// learnableCount is the number of learnable nodes of a network of stock modules for some inputs: R, U, θ of every layer and, with
// noise, ρ̃.
func learnableCount(c *Config, inputs int) int {
	out := 2 + c.Layers
	if !c.noiseless() {
		out += c.Layers * inputs
	}
	return out
}

// beginsAtStart says whether k-means on H begins with the labels of the start.
func (c *Config) beginsAtStart() bool {
	return c.hasNeighborLoss() && c.Clusters == c.Anchors
}

// mayKeep reports whether the initial clusters may replace the clusters of the trained network. With a custom module they
// never do.
func (c *Config) mayKeep() bool {
	return c.stock() && c.StartLabels == nil && (c.beginsAtStart() && c.hasHeldOutLoss() || fewAnchors(c))
}

// fewAnchors says whether the initial clustering has fewer clusters than the result.
func fewAnchors(c *Config) bool { return c.hasNeighborLoss() && c.Anchors < c.Clusters }

// sharedReadOut is the number of samples up to which k-means on H that begins with nothing is chosen by neighbours. The choice
// takes as long as the choice of the start.
const sharedReadOut = 5000

// draws is the number of draws of FitSamples that are compared; one of them is trained on. comparedSamples is the largest number
// of samples that the start of each draw labels for the comparison.
const draws, comparedSamples = 3, 5000
