package largemvc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/rows"
)

// KMeansConfig says how KMeans clusters. Zero values other than Clusters mean the defaults.
type KMeansConfig struct {
	Clusters int     // c, from 1 to the number of rows
	Starts   int     // k-means++ starts, of which the one of lowest inertia is kept; 0: 10
	MaxIter  int     // iterations of a start; 0: 300
	Tol      float64 // stops when Σ‖centroid shift‖² ≤ Tol·(mean column variance); 0: 1e-4; negative: only when no label changes
	Seed     uint64  // the same data and seed give the same bits
	Workers  int     // goroutines; 0: GOMAXPROCS. They do not change the result
	Full     bool    // all starts on all rows even above 5,000 of them
	Labels   []int   // a label from 0 to c−1 for each row, the one start in place of all others, on all rows; nil: none
}

// KMeansResult is a clustering by KMeans. Its methods are safe for concurrent use as long as nobody changes it.
type KMeansResult struct {
	Labels     []int      // n, from 0 to Found−1; each occurs
	Centroids  *mat.Dense // Found×d, the means of the clusters
	Inertia    float64    // Σ_i ‖x_i − centroid of i's cluster‖²
	Iterations int        // iterations of the start that was kept, those over a sample included
	Repaired   int        // times that an empty cluster was given the row farthest from its centroid
	Found      int        // number of clusters; below Clusters if there are fewer distinct rows
	Converged  bool       // whether the start that was kept ended before its limit of iterations

	nearest *kmeans.Assigner[float64]
}

// String returns the number of clusters, the inertia and the iterations.
func (r *KMeansResult) String() string {
	return fmt.Sprintf("%d clusters of %d rows, inertia %.5g after %d iterations", r.Found, len(r.Labels), r.Inertia,
		r.Iterations)
}

// KMeans clusters the n rows of the n×d matrix x by k-means: Lloyd's algorithm from greedy k-means++ starts (S. Lloyd,
// IEEE Trans. Inf. Theory 28, 1982; D. Arthur and S. Vassilvitskii, SODA 2007), of which the one of lowest inertia
// Σ_i ‖x_i − c_label(i)‖² is kept. Above 5,000 rows the starts run on a sample of 2,048 to 10,000 rows and the best of
// them goes on over all rows, at most 10 times; Full prevents that.
//
// Each row's label is that of the centroid nearest to it, the lowest of equals. Fewer distinct rows than clusters are no
// error: Found says how many clusters there are.
//
// It returns an error if x has no rows or columns, if an entry is NaN or infinite (naming its row and column), if a row
// is so long that squared distances overflow, if the rows differ, but in no column by 2^−480 (3e-145), so that squared distances
// vanish, if the configuration is out of range, and the context's error, within one iteration, if it is cancelled. x is not
// changed; a *mat.Dense is not copied either.
//
// O(n·d·c) a start and iteration, and O(n·d·c·log c) for the choice of its first centroids.
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
		Workers: cfg.Workers, Full: cfg.Full, Labels: cfg.Labels,
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

// Predict returns, for each row of x, the label of the nearest centroid, the lowest of equals. The rows that the
// centroids were found on get the labels they have. It returns an error if x has another number of columns than the
// centroids or entries that KMeans refuses. A matrix without rows has no labels.
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
		return nil, fmt.Errorf("largemvc: %d columns, the centroids have %d", d, want)
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
