// Package neighbor builds neighbour graphs over samples in several views, smooths data along them, and attaches new
// samples to them.
//
// A graph is a symmetric n×n matrix A with non-negative entries and spectral radius at most 1, given as an Operator. There
// are two kinds. A Graph is made of mutual nearest neighbours (Nearest, Mutual), exact, in O(n²·d). A Factor is
// A = B·Bᵀ with a few of M landmarks for each sample (Landmarks, NewFactor), in O(n·M·d). Build makes either of
// them from a list of spaces, each of which is a view or several views side by side, and chooses by n.
//
// Smooth is the low-pass filter x ← (x + A·x)/2. It gives a Filter, which does to new samples, attached by Index.Attach,
// what the filter did to the samples of the graph.
//
// A sample may lack views. It has then no edges in the graphs of those views alone; its distance to another sample over
// several views is the mean over the views that both have, times the number of views, and there is none if they share
// none.
//
// Everything is deterministic: results have the same bits for any number of workers. Rows are samples. Matrices of
// samples and features are row-major; those that operators multiply have a stride of Stride(columns).
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

// Stride returns the stride of a matrix with the given number of columns that an Operator multiplies: the next multiple of
// 16. The columns beyond hold anything finite.
func Stride(columns int) int { return kernel.Pad(columns) }

// View is one view of n samples.
type View[T Float] struct {
	Rows    rows.Matrix[T] // n×d; see Dense
	Present []bool         // which samples have the view, length n; nil: all. Values of absent rows are never used
}

// Dense returns the view whose n rows of d features lie in x with the stride ld; present may be nil. It keeps both. It
// returns an error if x or present is too short for that.
func Dense[T Float](n, d, ld int, x []T, present []bool) (View[T], error) {
	if n < 1 || d < 1 || ld < d || len(x) < (n-1)*ld+d {
		return View[T]{}, fmt.Errorf("neighbor: %d×%d rows with the stride %d in %d values", n, d, ld, len(x))
	}
	if present != nil && len(present) != n {
		return View[T]{}, fmt.Errorf("neighbor: %d rows with a mask of %d", n, len(present))
	}
	return View[T]{Rows: rows.NewDense(n, d, ld, x), Present: present}, nil
}

// Space is where a graph is taken: the views with the given numbers side by side. Squared distances are summed over them.
type Space struct {
	Views  []int
	Weight float64 // of its graph among others, > 0; only the ratios count
	// Filled says that the rows of absent views hold values that stand for them here, as Fill makes them: samples of the
	// index count as complete in this space. New samples are attached by the views that they have.
	Filled bool
}

// Spaces returns, for groups of views, the space of each group's views side by side, which together have half of the
// weight, and the space of each single view, which together have the other half.
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
			return nil, fmt.Errorf("neighbor: weight %v of graph %d is not positive and finite", x, s)
		}
		total += x
	}
	out := make([]float64, len(w))
	for s, x := range w {
		if out[s] = x / total; !(out[s] > 1e-300) {
			return nil, fmt.Errorf("neighbor: weight %v of graph %d is too small beside the sum of all, %v", x, s, total)
		}
	}
	return out, nil
}
