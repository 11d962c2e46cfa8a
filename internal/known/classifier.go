package known

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
)

// Unknown is the label of a sample whose class is not known.
const Unknown = -1

// Seen returns the classes that some sample is known to have, in increasing order.
func Seen(labels []int) []int {
	seen := slices.Compact(slices.Sorted(slices.Values(labels)))
	return slices.DeleteFunc(seen, func(l int) bool { return l == Unknown })
}

// Columns returns the places of classes in seen, Unknown for an unknown class.
func Columns(classes, seen []int) []int {
	out := slices.Clone(classes)
	for i, l := range classes {
		if l != Unknown {
			out[i], _ = slices.BinarySearch(seen, l)
		}
	}
	return out
}

// Classifier gives samples their classes, by the weights that known labels have taught.
type Classifier struct {
	Seen    []int      // the classes that it can give, in increasing order
	Weights *mat.Dense // features×len(Seen)
	Chance  *Chance    // nil: there were too few known samples to learn it
	panel   kernel.Panel[float64]
}

// NewClassifier returns the classifier of weights for the seen classes.
func NewClassifier(seen []int, weights *mat.Dense, chance *Chance) *Classifier {
	out := &Classifier{Seen: seen, Weights: weights, Chance: chance}
	raw := weights.RawMatrix()
	kernel.Pack(&out.panel, raw.Rows, raw.Cols, raw.Data, raw.Stride)
	return out
}

// Label sets the classes of samples from their rows of features, and how likely they are right, if that is known.
func (k *Classifier) Label(labels []int, confidence, phi []float64) {
	features, classes := k.Weights.Dims()
	ld := kernel.Pad(classes)
	scores := make([]float64, len(labels)*ld)
	kernel.Mul(len(labels), phi, features, &k.panel, scores, ld, false)
	for i := range labels {
		best, margin := Best(scores[i*ld : i*ld+classes])
		labels[i] = k.Seen[best]
		if k.Chance != nil {
			confidence[i] = k.Chance.Of(margin)
		}
	}
}
