package largemvc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/engine"
	vw "github.com/largemvc/largemvc/internal/view"
)

// Predictor is a trained network with its clusters: all that new samples need, and what there is to know of the
// training. Fit makes one as part of a Clustering, Load reads one from a file. Its fields and what they refer to must not
// be changed; then it is safe for concurrent use. The zero value is of no use.
type Predictor struct {
	Clusters int   // found; fewer than asked for if the representation has fewer distinct rows
	Sizes    []int // training samples in each cluster

	P     []*mat.Dense // per input, m×its columns: the anchors of the last layer, in the coordinates of the input
	Theta []float64    // per layer
	Rho   [][]float64  // per layer and input, as applied; nil without noise module

	Loss     []float64   // before each step and after the last, extra loss included
	ViewLoss [][]float64 // per entry of Loss, per input: the reconstruction alone
	Status   Status
	Epochs   int // steps done
	Restart  int // the run that was kept

	config    Config // with its defaults, without what belongs to the training samples or the caller
	samples   int
	dims      []int
	names     []string
	inputs    []Input
	scale     []float64      // the unit of ρ per input
	anchors   [][]*mat.Dense // per layer from 0, per input
	r, u      []float64      // m×m
	centroids []float64      // Clusters×m
	model     fittedNetwork
}

// newPredictor returns the predictor of a run that is over, without its parameters, anchors and clusters.
func newPredictor(c *Config, views []vw.View, inputs []Input, r *runState) *Predictor {
	p := &Predictor{
		Loss: r.loss, ViewLoss: r.viewLoss, Status: r.status, Epochs: r.epochs, Restart: r.restart,
		config: c.withoutData(), samples: views[0].Rows, inputs: inputs, scale: r.begin.scale,
	}
	for _, x := range views {
		p.dims, p.names = append(p.dims, x.Cols), append(p.names, x.Name)
	}
	return p
}

// withoutData returns the configuration without functions and without what is as large as the training samples.
func (c *Config) withoutData() Config {
	out := *c
	out.StartLabels, out.StartAnchors, out.Progress, out.ExtraLoss = nil, nil, nil, nil
	return out
}

// setParameters copies the values of the learnable nodes, as applied.
func (p *Predictor) setParameters(q *engine.Params) {
	p.Theta, p.r, p.u = slices.Clone(q.Theta), slices.Clone(q.R), slices.Clone(q.U)
	for _, rho := range q.Rho {
		p.Rho = append(p.Rho, slices.Clone(rho))
	}
}

// spec is the shape of the network.
func (p *Predictor) spec() engine.Spec {
	c := &p.config
	dims := make([]int, len(p.inputs))
	for k, in := range p.inputs {
		dims[k] = in.Columns
	}
	return engine.Spec{
		Samples: p.samples, Dims: dims, Anchors: c.Anchors, Layers: c.Layers, Noise: c.Variant == Large, Anchored: c.Variant != RMvC,
		Represent: engine.Activation(c.Activation), Shrink: engine.Activation(c.Activation), OneSided: c.OneSided, Workers: 1,
	}
}

// Config returns the configuration of the fit with every default filled in, without StartLabels, StartAnchors, Progress
// and ExtraLoss.
func (p *Predictor) Config() Config { return p.config }

// Samples returns the number of training samples.
func (p *Predictor) Samples() int { return p.samples }

// Dims returns d_v of every view, in a new slice.
func (p *Predictor) Dims() []int { return slices.Clone(p.dims) }

// Inputs returns what the network sees of the views, in a new slice.
func (p *Predictor) Inputs() []Input { return slices.Clone(p.inputs) }

// ViewNames returns the names of the training views, "" for those without one, in a new slice.
func (p *Predictor) ViewNames() []string { return slices.Clone(p.names) }

// Anchors returns the anchors of an input (a view, without neighbours) in layer l, from 0 (the start) to L, m×its columns;
// nil if there is no such layer or input.
func (p *Predictor) Anchors(l, input int) *mat.Dense {
	if l < 0 || l >= len(p.anchors) || input < 0 || input >= len(p.inputs) {
		return nil
	}
	return p.anchors[l][input]
}

// R and U return the m×m matrices of the Represent module, in new memory.
func (p *Predictor) R() *mat.Dense { return p.square(p.r) }

// U is documented at R.
func (p *Predictor) U() *mat.Dense { return p.square(p.u) }

func (p *Predictor) square(x []float64) *mat.Dense {
	if x == nil {
		return nil
	}
	return mat.NewDense(p.config.Anchors, p.config.Anchors, slices.Clone(x))
}

// Centroids returns the centres of the clusters in H, or in its rows at norm 1 (Config.ReadOut), Clusters×m, in new memory.
func (p *Predictor) Centroids() *mat.Dense {
	if p.Clusters == 0 {
		return nil
	}
	return mat.NewDense(p.Clusters, p.config.Anchors, slices.Clone(p.centroids))
}

// Predict returns the clusters of samples: the trained layers with their stored anchors, then the nearest centroid. On
// the training samples, given as they were to Fit, it returns Labels. Samples may lack views.
func (p *Predictor) Predict(ctx context.Context, views []View) ([]int, error) {
	a, err := p.Assign(ctx, views)
	if err != nil {
		return nil, err
	}
	return a.Labels, nil
}

// Assignments are the clusters of samples, and how sure they are.
type Assignments struct {
	Labels []int
	// Near and Next are the squared distances in H, or in its rows at norm 1 (Config.ReadOut), to the nearest and the next nearest centroid (+Inf if there is only
	// one): the closer their ratio to 1, the less sure the label.
	Near, Next []float64
}

// Assign is Predict with the distances to the two nearest centroids. For one sample it takes microseconds, with
// Config.Neighbors besides the time of its distances to the stored samples or landmarks.
func (p *Predictor) Assign(ctx context.Context, views []View) (*Assignments, error) {
	if err := p.check(ctx, views); err != nil {
		return nil, err
	}
	n := views[0].in.Rows
	distances := make([]float64, 2*n)
	out := &predictions{labels: make([]int, n), near: distances[:n:n], next: distances[n:]}
	if err := p.model.run(ctx, inner(views), p.config.Workers, out); err != nil {
		return nil, err
	}
	return &Assignments{Labels: out.labels, Near: out.near, Next: out.next}, nil
}

// Transform returns the representation H (n×m) of samples: the trained layers with their stored anchors.
func (p *Predictor) Transform(ctx context.Context, views []View) (*Matrix, error) {
	if err := p.check(ctx, views); err != nil {
		return nil, err
	}
	out := &predictions{wantH: true}
	if err := p.model.run(ctx, inner(views), p.config.Workers, out); err != nil {
		return nil, err
	}
	return out.h, nil
}

// check checks the views of new samples.
func (p *Predictor) check(ctx context.Context, views []View) error {
	if p == nil || p.model == nil {
		return errors.New("largemvc: the predictor is empty: Fit and Load make one")
	}
	n, err := checkSizes(views)
	if err != nil {
		return err
	}
	if err := checkSamples(views, n); err != nil {
		return err
	}
	if len(views) != len(p.dims) {
		return fmt.Errorf("largemvc: %d views, the network was trained on %d", len(views), len(p.dims))
	}
	for v, x := range views {
		if x.in.Cols != p.dims[v] {
			return fmt.Errorf("largemvc: %s has %d features, the network was trained on %d", x.in.Label(v), x.in.Cols, p.dims[v])
		}
	}
	return withName(vw.CheckFinite(ctx, inner(views), p.config.Workers))
}
