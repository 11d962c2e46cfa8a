package engine

import (
	"context"
	"errors"
)

// Backward computes the gradients of scale·loss plus ⟨added cotangents, their states⟩ into g, from the last Forward,
// which must have been run with gradient. It can run once after each Forward.
func (n *Net) Backward(ctx context.Context, scale float64, g *Params) error {
	if !n.ready {
		return errors.New("engine: a backward pass needs a forward pass with gradient before it")
	}
	n.ready = false
	g.clear()
	layers := n.spec.Layers
	if n.spec.Anchored {
		for l := 1; l <= layers; l++ {
			for v := range n.spec.Dims {
				n.startCotangent(l, v, scale)
			}
		}
	}
	for l := layers; l >= 1; l-- {
		p := n.pass(Backward, l, n.params)
		p.Scale = scale
		if n.spec.Anchored && !n.spec.Detach {
			err := n.eachView(ctx, func(v, d int) error { n.anchorCotangents(l, v, d); return nil })
			if err != nil {
				return err
			}
			for v := range p.Views {
				p.Views[v].DM, p.Views[v].S = n.dm[v], n.s[v]
			}
		}
		if err := n.run(ctx, p); err != nil {
			return err
		}
		if err := n.collect(ctx, l, g); err != nil {
			return err
		}
	}
	return nil
}

// startCotangent sets the cotangent of P_l to what is known before the backward passes: the scaled loss at l = L, and
// what was added.
func (n *Net) startCotangent(l, v int, scale float64) {
	dp := n.dp[l][v]
	if l < n.spec.Layers {
		clear(dp)
	} else if scale != 1 {
		for i := range dp {
			dp[i] *= scale
		}
	}
	for i, x := range n.addedP[l][v] {
		dp[i] += x
	}
}

// anchorCotangents takes the cotangent of P_l through the Procrustes step and through M = AᵀX + W P_{l−1}.
func (n *Net) anchorCotangents(l, v, d int) {
	m := n.spec.Anchors
	n.polar[l][v].Grad(n.dp[l][v], n.dm[v])
	if !n.spec.Noise {
		return
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
}

// collect adds the sums of the backward pass of layer l to the gradients and to the cotangents of earlier anchors.
func (n *Net) collect(ctx context.Context, l int, g *Params) error {
	m, sums := n.spec.Anchors, n.total
	g.Theta[l-1] += sums.Theta
	for i, x := range sums.R {
		g.R[i] += x
	}
	for i, x := range sums.U {
		g.U[i] += x
	}
	noisy := n.spec.Noise && l > 1
	if n.spec.Noise {
		copy(g.Rho[l-1], sums.Rho)
	}
	if noisy {
		for v := range n.spec.Dims {
			n.work[v].mulTAdd(g.U, n.c[l][v], sums.T[v], m, m, m) // C_vᵀ T_v
		}
	}
	if l == 1 || !n.spec.Anchored || n.spec.Detach {
		return nil
	}
	return n.eachView(ctx, func(v, d int) error {
		dp := n.dp[l-1][v]
		for i, x := range sums.M[v] {
			dp[i] += x
		}
		if !noisy {
			return nil
		}
		if n.k[l-1][v] != nil {
			n.work[v].mulAdd(dp, sums.K[v], n.p[l-1][v], m, m, d, 2)
		}
		n.work[v].mulBT(n.dc[v], sums.T[v], n.params.U, m, m, m) // dC = T Uᵀ
		n.work[v].mulTAdd(dp, n.dc[v], n.p[l-2][v], m, m, d)     // C = P_{l−2} P_{l−1}ᵀ
		if l > 2 {
			n.work[v].mulAdd(n.dp[l-2][v], n.dc[v], n.p[l-1][v], m, m, d, 1)
		}
		return nil
	})
}

// AddH adds to the cotangent of H_l, n×m row-major over all samples, for the coming Backward.
func (n *Net) AddH(layer int, cotangent []float64) error {
	n.dirty = true
	m := n.spec.Anchors
	return n.eachShard(func(s Shard, lo, hi int) error { return s.AddH(layer, cotangent[lo*m:hi*m]) })
}

// AddTrust adds to the cotangent of t_lv, n values.
func (n *Net) AddTrust(layer, view int, cotangent []float64) error {
	n.dirty = true
	return n.eachShard(func(s Shard, lo, hi int) error { return s.AddTrust(layer, view, cotangent[lo:hi]) })
}

// AddAnchors adds to the cotangent of P_lv, m×d_v. Start anchors and constant ones take it and ignore it.
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
		p = n.p[max(layer-1, 0)][view]
	}
	return n.eachShard(func(s Shard, first, end int) error {
		a, b := max(lo, first), min(hi, end)
		if a >= b {
			return nil
		}
		return s.Read(f, layer, view, a-first, b-first, p, dst[(a-lo)*width:(b-lo)*width])
	})
}
