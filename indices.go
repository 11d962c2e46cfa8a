package largemvc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// SilhouetteConfig says how Silhouette is computed. Zero values mean the defaults.
type SilhouetteConfig struct {
	Samples int    // rows that are averaged over, drawn without replacement by Seed; 0 or at least n: all n
	Seed    uint64 // of the draw
	Workers int    // goroutines; 0: GOMAXPROCS. They do not change the result
}

// Silhouette returns the mean silhouette (P. Rousseeuw, J. Comput. Appl. Math. 20, 1987) of the n rows of the n×d matrix
// x, labelled by arbitrary integers:
//
//	s_i = (b_i − a_i) / max(a_i, b_i)
//
// with a_i the mean Euclidean distance of row i to the other rows of its cluster and b_i the lowest mean distance to the
// rows of another one; s_i = 0 for a row alone in its cluster. It lies between −1 and 1, higher is better. With
// cfg.Samples = s, the mean is over s rows, but each row's a and b are still over all n: O(s·n·d) instead of O(n²·d).
//
// It returns an error if x has no rows or an entry is NaN or infinite, if the number of labels is not n, if there are
// fewer than two clusters or as many as rows, and the context's error if it is cancelled.
func Silhouette(ctx context.Context, x mat.Matrix, labels []int, cfg SilhouetteConfig) (float64, error) {
	if cfg.Samples < 0 || cfg.Workers < 0 {
		return 0, fmt.Errorf("largemvc: silhouette of %d samples by %d workers", cfg.Samples, cfg.Workers)
	}
	p, err := newPartition(x, labels)
	if err != nil {
		return 0, err
	}
	centred := p.centred()
	norms := make([]float64, p.n)
	for i := range norms {
		norms[i] = kernel.SumSquares(centred[i*p.d:(i+1)*p.d], 0)
	}
	chosen := choose(p.n, cfg.Samples, cfg.Seed)
	const block, panel = 64, 128
	type scratch struct {
		rows   []float64 // block×d
		y      []float64 // block×Pad(panel)
		sums   []float64 // block×c, of the distances to the clusters
		packed kernel.Panel[float64]
	}
	clusters := len(p.sizes)
	spaces := make([]scratch, parallel.Workers(cfg.Workers))
	s := make([]float64, len(chosen))
	err = parallel.For(ctx, cfg.Workers, (len(chosen)+block-1)/block, func(worker, b int) error {
		ws := &spaces[worker]
		if ws.rows == nil {
			ws.rows, ws.sums = make([]float64, block*p.d), make([]float64, block*clusters)
			ws.y = make([]float64, block*kernel.Pad(panel))
		}
		mine := chosen[b*block : min((b+1)*block, len(chosen))]
		for r, i := range mine {
			copy(ws.rows[r*p.d:(r+1)*p.d], centred[i*p.d:])
		}
		clear(ws.sums)
		for lo := 0; lo < p.n; lo += panel {
			if err := ctx.Err(); err != nil {
				return err
			}
			hi := min(lo+panel, p.n)
			kernel.PackT(&ws.packed, p.d, hi-lo, centred[lo*p.d:hi*p.d], p.d)
			ld := kernel.Pad(hi - lo)
			kernel.Mul(len(mine), ws.rows, p.d, &ws.packed, ws.y, ld, false)
			for r, i := range mine {
				sums := ws.sums[r*clusters : (r+1)*clusters]
				for j := lo; j < hi; j++ {
					square := norms[i] + norms[j] - 2*ws.y[r*ld+j-lo]
					// Where the difference has lost half of its digits it is taken row by row.
					if square < 1e-8*(norms[i]+norms[j]) {
						square = kernel.SquaredDistance(p.row(i), p.row(j))
					}
					sums[p.cluster[j]] += math.Sqrt(square)
				}
			}
		}
		for r, i := range mine {
			s[b*block+r] = p.silhouette(i, ws.sums[r*clusters:(r+1)*clusters])
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return kernel.Sum(s) / float64(len(s)), nil
}

// silhouette returns s_i from the sums of row i's distances to the clusters.
func (p *partition) silhouette(i int, sums []float64) float64 {
	own := p.cluster[i]
	if p.sizes[own] == 1 {
		return 0
	}
	a, b := sums[own]/float64(p.sizes[own]-1), math.Inf(1)
	for k, sum := range sums {
		if k != own {
			b = min(b, sum/float64(p.sizes[k]))
		}
	}
	if a == 0 && b == 0 {
		return 0
	}
	return (b - a) / max(a, b)
}

// choose returns m of the numbers below n in increasing order; all if m is 0 or more than n.
func choose(n, m int, seed uint64) []int {
	if m == 0 || m > n {
		m = n
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	chosen := make([]int, 0, m)
	for i := 0; len(chosen) < m; i++ {
		if rng.IntN(n-i) < m-len(chosen) {
			chosen = append(chosen, i)
		}
	}
	return chosen
}

// CalinskiHarabasz returns the index of T. Caliński and J. Harabasz (Communications in Statistics 3, 1974), the variance
// between clusters over that within them,
//
//	(Σ_k n_k ‖c_k − mean‖² / (c − 1)) / (Σ_i ‖x_i − c_label(i)‖² / (n − c)),
//
// for the rows of the n×d matrix x and any integer labels. Higher is better; +∞ if every row is its cluster's mean, 1 if
// all rows are equal. Errors are those of Silhouette. O(n·d).
func CalinskiHarabasz(x mat.Matrix, labels []int) (float64, error) {
	p, err := newPartition(x, labels)
	if err != nil {
		return 0, err
	}
	centres, mean := p.centres()
	between, within := 0.0, 0.0
	for k, c := range centres {
		between += float64(p.sizes[k]) * kernel.SquaredDistance(c, mean)
	}
	for i, k := range p.cluster {
		within += kernel.SquaredDistance(p.row(i), centres[k])
	}
	if within == 0 && between == 0 {
		return 1, nil
	}
	c := float64(len(p.sizes))
	return (between / (c - 1)) / (within / (float64(p.n) - c)), nil
}

// DaviesBouldin returns the index of D. Davies and D. Bouldin (IEEE TPAMI 1, 1979), with s_k the mean distance of the
// rows of cluster k to their mean c_k,
//
//	(1/c) Σ_k max_{l≠k} (s_k + s_l) / ‖c_k − c_l‖,
//
// for the rows of the n×d matrix x and any integer labels. Lower is better, 0 is the least; a pair of clusters with
// equal means counts as 0, as in scikit-learn. Errors are those of Silhouette. O(n·d + c²·d).
func DaviesBouldin(x mat.Matrix, labels []int) (float64, error) {
	p, err := newPartition(x, labels)
	if err != nil {
		return 0, err
	}
	centres, _ := p.centres()
	spread := make([]float64, len(centres))
	for i, k := range p.cluster {
		spread[k] += math.Sqrt(kernel.SquaredDistance(p.row(i), centres[k])) / float64(p.sizes[k])
	}
	sum := 0.0
	for k, c := range centres {
		worst := 0.0
		for l, e := range centres {
			if d := kernel.SquaredDistance(c, e); l != k && d > 0 {
				worst = max(worst, (spread[k]+spread[l])/math.Sqrt(d))
			}
		}
		sum += worst
	}
	return sum / float64(len(centres)), nil
}

// partition is a matrix of rows with the number of each row's cluster.
type partition struct {
	data         []float64
	n, d, stride int
	cluster      []int // of each row, from 0
	sizes        []int // of the clusters
}

func newPartition(x mat.Matrix, labels []int) (*partition, error) {
	p := &partition{}
	var err error
	if p.data, p.n, p.d, p.stride, err = matrixEntries(x); err != nil {
		return nil, err
	}
	if len(labels) != p.n {
		return nil, fmt.Errorf("largemvc: %d labels for %d rows", len(labels), p.n)
	}
	var distinct []int
	distinct, p.cluster = number(labels)
	if len(distinct) < 2 || len(distinct) >= p.n {
		return nil, fmt.Errorf("largemvc: the index needs 2 to %d clusters, there are %d", p.n-1, len(distinct))
	}
	p.sizes = make([]int, len(distinct))
	for _, k := range p.cluster {
		p.sizes[k]++
	}
	return p, nil
}

func (p *partition) row(i int) []float64 { return p.data[i*p.stride : i*p.stride+p.d] }

// centres returns the means of the clusters and of all rows.
func (p *partition) centres() (centres [][]float64, mean []float64) {
	centres, mean = make([][]float64, len(p.sizes)), make([]float64, p.d)
	for k := range centres {
		centres[k] = make([]float64, p.d)
	}
	for i, k := range p.cluster {
		kernel.AddTo(centres[k], p.row(i))
	}
	for k, c := range centres {
		kernel.AddTo(mean, c)
		for j := range c {
			c[j] /= float64(p.sizes[k])
		}
	}
	for j := range mean {
		mean[j] /= float64(p.n)
	}
	return centres, mean
}

// centred returns the rows less their mean, without gaps; distances are the same and lose fewer digits as differences of
// squares.
func (p *partition) centred() []float64 {
	_, mean := p.centres()
	out := make([]float64, p.n*p.d)
	for i := range p.n {
		for j, a := range p.row(i) {
			out[i*p.d+j] = a - mean[j]
		}
	}
	return out
}
