package engine

import (
	"context"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
)

type PassKind int

// The passes of an epoch. Layers count from 1.
const (
	// Project computes Y_0 = X P_0ᵀ, once for constant start anchors.
	Project PassKind = iota
	// Forward computes, for its layer, Y of the incoming anchors, H, r, t and the sums M = AᵀX and W.
	Forward
	// Final computes the loss. With Gradient set, it also computes the cotangent of H and the sums for the cotangent of P_L.
	Final
	// Backward computes the cotangent of H_{l−1} from the cotangent of H_l, and the sums of all gradients of the layer.
	Backward
)

// Pass is one sweep over all rows of a shard. Its constants are the only data that a shard needs from outside.
type Pass struct {
	Kind     PassKind
	Layer    int     // l, from 1 (Forward, Backward)
	Gradient bool    // Final: prepare the backward passes
	Scale    float64 // Backward at l = L: the loss's upstream cotangent
	Theta    float64
	R, U     []float64 // m×m
	Views    []ViewConsts
}

// Correlates reports whether a pass sums products AᵀX.
func (p *Pass) Correlates(s *Spec) bool {
	switch p.Kind {
	case Forward:
		return s.Anchored
	case Final:
		return p.Gradient && s.Anchored && !s.Detach
	case Backward:
		return s.ThroughAnchors(p.Layer)
	}
	return false
}

// Incoming is the layer of the anchors P in the constants of a pass.
func (p *Pass) Incoming(s *Spec) int {
	if p.Kind == Final {
		return s.Layers
	}
	return max(p.Layer-1, 0)
}

// ViewConsts holds the constants of one view in a pass; constants that a pass does not use are nil.
type ViewConsts struct {
	P          []float64 // m×d: the incoming anchors P_{l−1} (Final: P_L); after Project nil for kept views
	C          []float64 // m×m: P_{l−2} P_{l−1}ᵀ
	K          []float64 // m×m: P Pᵀ of the anchors P; nil where it is the identity
	DM         []float64 // m×d: cotangent of M_l; nil for kept views
	S          []float64 // m×m: dW + dWᵀ
	Rho        float64
	LossWeight float64 // w_v
}

// Sums holds the sums of a pass over rows, in float64. A pass sets the fields that it computes.
type Sums struct {
	W     [][]float64 // m×m per view: Forward Hᵀ diag(b(1−t)) H, Final Hᵀ diag(b) H
	Loss  []float64   // per view: Σ b‖x − hP‖²
	M     [][]float64 // m×d per view: Forward AᵀX, Final (bH)ᵀX, Backward dYᵀX
	R, U  []float64   // m×m
	T     [][]float64 // m×m per view: H_{l−1}ᵀ diag(1−t) g
	K     [][]float64 // m×m per view: Hᵀ diag(dq) H, where P Pᵀ is not the identity
	Rho   []float64   // per view: dρ
	Theta []float64   // one value: dθ

	flat   []float64 // all fields, in the order above
	fields [2]int    // where M begins and ends in it
	lo, hi int       // range of flat that the current pass fills
}

// Tree adds up the sums of the chunks of rows.
type Tree = parallel.Tree[*Sums]

// NewTree returns the tree of a network's sums.
func NewTree(s *Spec) *Tree {
	return parallel.NewTree(func() *Sums { return newSums(s) }, (*Sums).add)
}

func newSums(s *Spec) *Sums {
	m, views, width := s.Anchors, len(s.Dims), 0
	for _, d := range s.Dims {
		width += d
	}
	out := &Sums{flat: make([]float64, (3*views+2)*m*m+m*width+2*views+1)}
	rest := out.flat
	take := func(n int) []float64 {
		x := rest[:n:n]
		rest = rest[n:]
		return x
	}
	square := func() (x [][]float64) {
		for range views {
			x = append(x, take(m*m))
		}
		return x
	}
	out.W, out.Loss = square(), take(views)
	out.fields[0] = len(out.flat) - len(rest)
	for _, d := range s.Dims {
		out.M = append(out.M, take(m*d))
	}
	out.fields[1] = len(out.flat) - len(rest)
	out.R, out.U, out.T, out.K, out.Rho, out.Theta = take(m*m), take(m*m), square(), square(), take(views), take(1)
	return out
}

// Begin zeroes the sums of a pass; correlates says that they include M.
func (s *Sums) Begin(p *Pass, correlates bool) {
	s.lo, s.hi = 0, 0
	switch p.Kind {
	case Forward, Final:
		if s.hi = s.fields[0]; correlates {
			s.hi = s.fields[1]
		}
	case Backward:
		if s.lo, s.hi = s.fields[1], len(s.flat); correlates {
			s.lo = s.fields[0]
		}
	}
	clear(s.flat[s.lo:s.hi])
}

// add adds the sums of the same pass over other rows.
func (s *Sums) add(o *Sums) { kernel.AddTo(s.flat[s.lo:s.hi], o.flat[s.lo:s.hi]) }

// Field names a row state that can be read from a shard.
type Field int

// The fields.
const (
	FieldH     Field = iota // m values a row, layers 0 to L
	FieldTrust              // 1 value a row, per view, layers 1 to L
	FieldNorm               // 1 value a row: r = ‖x − hP‖, per view, layers 1 to L
	FieldE                  // d_v values a row: E of a layer; the incoming anchors are an argument
)

// Shard owns rows of X and their state.
type Shard interface {
	// Run does a pass and pushes the sums of its chunks of rows to the tree. If ctx is cancelled, it returns the context's error
	// early.
	Run(ctx context.Context, p *Pass, tree *Tree) error
	// Rows is the number of rows.
	Rows() int
	// Read copies rows [lo, hi) of a state to dst, row-major.
	Read(f Field, layer, view, lo, hi int, p []float64, dst []float64) error
	// AddH and AddTrust add to the cotangents of H_l and t_lv for the coming backward passes; the values cover all rows of the
	// shard. ClearAdded clears them.
	AddH(layer int, cotangent []float64) error
	AddTrust(layer, view int, cotangent []float64) error
	ClearAdded()
	// Bytes is the memory held.
	Bytes() int64
	// Close releases the rows and their state. Nothing else may be called afterwards.
	Close() error
}

// PolarShard is a Shard that also computes the wide products of the Procrustes steps. It is the only shard of its network; calls
// of Wide for several views may run side by side.
type PolarShard interface {
	// Wide returns the products for a layer and view; nil: the step computes them.
	Wide(layer, view int) linalg.Wide
	// Keeps reports whether the matrices of a view stay with the shard: P, the sums M and W, and the cotangents. Of the constants
	// P and DM, its passes then get only P_0 with Project, and they sum no M and W for the coordinator.
	Keeps(view int) bool
	// Factor computes the polar factors of a layer, all views at once, between Begin and Finish of the steps that have a Wide.
	Factor(layer int) error
	// Anchors sets p to P_l of a kept view, and Coupling sets c to C_{l+1}.
	Anchors(layer, view int, p []float64) error
	Coupling(layer, view int, c []float64) error
	// Cotangents takes the cotangents of P_l of the kept views through the Procrustes steps, after the final pass for l = L, and
	// after the backward pass of layer l + 1 for other l.
	Cotangents(layer int, views []Cotangent) error
}

// Cotangent holds the coordinator's share of the cotangents of a kept view.
type Cotangent struct {
	Polar *linalg.Polar // the step
	Scale float64       // l = L: of M of the final pass
	DC    []float64     // l < L, with noise: cotangent of C_{l+1}, m×m
	Added []float64     // to the cotangent of P_l; nil: nothing
	S     []float64     // for the result dW + dWᵀ, m×m
}

// Reducer adds up the sums of several shards.
type Reducer interface {
	// Reduce returns the total of the trees of all shards, in their order, with the bits of a single shard of all rows. The total
	// is valid until the trees are reset.
	Reduce(ctx context.Context, trees []*Tree) (*Sums, error)
}

// InOrder is the Reducer of shards in one process: it joins all trees to the first.
type InOrder struct{}

// Reduce joins trees[1:] to trees[0] and returns its total.
func (InOrder) Reduce(_ context.Context, trees []*Tree) (*Sums, error) {
	for _, t := range trees[1:] {
		trees[0].Join(t)
	}
	return trees[0].Total(), nil
}

// OverRanks is the Reducer of shards in the processes of a group, in the order of the ranks.
type OverRanks struct{ Group *ranks.Group }

// Reduce joins the trees of all processes and returns their total.
func (o OverRanks) Reduce(_ context.Context, trees []*Tree) (*Sums, error) {
	for _, t := range trees[1:] {
		trees[0].Join(t)
	}
	nodes := trees[0].Nodes()
	if len(nodes) > 0 && nodes[0].Sum.lo == nodes[0].Sum.hi { // a pass that sums nothing
		return trees[0].Total(), nil
	}
	err := ranks.JoinTree(o.Group, "the sums of a pass", trees[0], func(part, like *Sums) []float64 {
		part.lo, part.hi = like.lo, like.hi
		return part.flat[part.lo:part.hi]
	})
	if err != nil {
		return nil, err
	}
	return trees[0].Total(), nil
}
