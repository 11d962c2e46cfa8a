package tsne

import (
	"context"
	"math"
	"sort"

	"gonum.org/v1/gonum/mat"
)

// neighbours holds the k nearest points of every point: index[i*k+a] at the squared distance dist[i*k+a], increasing.
type neighbours struct {
	n, k  int
	index []int32
	dist  []float64
}

// nearest finds the k nearest points of every row of x among the others, exactly; of equal distances the lower index.
func nearest(ctx context.Context, x *mat.Dense, k, workers int) (*neighbours, error) {
	n, _ := x.Dims()
	out := &neighbours{n: n, k: k, index: make([]int32, n*k), dist: make([]float64, n*k)}
	err := forRows(ctx, workers, n, func(i int) {
		row := x.RawRowView(i)
		index, dist := out.index[i*k:i*k:(i+1)*k], out.dist[i*k:i*k:(i+1)*k]
		for j := range n {
			if j == i {
				continue
			}
			limit := math.Inf(1)
			if len(dist) == k {
				limit = dist[k-1]
			}
			d := squaredBelow(row, x.RawRowView(j), limit)
			if d >= limit {
				continue
			}
			at := sort.Search(len(dist), func(a int) bool { return dist[a] > d })
			if len(dist) < k {
				dist, index = append(dist, 0), append(index, 0)
			}
			copy(dist[at+1:], dist[at:])
			copy(index[at+1:], index[at:])
			dist[at], index[at] = d, int32(j)
		}
	})
	return out, err
}

// squaredBelow returns ‖a−b‖², or a value of at least limit once the sum has reached it.
func squaredBelow(a, b []float64, limit float64) float64 {
	sum := 0.0
	for len(a) >= 8 {
		p, q := a[:8], b[:8]
		d0, d1, d2, d3 := p[0]-q[0], p[1]-q[1], p[2]-q[2], p[3]-q[3]
		d4, d5, d6, d7 := p[4]-q[4], p[5]-q[5], p[6]-q[6], p[7]-q[7]
		sum += ((d0*d0 + d1*d1) + (d2*d2 + d3*d3)) + ((d4*d4 + d5*d5) + (d6*d6 + d7*d7))
		if sum >= limit {
			return sum
		}
		a, b = a[8:], b[8:]
	}
	for i, x := range a {
		d := x - b[i]
		sum += d * d
	}
	return sum
}

// sparse is the symmetric matrix P by rows, columns increasing; its entries sum to 1.
type sparse struct {
	start  []int
	column []int32
	value  []float64
}

// affinities returns P = (p_j|i + p_i|j)/2n, where p_j|i ∝ exp(−β_i d²_ij) over the neighbours of i and β_i gives the
// perplexity asked for.
func affinities(ctx context.Context, near *neighbours, perplexity float64, workers int) (*sparse, error) {
	n, k := near.n, near.k
	conditional := make([]float64, n*k)
	err := forRows(ctx, workers, n, func(i int) {
		calibrate(near.dist[i*k:(i+1)*k], conditional[i*k:(i+1)*k], math.Log(perplexity))
	})
	if err != nil {
		return nil, err
	}
	type entry struct {
		column int32
		value  float64
	}
	rows := make([][]entry, n)
	for i := range n {
		for a := range k {
			j, v := near.index[i*k+a], conditional[i*k+a]/(2*float64(n))
			rows[i] = append(rows[i], entry{j, v})
			rows[j] = append(rows[j], entry{int32(i), v})
		}
	}
	p := &sparse{start: make([]int, 1, n+1)}
	for _, row := range rows {
		sort.SliceStable(row, func(a, b int) bool { return row[a].column < row[b].column })
		for a, e := range row {
			if a > 0 && row[a-1].column == e.column {
				p.value[len(p.value)-1] += e.value
				continue
			}
			p.column, p.value = append(p.column, e.column), append(p.value, e.value)
		}
		p.start = append(p.start, len(p.column))
	}
	return p, nil
}

// calibrate sets p_j ∝ exp(−β d_j), Σ p = 1, with β found by bisection such that the entropy is the given one. If all distances
// are equal, p is uniform.
func calibrate(dist, p []float64, entropy float64) {
	lo, hi, beta := 0.0, math.Inf(1), 1.0
	if last := dist[len(dist)-1] - dist[0]; last > 0 {
		beta = 1 / last
	}
	for range 100 {
		sum, weighted := 0.0, 0.0
		for j, d := range dist {
			p[j] = math.Exp(-beta * (d - dist[0]))
			sum += p[j]
			weighted += p[j] * (d - dist[0])
		}
		for j := range p {
			p[j] /= sum
		}
		h := math.Log(sum) + beta*weighted/sum
		switch {
		case math.Abs(h-entropy) < 1e-7:
			return
		case h > entropy:
			lo = beta
			if math.IsInf(hi, 1) {
				beta *= 2
			} else {
				beta = (lo + hi) / 2
			}
		default:
			hi = beta
			beta = (lo + hi) / 2
		}
		if math.IsInf(beta, 1) {
			return
		}
	}
}
