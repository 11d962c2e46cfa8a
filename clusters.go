package largemvc

import (
	"context"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/neighbor"
)

// clusters are the clusters of a representation, in decreasing size.
type clusters[T kernel.Float] struct {
	labels    []int
	sizes     []int
	centroids []T // k×m
	assigner  *kmeans.Assigner[T]
	repaired  int
}

// assignRows is the number of rows that a goroutine assigns at once.
const assignRows = 4096

// maxRenumberings bounds the search for an order that agrees with the labels.
const maxRenumberings = 100

// clusterRows runs k-means on H and numbers the clusters by size. graph is that of the samples' neighbours if it has a say in
// the choice among starts, else nil.
func clusterRows[T kernel.Float](ctx context.Context, h *rows.Dense[T], graph neighbor.Operator, c *Config) (*clusters[T], error) {
	src, err := kmeans.NewSource(kmeans.View[T]{Rows: h, Weight: 1})
	if err != nil {
		return nil, err
	}
	cfg := kmeans.Config{Clusters: c.Clusters, Starts: c.KMeansStarts, Seed: c.Seed, Workers: c.Workers}
	if graph != nil && c.Clusters > 1 {
		cfg = byNeighbors[T](cfg, graph)
	}
	found, err := kmeans.Run(ctx, src, cfg)
	if err != nil {
		return nil, err
	}
	n, m := h.Dims()
	out := &clusters[T]{labels: found.Labels, centroids: found.Centroids[0], assigner: found.Assigner, repaired: found.Repaired}
	k := found.Found
	// A sample as near to one centroid as to another gets the first of them. So another order can change labels, and with
	// them the order; such samples move to larger clusters, which ends this.
	for range maxRenumberings {
		order := bySize(out.labels, k)
		if slices.IsSorted(order) && len(order) == k {
			break
		}
		k = len(order)
		centroids := make([]T, 0, k*m)
		for _, j := range order {
			centroids = append(centroids, out.centroids[j*m:(j+1)*m]...)
		}
		out.centroids = centroids
		if out.assigner, err = kmeans.NewAssigner(k, [][]T{centroids}, []float64{1}); err != nil {
			return nil, err
		}
		err := parallel.For(ctx, c.Workers, (n+assignRows-1)/assignRows, func(_, b int) error {
			lo, hi := b*assignRows, min((b+1)*assignRows, n)
			return out.assigner.Assign(src, lo, hi, out.labels[lo:hi], nil, nil)
		})
		if err != nil {
			return nil, err
		}
	}
	out.sizes = make([]int, k)
	for _, l := range out.labels {
		out.sizes[l]++
	}
	return out, nil
}

// bySize returns the clusters that have samples in decreasing size, equal ones in the order of their first sample.
func bySize(labels []int, clusters int) []int {
	size, first := make([]int, clusters), make([]int, clusters)
	var order []int
	for i, l := range labels {
		if size[l] == 0 {
			first[l] = i
			order = append(order, l)
		}
		size[l]++
	}
	slices.SortFunc(order, func(a, b int) int {
		if size[a] != size[b] {
			return size[b] - size[a]
		}
		return first[a] - first[b]
	})
	return order
}

// unitRowsOf divides the rows of H, with the stride kernel.Pad(m), by their norms.
func unitRowsOf[T kernel.Float](h []T, m int) {
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
