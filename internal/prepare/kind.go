// Package prepare takes views to rows that a network can work on: standardised, at norm 1, or rotated to fewer columns, of
// training samples and of new ones, whose rows get the bits that training samples have.
package prepare

import "fmt"

// Kind is what is done to a view before anything else. What it measures on the training samples is kept and applied to new
// ones. The numbers are those of the public Preprocess.
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

// Parts are the standardisations that a kind stands for.
func (k Kind) Parts() []Kind {
	if k == Both {
		return []Kind{PerSample, ZScore}
	}
	return []Kind{k}
}

// Input is what the network sees of a view.
type Input struct {
	View    int // the number of the view
	Kind    Kind
	Columns int     // of the input: d_v, or the number of directions of the view that are kept, the further feature included
	Length  float64 // the further feature of a view of few features; 0: there is none
}

var names = []string{"none", "auto", "sample", "balanced", "zscore", "unit", "both"} // from Raw on

// String returns the name of a kind in files.
func (k Kind) String() string {
	if k < Raw || int(k-Raw) >= len(names) {
		return fmt.Sprintf("unknown (%d)", int(k))
	}
	return names[k-Raw]
}
