// Package unfold makes the network as Gorgonia ops: the solver of the anchor objective, unfolded into layers of three modules.
//
// There are two implementations of one algebra, and they test each other. NewPerModule makes one op per step of each module;
// it takes any modules, and every op is a few lines beside its derivative. NewFused makes a single op of the stock modules,
// whose forward and backward passes are those of package engine; it is what Fit trains. That both give the same losses and
// gradients, up to rounding, is what makes either believable: a change of the algebra belongs into both.
package unfold

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/parallel"
)

// Node is a node of a Gorgonia graph.
type Node = gorgonia.Node

// Site is where a network is built: a graph, a name in it, and the sizes. It has the fields of largemvc.Env, where they are
// documented.
type Site struct {
	G      *gorgonia.ExprGraph
	Prefix string

	Layers  int
	Views   int
	Anchors int
	Samples int
	Dims    []int
	Of      tensor.Dtype
	Workers int
	Seed    uint64
	Present *Node
}

// Name returns the name of a node of the network: the prefix, a dot and what Sprintf makes of the arguments.
func (s Site) Name(format string, args ...any) string {
	return s.Prefix + "." + fmt.Sprintf(format, args...)
}

// Start is the initial state of a network.
type Start struct {
	Anchors []mat.Matrix // P_v, m×d_v, one per view
	H       mat.Matrix   // n×m; nil means zero
	E       []mat.Matrix // E_v, n×d_v, one per view; nil means zero
}

// noise returns E_v·P_vᵀ of view v (n×m, row-major), the part of the initial E that the network reads.
func (s Start) noise(workers, v int) []float64 {
	n, d := s.E[v].Dims()
	p := linalg.Values(s.Anchors[v])
	m := len(p) / d
	out := make([]float64, n*m)
	_ = parallel.Spans(workers, n, func(lo, hi int) error {
		row := make([]float64, d)
		for i := lo; i < hi; i++ {
			mat.Row(row, i, s.E[v])
			for j := range m {
				for q, x := range row {
					out[i*m+j] += x * p[j*d+q]
				}
			}
		}
		return nil
	})
	return out
}

// Represent, Noise and Anchor make the ops of a layer, Encoder what is before the first. They are documented at the modules of
// the public package.
type (
	Represent interface {
		Update(l int, h *Node, z []*Node) (*Node, error)
	}
	Noise interface {
		Trust(l, v int, norm *Node) (*Node, error)
	}
	Anchor interface {
		Update(l, v int, corr, prev *Node) (*Node, error)
	}
	Encoder interface {
		Encode(v int, x *Node) (*Node, error) // nil: the network sees the view itself
	}
)

// Modules are the modules of a network of per-module ops.
type Modules struct {
	Represent Represent
	Noise     Noise   // nil: E = 0
	Anchor    Anchor  // nil: the anchors stay as they start
	Encoder   Encoder // nil: the network sees the views themselves

	// Whether a module gets copies of the nodes, since its ops may overwrite what they are given.
	CopyForRepresent, CopyForNoise, CopyForAnchor bool

	Learnables gorgonia.Nodes // of all modules
}

// Network is the result of Build. Layers run from 1 to L, views from 0; for H and P, layer 0 is the start.
// The caller has checked the ranges.
type Network interface {
	Loss() *Node
	H(l int) (*Node, error)
	P(l, v int) (*Node, error)
	T(l, v int) (*Node, error) // nil where E = 0
	// ERows sets dst to the rows [lo, hi) of E_v of layer l, from the values of the last run. Absent rows may hold anything.
	ERows(l, v, lo, hi int, dst []float64) error
}

// ErrNotRun says that there is no value yet.
var ErrNotRun = errors.New("the network has not been run yet")
