package largemvc

import "fmt"

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
	// smoothed along a graph of neighbours, and two terms in the loss, for neighbours and for what can be told from the
	// features (see Config.Neighbors); θ, ρ ≥ 0.
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
	// UnitRows are those rows at norm 1. The terms of Config.Neighbors see no more of H than that; the norms, which
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

// Rotation says whether views of a rank k below their d_v features are trained in k columns: X_v = X̃_v·Qᵀ with
// orthonormal columns in Q (d_v×k), and P_v = P̃_v·Qᵀ. All that the network does with a view goes through inner products
// of its rows, so the result is the same to rounding, at k/d_v of the cost of an epoch; the loss keeps the mean over d_v
// columns. Anchors, representation, trust and labels are those of the network in the original columns, where new samples
// are predicted too: nothing of the rotation is left after training.
type Rotation int

const (
	// RotateAuto rotates where the saving in 100 epochs exceeds the cost of finding Q, mostly views of fewer samples than
	// features. It leaves the views as they are where there is an ExtraLoss, whose P nodes are m×k for a rotated view.
	RotateAuto Rotation = iota
	// RotateAlways rotates every view whose rank is at least m and below d_v.
	RotateAlways
	// RotateNever leaves the views as they are. So do given StartAnchors, which need not lie in the span of the rows.
	RotateNever
)

var rotationNames = []string{"auto", "always", "never"}

func (r Rotation) String() string { return optionName(rotationNames, int(r)) }

// ParseRotation returns the rotation of that name: auto, always or never.
func ParseRotation(s string) (Rotation, error) {
	i, err := parseOption("rotation", rotationNames, s)
	return Rotation(i), err
}
