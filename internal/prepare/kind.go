// Package prepare makes rows for a network from views: standardised, at norm 1, or rotated to fewer columns. A new sample gets
// the bits of an equal training sample.
package prepare

import "fmt"

// Kind is the standardisation of a view. It is measured on the training samples and applied to new ones. The numbers equal the
// public Preprocess.
type Kind int

// The kinds; Both stands for PerSample and ZScore side by side.
const (
	PerSample Kind = iota + 1
	Balanced
	ZScore
	UnitNorm
	Both

	Raw Kind = -1
)

// Parts returns the standardisations of a kind.
func (k Kind) Parts() []Kind {
	if k == Both {
		return []Kind{PerSample, ZScore}
	}
	return []Kind{k}
}

// Input is a view as an input of the network.
type Input struct {
	View    int // the number of the view
	Kind    Kind
	Columns int     // of the input: d_v, or the number of kept directions of the view, with the additional feature
	Length  float64 // the additional feature of a view of few features; 0: there is none
}

var names = []string{"none", "auto", "sample", "balanced", "zscore", "unit", "both"} // from Raw on

// String returns the name of a kind in files.
func (k Kind) String() string {
	if k < Raw || int(k-Raw) >= len(names) {
		return fmt.Sprintf("unknown (%d)", int(k))
	}
	return names[k-Raw]
}
