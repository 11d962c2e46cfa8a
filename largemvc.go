package largemvc

import (
	"context"
	"errors"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
)

// Clustering is what Fit found. Its fields and what they refer to must not be changed; then it is safe for concurrent use.
type Clustering struct {
	Labels   []int // n, from 0 to Clusters−1; cluster 0 is the largest, equal sizes in the order of their first sample
	Clusters int   // found; fewer than asked for if the representation has fewer distinct rows
	Sizes    []int // samples in each cluster

	H     *Matrix      // n×m: the representation of the last layer
	P     []*mat.Dense // per view, m×d_v: the anchors of the last layer, in the coordinates of the preprocessed view
	Trust [][]float64  // per view and sample, in [0, 1] for ρ ≥ 0: E_v = (1−t)(X_v − H P_v); nil without noise module

	Loss     []float64   // before each step and after the last, extra loss included
	ViewLoss [][]float64 // per entry of Loss, per view: the reconstruction alone
	Status   Status
	Epochs   int // steps done
	Restart  int // the run that was kept

	StartLabels []int // labels of the samples that the first anchors came from, 0 to m−1; nil for given anchors
	Theta       []float64
	Rho         [][]float64 // per layer and view, as applied; nil without noise module
	Timings     Timings
	Repaired    int // clusters that k-means on H found empty and repaired

	config  Config
	dims    []int
	anchors [][]*mat.Dense // per layer from 0, per view
	r, u    []float64
	model   predictor
}

// Fit trains the network on the views and clusters its representation by k-means: n samples, row i of every view being
// sample i.
//
// It returns an error, and does no work, if the configuration or the views are not usable; the message names the view,
// the row and the value. When ctx is cancelled, Fit stops within an epoch and returns what there is so far (nil if the
// first epoch had not begun) with the context's error. A loss that diverges gives the last good state with a
// *DivergedError. An error of Config.Progress is returned beside the state at that epoch, ErrStop as no error.
//
// Time and memory grow linearly with n, Σ d_v, L and, once m is large, with m; EstimateMemory tells the memory.
func Fit(ctx context.Context, views []View, config Config) (*Clustering, error) {
	begin := time.Now()
	n, err := checkShapes(views)
	if err != nil {
		return nil, err
	}
	c := config.withDefaults()
	if err := c.check(n, views); err != nil {
		return nil, err
	}
	if err := checkFinite(ctx, views, c.Workers); err != nil {
		return nil, err
	}
	if c.Float == Float64 {
		return fit[float64](ctx, views, &c, begin)
	}
	return fit[float32](ctx, views, &c, begin)
}

// fit prepares the views, trains every restart and keeps the one with the lowest loss.
func fit[T kernel.Float](ctx context.Context, views []View, c *Config, begin time.Time) (*Clustering, error) {
	prepare := &standardiser{kind: c.Preprocess}
	if err := prepare.fit(ctx, views, c.Workers); err != nil {
		return nil, err
	}
	x, err := standardise[T](ctx, views, prepare, c.Workers, c.Overwrite)
	if err != nil {
		return nil, err
	}
	data, err := newData(x, presenceRows(views), nil)
	if err != nil {
		return nil, err
	}
	prepared := time.Since(begin)
	var best *training[T]
	var last error
	for r := range c.Restarts {
		t := &training[T]{config: c, views: views, data: data, x: x, restart: r, prepared: prepared}
		last = t.run(ctx)
		if t.done && (best == nil || t.finalLoss() < best.finalLoss()) {
			best = t
		}
		if last != nil || (t.done && (t.status == Stopped || t.status == Cancelled)) {
			break
		}
	}
	if best == nil {
		return nil, last
	}
	out, err := best.finish(context.WithoutCancel(ctx), prepare)
	if err != nil {
		return nil, errors.Join(last, err)
	}
	out.Timings.Total = time.Since(begin)
	return out, last
}

// presenceRows returns the n×V mask of the views, nil where all samples have all views.
func presenceRows(views []View) [][]bool {
	complete := true
	for _, x := range views {
		complete = complete && (x.present == nil || allTrue(x.present))
	}
	if complete {
		return nil
	}
	out := make([][]bool, views[0].rows)
	for i := range out {
		out[i] = make([]bool, len(views))
		for v, x := range views {
			out[i][v] = x.Has(i)
		}
	}
	return out
}

func allTrue(b []bool) bool {
	for _, x := range b {
		if !x {
			return false
		}
	}
	return true
}

// FitPredict is Fit for those who want the labels alone.
func FitPredict(ctx context.Context, views []View, config Config) ([]int, error) {
	c, err := Fit(ctx, views, config)
	if err != nil {
		return nil, err
	}
	return c.Labels, nil
}

// Predict returns the clusters of samples: the trained layers with their stored anchors, then the nearest centroid. On
// the training samples, given as they were to Fit, it returns Labels. Samples may lack views.
func (c *Clustering) Predict(ctx context.Context, views []View) ([]int, error) {
	a, err := c.Assign(ctx, views)
	if err != nil {
		return nil, err
	}
	return a.Labels, nil
}

// Assignment1 is the answer for samples that were not seen in training.
type Assignments struct {
	Labels []int
	// Near and Next are the squared distances in H to the nearest and the next nearest centroid (+Inf if there is only
	// one): the closer their ratio to 1, the less sure the label.
	Near, Next []float64
}

// Assign is Predict with the distances to the two nearest centroids.
func (c *Clustering) Assign(ctx context.Context, views []View) (*Assignments, error) {
	if err := checkNew(ctx, views, c.dims, c.config.Workers); err != nil {
		return nil, err
	}
	n := views[0].rows
	out := &predictions{labels: make([]int, n), near: make([]float64, n), next: make([]float64, n)}
	if err := c.model.run(ctx, views, c.config.Workers, out); err != nil {
		return nil, err
	}
	return &Assignments{Labels: out.labels, Near: out.near, Next: out.next}, nil
}

// Transform returns the representation H (n×m) of samples: the trained layers with their stored anchors.
func (c *Clustering) Transform(ctx context.Context, views []View) (*Matrix, error) {
	if err := checkNew(ctx, views, c.dims, c.config.Workers); err != nil {
		return nil, err
	}
	out := &predictions{wantH: true}
	if err := c.model.run(ctx, views, c.config.Workers, out); err != nil {
		return nil, err
	}
	return out.h, nil
}

// Anchors returns P_v of layer l, from 0 (the start) to L, m×d_v.
func (c *Clustering) Anchors(l, v int) *mat.Dense { return c.anchors[l][v] }
