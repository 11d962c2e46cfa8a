package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/parallel"
)

// Net is the coordinator of a network. It owns the anchors of every layer and their decompositions, runs the passes on its
// shards, and computes the loss and its gradients from their sums. It is not safe for concurrent use.
type Net struct {
	spec    Spec
	shards  []Shard
	trees   []*Tree
	reduce  Reducer
	total   *Sums
	weights []float64 // w_v of the loss

	p     [][][]float64 // P_l per view, l from 0
	c     [][][]float64 // C_l = P_{l−2}P_{l−1}ᵀ, used in layer l ≥ 2
	k     [][][]float64 // K_l = P_lP_lᵀ; nil where it is the identity
	w     [][][]float64 // W_l
	polar [][]*linalg.Polar
	home  PolarShard // nil: no shard is one
	kept  []bool     // views whose matrices stay with it
	stale [][]bool   // it has a newer P_l of a kept view than p
	backward
	params  *Params // of the last Forward
	ready   bool    // the last Forward prepared a backward pass
	dirty   bool    // cotangents were added after the last Forward
	project bool    // Y_0 is set
	rests   bool    // only the state of the last layer is left
	loss    []float64

	terms     bool // the shards have a term
	termTrees [][]*parallel.Tree[[]float64]
	termValue float64
}

// backward holds the cotangents of a backward pass, and its scratch.
type backward struct {
	dp     [][][]float64 // of P_l
	dm, s  [][]float64
	work   []small // per view
	dw     [][]float64
	dc     [][]float64
	addedP [][][]float64
}

// NewNet returns the coordinator of a network over shards. It keeps start, P_0 per view (m×d_v, row-major).
func NewNet(spec Spec, shards []Shard, reduce Reducer, start [][]float64) (*Net, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	if len(shards) == 0 || len(start) != len(spec.Dims) {
		return nil, errors.New("engine: a network needs shards, and initial anchors for every view")
	}
	m, views, layers := spec.Anchors, len(spec.Dims), spec.Layers
	n := &Net{spec: spec, shards: shards, reduce: reduce, loss: make([]float64, views)}
	for range shards {
		n.trees = append(n.trees, NewTree(&spec))
	}
	n.p, n.c, n.k, n.w = make([][][]float64, layers+1), make([][][]float64, layers+1),
		make([][][]float64, layers+1), make([][][]float64, layers+1)
	n.dp, n.addedP = make([][][]float64, layers+1), make([][][]float64, layers+1)
	n.polar = make([][]*linalg.Polar, layers+1)
	if err := n.leaveAnchors(); err != nil {
		return nil, err
	}
	for v, d := range spec.Dims {
		if len(start[v]) != m*d {
			return nil, fmt.Errorf("engine: initial anchors of view %d have %d values, want %d×%d", v, len(start[v]), m, d)
		}
		weight := 1.0
		if spec.LossWeights != nil {
			weight = spec.LossWeights[v]
		}
		n.weights = append(n.weights, weight)
		n.dm = append(n.dm, make([]float64, m*d))
		n.s = append(n.s, make([]float64, m*m))
		n.dw = append(n.dw, make([]float64, m*m))
		n.dc = append(n.dc, make([]float64, m*m))
	}
	n.work = make([]small, views)
	n.p[0] = start
	n.k[0] = make([][]float64, views)
	for v, d := range spec.Dims {
		n.k[0][v] = make([]float64, m*m)
		n.work[v].mulBT(n.k[0][v], start[v], start[v], m, d, m)
		if isIdentity(n.k[0][v], m) {
			n.k[0][v] = nil
		}
	}
	for l := 1; l <= layers; l++ {
		n.addedP[l] = make([][]float64, views)
		if spec.Anchored {
			n.allocateAnchors(l)
		} else {
			n.keepAnchors(l)
		}
	}
	return n, nil
}

// leaveAnchors sets which views' matrices stay with the shard.
func (n *Net) leaveAnchors() error {
	n.kept, n.stale = make([]bool, len(n.spec.Dims)), make([][]bool, n.spec.Layers+1)
	n.home, _ = n.shards[0].(PolarShard)
	for v := range n.kept {
		n.kept[v] = n.home != nil && n.home.Keeps(v)
	}
	if slices.Contains(n.kept, true) && (len(n.shards) > 1 || n.reduce != Reducer(InOrder{})) {
		return errors.New("engine: a shard that keeps anchors is not the only one of its network")
	}
	return nil
}

func (n *Net) allocateAnchors(l int) {
	m, views := n.spec.Anchors, len(n.spec.Dims)
	for _, a := range []*[][]float64{&n.p[l], &n.c[l], &n.k[l], &n.w[l], &n.dp[l]} {
		*a = make([][]float64, views)
	}
	n.polar[l], n.stale[l] = make([]*linalg.Polar, views), make([]bool, views)
	for v, d := range n.spec.Dims {
		n.p[l][v], n.dp[l][v] = make([]float64, m*d), make([]float64, m*d)
		n.c[l][v], n.w[l][v] = make([]float64, m*m), make([]float64, m*m)
		if d < m {
			n.k[l][v] = make([]float64, m*m)
		}
		n.polar[l][v] = &linalg.Polar{Floor: n.spec.Floor}
		if n.home != nil {
			n.polar[l][v].Wide = n.home.Wide(l, v)
		}
	}
}

// keepAnchors gives layer l the anchors P_0.
func (n *Net) keepAnchors(l int) {
	n.p[l], n.k[l] = n.p[0], n.k[0]
	n.c[l] = make([][]float64, len(n.k[0]))
	for v, k := range n.k[0] {
		if n.c[l][v] = k; k == nil {
			n.c[l][v] = identity(n.spec.Anchors)
		}
	}
}

func identity(m int) []float64 {
	out := make([]float64, m*m)
	for i := range m {
		out[i*m+i] = 1
	}
	return out
}

func isIdentity(a []float64, m int) bool {
	for i, x := range a {
		want := 0.0
		if i%(m+1) == 0 {
			want = 1
		}
		if math.Abs(x-want) > 1e-12 {
			return false
		}
	}
	return true
}

// run does a pass on all shards, side by side, and adds up their sums.
func (n *Net) run(ctx context.Context, p *Pass) error {
	err := parallel.For(ctx, len(n.shards), len(n.shards), func(_, i int) error {
		n.trees[i].Reset()
		return n.shards[i].Run(ctx, p, n.trees[i])
	})
	if err != nil {
		return err
	}
	n.total, err = n.reduce.Reduce(ctx, n.trees)
	return err
}

// eachView runs f for all views, side by side.
func (n *Net) eachView(ctx context.Context, f func(v, d int) error) error {
	return parallel.For(ctx, n.spec.Workers, len(n.spec.Dims), func(_, v int) error { return f(v, n.spec.Dims[v]) })
}

func (n *Net) pass(kind PassKind, layer int, q *Params) *Pass {
	p := &Pass{Kind: kind, Layer: layer, Scale: 1, Views: make([]ViewConsts, len(n.spec.Dims))}
	incoming := p.Incoming(&n.spec)
	for v := range p.Views {
		c := &p.Views[v]
		c.K, c.LossWeight = n.k[incoming][v], n.weights[v]
		if !n.kept[v] || kind == Project {
			c.P = n.p[incoming][v]
		}
		if kind == Forward || kind == Backward {
			if n.spec.Noise {
				c.Rho = q.Rho[layer-1][v]
				if layer > 1 {
					c.C = n.c[layer][v]
				}
			}
		}
	}
	if kind == Forward || kind == Backward {
		p.Theta, p.R, p.U = q.Theta[layer-1], q.R, q.U
	}
	return p
}

// Forward runs the network with the given parameters and returns the loss of every view, without a term. The slice belongs to the
// Net. With gradient, Backward may follow. Forward clears added cotangents.
func (n *Net) Forward(ctx context.Context, q *Params, gradient bool) ([]float64, error) {
	if n.rests {
		return nil, errors.New("engine: the state of the rows was released")
	}
	n.params, n.ready = q, false
	n.clearAdded()
	if err := q.checkFinite(); err != nil {
		return nil, err
	}
	if !n.project {
		if err := n.run(ctx, n.pass(Project, 0, nil)); err != nil {
			return nil, err
		}
		n.project = true
	}
	for l := 1; l <= n.spec.Layers; l++ {
		if err := n.run(ctx, n.pass(Forward, l, q)); err != nil {
			return nil, err
		}
		if n.spec.Anchored {
			if err := n.updateAnchors(ctx, l, gradient); err != nil {
				return nil, err
			}
		}
	}
	p := n.pass(Final, 0, nil)
	p.Gradient = gradient
	if err := n.run(ctx, p); err != nil {
		return nil, err
	}
	for v, sum := range n.total.Loss {
		n.loss[v] = n.weights[v] * sum
	}
	if n.terms {
		if err := n.runTerm(ctx, gradient); err != nil {
			return nil, err
		}
	}
	n.ready = gradient
	return n.loss, nil
}

// updateAnchors sets P_l of all views.
func (n *Net) updateAnchors(ctx context.Context, l int, gradient bool) error {
	if err := n.eachView(ctx, func(v, d int) error { return n.beginAnchors(l, v, d) }); err != nil {
		return err
	}
	if n.home != nil {
		if err := n.home.Factor(l); err != nil {
			return err
		}
	}
	return n.eachView(ctx, func(v, d int) error {
		p, to := n.polar[l][v], n.p[l][v]
		if n.kept[v] {
			to, n.stale[l][v] = nil, true
		}
		if err := p.Finish(to); err != nil {
			return diverged(err, l, v)
		}
		if gradient && !n.spec.Detach {
			p.Prepare()
		}
		return n.derive(l, v, d)
	})
}

// beginAnchors begins the Procrustes step of a view with the sums of layer l: M = AᵀX + W P_{l−1}.
func (n *Net) beginAnchors(l, v, d int) error {
	m, sum := n.spec.Anchors, n.total.M[v]
	if n.kept[v] {
		return n.polar[l][v].Begin(m, d, nil)
	}
	if n.spec.Noise {
		copy(n.w[l][v], n.total.W[v])
		n.work[v].mulTAdd(sum, n.w[l][v], n.p[l-1][v], m, m, d) // W is symmetric
	}
	return diverged(n.polar[l][v].Begin(m, d, sum), l, v)
}

// diverged returns a DivergedError if a Procrustes step met an entry that is not finite, else the error itself.
func diverged(err error, l, v int) error {
	var entry *linalg.NotFiniteError
	if !errors.As(err, &entry) {
		return err
	}
	return &DivergedError{What: fmt.Sprintf("Hᵀ(X−E) of view %d in layer %d, row %d, column %d", v, l, entry.Row, entry.Column),
		Value: entry.Value}
}

// derive sets the constants that passes compute from P_l: K_l and C_{l+1}.
func (n *Net) derive(l, v, d int) error {
	m := n.spec.Anchors
	if n.kept[v] {
		if n.spec.Noise && l < n.spec.Layers {
			return n.home.Coupling(l, v, n.c[l+1][v])
		}
		return nil
	}
	if n.k[l][v] != nil {
		n.work[v].mulBT(n.k[l][v], n.p[l][v], n.p[l][v], m, d, m)
	}
	if n.spec.Noise && l < n.spec.Layers {
		n.work[v].mulBT(n.c[l+1][v], n.p[l-1][v], n.p[l][v], m, d, m)
	}
	return nil
}

// DivergedError says that a parameter or a sum over the samples stopped being finite.
type DivergedError struct {
	What  string
	Value float64
}

func (e *DivergedError) Error() string { return fmt.Sprintf("engine: %s is %v", e.What, e.Value) }

// checkFinite reports the first parameter that is not finite. A pass might hide it: a NaN threshold has no effect.
func (p *Params) checkFinite() error {
	names := []string{"θ", "R", "U"}
	for i, x := range [][]float64{p.Theta, p.R, p.U} {
		for j, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return &DivergedError{What: fmt.Sprintf("entry %d of %s", j, names[i]), Value: v}
			}
		}
	}
	for l, rho := range p.Rho {
		for v, x := range rho {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return &DivergedError{What: fmt.Sprintf("ρ of layer %d and view %d", l+1, v), Value: x}
			}
		}
	}
	return nil
}

// finalCotangent sets the cotangent of P_L to scale times the cotangent of the loss, from the sums of the final pass:
// −2w (bH)ᵀX + 2w Hᵀdiag(b)H P.
//
// The second term, like every cotangent of K = PPᵀ, has the form SP with a symmetric S. If P has orthonormal rows, SP is
// orthogonal to the directions that the Procrustes step can move. Its backward pass then maps SP to zero, so it is left out.
func (n *Net) finalCotangent(v, d int, scale float64) {
	m, l, w := n.spec.Anchors, n.spec.Layers, n.weights[v]*scale
	dp := n.dp[l][v]
	kernel.Affine(dp, n.total.M[v], -2*w, 0)
	if n.k[l][v] != nil {
		n.work[v].mulAdd(dp, n.total.W[v], n.p[l][v], m, m, d, 2*w)
	}
}

// Loss returns the loss per view of the last Forward.
func (n *Net) Loss() []float64 { return n.loss }

// Anchors returns P_l of a view, m×d_v row-major, l from 0. The slice belongs to the Net.
func (n *Net) Anchors(l, v int) ([]float64, error) {
	if l > 0 && n.kept[v] && n.stale[l][v] {
		if err := n.home.Anchors(l, v, n.p[l][v]); err != nil {
			return nil, err
		}
		n.stale[l][v] = false
	}
	return n.p[l][v], nil
}

// Spec returns the shape of the network.
func (n *Net) Spec() *Spec { return &n.spec }

// Bytes is the memory of the shards.
func (n *Net) Bytes() int64 {
	total := int64(0)
	for _, s := range n.shards {
		total += s.Bytes()
	}
	return total
}

// Rest releases the state that only further passes need. Of the rows in memory, H and the trust of the last layer are left, and
// no pass can run. Rows elsewhere do not change.
func (n *Net) Rest() {
	n.rests, n.ready, n.termTrees = true, false, nil
	for i, s := range n.shards {
		n.trees[i] = NewTree(&n.spec)
		if s, ok := s.(interface{ rest() }); ok {
			s.rest()
		}
	}
}

// Close closes the shards. Afterwards their state cannot be read.
func (n *Net) Close() error {
	for _, layer := range n.polar {
		for _, p := range layer {
			if p != nil {
				p.Wait()
			}
		}
	}
	var errs []error
	for _, s := range n.shards {
		errs = append(errs, s.Close())
	}
	n.shards, n.trees = nil, nil
	return errors.Join(errs...)
}
