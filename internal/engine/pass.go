package engine

import "context"

// PassKind says what a pass computes.
type PassKind int

// The passes of an epoch. Layers count from 1.
const (
	// Project computes Y_0 = X P_0ᵀ, once for constant start anchors.
	Project PassKind = iota
	// Forward computes, for its layer, Y of the incoming anchors, H, r, t and the sums M = AᵀX and W.
	Forward
	// Final computes the loss and, with Gradient set, its cotangent of H and the sums for that of P_L.
	Final
	// Backward turns the cotangent of H_l into that of H_{l−1} and the sums of all gradients of the layer.
	Backward
)

// Pass is one sweep over all rows of a shard. Its constants are all that a shard needs from outside.
type Pass struct {
	Kind     PassKind
	Layer    int     // l, from 1 (Forward, Backward)
	Gradient bool    // Final: prepare the backward passes
	Scale    float64 // Backward at l = L: the loss's upstream cotangent
	Theta    float64
	R, U     []float64 // m×m
	Views    []ViewConsts
}

// ViewConsts are the constants of one view in a pass; those that a pass does not use are nil.
type ViewConsts struct {
	P          []float64 // m×d: the incoming anchors P_{l−1} (Final: P_L)
	C          []float64 // m×m: P_{l−2} P_{l−1}ᵀ
	K          []float64 // m×m: P Pᵀ of the anchors P; nil where it is the identity
	DM         []float64 // m×d: cotangent of M_l
	S          []float64 // m×m: dW + dWᵀ
	Rho        float64
	LossWeight float64 // w_v
}

// Sums are what a pass adds up over rows, in float64. A pass fills the fields it needs.
type Sums struct {
	M     [][]float64 // m×d per view: Forward AᵀX, Final (bH)ᵀX, Backward dYᵀX
	W     [][]float64 // m×m per view: Forward Hᵀ diag(b(1−t)) H, Final Hᵀ diag(b) H
	K     [][]float64 // m×m per view: Hᵀ diag(dq) H, where P Pᵀ is not the identity
	T     [][]float64 // m×m per view: H_{l−1}ᵀ diag(1−t) g
	R, U  []float64   // m×m
	Loss  []float64   // per view: Σ b‖x − hP‖²
	Rho   []float64   // per view: dρ
	Theta float64     // dθ
}

func newSums(s *Spec) *Sums {
	m, v := s.Anchors, len(s.Dims)
	out := &Sums{R: make([]float64, m*m), U: make([]float64, m*m), Loss: make([]float64, v), Rho: make([]float64, v)}
	for _, d := range s.Dims {
		out.M = append(out.M, make([]float64, m*d))
		out.W = append(out.W, make([]float64, m*m))
		out.K = append(out.K, make([]float64, m*m))
		out.T = append(out.T, make([]float64, m*m))
	}
	return out
}

func (s *Sums) matrices() [][]float64 {
	out := make([][]float64, 0, 4*len(s.M)+4)
	out = append(out, s.M...)
	out = append(out, s.W...)
	out = append(out, s.K...)
	out = append(out, s.T...)
	return append(out, s.R, s.U, s.Loss, s.Rho)
}

func (s *Sums) clear() {
	for _, x := range [][][]float64{s.M, s.W, s.K, s.T} {
		for _, y := range x {
			clear(y)
		}
	}
	clear(s.R)
	clear(s.U)
	clear(s.Loss)
	clear(s.Rho)
	s.Theta = 0
}

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
	// Run does a pass and adds to sums, which the caller has cleared. A cancelled context ends it early with its error.
	Run(ctx context.Context, p *Pass, sums *Sums) error
	// Rows is the number of rows.
	Rows() int
	// Read copies rows [lo, hi) of a state to dst, row-major.
	Read(f Field, layer, view, lo, hi int, p []float64, dst []float64) error
	// AddH and AddTrust add to the cotangents of H_l and t_lv that the coming backward passes start from; the values
	// cover all rows of the shard. ClearAdded forgets them.
	AddH(layer int, cotangent []float64) error
	AddTrust(layer, view int, cotangent []float64) error
	ClearAdded()
	// Bytes is the memory held.
	Bytes() int64
}

// Reducer adds up the sums of several shards.
type Reducer interface {
	// Reduce returns the total of parts, added in an order that depends on nothing but their number.
	Reduce(ctx context.Context, parts []*Sums) (*Sums, error)
}

// InOrder is the Reducer of shards in one process: the first part takes the others, one after another.
type InOrder struct{}

// Reduce adds parts[1:] to parts[0] and returns it.
func (InOrder) Reduce(_ context.Context, parts []*Sums) (*Sums, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	dst := parts[0].matrices()
	for _, p := range parts[1:] {
		for i, src := range p.matrices() {
			for j, x := range src {
				dst[i][j] += x
			}
		}
		parts[0].Theta += p.Theta
	}
	return parts[0], nil
}
