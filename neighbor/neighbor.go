// Package neighbor builds neighbour graphs over samples in several views, smooths data along them, and attaches new samples to
// them.
//
// A graph is a symmetric n×n matrix A with non-negative entries and spectral radius at most 1. Its type is Operator. There are
// two kinds:
//
//   - A Graph joins mutual nearest neighbours (Nearest, Mutual). The search is exact, in O(n²·d).
//   - A Factor is A = B·Bᵀ. Row i of B holds the weights between sample i and a few of M landmarks (NewLinks, NewFactor). The
//     search takes O(n·M·d).
//
// Build makes one of them from a list of spaces. A space is a view, or several views side by side. The number of samples decides
// between the two kinds.
//
// Smooth applies the low-pass filter x ← (x + A·x)/2 several times. It returns a Filter, which does the same to new samples that
// are attached by Index.Attach.
//
// A sample may lack views. In the graph of a single view that it lacks it has no edges. Over several views, its squared distance
// to another sample is the mean over the views that both have, times the number of views. Samples without a common view are not
// neighbours.
//
// Results have the same bits for any number of workers. Rows are samples. Matrices of samples and features are row-major.
// Matrices that operators multiply have the stride Stride(columns).
package neighbor

import (
	"errors"
	"fmt"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Float is the element type of data: float32 or float64.
type Float = kernel.Float

// Stride returns the stride that an Operator needs for a matrix with the given number of columns: the next multiple of 16. The
// padding may hold any finite values.
func Stride(columns int) int { return kernel.Pad(columns) }

// View is one view of n samples.
type View[T Float] struct {
	Rows    rows.Matrix[T] // n×d; see Dense
	Present []bool         // which samples have the view, length n; nil: all. Values of absent rows are never used
}

// Dense returns the view of n rows of d features in x, with the stride ld. present may be nil. The view refers to both. If x or
// present is too short, Dense returns an error.
func Dense[T Float](n, d, ld int, x []T, present []bool) (View[T], error) {
	if n < 1 || d < 1 || ld < d || len(x) < d || n > 1 && ld > (len(x)-d)/(n-1) {
		return View[T]{}, fmt.Errorf("neighbor: %d×%d rows with the stride %d in %d values", n, d, ld, len(x))
	}
	if present != nil && len(present) != n {
		return View[T]{}, fmt.Errorf("neighbor: %d rows with a mask of %d", n, len(present))
	}
	return View[T]{Rows: rows.NewDense(n, d, ld, x), Present: present}, nil
}

// Space is a set of views in which distances are measured. Squared distances are summed over its views.
type Space struct {
	Views  []int
	Weight float64 // weight of its graph, > 0; only the ratios of weights matter
	// Filled says that the rows of absent views hold substitutes, as Fill makes them. Samples of the index then count as complete
	// in this space. New samples are attached by their present views.
	Filled bool
}

// Spaces returns one space for each group of views, with the views side by side, and one for each single view. The groups
// together have half of the weight, the single views the other half.
func Spaces(groups ...[]int) []Space {
	var joint, single []Space
	views := 0
	for _, g := range groups {
		views += len(g)
	}
	for _, g := range groups {
		joint = append(joint, Space{Views: append([]int(nil), g...), Weight: 0.5 / float64(len(groups))})
		for _, v := range g {
			single = append(single, Space{Views: []int{v}, Weight: 0.5 / float64(views)})
		}
	}
	return append(joint, single...)
}

// checkSpaces checks the views of spaces.
func checkSpaces(spaces []Space, views int) error {
	if len(spaces) == 0 {
		return errors.New("neighbor: there are no spaces")
	}
	for s, p := range spaces {
		if len(p.Views) == 0 {
			return fmt.Errorf("neighbor: space %d has no views", s)
		}
		seen := make([]bool, views)
		for _, v := range p.Views {
			if v < 0 || v >= views {
				return fmt.Errorf("neighbor: space %d has view %d, and there are %d views", s, v, views)
			}
			if seen[v] {
				return fmt.Errorf("neighbor: space %d has view %d twice", s, v)
			}
			seen[v] = true
		}
	}
	return nil
}

// spaceShares returns the weights of spaces divided by their sum.
func spaceShares(spaces []Space) ([]float64, error) {
	w := make([]float64, len(spaces))
	for s, p := range spaces {
		w[s] = p.Weight
	}
	return shares(w)
}

// shares returns w divided by its sum.
func shares(w []float64) ([]float64, error) {
	total := 0.0
	for s, x := range w {
		if !(x > 0) || math.IsInf(x, 1) {
			return nil, fmt.Errorf("neighbor: space %d: the weight %v is not positive and finite", s, x)
		}
		total += x
	}
	out := make([]float64, len(w))
	for s, x := range w {
		if out[s] = x / total; !(out[s] > 1e-300) {
			return nil, fmt.Errorf("neighbor: space %d: the weight %v is too small beside the sum of all, %v", s, x, total)
		}
	}
	return out, nil
}
