package score

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
)

// CalinskiHarabasz returns the index of T. Caliński and J. Harabasz (Communications in Statistics 3, 1974), the variance between
// clusters over the variance within them,
//
//	(Σ_k n_k ‖c_k − mean‖² / (c − 1)) / (Σ_i ‖x_i − c_label(i)‖² / (n − c)),
//
// x is an n×d matrix, and labels are any integers. Higher is better. The index is +∞ if every row is its cluster's mean, and 1 if
// all rows are equal. Silhouette documents the errors and the range of values. It takes O(n·d).
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
// x is an n×d matrix, and labels are any integers. Lower is better, and 0 is the minimum. A pair of clusters with equal means
// counts as 0, as in scikit-learn. Silhouette documents the errors and the range of values. It takes O(n·d + c²·d).
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
