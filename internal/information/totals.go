package information

import (
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
)

// Totals computes the terms without rows: from the sums of a step over all samples, it computes the terms' value and the matrices
// for the next step. Terms uses it for rows in memory; a device uses it directly.
type Totals struct {
	n, m, ld           int     // samples, clusters, stride of the table of the atoms
	neighbors, heldOut float64 // weights; 0: without the term
	atoms              int     // of a factored graph; 0: the graph has its entries
	weight             []float64

	value float64

	// Share (m×m, symmetric) maps A·Q to the neighbours' share of the cotangent of Q; for the atoms of a factor, Table (atoms ×
	// ld) holds the result. Coefficients (m×rank) are (YᵀY + λ‖X‖²I)⁻¹ Yᵀ times Q, then times the guesses' cotangents,
	// transposed. ByJoint (m×m) is the cotangent of QᵀG.
	Share, Table, Coefficients, ByJoint []float64
}

// TotalsOptions selects the terms; the weight of an absent term is 0.
type TotalsOptions struct {
	Samples, Clusters, Stride int
	Neighbors, HeldOut        float64
	Atoms                     int       // of a factored graph
	Regression                []float64 // the diagonal of (YᵀY + λ‖X‖²I)⁻¹ of held-out prediction
}

// NewTotals returns the totals of some terms.
func NewTotals(o TotalsOptions) *Totals {
	return &Totals{n: o.Samples, m: o.Clusters, ld: o.Stride, neighbors: o.Neighbors, heldOut: o.HeldOut, atoms: o.Atoms,
		weight: o.Regression}
}

// The steps of the terms.
const (
	StepAssign = iota // Q, and the sums BᵀQ and YᵀQ
	StepJoint         // A·Q of a graph and guesses, and the joint tables
	StepGuess         // cotangents of guesses, and their product with Y
	StepRows          // the cotangent of H
	steps
)

// Steps returns the number of steps to the value, and to the cotangent too.
func (t *Totals) Steps() (value, all int) { return StepJoint + 1, steps }

// Sizes returns the numbers of sums of a step: for the neighbours, then for held-out prediction.
func (t *Totals) Sizes(step int) (neighbors, heldOut int) {
	if t.neighbors != 0 {
		switch {
		case step == StepAssign:
			neighbors = t.atoms * t.ld
		case step == StepJoint && t.atoms == 0:
			neighbors = t.m * t.m
		}
	}
	if t.heldOut != 0 {
		switch step {
		case StepAssign, StepGuess:
			heldOut = t.m * len(t.weight)
		case StepJoint:
			heldOut = t.m * t.m
		}
	}
	return neighbors, heldOut
}

// Total takes the sums of a step over all rows, which it may change.
func (t *Totals) Total(step int, sums []float64) {
	split, _ := t.Sizes(step)
	switch step {
	case StepAssign:
		t.value = 0
		if t.neighbors != 0 && t.atoms > 0 { // QᵀAQ = (BᵀQ)ᵀ(BᵀQ)
			joint := make([]float64, t.m*t.m)
			kernel.TMulAdd(t.atoms, t.m, t.m, sums, t.ld, sums, t.ld, joint, t.m)
			t.neighborShare(joint)
			var panel kernel.Panel[float64]
			kernel.Pack(&panel, t.m, t.m, t.Share, t.m)
			padded := kernel.Pad(t.m)
			out := make([]float64, t.atoms*padded)
			kernel.Mul(t.atoms, sums, t.ld, &panel, out, padded, false)
			t.Table = make([]float64, split)
			for a := range t.atoms {
				copy(t.Table[a*t.ld:a*t.ld+t.m], out[a*padded:])
			}
		}
		if t.heldOut != 0 {
			t.regress(sums[split:])
		}
	case StepJoint:
		if t.neighbors != 0 && t.atoms == 0 {
			t.neighborShare(sums[:split])
		}
		if t.heldOut != 0 {
			t.heldOutShare(sums[split:])
		}
	case StepGuess:
		if t.heldOut != 0 {
			t.regress(sums)
		}
	}
}

// regress sets the coefficients from the product of Yᵀ with Q, or with cotangents.
func (t *Totals) regress(sums []float64) {
	rank := len(t.weight)
	for a := range t.m {
		for j, w := range t.weight {
			sums[a*rank+j] *= w
		}
	}
	t.Coefficients = append([]float64(nil), sums...)
}

// neighborShare adds the neighbours' term to the value and sets the share.
func (t *Totals) neighborShare(joint []float64) {
	table := &NeighborTable[float64]{}
	table.measure(joint, t.m)
	t.Share = make([]float64, t.m*t.m) // stays zero without neighbours, whose table has no ratios
	scale := t.neighbors / math.Log(float64(t.m))
	t.value -= scale * table.Information
	for j, l := range table.ratio {
		t.Share[j] = -2 * scale * (l - table.Information) / table.total
	}
}

// heldOutShare adds the term of held-out prediction to the value and sets the cotangent of QᵀG.
func (t *Totals) heldOutShare(joint []float64) {
	total := kernel.Sum(joint) // n, except for rounding
	for j := range joint {
		joint[j] /= total
	}
	table := newJointTable(joint, t.m)
	scale := t.heldOut / math.Log(float64(t.m))
	t.value -= scale * table.Information
	t.ByJoint = make([]float64, t.m*t.m)
	for j, w := range table.ratio {
		t.ByJoint[j] = -scale * w / float64(t.n)
	}
}

func (t *Totals) Value() float64 { return t.value }
