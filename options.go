package largemvc

import (
	"fmt"

	"github.com/largemvc/largemvc/internal/prepare"
)

var preprocessOption = option{"preprocessing", None, []string{
	"none", "auto", "sample", "balanced", "zscore", "unit", "both",
}}

// Preprocess is the standardisation of each view; 0: default; None: the views stay as they are. Statistics are measured on
// the training samples and applied to new samples. Features that are constant over the training samples become zero. They are
// in no mean, no norm and no d_v, unless the whole view is constant. Clustering.Notes counts them.
type Preprocess int

const (
	// PreprocessSample standardises each sample of each view over its features: mean 0, variance 1. Constant rows become zero.
	PreprocessSample Preprocess = iota + 1
	// PreprocessBalanced standardises each feature over the samples (mean 0, variance 1) and divides the view by √d_v.
	PreprocessBalanced
	// PreprocessZScore standardises each feature over the samples (mean 0, variance 1).
	PreprocessZScore
	// PreprocessUnit scales each sample of each view to norm 1.
	PreprocessUnit
	// PreprocessBoth makes two inputs of every view: PreprocessSample and PreprocessZScore. Views of up to 16 features that
	// vary have PreprocessZScore alone. It requires neighbours (Neighborhood).
	PreprocessBoth
)

// String returns none, auto, sample, balanced, zscore, unit or both.
func (p Preprocess) String() string { return preprocessOption.name(int(p)) }

// MarshalText returns the name.
func (p Preprocess) MarshalText() ([]byte, error) { return marshalOption(&preprocessOption, p) }

// UnmarshalText reads a name.
func (p *Preprocess) UnmarshalText(text []byte) error {
	return unmarshalOption(&preprocessOption, p, text)
}

// kind is the preprocessing as internal/prepare has it.
func (p Preprocess) kind() prepare.Kind { return prepare.Kind(p) }

// None switches off the setting of a field of Config whose zero value stands for a default. Epochs: None skips the training;
// Preprocess: None takes the views as they are.
const None = -1

// option has the names of the values of an enumeration, from first on.
type option struct {
	kind  string
	first int
	names []string
}

func (o *option) has(i int) bool { return i >= o.first && i < o.first+len(o.names) }

func (o *option) name(i int) string {
	if !o.has(i) {
		return fmt.Sprintf("unknown (%d)", i)
	}
	return o.names[i-o.first]
}

// check refuses a value that does not exist.
func (o *option) check(i int) error {
	if !o.has(i) {
		return fmt.Errorf("largemvc: unknown %s %d, want one of %q", o.kind, i, o.names)
	}
	return nil
}

// marshalOption writes a value of an enumeration as its name.
func marshalOption[E ~int](o *option, x E) ([]byte, error) {
	return []byte(o.name(int(x))), o.check(int(x))
}

// unmarshalOption reads a value of an enumeration by its name.
func unmarshalOption[E ~int](o *option, x *E, text []byte) error {
	for i, name := range o.names {
		if name == string(text) {
			*x = E(o.first + i)
			return nil
		}
	}
	return fmt.Errorf("largemvc: unknown %s %q, want one of %q", o.kind, text, o.names)
}

var reductionOption = option{"reduction", 0, []string{"auto", "mean", "relative"}}

// Reduction is the weight w_v of each view in the loss Σ_v w_v ‖X_v − H P_v‖². 0: the default in a Config, ReductionMean in a
// Model.
type Reduction int

const (
	// ReductionMean averages over the entries of the rows that have the view: w_v = 1/(n_v d_v), as the MSE of PyTorch does.
	ReductionMean Reduction = iota + 1
	// ReductionRelative divides the squared error of a view by its squared norm and averages over the views: w_v = 1/(V
	// ‖X_v‖²_F). The loss of H = 0 is 1.
	ReductionRelative
)

// String returns auto, mean or relative.
func (r Reduction) String() string { return reductionOption.name(int(r)) }

// MarshalText returns the name.
func (r Reduction) MarshalText() ([]byte, error) { return marshalOption(&reductionOption, r) }

// UnmarshalText reads a name.
func (r *Reduction) UnmarshalText(text []byte) error {
	return unmarshalOption(&reductionOption, r, text)
}

func (r Reduction) check() error { return reductionOption.check(int(r)) }
