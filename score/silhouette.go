package score

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// SilhouetteConfig sets how Silhouette is computed. Zero values mean the defaults.
type SilhouetteConfig struct {
	Samples int    // rows in the mean, drawn by Seed without replacement; 0 or at least n: all n
	Seed    uint64 // seed of the draw
	Workers int    // goroutines; 0: GOMAXPROCS. They do not change the result
}

// Silhouette returns the mean silhouette (P. Rousseeuw, J. Comput. Appl. Math. 20, 1987) of the rows of the n×d matrix x (−1 to
// 1). Higher is better. Labels are any integers. The silhouette of row i is
//
//	s_i = (b_i − a_i) / max(a_i, b_i)
//
// a_i is the mean Euclidean distance to the other rows of its cluster, b_i the lowest mean distance to the rows of another
// cluster. A row alone in its cluster has s_i = 0. With cfg.Samples = s, the mean is over s rows. Their a and b are still over
// all n rows, so that it takes O(s·n·d) instead of O(n²·d).
//
// Values may be of any size. If squared distances would overflow or vanish, x is scaled by a power of two, which does not change
// the index. Differences below 1e-70 of the largest one in a column count as zero.
//
// It returns an error if x has no rows, if an entry is NaN or infinite, if the number of labels is not n, or if there are fewer
// than two clusters or as many clusters as rows. If ctx is cancelled, it returns the context's error.
func Silhouette(ctx context.Context, x mat.Matrix, labels []int, cfg SilhouetteConfig) (float64, error) {
	if cfg.Samples < 0 || cfg.Workers < 0 {
		return 0, fmt.Errorf("score: Samples is %d and Workers is %d, want 0 or more", cfg.Samples, cfg.Workers)
	}
	s, err := silhouettes(ctx, x, labels, cfg)
	if err != nil {
		return 0, err
	}
	return kernel.Sum(s) / float64(len(s)), nil
}

// Silhouettes returns the silhouettes s_i of all n rows of x. Silhouette returns their mean, and has the same errors.
func Silhouettes(ctx context.Context, x mat.Matrix, labels []int, workers int) ([]float64, error) {
	if workers < 0 {
		return nil, fmt.Errorf("score: workers is %d, want 0 or more", workers)
	}
	return silhouettes(ctx, x, labels, SilhouetteConfig{Workers: workers})
}

func silhouettes(ctx context.Context, x mat.Matrix, labels []int, cfg SilhouetteConfig) ([]float64, error) {
	if err := parallel.CheckContext(ctx); err != nil {
		return nil, fmt.Errorf("score: %w", err)
	}
	p, err := newPartition(x, labels)
	if err != nil {
		return nil, err
	}
	centred := p.centred()
	norms := make([]float64, p.n)
	for i := range norms {
		norms[i] = kernel.SumSquares(centred[i*p.d:(i+1)*p.d], 0)
	}
	samples := cfg.Samples
	if samples == 0 || samples > p.n {
		samples = p.n
	}
	chosen := rows.Sample(rand.New(rand.NewPCG(cfg.Seed, 0)), p.n, samples)
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
					// If the difference has lost half of its digits, compute the distance directly.
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
	return s, err
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
