package score

import (
	"fmt"
	"math"
)

// Judgement says whether samples form clusters, or whether a clustering only divides samples without gaps.
type Judgement int

// The judgements, from the weakest to the strongest.
const (
	StructureUnknown Judgement = iota // not judged: docs/trust.md says when
	StructureNone                     // the clusters are no better than clusters of noise
	StructureWeak                     // the clusters are better, but without clear gaps between them
	StructureClear                    // stable clusters with few samples at their borders
)

var judgements = []string{"unknown", "none", "weak", "clear"}

// String returns "unknown", "none", "weak" or "clear".
func (j Judgement) String() string {
	if j < 0 || int(j) >= len(judgements) {
		return fmt.Sprintf("unknown (%d)", int(j))
	}
	return judgements[j]
}

// MarshalText returns the name.
func (j Judgement) MarshalText() ([]byte, error) { return []byte(j.String()), nil }

// UnmarshalText reads a name.
func (j *Judgement) UnmarshalText(text []byte) error {
	for i, name := range judgements {
		if name == string(text) {
			*j = Judgement(i)
			return nil
		}
	}
	return fmt.Errorf("score: unknown judgement %q, want one of %q", text, judgements)
}

// Structure compares clusters with clusters that the same steps find in three kinds of noise: two with the covariance of the
// data, one of shuffled columns. The figures come from halves of the samples: each is clustered without the other.
type Structure struct {
	Judgement Judgement
	Samples   int // samples of the comparison

	// Stability is the adjusted Rand index between the clusters of one half and the labels that clusters of the other half give
	// to it, a mean. NullStability is the highest value of the kinds of noise.
	Stability, NullStability float64
	// Border is the density of samples between clusters, relative to the density within. NullBorder is the lowest value of the
	// kinds of noise. Clusters with gaps between them have a density near 0.
	Border, NullBorder float64
	// Agreement is the adjusted Rand index between clusters of single views, a mean over pairs of views; 0 if
	// fewer than two could be compared. NullAgreement is the highest value of the kinds of noise.
	Agreement, NullAgreement float64
}

// String returns the judgement with its figures, in one line.
func (s Structure) String() string {
	switch s.Judgement {
	case StructureNone:
		return fmt.Sprintf("none: clusters as good come out of noise (%s)", s.figures())
	case StructureWeak:
		return fmt.Sprintf("weak: better than clusters of noise, without clear gaps (%s)", s.figures())
	case StructureClear:
		return fmt.Sprintf("clear (%s)", s.figures())
	}
	return "not judged (docs/trust.md says when)"
}

func (s Structure) figures() string {
	text := fmt.Sprintf("stability %.2f, of noise %.2f; density between clusters %.2f, of noise %.2f",
		s.Stability, s.NullStability, s.Border, s.NullBorder)
	if s.Agreement != 0 {
		rounded := func(x float64) float64 { return math.Round(100*x)/100 + 0 } // no −0.00
		text += fmt.Sprintf("; agreement of views %.2f, of noise %.2f", rounded(s.Agreement), rounded(s.NullAgreement))
	}
	return text
}
