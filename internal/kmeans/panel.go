package kmeans

import (
	"context"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// panel is a set of centroids ready for the products with blocks of rows. With δ_k = c_k − μ the squared distances are
//
//	‖x − c_k‖² = ‖x − μ‖² + score_k,   score_k = Σ_v w_v δ_kv·(δ_kv + 2μ_v) − 2 Σ_v w_v x_v·δ_kv,
//
// so the nearest centroid has the lowest score. The factor −2w_v is part of the packed columns. The constant is computed from the
// columns after rounding to T.
type panel[T kernel.Float] struct {
	centroids [][]T // nil: no centroid; its score is +∞
	columns   [][]T // −2w_v δ_kv of each view, k×d_v
	packed    []kernel.Panel[T]
	bias      []float64 // the constant of a sample that has all views, k
	viewBias  []float64 // its parts, V×k
	reach     float64   // (√(Σ w_v‖μ_v‖²) + Δ), Δ² = Σ_v w_v max_k ‖δ_kv‖²
	delta     float64   // Δ
}

// set makes the panel of the centroids around the centre mu.
func (p *panel[T]) set(ctx context.Context, src *Source[T], workers int, mu []T, centroids [][]T) error {
	k, views := len(centroids), len(src.views)
	if p.packed == nil {
		p.packed = make([]kernel.Panel[T], views)
		p.columns = make([][]T, views)
	}
	p.centroids = centroids
	p.bias, p.viewBias = resize(p.bias, k), resize(p.viewBias, views*k)
	for v := range views {
		p.columns[v] = resize(p.columns[v], k*(src.offset[v+1]-src.offset[v]))
	}
	lengths := make([]float64, views*k)
	if err := parallel.For(ctx, workers, k, func(_, j int) error {
		p.bias[j] = 0
		for v := range views {
			w := src.views[v].Weight
			m := src.part(v, mu)
			g := p.columns[v][j*len(m) : (j+1)*len(m)]
			if centroids[j] == nil {
				clear(g)
				p.bias[j], p.viewBias[v*k+j] = math.Inf(1), math.Inf(1)
				continue
			}
			b, q := 0.0, 0.0
			factor, inverse := -2*w, -0.5/w
			for i, c := range src.part(v, centroids[j]) {
				a := float64(m[i])
				g[i] = T(factor * (float64(c) - a))
				d := float64(g[i]) * inverse
				b += d * (d + 2*a)
				q += d * d
			}
			p.viewBias[v*k+j], lengths[v*k+j] = w*b, w*q
			p.bias[j] += w * b
		}
		return nil
	}); err != nil {
		return err
	}
	centre, delta := 0.0, 0.0
	for v := range views {
		longest := 0.0
		for _, q := range lengths[v*k : (v+1)*k] {
			longest = max(longest, q)
		}
		delta += longest
		centre += src.views[v].Weight * kernel.SumSquares(src.part(v, mu), 0)
		d := src.offset[v+1] - src.offset[v]
		if _, ok := src.views[v].Rows.(*rows.Sparse[T]); ok {
			kernel.PackRowsT(&p.packed[v], d, k, p.columns[v], d)
		} else {
			kernel.PackT(&p.packed[v], d, k, p.columns[v], d)
		}
	}
	p.delta = math.Sqrt(delta)
	p.reach = math.Sqrt(centre) + p.delta
	return nil
}

// noise bounds the rounding error of the scores of a sample of the given norm.
func (p *panel[T]) noise(norm float64) float64 {
	return 16 * kernel.Epsilon[T]() * (norm + p.reach) * p.delta
}

// workspace is one goroutine's scratch for the products of a block with a panel.
type workspace[T kernel.Float] struct {
	y      [][]T // blockRows × Pad(k) of each view
	row    []T
	scores []float64
	norm   []float64
	square []float64
}

func newWorkspaces[T kernel.Float](src *Source[T], workers int) []*workspace[T] {
	ws := make([]*workspace[T], parallel.Workers(workers))
	for i := range ws {
		ws[i] = newWorkspace[T](len(src.views), src.width())
	}
	return ws
}

func newWorkspace[T kernel.Float](views, width int) *workspace[T] {
	return &workspace[T]{
		y:      make([][]T, views),
		row:    make([]T, width),
		norm:   make([]float64, blockRows),
		square: make([]float64, blockRows),
	}
}

// multiply sets ws.y to the products of the rows from lo to hi, at most blockRows, with the panel.
func (p *panel[T]) multiply(src *Source[T], lo, hi int, ws *workspace[T]) {
	ld := kernel.Pad(len(p.bias))
	ws.scores = resize(ws.scores, len(p.bias))
	for v := range src.views {
		ws.y[v] = resize(ws.y[v], blockRows*ld)
		src.views[v].Rows.Mul(lo, hi, &p.packed[v], ws.y[v], ld)
	}
}

// score sets ws.scores[from:to] for sample i, which is row i−lo of the block last multiplied.
func (p *panel[T]) score(src *Source[T], i, lo, from, to int, ws *workspace[T]) {
	k := len(p.bias)
	ld := kernel.Pad(k)
	at := (i - lo) * ld
	scores := ws.scores[from:to]
	if src.complete(i) && len(src.views) == 1 {
		y := ws.y[0][at+from : at+to]
		for j, b := range p.bias[from:to] {
			scores[j] = b + float64(y[j])
		}
		return
	}
	if src.complete(i) {
		copy(scores, p.bias[from:to])
		for v := range src.views {
			for j, y := range ws.y[v][at+from : at+to] {
				scores[j] += float64(y)
			}
		}
		return
	}
	clear(scores)
	for v := range src.views {
		if !src.present(v, i) {
			continue
		}
		bias := p.viewBias[v*k+from : v*k+to]
		for j, y := range ws.y[v][at+from : at+to] {
			scores[j] += bias[j] + float64(y)
		}
	}
}

// nearest returns the nearest of the panel's centroids from … to−1 to sample i, the first of equal ones, and the next nearest, −1
// if there is only one. If scores differ by less than their rounding error, the distances themselves decide. So the result does
// not depend on other centroids in the panel, within the precision of distances.
func (p *panel[T]) nearest(src *Source[T], i, lo, from, to int, norm float64, ws *workspace[T]) (first, second int) {
	p.score(src, i, lo, from, to, ws)
	return p.lowest(src, i, from, to, norm, ws)
}

// nearest returns the nearest centroid of start j to sample i, in the block from lo on. It takes less time if that is the guess.
func (s *solver[T]) nearest(i, lo, j, guess int, ws *workspace[T]) int {
	from, to := j*s.cfg.Clusters, (j+1)*s.cfg.Clusters
	s.panel.score(s.src, i, lo, from, to, ws)
	scores := ws.scores[from:to]
	low, noise := scores[guess], s.panel.noise(s.norm[i])
	for k, score := range scores {
		if score-low <= noise && k != guess { // false for most
			first, _ := s.panel.lowest(s.src, i, from, to, s.norm[i], ws)
			return first - from
		}
	}
	return guess
}

// lowest is nearest for a sample whose scores are known.
func (p *panel[T]) lowest(src *Source[T], i, from, to int, norm float64, ws *workspace[T]) (first, second int) {
	first, second = -1, -1
	low, next := math.Inf(1), math.Inf(1)
	for j, s := range ws.scores[from:to] {
		if !(s < next) { // false for most
			continue
		}
		if s < low {
			first, second = from+j, first
			low, next = s, low
		} else {
			second, next = from+j, s
		}
	}
	noise := p.noise(norm)
	if second < 0 || next-low > noise {
		return first, second
	}
	best, runnerUp := math.Inf(1), math.Inf(1)
	first, second = -1, -1
	for j, s := range ws.scores[from:to] {
		if !(s <= low+noise) {
			continue
		}
		d := src.distance(i, p.centroids[from+j], ws.row)
		switch {
		case d < best:
			first, second = from+j, first
			best, runnerUp = d, best
		case d < runnerUp:
			second, runnerUp = from+j, d
		}
	}
	return first, second
}

// resize returns x with length n, keeping its memory where it can. The values are not defined.
func resize[E any](x []E, n int) []E {
	if cap(x) < n {
		return make([]E, n)
	}
	return x[:n]
}
