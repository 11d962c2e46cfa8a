package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// Backward computes the gradients of scale·loss plus ⟨added cotangents, their states⟩ into g, for the last Forward, which must
// have run with gradient. It can run once after each Forward.
func (n *Net) Backward(ctx context.Context, scale float64, g *Params) error {
	if !n.ready {
		return errors.New("engine: a backward pass needs a forward pass with gradient before it")
	}
	n.ready = false
	g.clear()
	layers := n.spec.Layers
	through := n.spec.Anchored && !n.spec.Detach
	if through {
		// The last pass was the final one. Work between passes is done for one view at a time.
		err := n.cotangents(ctx, layers, scale, func(v, d int) {
			if n.kept[v] {
				return
			}
			n.finalCotangent(v, d, scale)
			for l := 1; l <= layers; l++ {
				n.startCotangent(l, v)
			}
		})
		if err != nil {
			return err
		}
	}
	for l := layers; l >= 1; l-- {
		p := n.pass(Backward, l, n.params)
		p.Scale = scale
		for v := range p.Views {
			if through {
				p.Views[v].S = n.s[v]
				if !n.kept[v] {
					p.Views[v].DM = n.dm[v]
				}
			}
		}
		if err := n.run(ctx, p); err != nil {
			return err
		}
		if l == 1 || !through {
			n.collect(l, g)
			continue
		}
		if err := n.afterLayer(ctx, l, scale, g); err != nil {
			return err
		}
	}
	return nil
}

// afterLayer adds the sums of the backward pass of layer l > 1 to the gradients and, at the same time, takes the cotangents of
// P_{l−1} through its Procrustes step.
func (n *Net) afterLayer(ctx context.Context, l int, scale float64, g *Params) error {
	return parallel.For(ctx, 2, 2, func(_, i int) error {
		if i == 1 {
			return n.cotangents(ctx, l-1, scale, func(v, d int) { n.collectView(l, v, d) })
		}
		n.collect(l, g)
		return nil
	})
}

// cotangents calls prepare for every view, and takes the cotangents of P_l through the Procrustes steps.
func (n *Net) cotangents(ctx context.Context, l int, scale float64, prepare func(v, d int)) error {
	err := n.eachView(ctx, func(v, d int) error {
		prepare(v, d)
		if n.kept[v] {
			return nil
		}
		return n.anchorCotangents(l, v, d)
	})
	if err != nil {
		return err
	}
	return n.keptCotangents(l, scale)
}

// keptCotangents does for the kept views what finalCotangent, startCotangent, collectView and anchorCotangents do for others.
func (n *Net) keptCotangents(l int, scale float64) error {
	views, any := make([]Cotangent, len(n.kept)), false
	for v, kept := range n.kept {
		if !kept {
			continue
		}
		any = true
		views[v] = Cotangent{Polar: n.polar[l][v], Scale: -2 * n.weights[v] * scale, DC: n.dc[v], S: n.s[v]}
		if n.dirty {
			views[v].Added = n.addedP[l][v]
		}
	}
	if !any {
		return nil
	}
	return n.home.Cotangents(l, views)
}

// startCotangent sets the cotangent of P_l before the backward passes: the added one, and at l = L the loss's.
func (n *Net) startCotangent(l, v int) {
	dp := n.dp[l][v]
	if l < n.spec.Layers {
		clear(dp)
	}
	for i, x := range n.addedP[l][v] {
		dp[i] += x
	}
}

// anchorCotangents takes the cotangent of P_l through the Procrustes step and through M = AᵀX + W P_{l−1}.
func (n *Net) anchorCotangents(l, v, d int) error {
	m := n.spec.Anchors
	if err := n.polar[l][v].Grad(n.dp[l][v], n.dm[v]); err != nil || !n.spec.Noise {
		return err
	}
	n.work[v].mulBT(n.dw[v], n.dm[v], n.p[l-1][v], m, d, m)
	for i := range m {
		for j := range m {
			n.s[v][i*m+j] = n.dw[v][i*m+j] + n.dw[v][j*m+i]
		}
	}
	if l > 1 {
		n.work[v].mulTAdd(n.dp[l-1][v], n.w[l][v], n.dm[v], m, m, d)
	}
	return nil
}

// collect adds the sums of the backward pass of layer l to the gradients.
func (n *Net) collect(l int, g *Params) {
	m, sums := n.spec.Anchors, n.total
	g.Theta[l-1] += sums.Theta[0]
	for i, x := range sums.R {
		g.R[i] += x
	}
	for i, x := range sums.U {
		g.U[i] += x
	}
	if n.spec.Noise {
		copy(g.Rho[l-1], sums.Rho)
	}
	if n.spec.Noise && l > 1 {
		for v := range n.spec.Dims {
			kernel.TMulAdd(m, m, m, n.c[l][v], m, sums.T[v], m, g.U, m) // C_vᵀ T_v
		}
	}
}

// collectView adds the sums of the backward pass of layer l > 1 to the cotangents of a view's earlier anchors.
func (n *Net) collectView(l, v, d int) {
	m, sums, dp := n.spec.Anchors, n.total, n.dp[l-1][v]
	if n.spec.Noise {
		n.work[v].mulBT(n.dc[v], sums.T[v], n.params.U, m, m, m) // dC = T Uᵀ
	}
	if n.kept[v] {
		return
	}
	kernel.AddTo(dp, sums.M[v])
	if !n.spec.Noise {
		return
	}
	if n.k[l-1][v] != nil {
		n.work[v].mulAdd(dp, sums.K[v], n.p[l-1][v], m, m, d, 2)
	}
	n.work[v].mulTAdd(dp, n.dc[v], n.p[l-2][v], m, m, d) // C = P_{l−2} P_{l−1}ᵀ
	if l > 2 {
		n.work[v].mulAdd(n.dp[l-2][v], n.dc[v], n.p[l-1][v], m, m, d, 1)
	}
}

// AddH adds to the cotangent of H_l, n×m row-major over all samples, for the coming Backward.
func (n *Net) AddH(layer int, cotangent []float64) error {
	n.dirty = true
	m := n.spec.Anchors
	return n.eachShard(func(s Shard, lo, hi int) error { return s.AddH(layer, cotangent[lo*m:hi*m]) })
}

func (n *Net) AddTrust(layer, view int, cotangent []float64) error {
	n.dirty = true
	return n.eachShard(func(s Shard, lo, hi int) error { return s.AddTrust(layer, view, cotangent[lo:hi]) })
}

// AddAnchors adds to the cotangent of P_lv, m×d_v. Initial and constant anchors accept it and ignore it.
func (n *Net) AddAnchors(layer, view int, cotangent []float64) {
	if layer < 1 || !n.spec.Anchored {
		return
	}
	n.dirty = true
	if n.addedP[layer][view] == nil {
		n.addedP[layer][view] = make([]float64, len(cotangent))
	}
	for i, x := range cotangent {
		n.addedP[layer][view][i] += x
	}
}

func (n *Net) clearAdded() {
	if !n.dirty {
		return
	}
	n.dirty = false
	for _, s := range n.shards {
		s.ClearAdded()
	}
	for _, layer := range n.addedP {
		for _, p := range layer {
			clear(p)
		}
	}
}

func (n *Net) eachShard(f func(s Shard, lo, hi int) error) error {
	lo := 0
	for _, s := range n.shards {
		if err := f(s, lo, lo+s.Rows()); err != nil {
			return err
		}
		lo += s.Rows()
	}
	return nil
}

// Read copies a state of rows [lo, hi) to dst, row-major, counted over all shards.
func (n *Net) Read(f Field, layer, view, lo, hi int, dst []float64) error {
	width := 1
	var p []float64
	switch f {
	case FieldH:
		width = n.spec.Anchors
	case FieldE:
		width = n.spec.Dims[view]
		var err error
		if p, err = n.Anchors(max(layer-1, 0), view); err != nil {
			return err
		}
	}
	return n.eachShard(func(s Shard, first, end int) error {
		a, b := max(lo, first), min(hi, end)
		if a >= b {
			return nil
		}
		return s.Read(f, layer, view, a-first, b-first, p, dst[(a-lo)*width:(b-lo)*width])
	})
}

// CopyH sets dst to H_l of all samples, row-major with the stride ld ≥ m. T must be the element type of the shards. Columns from
// m on do not change.
func CopyH[T kernel.Float](n *Net, layer int, dst []T, ld int) error {
	return n.eachShard(func(s Shard, lo, hi int) error {
		typed, ok := s.(interface {
			CopyH(layer, lo, hi int, dst []T, ld int) error
		})
		if !ok {
			return fmt.Errorf("engine: the shards are %T, H was requested in %T", s, dst)
		}
		return typed.CopyH(layer, 0, hi-lo, dst[lo*ld:], ld)
	})
}
