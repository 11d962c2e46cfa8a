// Package engine trains the stock network (soft threshold, row shrinkage, Procrustes) in fused passes over the data.
//
// The work on n samples is split at its only global steps, the singular value decompositions. Between two of them every sample is
// independent. So each pass streams over row blocks of X and does all work of a layer while the block is in cache. An epoch has
// 2L+1 passes: L forward passes, one final pass (loss and its gradient) and L backward passes. No array of the size of X is made.
// Net and the block functions document the algebra, with the symbols of the paper: H (n×m), P_v (m×d_v), X_v (n×d_v). E_v is
// represented by a row weight t (the trust): X−E = tX + (1−t)HP.
//
// There are three roles:
//
//   - A Shard owns rows of X and the state of those rows (H, Y = XPᵀ, t, r, their cotangents). It runs a Pass, whose
//     constants are m×m and m×d_v matrices, and returns Sums of the same sizes. It may hold its rows in memory, in a
//     file, on another machine or on a device.
//   - A Reducer adds the Sums of several shards in a fixed order.
//   - Net is the coordinator: it owns the parameters, the anchors and their decompositions, and has no rows.
package engine

import (
	"fmt"
)

// Spec is the shape of a network: everything that does not change while it trains.
type Spec struct {
	Samples int   // n
	Dims    []int // d_v, one per view
	Anchors int   // m
	Layers  int   // L

	Noise    bool // row shrinkage; without it E = 0
	Anchored bool // Procrustes updates; without them the anchors do not change
	Detach   bool // the anchors are constants in the backward pass

	Represent Activation // σ of the soft threshold
	Shrink    Activation // σ of the row shrinkage
	OneSided  bool       // S_θ(a) = σ(a−θ) alone
	// LossWeights are the w_v of the loss Σ_v w_v Σ_i ‖x_iv − h_i·P_v‖², one per view; nil: 1 each.
	LossWeights []float64

	Floor   float64 // of singular values in the backward pass, relative to the largest; 0: 1e-10
	Workers int     // goroutines; 0: GOMAXPROCS
}

func (s *Spec) check() error {
	switch {
	case s.Samples < 1:
		return fmt.Errorf("engine: %d samples", s.Samples)
	case len(s.Dims) == 0:
		return fmt.Errorf("engine: no views")
	case s.Anchors < 1:
		return fmt.Errorf("engine: %d anchors", s.Anchors)
	case s.Layers < 1:
		return fmt.Errorf("engine: %d layers", s.Layers)
	case s.LossWeights != nil && len(s.LossWeights) != len(s.Dims):
		return fmt.Errorf("engine: %d loss weights for %d views", len(s.LossWeights), len(s.Dims))
	}
	for v, d := range s.Dims {
		if d < 1 {
			return fmt.Errorf("engine: view %d has %d columns", v, d)
		}
	}
	return nil
}

// ThroughAnchors reports whether the incoming anchors of a layer depend on parameters.
func (s *Spec) ThroughAnchors(layer int) bool { return layer > 1 && s.Anchored && !s.Detach }

// Params holds the learnable values, in float64 for any type of the data.
type Params struct {
	Theta []float64   // θ_l, l from 1: Theta[l-1]
	Rho   [][]float64 // ρ_lv: Rho[l-1][v], as applied (scaled); nil without noise
	R, U  []float64   // m×m, row-major
}

// NewParams returns zero parameters of the network's shape. Gradients have the same type.
func NewParams(s *Spec) *Params {
	p := &Params{Theta: make([]float64, s.Layers), R: make([]float64, s.Anchors*s.Anchors),
		U: make([]float64, s.Anchors*s.Anchors)}
	if s.Noise {
		p.Rho = make([][]float64, s.Layers)
		for l := range p.Rho {
			p.Rho[l] = make([]float64, len(s.Dims))
		}
	}
	return p
}

func (p *Params) clear() {
	clear(p.Theta)
	clear(p.R)
	clear(p.U)
	for _, r := range p.Rho {
		clear(r)
	}
}
