package largemvc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/textfile"
)

// KMeansConfig has the settings of KMeans. Clusters is required; other zero values stand for defaults.
type KMeansConfig struct {
	Clusters int     // c, number of clusters, 1 to the number of rows
	Starts   int     // number of k-means++ starts; KMeans keeps the one of the lowest inertia; default 10
	MaxIter  int     // most iterations of a start, and most iterations on all rows after starts on a sample; default 300
	Tol      float64 // stops at Σ‖centroid shift‖² ≤ Tol·(mean column variance); default 1e-4; negative: if no label changes
	Seed     uint64  // seed of the starts; the same data and seed give the same bits
	Workers  int     // number of goroutines, which do not change the result; default GOMAXPROCS
	Full     bool    // runs all starts on all rows, also above 5,000 rows
	Labels   []int   // labels (0 to c−1, one per row) of the only start, on all rows; default none
}

// KMeansResult is the result of KMeans. It is safe for concurrent use if its fields are not modified.
type KMeansResult struct {
	Labels     []int      // label of each row, 0 to Found−1; every label occurs
	Centroids  *mat.Dense // means of the clusters (Found×d)
	Inertia    float64    // Σ_i ‖x_i − centroid of i's cluster‖²
	Iterations int        // iterations of the start that was kept, those on a sample of the rows included
	Repaired   int        // number of times that an empty cluster got the row farthest from its centroid
	Found      int        // number of clusters; fewer than Clusters if rows are equal or MaxIter ended the run
	Converged  bool       // whether the last iterations of the start that was kept ended by Tol, or because no label changed

	nearest *kmeans.Assigner[float64]
}

// String returns the number of clusters, the inertia and the iterations.
func (r *KMeansResult) String() string {
	return fmt.Sprintf("%s of %s, inertia %.5g after %s", textfile.Count(r.Found, "cluster"),
		textfile.Count(len(r.Labels), "row"), r.Inertia, textfile.Count(r.Iterations, "iteration"))
}

// KMeans clusters the rows of x (n×d) by k-means: Lloyd's algorithm from greedy k-means++ starts (S. Lloyd, IEEE Trans. Inf.
// Theory 28, 1982; D. Arthur and S. Vassilvitskii, SODA 2007). It keeps the start of the lowest inertia Σ_i ‖x_i −
// c_label(i)‖². Above 5,000 rows the starts run on a sample of 2,048 to 10,000 rows, or 20 rows for each cluster if that is
// more. The best start continues on all rows for at most 70 iterations. On the way centroids move from clusters of a few
// outliers to clusters whose division lowers the inertia more. Full runs all starts on all rows instead.
//
// Each row gets the label of the nearest centroid, the lowest label among equal distances. With fewer distinct rows than
// clusters, Found is lower than Clusters.
//
// KMeans returns an error for
//
//   - a matrix without rows or columns,
//   - a NaN or infinite entry (the error names its row and column),
//   - values so large that squared distances overflow,
//   - different rows that differ by less than 2^−480 (3e-145) in every column, so that squared distances vanish,
//   - a configuration out of range,
//   - a cancelled context, within one iteration.
//
// KMeans does not change x, and does not copy a *mat.Dense.
//
// A start takes O(n·d·c·log c) for its first centroids and O(n·d·c) for each iteration.
func KMeans(ctx context.Context, x mat.Matrix, cfg KMeansConfig) (*KMeansResult, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	src, dense, err := matrixSource(x)
	if err != nil {
		return nil, err
	}
	if _, widest := rows.Extent(dense); widest > 0 && widest < leastExtent {
		return nil, fmt.Errorf(
			"largemvc: the rows differ by at most %.3g in a column, squared distances would vanish: divide the values by that",
			widest,
		)
	}
	r, err := kmeans.Run(ctx, src, kmeans.Config{
		Clusters: cfg.Clusters, Starts: cfg.Starts, MaxIter: cfg.MaxIter, Tol: cfg.Tol, Seed: cfg.Seed,
		Workers: cfg.Workers, Full: cfg.Full, Labels: cfg.Labels, Relocate: true,
	})
	if err != nil {
		return nil, kmeansError(ctx, err)
	}
	_, d := x.Dims()
	return &KMeansResult{
		Labels: r.Labels, Centroids: mat.NewDense(r.Found, d, r.Centroids[0]), Inertia: r.Inertia, Iterations: r.Iterations,
		Repaired: r.Repaired, Found: r.Found, Converged: r.Converged, nearest: r.Assigner,
	}, nil
}

// Predict returns the label of the nearest centroid for each row of x, the lowest label among equal distances. The rows that
// KMeans clustered get their Labels. A matrix without rows has no labels. Predict returns an error if x has another number of
// columns than the centroids, or entries that KMeans refuses.
func (r *KMeansResult) Predict(x mat.Matrix) ([]int, error) {
	if r == nil || r.nearest == nil || r.Centroids == nil {
		return nil, errors.New("largemvc: the result is empty: KMeans makes one")
	}
	if x != nil {
		if n, _, err := rows.Dims(x); err == nil && n == 0 {
			return []int{}, nil
		}
	}
	src, _, err := matrixSource(x)
	if err != nil {
		return nil, err
	}
	n, d := x.Dims()
	if _, want := r.Centroids.Dims(); d != want {
		return nil, fmt.Errorf("largemvc: x has %d columns, the centroids have %d", d, want)
	}
	labels := make([]int, n)
	if err := r.nearest.Assign(src, 0, n, labels, nil, nil); err != nil {
		return nil, kmeansError(context.Background(), err)
	}
	return labels, nil
}

// kmeansError gives an error of package kmeans this package's prefix; the context's error stays as it is.
func kmeansError(ctx context.Context, err error) error {
	if err == ctx.Err() {
		return err
	}
	return fmt.Errorf("largemvc: %s", strings.TrimPrefix(err.Error(), "kmeans: "))
}

// leastExtent is the extent of a column from which the squares of differences are numbers, down to those that are lost in
// rounding beside the largest.
const leastExtent = 0x1p-480

// matrixSource checks x and returns its rows as one view of weight 1, and as they are.
func matrixSource(x mat.Matrix) (*kmeans.Source[float64], *rows.Dense[float64], error) {
	dense, err := rows.FromMatrix(x)
	if err != nil {
		return nil, nil, fmt.Errorf("largemvc: %w", err)
	}
	src, err := kmeans.NewSource(nil, kmeans.View[float64]{Rows: dense, Weight: 1})
	return src, dense, err
}
