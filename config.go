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
	Preprocess Preprocess  // what is done to the views first; default PerSample
	Start      StartMethod // where the first anchors come from; default JointKMeans

	// StartLabels, n values from 0 to m−1, replace the start: P_v = polar(ZᵀX_v) for their one-hot matrix Z.
	StartLabels []int
	// StartAnchors, one m×d_v matrix a view in the coordinates of the preprocessed views, replace the start.
	StartAnchors []mat.Matrix

	Float   Float // arithmetic of everything that grows with n; default Float32
	Workers int   // goroutines; 0: GOMAXPROCS

	Theta0        float64   // first θ of every layer; 0: preset (both 0.01)
	Rho0          float64   // first ρ̃ of every layer and view; 0: preset (Default 0.5, Paper 0.01)
	RhoScale      RhoScale  // unit of ρ; default preset (Default: the data's, Paper: 1)
	Signs         Signs     // whether θ and ρ are kept ≥ 0; default preset (Default: kept, Paper: free)
	OneSided      bool      // S_θ(a) = σ(a−θ), which makes H ≥ 0, in place of σ(a−θ) − σ(−a−θ)
	Lipschitz     float64   // L_p: R starts at (1 − 1/L_p) I and U at I/L_p; 0: 1
	Reduction     Reduction // of the loss over a view's entries; default Mean
	DetachAnchors bool      // treat the anchors as constants in the backward pass

	Tolerance float64 // relative decrease of the loss that counts as progress; 0: no early stop
	Patience  int     // epochs without progress before the early stop; 0 with a Tolerance: 5

	KMeansStarts int // starts of each k-means; 0: 10

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

	Rotate Rotation // exact reduction of views of low rank; default RotateAuto
}

// NoTraining as Config.Epochs leaves the network at its start.
const NoTraining = -1

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
	// Default keeps θ, ρ ≥ 0 and measures ρ in units of the data's residuals.
	Default Preset = iota
	// Paper is the network as the paper's equations have it: θ and ρ start at 0.01 and are free. It leaves preprocessing
	// and start, which the paper does not name, as they are.
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
	// PerSample standardises each sample of each view over its features: mean 0, variance 1. Constant rows become zero.
	PerSample Preprocess = iota
	// Balanced standardises each feature over the samples (mean 0, variance 1; constant ones become zero) and divides
	// the view by √d_v.
	Balanced
	// ZScore standardises each feature over the samples.
	ZScore
	// UnitNorm scales each sample of each view to norm 1.
	UnitNorm
	// Raw takes the views as they are.
	Raw
)

var preprocessNames = []string{"sample", "balanced", "zscore", "unit", "none"}

func (p Preprocess) String() string { return optionName(preprocessNames, int(p)) }

// ParsePreprocess returns the preprocessing of that name: sample, balanced, zscore, unit or none.
func ParsePreprocess(s string) (Preprocess, error) {
	i, err := parseOption("preprocessing", preprocessNames, s)
	return Preprocess(i), err
}

// StartMethod is where the first anchors come from: labels of the samples with one-hot matrix Z give P_v = polar(ZᵀX_v).
type StartMethod int

const (
	// JointKMeans takes the labels from one k-means over the concatenated views.
	JointKMeans StartMethod = iota
	// Spectral takes them from k-means on the first c left singular vectors of the concatenated views.
	Spectral
	// PerView clusters every view by itself. The anchors of different views then do not correspond, which costs about 13
	// points of ACC on average; it is one reading of the paper's Algorithm 1.
	PerView
)

var startNames = []string{"joint", "spectral", "perview"}

func (s StartMethod) String() string { return optionName(startNames, int(s)) }

// ParseStart returns the start of that name: joint, spectral or perview.
func ParseStart(s string) (StartMethod, error) {
	i, err := parseOption("start", startNames, s)
	return StartMethod(i), err
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
	PresetRhoScale RhoScale = iota // what the preset says
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
	setFloat(&c.Lipschitz, 1)
	if c.Tolerance > 0 {
		set(&c.Patience, 5)
	}
	paper := c.Preset == Paper
	if paper {
		setFloat(&c.Rho0, 0.01)
	} else {
		setFloat(&c.Rho0, 0.5)
	}
	if c.RhoScale == PresetRhoScale {
		c.RhoScale = DataScale
		if paper {
			c.RhoScale = UnitScale
		}
	}
	if c.Signs == PresetSigns {
		c.Signs = Nonnegative
		if paper {
			c.Signs = Unconstrained
		}
	}
	return c
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
		{"Activation", int(c.Activation), []string{"relu", "selu"}}, {"Reduction", int(c.Reduction), reductionNames},
	} {
		if o.value < 0 || o.value >= len(o.names) {
			bad("%s is %d, want one of %q", o.name, o.value, o.names)
		}
	}
	errs = append(errs, c.checkStart(n, views)...)
	return errors.Join(errs...)
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
