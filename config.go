package largemvc

import (
	"cmp"
	"errors"
	"math"
	"reflect"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/machine"
)

// Config says how Fit clusters. Clusters is required; every other field may be left zero, which means what its comment
// says. Fit does not change it, nor the modules in it. It can be written to JSON and read again, see MarshalJSON.
type Config struct {
	Clusters int // c, the number of clusters: from 1 to n
	Anchors  int // m, the number of anchors: from 1 to n; 0: Clusters
	Layers   int // L, the number of unfolded layers, up to 1,000; 0: 2

	// The modules of the network; nil: &SoftThreshold{}, &RowShrink{} and &Procrustes{}. With &NoNoise{} it is
	// AMvC-Net, with &FixedAnchors{} besides RMvC-Net. Fit works on copies of what the pointers point to, one for each run.
	//
	// Any module will do, a user's own included: see Module for what it has to keep. A network with one that is not from this
	// package is made of an op for each step, which takes several times as long and more memory ([Config.EstimateMemory]).
	Represent Represent
	Noise     Noise
	Anchor    Anchor

	Preprocess   Preprocess   // what is done to the views first; 0: PreprocessBoth, without neighbours PreprocessSample
	Neighborhood Neighborhood // what the network knows of neighbours; default 10 neighbours

	// StartLabels and StartAnchors give the first anchors; Fit finds labels itself where both are nil. Labels of the samples with
	// one-hot matrix Z give the anchors P_v = polar(ZᵀX_v). With neighbours Fit runs k-means on the first m left singular vectors
	// of the inputs side by side, each times the root of its singular value, rows at norm 1. Without neighbours it runs one
	// k-means over all views. StartLabels are n values from 0 to m−1. The clusters are numbered by size all the same:
	// score.Contingency.Match says which cluster is which of these.
	StartLabels []int
	// StartAnchors, one m×d_v matrix a view in the coordinates of the preprocessed views, are the anchors. They need
	// Neighborhood.Neighbors: None, and no StartLabels.
	StartAnchors []mat.Matrix

	// Epochs is the number of steps of the optimiser, up to 1,000,000,000; 0: 100; None: the network stays at its start.
	Epochs       int
	LearningRate float64   // of Adam; 0: 0.01
	Reduction    Reduction // of the loss over a view's entries; 0: ReductionRelative
	Tolerance    float64   // relative decrease of the loss that counts as progress, for an early stop; 0: no early stop
	Patience     int       // epochs without progress before an early stop; 0 with a Tolerance: 5
	Seed         uint64    // of everything random; equal seeds and data give equal bits, for any number of workers
	// Restarts is the number of runs, with seeds Seed, Seed+1, … and the inputs and neighbours of Seed, up to 10,000, of which
	// that of the lowest loss is kept; 0: 1.
	Restarts int

	// PlainReadOut gives the last k-means the rows of H, as in the paper, in place of those rows at norm 1. The terms of
	// Neighborhood see no more of H than the latter; the norms, which nothing holds together, differ much where neighbours are
	// few.
	PlainReadOut bool
	// KMeansStarts is the number of starts of each k-means, up to 1,000, of which that of the lowest inertia is kept; 0: 10.
	// With Neighborhood.Weight, and more than one anchor, the first anchors are chosen in another way: of three times as many
	// starts, and of those whose inertia is at most a tenth above the lowest, the one of the highest neighbour information is
	// kept. The last k-means then begins with the labels of the start and nothing else; with more or fewer anchors than clusters
	// it is chosen as the start is, of up to 5,000 samples after training.
	KMeansStarts int

	Float64 bool // everything that grows with n is held in float64, in place of float32

	// FitSamples, if fewer than the samples, is the number of those that the network is trained on, drawn by Seed. Then one pass
	// labels all of them. Three samples are drawn; the one is taken whose start is most like those of the others, by the labels
	// that they give to up to 5,000 samples. With StartLabels or StartAnchors one is drawn. Their neighbours are landmarks unless
	// Neighborhood.Exact says otherwise, which clusters samples that were not drawn better, in less time. 0: all.
	FitSamples int

	Machine machine.Options // what the fit may use of the machine: goroutines, memory

	Checkpoint Checkpoint // where the state of the training is written; default: nowhere

	// Progress, if not nil, is called after every epoch and now and then in all other phases, from the goroutine that called
	// Fit. An error in the training ends the training with Status Stopped; it is returned by Fit, as it is, unless it is ErrStop.
	// Before the training there is no result yet: Fit returns the error alone, ErrStop too.
	Progress func(Progress) error `json:"-"`

	// ExtraLoss, if not nil, returns a scalar node that is added to the loss. It may use the nodes of the network (H, P, T,
	// those of its modules) and make nodes in its graph.
	ExtraLoss func(net Network) (*gorgonia.Node, error) `json:"-"`
}

// Neighborhood is what the network knows of neighbours. Every sample is joined to those that are most like it, in all views
// together and in each alone: k mutual nearest neighbours or, for many samples, a few of some landmarks. Views are smoothed
// along that graph before the network sees them, and the loss has a term for neighbours that share a cluster and one for
// clusters that can be told from the features.
type Neighborhood struct {
	// Neighbors is k. 0: 10; None: the network sees the views as Config.Preprocess leaves them, and the
	// other fields have no effect and must be zero.
	Neighbors  int
	Directions int // singular directions that are kept of each view; 0: 200; None: all
	Steps      int // of smoothing, up to 1,000; 0: 6, or log₂(n/10) where that is more, n of all samples; None: no smoothing

	// Weight in the loss of the information of neighbours (package terms); 0: 3; None: without that term.
	Weight float64
	// HeldOutWeight in the loss of the held-out information, of the views before they are smoothed; 0: 3; None: without that
	// term.
	HeldOutWeight float64

	// What follows is for studies of the method; the defaults suit.

	Exact     int // samples up to which neighbours are searched, with landmarks above; 0: 10,000; None: landmarks always
	Landmarks int // where there are landmarks, their number; 0: n/4, at least 40 and at most 1,000
}

// Checkpoint says where Fit writes the state of the training, in place of what was there: every so many epochs, at the end of
// every run and when the training is cancelled or stopped. Resume continues from it. A state that cannot be written ends the
// training with Status Stopped and an error.
type Checkpoint struct {
	Path  string // of the file; "": none
	Every int    // epochs; 0: 10
}

// ErrStop is what a Progress callback returns to end the training without an error from Fit.
var ErrStop = errors.New("largemvc: stopped by the progress callback")

// PaperConfig returns the settings of the network as the paper's equations have it: without neighbours, with θ and ρ that may
// become negative, the mean of squares as the loss, and the rows of H as they are in the last k-means. The paper does not name
// a preprocessing; here it is PreprocessSample.
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

// WithDefaults returns the configuration with copies of its modules and with every zero that stands for something else
// replaced by it, except Neighborhood.Steps and Landmarks, and with FitSamples Exact, whose defaults depend on the
// samples.
func (c Config) WithDefaults() Config {
	c.Anchors = cmp.Or(c.Anchors, c.Clusters)
	c.Layers = cmp.Or(c.Layers, 2)
	c.Epochs = cmp.Or(c.Epochs, 100)
	c.Restarts = cmp.Or(c.Restarts, 1)
	c.KMeansStarts = cmp.Or(c.KMeansStarts, 10)
	c.Checkpoint.Every = cmp.Or(c.Checkpoint.Every, 10)
	c.LearningRate = cmp.Or(c.LearningRate, 0.01)
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
// module of a user's own points to is its own affair; the units of ρ, which a caller may change, are copied too.
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

// stock says whether all modules are from this package, so that the fused passes train them.
func (c *Config) stock() bool { return stock(c.Represent) && stock(c.Noise) && stock(c.Anchor) }

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

// searched says whether the neighbours of n samples are searched among all of them, in place of landmarks.
func (c *Config) searched(n int) bool {
	return c.Neighborhood.Neighbors != None && n <= max(c.Neighborhood.Exact, 1)
}

// samples says whether only some of n samples are trained on.
func (c *Config) samples(n int) bool { return c.FitSamples > 0 && c.FitSamples < n }

// comparesDraws says whether several draws of some of n samples are compared, by their starts.
func (c *Config) comparesDraws(n int) bool {
	return c.samples(n) && c.StartLabels == nil && c.StartAnchors == nil
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

// mayKeep reports whether the clusters of the start may replace the clusters of the trained network. With a custom module they
// never do.
func (c *Config) mayKeep() bool {
	return c.stock() && c.beginsAtStart() && c.hasHeldOutLoss() && c.StartLabels == nil
}

// sharedReadOut is the number of samples up to which k-means on H that begins with nothing is chosen by neighbours. The choice
// takes as long as that of the start.
const sharedReadOut = 5000

// draws is the number of draws of FitSamples that are compared; one of them is trained on. comparedSamples is the largest number
// of samples that the start of each draw labels for the comparison.
const draws, comparedSamples = 3, 5000
