package neighbor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/parallel"
)

// Mutual returns the graph of mutual neighbours,
//
//	D_ij = exp(−d_ij²/d_ik²) for the neighbours j of i, d_ik the distance of the last,    A = min(D, Dᵀ) + rest·(D + Dᵀ),
//
// The graph is normalised to deg^−½ A deg^−½ with the row sums deg of A. If all neighbours of i are at distance 0, their D_ij is
// 1. A sample without edges has an empty row. All eigenvalues are from −1 to 1.
//
// Mutual returns an error if the lists do not have K neighbours of N samples, or if rest is not from 0 to 1e100.
func Mutual(l *Lists, rest float64) (*Graph, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	if !(rest >= 0 && rest <= mostRest) {
		return nil, fmt.Errorf("neighbor: one-sided edges have the factor %v; want 0 to %g", rest, mostRest)
	}
	a, _ := l.mutual(rest)
	return &Graph{links: a}, nil
}

func (l *Lists) check() error {
	if l == nil || l.N < 1 || l.K < 1 || l.N != len(l.Index)/l.K || len(l.Index)%l.K != 0 || len(l.Square) != len(l.Index) {
		return errors.New("neighbor: the lists do not have K neighbours of N samples")
	}
	for i := range l.N {
		if err := l.checkSample(i); err != nil {
			return err
		}
	}
	return nil
}

// checkSample reports whether the neighbours of sample i are other samples, in order of distance.
func (l *Lists) checkSample(i int) error {
	index, square := l.Index[i*l.K:(i+1)*l.K], l.Square[i*l.K:(i+1)*l.K]
	for r, j := range index {
		switch d := square[r]; {
		case j < -1 || int(j) >= l.N || int(j) == i:
			return fmt.Errorf("neighbor: neighbour %d of sample %d has the index %d; want another of %d samples", r, i, j, l.N)
		case j < 0:
		case r > 0 && (index[r-1] < 0 || square[r-1] > d):
			return fmt.Errorf("neighbor: neighbours of sample %d are not in order of distance", i)
		case !(d >= 0) || math.IsInf(d, 1):
			return fmt.Errorf("neighbor: neighbour %d of sample %d is at the squared distance %v", r, i, d)
		case slices.Contains(index[:r], j):
			return fmt.Errorf("neighbor: sample %d has the neighbour %d twice", i, j)
		}
	}
	return nil
}

// last returns the squared distance of sample i's last neighbour, and the number of its neighbours.
func (l *Lists) last(i int) (square float64, count int) {
	for r := l.K - 1; r >= 0; r-- {
		if l.Index[i*l.K+r] >= 0 {
			return l.Square[i*l.K+r], r + 1
		}
	}
	return 0, 0
}

// closeness returns exp(−square/scale), the weight of a neighbour at a squared distance not above scale.
func closeness(square, scale float64) float64 {
	if scale == 0 {
		return 1
	}
	return math.Exp(-square / scale)
}

func (l *Lists) directed() *Links {
	d := &Links{atoms: l.N, ptr: []int{0}}
	var near []found
	for i := range l.N {
		scale, count := l.last(i)
		near = near[:0]
		for e := i * l.K; e < i*l.K+count; e++ {
			near = append(near, found{l.Index[e], closeness(l.Square[e], scale)})
		}
		slices.SortFunc(near, func(a, b found) int { return int(a.index) - int(b.index) })
		for _, f := range near {
			d.col, d.val = append(d.col, f.index), append(d.val, f.square)
		}
		d.ptr = append(d.ptr, len(d.col))
	}
	d.n = l.N
	return d
}

// mutual returns the normalised graph and its degrees before normalisation.
func (l *Lists) mutual(rest float64) (*Links, []float64) {
	d := l.directed()
	t := d.transpose()
	a := &Links{n: l.N, atoms: l.N, ptr: []int{0}}
	degree, inverse := make([]float64, l.N), make([]float64, l.N)
	for i := range l.N {
		mergeRows(d, t, i, func(j int32, out, in float64) {
			if w := mutualWeight(out, in, rest); w > 0 {
				a.col, a.val = append(a.col, j), append(a.val, w)
				degree[i] += w
			}
		})
		a.ptr = append(a.ptr, len(a.col))
		if degree[i] > 0 {
			inverse[i] = 1 / math.Sqrt(degree[i])
		}
	}
	for i := range l.N {
		for e := a.ptr[i]; e < a.ptr[i+1]; e++ {
			a.val[e] *= inverse[i] * inverse[a.col[e]]
		}
	}
	return a, degree
}

// mutualWeight is the entry of A for the entries of D and Dᵀ.
func mutualWeight(out, in, rest float64) float64 { return min(out, in) + rest*(out+in) }

// mergeRows calls f for every column that row i of a or b has, in order, with both entries.
func mergeRows(a, b *Links, i int, f func(j int32, x, y float64)) {
	ja, xa := a.Row(i)
	jb, xb := b.Row(i)
	for len(ja) > 0 || len(jb) > 0 {
		switch {
		case len(jb) == 0 || len(ja) > 0 && ja[0] < jb[0]:
			f(ja[0], xa[0], 0)
			ja, xa = ja[1:], xa[1:]
		case len(ja) == 0 || jb[0] < ja[0]:
			f(jb[0], 0, xb[0])
			jb, xb = jb[1:], xb[1:]
		default:
			f(ja[0], xa[0], xb[0])
			ja, xa, jb, xb = ja[1:], xa[1:], jb[1:], xb[1:]
		}
	}
}

// covered returns, for each sample, the weight of the parts in which the sample has links.
func covered(parts []*Links, weights []float64) []float64 {
	c := make([]float64, parts[0].n)
	for i := range c {
		whole := true
		for g, p := range parts {
			if p.ptr[i] < p.ptr[i+1] {
				c[i] += weights[g]
			} else {
				whole = false
			}
		}
		if whole {
			c[i] = 1 // exactly 1, without rounding error
		}
	}
	return c
}

// mix returns the weighted sum of square parts, entry (i, j) divided by √(c_i·c_j), so that a sample that lacks views is joined
// no less than others. Eigenvalues stay from −1 to 1.
func mix(ctx context.Context, parts []*Links, weights, cover []float64, workers int) (*Links, error) {
	n := parts[0].n
	blocks := make([]*Links, (n+gatherRows-1)/gatherRows)
	sums := make([][]float64, parallel.Workers(workers))
	err := parallel.For(ctx, workers, len(blocks), func(w, b int) error {
		if sums[w] == nil {
			sums[w] = make([]float64, n)
		}
		sum, out := sums[w], &Links{atoms: n, ptr: []int{0}}
		var cols []int32
		var vals []float64
		for i := b * gatherRows; i < min((b+1)*gatherRows, n); i++ {
			cols, vals = cols[:0], vals[:0]
			for g, p := range parts {
				at, x := p.Row(i)
				for e, j := range at {
					if sum[j] == 0 {
						cols = append(cols, j)
					}
					sum[j] += weights[g] * x[e]
				}
			}
			slices.Sort(cols)
			for _, j := range cols {
				vals = append(vals, sum[j]/math.Sqrt(cover[i]*cover[j]))
				sum[j] = 0
			}
			out.appendRow(cols, vals)
		}
		blocks[b] = out
		return nil
	})
	if err != nil {
		return nil, err
	}
	return concat(blocks), nil
}
