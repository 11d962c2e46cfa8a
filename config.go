package largemvc

import (
	"errors"
	"fmt"
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
	Lipschitz     float64   // L_p: R starts at (1 − 1/L_p) I and U at I/L_p; 0: 1
	Reduction     Reduction // of the loss over a view's entries; default preset (Default: Relative, Paper: Mean)
	DetachAnchors bool      // treat the anchors as constants in the backward pass

	Tolerance float64 // relative decrease of the loss that counts as progress; 0: no early stop
	Patience  int     // epochs without progress before the early stop; 0 with a Tolerance: 5

	// KMeansStarts is the number of starts of each k-means, of which that of the lowest inertia is kept; 0: 10. With
	// NeighborWeight the first anchors come from that of the highest NeighborInformation among three times as many.
	KMeansStarts int
	ReadOut      ReadOut // what the last k-means sees of H; default preset (Default: UnitRows, Paper: PlainRows)

	// Overwrite lets Fit standardise views given by Float32View (with Float32) or Float64View (with Float64) in place, in
	// place of a copy. Their values are lost to the caller.
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
	// network sees them, and the loss has a term for neighbours that share a cluster. 0: preset (Default 10, Paper None);
	// None: the network sees the views as Preprocess leaves them, and the fields below have no effect and must be zero.
	Neighbors      int
	Directions     int     // singular directions that are kept of each view; 0: 200; None: all
	FilterSteps    int     // steps of smoothing; 0: 6, or log₂(n/10) where that is more; None: no smoothing
	NeighborWeight float64 // of NeighborInformation in the loss; 0: 3; None: without that term
	Temperature    float64 // of NeighborInformation; 0: 0.1
	ExactNeighbors int     // the number of samples up to which neighbours are searched, with landmarks above; 0: 10,000; None: landmarks always
	Landmarks      int     // where there are landmarks, their number; 0: n/4, at least 40 and at most 1,000
}

const (
	// NoTraining as Config.Epochs leaves the network at its start.
	NoTraining = -1
	// None switches off what a field of Config counts or weighs where its zero stands for a default.
	None = -1
)

// ErrStop is what a Progress callback returns to end the training without an error from Fit.
var ErrStop = errors.New("largemvc: stopped by the progress callback")

// option is an enumerated setting with a name for each value.
func optionName(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("unknown (%d)", i)
	}
	return names[i]
}

func parseOption(kind string, names []string, s string) (int, error) {
	for i, name := range names {
		if name == s {
			return i, nil
		}
	}
	return 0, fmt.Errorf("largemvc: unknown %s %q: have %q", kind, s, names)
}

// Variant selects the network's modules.
type Variant int

// The networks of the paper's ablation.
const (
	Large Variant = iota // LargeMvC-Net: Represent, Noise and Anchor
	AMvC                 // AMvC-Net: Represent and Anchor; E = 0
	RMvC                 // RMvC-Net: Represent alone; E = 0, the anchors keep their start
)

var variantNames = []string{"large", "amvc", "rmvc"}

func (v Variant) String() string { return optionName(variantNames, int(v)) }

// ParseVariant returns the variant of that name: large, amvc or rmvc.
func ParseVariant(s string) (Variant, error) {
	i, err := parseOption("variant", variantNames, s)
	return Variant(i), err
}

// Preset is a set of defaults.
type Preset int

const (
	// Default is what clusters best on average over many kinds of data, by one setting: views in two standardisations,
	// smoothed along a graph of neighbours, and a term for neighbours in the loss (see Config.Neighbors); θ, ρ ≥ 0.
	Default Preset = iota
	// Paper is the network as the paper's equations have it, without neighbours; θ and ρ are free. Preprocessing and start,
	// which the paper does not name, are PerSample and JointKMeans.
	Paper
)

var presetNames = []string{"default", "paper"}

func (p Preset) String() string { return optionName(presetNames, int(p)) }

// ParsePreset returns the preset of that name: default or paper.
func ParsePreset(s string) (Preset, error) {
	i, err := parseOption("preset", presetNames, s)
	return Preset(i), err
}

// Preprocess is what is done to each view before anything else. What it measures on the training samples is kept and
// applied to new ones.
type Preprocess int

const (
	PresetPreprocess Preprocess = iota // what the preset says
	// PerSample standardises each sample of each view over its features: mean 0, variance 1. Constant rows become zero.
	PerSample
	// Balanced standardises each feature over the samples (mean 0, variance 1; constant ones become zero) and divides
	// the view by √d_v.
	Balanced
	// ZScore standardises each feature over the samples.
	ZScore
	// UnitNorm scales each sample of each view to norm 1.
	UnitNorm
	// Raw takes the views as they are.
	Raw
	// Both gives the network every view twice, PerSample and ZScore; views of fewer than five features are ZScore alone. It
	// needs Config.Neighbors.
	Both
)

var preprocessNames = []string{"preset", "sample", "balanced", "zscore", "unit", "none", "both"}

func (p Preprocess) String() string { return optionName(preprocessNames, int(p)) }

// ParsePreprocess returns the preprocessing of that name: preset, sample, balanced, zscore, unit, none or both.
func ParsePreprocess(s string) (Preprocess, error) {
	i, err := parseOption("preprocessing", preprocessNames, s)
	return Preprocess(i), err
}

// StartMethod is where the first anchors come from: labels of the samples with one-hot matrix Z give P_v = polar(ZᵀX_v).
type StartMethod int

const (
	PresetStart StartMethod = iota // what the preset says
	// JointKMeans takes the labels from one k-means over the concatenated views.
	JointKMeans
	// Spectral takes them from k-means on the first c left singular vectors of the concatenated views.
	Spectral
	// PerView clusters every view by itself. The anchors of different views then do not correspond, which costs about 13
	// points of ACC on average; it is one reading of the paper's Algorithm 1.
	PerView
	// ScaledSpectral takes them from k-means on the rows, at norm 1, of the first m left singular vectors of the
	// concatenated views, each vector times the root of its singular value.
	ScaledSpectral
)

var startNames = []string{"preset", "joint", "spectral", "perview", "scaled"}

func (s StartMethod) String() string { return optionName(startNames, int(s)) }

// ParseStart returns the start of that name: preset, joint, spectral, perview or scaled.
func ParseStart(s string) (StartMethod, error) {
	i, err := parseOption("start", startNames, s)
	return StartMethod(i), err
}

// ReadOut is what the last k-means sees of the representation H.
type ReadOut int

const (
	PresetReadOut ReadOut = iota // what the preset says
	PlainRows                    // the rows of H, as in the paper
	// UnitRows are those rows at norm 1. The term of Config.NeighborWeight sees no more of H than that; the norms, which
	// nothing holds together, differ much where neighbours are few.
	UnitRows
)

var readOutNames = []string{"preset", "plain", "unit"}

func (r ReadOut) String() string { return optionName(readOutNames, int(r)) }

// ParseReadOut returns the read-out of that name: preset, plain or unit.
func ParseReadOut(s string) (ReadOut, error) {
	i, err := parseOption("read-out", readOutNames, s)
	return ReadOut(i), err
}

// Float is the arithmetic of everything that grows with the number of samples.
type Float int

// The element types. Sums over samples are folded in float64 with both.
const (
	Float32 Float = iota
	Float64
)

var floatNames = []string{"32", "64"}

func (f Float) String() string { return optionName(floatNames, int(f)) }

// ParseFloat returns the element type of that name: 32 or 64.
func ParseFloat(s string) (Float, error) {
	i, err := parseOption("float size", floatNames, s)
	return Float(i), err
}

// RhoScale is the unit in which the thresholds ρ are learned: ρ_lv = scale_v·ρ̃_lv.
type RhoScale int

const (
	PresetRhoScale RhoScale = iota // UnitScale in Fit, DataScale in Classical
	// DataScale is the median distance of a view's samples to the mean of their start cluster. Adam moves a parameter by
	// about the learning rate a step, whatever the data's scale, so ρ needs it as its unit.
	DataScale
	UnitScale // 1, as in the paper
)

var rhoScaleNames = []string{"preset", "data", "unit"}

func (r RhoScale) String() string { return optionName(rhoScaleNames, int(r)) }

// ParseRhoScale returns the unit of that name: preset, data or unit.
func ParseRhoScale(s string) (RhoScale, error) {
	i, err := parseOption("rho scale", rhoScaleNames, s)
	return RhoScale(i), err
}

// Signs says whether the thresholds θ and ρ may become negative in training.
type Signs int

const (
	PresetSigns   Signs = iota // what the preset says
	Nonnegative                // projected to ≥ 0 after every step
	Unconstrained              // free, as in the paper; a negative ρ makes D enlarge E
)

var signsNames = []string{"preset", "nonnegative", "free"}

func (s Signs) String() string { return optionName(signsNames, int(s)) }

// ParseSigns returns the constraint of that name: preset, nonnegative or free.
func ParseSigns(s string) (Signs, error) {
	i, err := parseOption("sign constraint", signsNames, s)
	return Signs(i), err
}

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

// check reports every field that is out of range for n samples and the given views.
func (c *Config) check(n int, views []View) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("largemvc: "+format, args...)) }
	if c.Clusters < 1 || c.Clusters > n {
		bad("Clusters is %d, want 1 to the number of samples, %d", c.Clusters, n)
	}
	if c.Anchors < 1 || c.Anchors > n {
		bad("Anchors is %d, want 1 to the number of samples, %d", c.Anchors, n)
	}
	if c.Layers < 1 {
		bad("Layers is %d, want at least 1", c.Layers)
	}
	if c.Epochs < 1 && c.Epochs != NoTraining {
		bad("Epochs is %d, want at least 1, or NoTraining", c.Epochs)
	}
	if c.Restarts < 1 {
		bad("Restarts is %d, want at least 1", c.Restarts)
	}
	if c.KMeansStarts < 1 {
		bad("KMeansStarts is %d, want at least 1", c.KMeansStarts)
	}
	if c.Workers < 0 {
		bad("Workers is %d", c.Workers)
	}
	if c.Patience < 0 {
		bad("Patience is %d", c.Patience)
	}
	if c.CheckpointEvery < 1 {
		bad("CheckpointEvery is %d, want at least 1", c.CheckpointEvery)
	}
	for _, f := range []struct {
		name  string
		value float64
		ok    bool
	}{
		{"LearningRate", c.LearningRate, c.LearningRate > 0},
		{"Tolerance", c.Tolerance, c.Tolerance >= 0},
		{"Theta0", c.Theta0, true},
		{"Rho0", c.Rho0, true},
		{"Lipschitz", c.Lipschitz, c.Lipschitz > 0},
	} {
		if !f.ok || math.IsNaN(f.value) || math.IsInf(f.value, 0) {
			bad("%s is %v", f.name, f.value)
		}
	}
	for _, o := range []struct {
		name  string
		value int
		names []string
	}{
		{"Variant", int(c.Variant), variantNames}, {"Preset", int(c.Preset), presetNames},
		{"Preprocess", int(c.Preprocess), preprocessNames}, {"Start", int(c.Start), startNames},
		{"Float", int(c.Float), floatNames}, {"RhoScale", int(c.RhoScale), rhoScaleNames}, {"Signs", int(c.Signs), signsNames}, {"Rotate", int(c.Rotate), rotationNames},
		{"ReadOut", int(c.ReadOut), readOutNames},
		{"Activation", int(c.Activation), []string{"relu", "selu"}}, {"Reduction", int(c.Reduction), reductionNames},
	} {
		if o.value < 0 || o.value >= len(o.names) {
			bad("%s is %d, want one of %q", o.name, o.value, o.names)
		}
	}
	errs = append(errs, c.checkNeighbors()...)
	errs = append(errs, c.checkStart(n, views)...)
	return errors.Join(errs...)
}

// maxFilterSteps is where smoothing has long made all samples alike.
const maxFilterSteps = 1000

// checkNeighbors reports what is out of range, or without effect, of the fields that go with Neighbors.
func (c *Config) checkNeighbors() (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("largemvc: "+format, args...)) }
	if c.Neighbors < 1 && c.Neighbors != None {
		bad("Neighbors is %d, want at least 1, or None", c.Neighbors)
	}
	for _, f := range []struct {
		name  string
		value float64
		none  bool // it may be None
	}{
		{"Directions", float64(c.Directions), true}, {"FilterSteps", float64(c.FilterSteps), true}, {"NeighborWeight", c.NeighborWeight, true},
		{"Temperature", c.Temperature, false}, {"ExactNeighbors", float64(c.ExactNeighbors), true}, {"Landmarks", float64(c.Landmarks), false},
	} {
		switch {
		case c.Neighbors == None && f.value != 0:
			bad("%s is %g, which has no effect without Neighbors", f.name, f.value)
		case f.value == None && f.none:
		case !(f.value >= 0) || math.IsInf(f.value, 1):
			bad("%s is %g", f.name, f.value)
		}
	}
	if c.FilterSteps > maxFilterSteps {
		bad("FilterSteps is %d, want at most %d", c.FilterSteps, maxFilterSteps)
	}
	if c.Landmarks == 1 {
		bad("Landmarks is 1, want at least 2, or 0")
	}
	switch {
	case c.Neighbors == None && c.Preprocess == Both:
		bad("Preprocess Both needs Neighbors")
	case c.Neighbors != None && c.StartAnchors != nil:
		bad("StartAnchors need Neighbors: None: with neighbours the network's inputs have coordinates of their own")
	}
	return errs
}

func (c *Config) checkStart(n int, views []View) (errs []error) {
	if c.StartLabels != nil && c.StartAnchors != nil {
		errs = append(errs, errors.New("largemvc: StartLabels and StartAnchors exclude each other"))
	}
	if c.StartLabels != nil && len(c.StartLabels) != n {
		errs = append(errs, fmt.Errorf("largemvc: %d StartLabels for %d samples", len(c.StartLabels), n))
	}
	for i, l := range c.StartLabels {
		if l < 0 || l >= c.Anchors {
			errs = append(errs, fmt.Errorf("largemvc: StartLabels[%d] is %d, want 0 to %d", i, l, c.Anchors-1))
			break
		}
	}
	if c.StartAnchors != nil && len(c.StartAnchors) != len(views) {
		return append(errs, fmt.Errorf("largemvc: StartAnchors has %d views, want %d", len(c.StartAnchors), len(views)))
	}
	for v, p := range c.StartAnchors {
		if p == nil {
			errs = append(errs, fmt.Errorf("largemvc: StartAnchors of %s are nil", views[v].label(v)))
			continue
		}
		if r, d := p.Dims(); r != c.Anchors || d != views[v].cols {
			errs = append(errs, fmt.Errorf("largemvc: StartAnchors of %s are %d×%d, want %d×%d", views[v].label(v), r, d, c.Anchors, views[v].cols))
			continue
		}
		for i := range c.Anchors {
			for j := range views[v].cols {
				if x := p.At(i, j); math.IsNaN(x) || math.IsInf(x, 0) {
					errs = append(errs, fmt.Errorf("largemvc: StartAnchors of %s hold %v in row %d, column %d", views[v].label(v), x, i, j))
					return errs
				}
			}
		}
	}
	return errs
}
