package largemvc

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/kernel"
)

// Config says how Fit clusters. Clusters is required; every other field may be left zero, which means what its comment
// says. Fit does not change it.
type Config struct {
	Clusters int // c, the number of clusters: from 1 to n

	Anchors int // m, the number of anchors: from 1 to n; 0: Clusters
	Layers  int // L, the number of unfolded layers, up to 1,000; 0: 2
	Epochs  int // steps of the optimiser, up to 1,000,000,000; 0: 100; NoTraining: none

	LearningRate float64 // of Adam; 0: 0.01
	Seed         uint64  // of everything random; equal seeds and data give equal bits, for any number of workers
	Restarts     int     // runs with seeds Seed, Seed+1, …, up to 10,000, of which that of the lowest loss is kept; 0: 1

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
	Workers int   // goroutines, up to 4,096; 0: GOMAXPROCS

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

	// KMeansStarts is the number of starts of each k-means, up to 1,000, of which that of the lowest inertia is kept; 0: 10. With
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
	FilterSteps    int     // steps of smoothing, up to 1,000; 0: 6, or log₂(n/10) where that is more; None: no smoothing
	NeighborWeight float64 // of NeighborInformation in the loss; 0: 3; None: without that term
	// of HeldOutInformation in the loss, of the views before they are smoothed; 0: 3; None: without that term
	HeldOutWeight float64
	Temperature   float64 // of both terms; 0: 0.1
	// the number of samples up to which neighbours are searched, with landmarks above; 0: 10,000; None: landmarks
	// always
	ExactNeighbors int
	Landmarks      int  // where there are landmarks, their number; 0: n/4, at least 40 and at most 1,000
	LowestInertia  bool // choose among the starts of a k-means by inertia alone, with NeighborWeight too (see KMeansStarts)
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

// check reports every field that is out of range for n samples and the given views.
func (c *Config) check(n int, views []View) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("largemvc: "+format, args...)) }
	if c.Clusters < 1 || c.Clusters > n {
		bad("Clusters is %d, want 1 to the number of samples, %d", c.Clusters, n)
	}
	if (c.Anchors < 1 || c.Anchors > n) && c.Anchors != c.Clusters {
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
	errs = append(errs, aboveLimits(
		limited{"Layers", c.Layers, maxLayers}, limited{"Epochs", c.Epochs, maxEpochs},
		limited{"Restarts", c.Restarts, maxRestarts}, limited{"KMeansStarts", c.KMeansStarts, maxKMeansStarts},
		limited{"Workers", c.Workers, maxWorkers}, limited{"FilterSteps", c.FilterSteps, maxFilterSteps},
	)...)
	for _, f := range []struct {
		name  string
		value float64
		ok    bool
	}{
		{"LearningRate", c.LearningRate, c.LearningRate > 0},
		{"Tolerance", c.Tolerance, c.Tolerance >= 0},
		{"Theta0", c.Theta0, c.Theta0 >= 0 || c.Signs != Nonnegative},
		{"Rho0", c.Rho0, c.Rho0 >= 0 || c.Signs != Nonnegative},
	} {
		if !f.ok || math.IsNaN(f.value) || math.IsInf(f.value, 0) {
			bad("%s is %v", f.name, f.value)
		}
	}
	if !(c.Lipschitz >= 1) || math.IsInf(c.Lipschitz, 1) {
		bad("Lipschitz is %v, want at least 1", c.Lipschitz)
	}
	for _, o := range []struct {
		name  string
		value int
		names []string
	}{
		{"Variant", int(c.Variant), variantNames}, {"Preset", int(c.Preset), presetNames},
		{"Preprocess", int(c.Preprocess), preprocessNames}, {"Start", int(c.Start), startNames},
		{"Float", int(c.Float), floatNames}, {
			"RhoScale", int(c.RhoScale), rhoScaleNames,
		}, {"Signs", int(c.Signs), signsNames}, {"Rotate", int(c.Rotate), rotationNames},
		{"ReadOut", int(c.ReadOut), readOutNames},
		{"Activation", int(c.Activation), []string{"relu", "selu"}}, {"Reduction", int(c.Reduction), reductionNames},
	} {
		if o.value < 0 || o.value >= len(o.names) {
			bad("%s is %d, want one of %q", o.name, o.value, o.names)
		}
	}
	errs = append(errs, c.checkNeighbors()...)
	errs = append(errs, c.checkStart(n, views)...)
	if c.Overwrite {
		errs = append(errs, checkApart(views, c.Float)...)
	}
	return errors.Join(errs...)
}

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
		{"Directions", float64(c.Directions), true}, {
			"FilterSteps", float64(c.FilterSteps), true,
		}, {"NeighborWeight", c.NeighborWeight, true}, {"HeldOutWeight", c.HeldOutWeight, true},
		{"Temperature", c.Temperature, false}, {
			"ExactNeighbors", float64(c.ExactNeighbors), true,
		}, {"Landmarks", float64(c.Landmarks), false},
	} {
		switch {
		case c.Neighbors == None && f.value != 0:
			bad("%s is %g, which has no effect without Neighbors", f.name, f.value)
		case f.value == None && f.none:
		case !(f.value >= 0) || math.IsInf(f.value, 1):
			bad("%s is %g", f.name, f.value)
		}
	}
	if c.Neighbors == None && c.LowestInertia {
		bad("LowestInertia is set, which has no effect without Neighbors")
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
		if p == nil || MatrixView(p).err != nil { // a nil pointer to a matrix, for one
			errs = append(errs, fmt.Errorf("largemvc: StartAnchors of %s are nil", views[v].in.Label(v)))
			continue
		}
		if r, d := p.Dims(); r != c.Anchors || d != views[v].in.Cols {
			errs = append(errs, fmt.Errorf(
				"largemvc: StartAnchors of %s are %d×%d, want %d×%d",
				views[v].in.Label(v), r, d, c.Anchors, views[v].in.Cols,
			))
			continue
		}
		for i := range c.Anchors {
			for j := range views[v].in.Cols {
				if x := p.At(i, j); math.IsNaN(x) || math.IsInf(x, 0) {
					errs = append(errs, fmt.Errorf(
						"largemvc: StartAnchors of %s hold %v in row %d, column %d",
						views[v].in.Label(v), x, i, j,
					))
					return errs
				}
			}
		}
	}
	return errs
}

// checkApart reports views in the same memory, which Overwrite would standardise twice. Views of another type are copied.
func checkApart(views []View, float Float) (errs []error) {
	for v, x := range views {
		for u, y := range views[:v] {
			shared := overlap(x.in.F32, y.in.F32)
			if float == Float64 {
				shared = overlap(x.in.F64, y.in.F64)
			}
			if x.in.Given && y.in.Given && shared {
				errs = append(errs, fmt.Errorf(
					"largemvc: %s and %s share memory, which Overwrite would change twice",
					y.in.Label(u), x.in.Label(v),
				))
			}
		}
	}
	return errs
}

// overlap says whether two slices have an element in common.
func overlap[T kernel.Float](a, b []T) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	at := func(x *T) uintptr { return uintptr(unsafe.Pointer(x)) }
	return at(&a[0]) <= at(&b[len(b)-1]) && at(&b[0]) <= at(&a[len(a)-1])
}

// hasNeighborLoss says whether the loss has the term of Config.NeighborWeight. A single anchor has no information.
func (c *Config) hasNeighborLoss() bool {
	return c.Neighbors != None && c.NeighborWeight > 0 && c.Anchors > 1
}

// hasHeldOutLoss says whether the loss has the term of Config.HeldOutWeight. A single anchor has no information.
func (c *Config) hasHeldOutLoss() bool {
	return c.Neighbors != None && c.HeldOutWeight > 0 && c.Anchors > 1
}

// learnables is the number of learnable nodes of the network for some inputs: R, U, θ of every layer and, with noise, ρ̃.
func (c *Config) learnables(inputs int) int {
	out := 2 + c.Layers
	if c.Variant == Large {
		out += c.Layers * inputs
	}
	return out
}

// savedConfig is a Config in the JSON of files, its options by name.
type savedConfig struct {
	Clusters        int     `json:"clusters"`
	Anchors         int     `json:"anchors"`
	Layers          int     `json:"layers"`
	Epochs          int     `json:"epochs"`
	LearningRate    float64 `json:"learning_rate"`
	Seed            uint64  `json:"seed"`
	Restarts        int     `json:"restarts"`
	Variant         string  `json:"variant"`
	Activation      string  `json:"activation"`
	Preset          string  `json:"preset"`
	Preprocess      string  `json:"preprocess"`
	Start           string  `json:"start"`
	Float           string  `json:"float"`
	Workers         int     `json:"workers"`
	Theta0          float64 `json:"theta0"`
	Rho0            float64 `json:"rho0"`
	RhoScale        string  `json:"rho_scale"`
	Signs           string  `json:"signs"`
	OneSided        bool    `json:"one_sided"`
	Lipschitz       float64 `json:"lipschitz"`
	Reduction       string  `json:"reduction"`
	DetachAnchors   bool    `json:"detach_anchors"`
	Tolerance       float64 `json:"tolerance"`
	Patience        int     `json:"patience"`
	KMeansStarts    int     `json:"kmeans_starts"`
	ReadOut         string  `json:"read_out"`
	CheckpointEvery int     `json:"checkpoint_every"`
	Rotate          string  `json:"rotate"`
	Neighbors       int     `json:"neighbors"`
	Directions      int     `json:"directions"`
	FilterSteps     int     `json:"filter_steps"`
	NeighborWeight  float64 `json:"neighbor_weight"`
	HeldOutWeight   float64 `json:"held_out_weight"`
	Temperature     float64 `json:"temperature"`
	ExactNeighbors  int     `json:"exact_neighbors"`
	Landmarks       int     `json:"landmarks"`
	LowestInertia   bool    `json:"lowest_inertia"`
}

// saveConfig returns what files hold of a configuration with its defaults: all but functions, values as large as the
// data, and what is the caller's own (Overwrite, Checkpoint).
func saveConfig(c *Config) savedConfig {
	return savedConfig{
		Clusters: c.Clusters, Anchors: c.Anchors, Layers: c.Layers, Epochs: c.Epochs, LearningRate: c.LearningRate, Seed: c.Seed,
		Restarts: c.Restarts, Variant: c.Variant.String(), Activation: c.Activation.String(), Preset: c.Preset.String(),
		Preprocess: c.Preprocess.String(), Start: c.Start.String(), Float: c.Float.String(), Workers: c.Workers, Theta0: c.Theta0,
		Rho0: c.Rho0, RhoScale: c.RhoScale.String(), Signs: c.Signs.String(), OneSided: c.OneSided, Lipschitz: c.Lipschitz,
		Reduction: c.Reduction.String(), DetachAnchors: c.DetachAnchors, Tolerance: c.Tolerance, Patience: c.Patience,
		KMeansStarts: c.KMeansStarts, ReadOut: c.ReadOut.String(), CheckpointEvery: c.CheckpointEvery, Rotate: c.Rotate.String(),
		Neighbors: c.Neighbors, Directions: c.Directions, FilterSteps: c.FilterSteps,
		NeighborWeight: c.NeighborWeight, HeldOutWeight: c.HeldOutWeight,
		Temperature: c.Temperature, ExactNeighbors: c.ExactNeighbors, Landmarks: c.Landmarks, LowestInertia: c.LowestInertia,
	}
}

// restore is the inverse of saveConfig.
func (s *savedConfig) restore() (*Config, error) {
	c := &Config{
		Clusters: s.Clusters, Anchors: s.Anchors, Layers: s.Layers, Epochs: s.Epochs, LearningRate: s.LearningRate, Seed: s.Seed,
		Restarts: s.Restarts, Workers: s.Workers, Theta0: s.Theta0, Rho0: s.Rho0, OneSided: s.OneSided, Lipschitz: s.Lipschitz,
		DetachAnchors: s.DetachAnchors, Tolerance: s.Tolerance, Patience: s.Patience, KMeansStarts: s.KMeansStarts,
		CheckpointEvery: s.CheckpointEvery, Neighbors: s.Neighbors, Directions: s.Directions, FilterSteps: s.FilterSteps,
		NeighborWeight: s.NeighborWeight, HeldOutWeight: s.HeldOutWeight, Temperature: s.Temperature,
		ExactNeighbors: s.ExactNeighbors, Landmarks: s.Landmarks,
		LowestInertia: s.LowestInertia,
	}
	var errs [11]error
	c.Variant, errs[0] = ParseVariant(s.Variant)
	c.Preset, errs[1] = ParsePreset(s.Preset)
	c.Preprocess, errs[2] = ParsePreprocess(s.Preprocess)
	c.Start, errs[3] = ParseStart(s.Start)
	c.Float, errs[4] = ParseFloat(s.Float)
	c.RhoScale, errs[5] = ParseRhoScale(s.RhoScale)
	c.Signs, errs[6] = ParseSigns(s.Signs)
	c.Rotate, errs[9] = ParseRotation(s.Rotate)
	c.ReadOut, errs[10] = ParseReadOut(s.ReadOut)
	switch s.Activation {
	case ReLU.String():
	case SELU.String():
		c.Activation = SELU
	default:
		errs[7] = fmt.Errorf("largemvc: unknown activation %q", s.Activation)
	}
	c.Reduction, errs[8] = ParseReduction(s.Reduction)
	return c, errors.Join(errs[:]...)
}

// readConfig reads the configuration of a file of a version of the format.
func readConfig(text []byte, version int) (*Config, error) {
	var saved savedConfig
	if err := json.Unmarshal(text, &saved); err != nil {
		return nil, fmt.Errorf("its configuration: %w", err)
	}
	if version == 1 { // It has neither neighbours nor another read-out.
		saved.Neighbors, saved.ReadOut = None, PlainRows.String()
	}
	if version < 3 && saved.Neighbors != None {
		saved.HeldOutWeight = None
	}
	return saved.restore()
}
