package cluster

import (
	"context"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// Clusters are the clusters of a representation, in decreasing size.
type Clusters[T kernel.Float] struct {
	Labels    []int
	Sizes     []int
	Centroids []T // k×m
	Assigner  *kmeans.Assigner[T]
	Repaired  int // clusters that k-means found empty and repaired
}

// assignRows is the number of rows that a goroutine assigns at once.
const assignRows = 4096

// maxRenumberings bounds the search for an order that agrees with the labels.
const maxRenumberings = 100

// Options say how the rows of a representation are clustered.
type Options struct {
	Clusters int
	Starts   int   // of k-means
	Score    Score // of labels, for the choice among the starts; nil selects by inertia alone
	Labels   []int // that the one start of k-means begins with, in place of all others; nil: none
	Seed     uint64
	Workers  int
	Device   rows.Device // of the products with rows; nil: they are made here

	Group *ranks.Group // processes that hold the other rows; nil: these are all
}

// Rows runs k-means on the rows of H and numbers the clusters by size.
func Rows[T kernel.Float](ctx context.Context, h *rows.Dense[T], o Options) (*Clusters[T], error) {
	src, err := kmeans.NewSource(o.Group, kmeans.View[T]{Rows: h, Weight: 1})
	if err != nil {
		return nil, err
	}
	cfg := kmeans.Config{
		Clusters: o.Clusters, Starts: o.Starts, Labels: o.Labels, Seed: o.Seed, Workers: o.Workers, Device: o.Device,
	}
	if o.Score != nil && o.Clusters > 1 && o.Labels == nil {
		cfg = byScore(cfg, o.Score)
	}
	found, err := kmeans.Run(ctx, src, cfg)
	if err != nil {
		return nil, err
	}
	n, m := h.Dims()
	out := &Clusters[T]{Labels: found.Labels, Centroids: found.Centroids[0], Assigner: found.Assigner, Repaired: found.Repaired}
	k := found.Found
	// A sample as near to one centroid as to another gets the first of them. So another order can change labels, and with
	// them the order; such samples move to larger clusters, which ends this.
	for range maxRenumberings {
		order, err := bySize(o.Group, out.Labels, k)
		if err != nil {
			return nil, err
		}
		if slices.IsSorted(order) && len(order) == k {
			break
		}
		k = len(order)
		centroids := make([]T, 0, k*m)
		for _, j := range order {
			centroids = append(centroids, out.Centroids[j*m:(j+1)*m]...)
		}
		out.Centroids = centroids
		if out.Assigner, err = kmeans.NewAssigner(k, [][]T{centroids}, []float64{1}); err != nil {
			return nil, err
		}
		err = parallel.For(ctx, o.Workers, (n+assignRows-1)/assignRows, func(_, b int) error {
			lo, hi := b*assignRows, min((b+1)*assignRows, n)
			return out.Assigner.Assign(src, lo, hi, out.Labels[lo:hi], nil, nil)
		})
		if err != nil {
			return nil, err
		}
	}
	out.Sizes = make([]int, k)
	for _, l := range out.Labels {
		out.Sizes[l]++
	}
	return out, o.Group.SumInts("the sizes of the clusters", out.Sizes)
}

// bySize returns the clusters that have samples in decreasing size, equal ones in the order of their first sample; labels are
// those of this rank's samples.
func bySize(g *ranks.Group, labels []int, clusters int) ([]int, error) {
	size, first := make([]int, clusters), make([]int, clusters)
	for i, l := range labels {
		if size[l] == 0 {
			first[l] = g.First() + i
		}
		size[l]++
	}
	for l, n := range size {
		if n == 0 {
			first[l] = math.MaxInt
		}
	}
	if err := g.MinInts("the first samples of the clusters", first); err != nil {
		return nil, err
	}
	if err := g.SumInts("the sizes of the clusters", size); err != nil {
		return nil, err
	}
	var order []int
	for l, n := range size {
		if n > 0 {
			order = append(order, l)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		if size[a] != size[b] {
			return size[b] - size[a]
		}
		return first[a] - first[b]
	})
	return order, nil
}

// UnitRows divides the rows of H, with the stride kernel.Pad(m), by their norms.
func UnitRows[T kernel.Float](h []T, m int) {
	ld := kernel.Pad(m)
	for lo := 0; lo < len(h); lo += ld {
		row := h[lo : lo+m]
		if m == 1 && row[0] != 0 { // without the rounding, which k-means could take for a difference
			row[0] = T(math.Copysign(1, float64(row[0])))
			continue
		}
		if q := kernel.SumSquares(row, 0); q > 0 {
			kernel.Affine(row, row, 1/math.Sqrt(q), 0)
		}
	}
}
