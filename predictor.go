package largemvc

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/machine"
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
	Epochs   int         // steps done
	Restart  int         // the run that was kept
	Ran      machine.Ran // where it was trained, and why there

	// Kept says that the clusters are those of the start, which have more information than the network's (Clustering.Kept).
	// H, of new samples too, and the centroids are then of the rows that the start clusters.
	Kept bool

	asked   *machine.Device // where the layers of new samples run; nil: the CPU
	config  Config          // with its defaults, without what belongs to the training samples or the caller
	learned [3][]learned    // the values of the learnable nodes, by module
	trainedViews
	start     *spectral.Basis // of the inputs side by side, where the start is kept
	anchors   [][]*mat.Dense  // per layer from 0, per input
	r, u      []float64       // m×m
	centroids []float64       // Clusters×m
	novelty   []float64       // quantiles of how far training samples are, in equal steps; nil where they are not known
	model     fittedNetwork
	unfit     error // why the network cannot take new samples, where modules of a user's own cannot
}

// trainedViews describe the views of the training samples.
type trainedViews struct {
	samples  int
	dims     []int      // features of each view
	names    []string   // of the views
	features [][]string // names of the features of each view, nil without
	inputs   []Input    // of the network
}

// setParameters copies the values of the learnable nodes of stock modules, as applied.
func (p *Predictor) setParameters(q *engine.Params) {
	p.Theta, p.r, p.u = slices.Clone(q.Theta), slices.Clone(q.R), slices.Clone(q.U)
	for _, rho := range q.Rho {
		p.Rho = append(p.Rho, slices.Clone(rho))
	}
}

// setAnchors copies the anchors of every layer and input, in the original columns of rotated views (nil: none is).
func (p *Predictor) setAnchors(anchors func(l, v int) []float64, rotated []*prepare.Rotated) {
	m := p.config.Anchors
	for l := range p.config.Layers + 1 {
		layer := make([]*mat.Dense, len(p.inputs))
		for v := range p.inputs {
			if l > 0 && p.config.fixedAnchors() {
				layer[v] = p.anchors[0][v]
				continue
			}
			var r *prepare.Rotated
			if rotated != nil {
				r = rotated[v]
			}
			x := r.Original(m, anchors(l, v))
			layer[v] = mat.NewDense(m, len(x)/m, x)
		}
		p.anchors = append(p.anchors, layer)
	}
	p.P = p.anchors[p.config.Layers]
}

// engineSpec is the shape of the network, of stock modules.
func (p *Predictor) spec() engine.Spec {
	dims := make([]int, len(p.inputs))
	for k, in := range p.inputs {
		dims[k] = in.Columns
	}
	return engineSpec(&p.config, p.samples, dims, 1)
}

// String says what was found and how the training went, in a line.
func (p *Predictor) String() string {
	if p == nil || p.samples == 0 {
		return "an empty predictor"
	}
	text := fmt.Sprintf("%d clusters of %d samples in %d views, sizes %v; %d epochs (%v)", p.Clusters, p.samples, len(p.dims),
		p.Sizes, p.Epochs, p.Status)
	if len(p.Loss) > 0 {
		text += fmt.Sprintf(", loss %.4g → %.4g", p.Loss[0], p.Loss[len(p.Loss)-1])
	}
	if p.Kept {
		text += "; the clusters of the start are kept"
	}
	return text
}

// Config returns the configuration of the fit with every default filled in and copies of its modules, without StartLabels,
// StartAnchors, Progress and ExtraLoss, and without what belongs to the machine that trained: Checkpoint.Path and
// Machine.Comm.
func (p *Predictor) Config() Config {
	c := p.config
	c.Represent, c.Noise, c.Anchor = copied(c.Represent), copied(c.Noise), copied(c.Anchor)
	return c
}

// WithMachine returns the predictor with what each of its calls may use of the machine: the Workers and the Device of o. It has
// all else in common with p. Without it the goroutines are as many as in the fit, which a file keeps, and the device is the CPU.
//
// On a device, Predict, Assign, AssignRows and Transform take samples through the network in batches. With machine.CUDA a call
// that cannot is an error; with the zero of Device it is done on the CPU. Samples are standardised, linked to neighbours and
// given to clusters on the CPU, as in every call, so that the device pays for many samples in one call and where the layers are
// most of the work: without neighbours. Opening it takes part of a second in each call. Labels differ from the CPU's
// for samples within the last bits of a border between clusters alone.
func (p *Predictor) WithMachine(o machine.Options) *Predictor {
	if p == nil {
		return nil
	}
	out := *p
	out.config.Machine.Workers = min(max(o.Workers, 0), parallel.MostWorkers)
	out.asked = &o.Device
	return &out
}

// Samples returns the number of training samples.
func (p *Predictor) Samples() int { return p.samples }

// Dims returns d_v of every view, in a new slice.
func (p *Predictor) Dims() []int { return slices.Clone(p.dims) }

// Inputs returns what the network sees of the views, in a new slice.
func (p *Predictor) Inputs() []Input { return slices.Clone(p.inputs) }

// ViewNames returns the names of the training views, "" for those without one, in a new slice. Predict refuses views that have
// these names in another order.
func (p *Predictor) ViewNames() []string { return slices.Clone(p.names) }

// FeatureNames returns the names that the features of a training view had, in a new slice; nil if they had none or there is no
// such view. Predict refuses views whose features have other names, or the same in another order.
func (p *Predictor) FeatureNames(view int) []string {
	if view < 0 || view >= len(p.features) {
		return nil
	}
	return slices.Clone(p.features[view])
}

// Anchors returns the anchors of an input (a view, without neighbours) in layer l, from 0 (the start) to L, m×its columns, which
// must not be changed, as the fields must not; nil if there is no such layer or input.
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

// Centroids returns the centres of the clusters in H, or in its rows at norm 1 (Config.PlainReadOut), Clusters×m, in new memory.
func (p *Predictor) Centroids() *mat.Dense {
	if p.Clusters == 0 {
		return nil
	}
	return mat.NewDense(p.Clusters, p.config.Anchors, slices.Clone(p.centroids))
}

// Assignments are the clusters of samples, and how sure they are.
type Assignments struct {
	Labels []int
	// Near and Next are the squared distances in H, or in its rows at norm 1 (Config.PlainReadOut), to the nearest and the
	// next nearest centroid (+Inf if there is only one): the closer their ratio to 1, the less sure the label.
	Near, Next []float64
	Ran        machine.Ran // where the layers ran (Predictor.WithMachine)
}

// String says how many samples are in each cluster, and how sure the least sure one is.
func (a *Assignments) String() string {
	sizes, worst := map[int]int{}, 0.0
	for i, l := range a.Labels {
		sizes[l]++
		if a.Next[i] > 0 {
			worst = max(worst, a.Near[i]/a.Next[i])
		}
	}
	return fmt.Sprintf("%d samples, by cluster %v; the least sure one is %.2g times as near to its cluster as to the next",
		len(a.Labels), sizes, worst)
}

// request is a block of new samples and where it is computed.
type request struct {
	views   []view.View
	on      *placement // nil: the CPU
	workers int
}

// fittedNetwork is a trained network in its own arithmetic.
type fittedNetwork interface {
	// assign takes samples through preprocessing, layers and clusters and fills out, which has room for them.
	assign(ctx context.Context, r *request, out *Assignments) error
	// label fills samples from lo on, of n in all, with their labels, representation and trust.
	label(ctx context.Context, r *request, lo, n int, out *labelled) error
	// batches is nil if the layers can run on a device.
	batches() error
	// transform returns the representation of samples.
	transform(ctx context.Context, r *request) (*matrix, error)
	// unlike returns how far samples are from those of the training, before Novelty compares it with their distances.
	unlike(ctx context.Context, r *request, p *Predictor) ([]float64, error)
	// trust returns the trust in the rows of each view.
	trust(ctx context.Context, r *request) ([][]float64, error)
	// save appends the tensors of the preparation of samples; floats makes one in the arithmetic of the fit.
	save(f *safetensors.File, floats func(name string, x []float64, shape ...int) safetensors.Tensor)
}

// labelled is what a fit returns for each sample.
type labelled struct {
	labels []int
	h      *matrix
	trust  [][]float64 // per input; nil without noise
}

// Input is what the network sees of a view. Without neighbours input v is view v in its own columns. With it, a view
// is an input for each of its standardisations, unless that leaves nothing of it.
type Input struct {
	View       int        // the number of the view
	Preprocess Preprocess // its standardisation
	// d_v, or the number of directions of the view that are kept, of few features with one more that keeps their
	// length
	Columns int
	Length  float64 // that column's value, before rows are taken to norm 1; 0: there is none
}

// String returns the view, its standardisation and the columns.
func (i Input) String() string {
	return fmt.Sprintf("view %d, preprocessing %v, %d columns", i.View, i.Preprocess, i.Columns)
}

// inputsOf returns the public form of inputs.
func inputsOf(inputs []prepare.Input) []Input {
	out := make([]Input, len(inputs))
	for k, in := range inputs {
		out[k] = Input{View: in.View, Preprocess: Preprocess(in.Kind), Columns: in.Columns, Length: in.Length}
	}
	return out
}

// preparedInputs is the inverse of inputsOf.
func preparedInputs(inputs []Input) []prepare.Input {
	out := make([]prepare.Input, len(inputs))
	for k, in := range inputs {
		out[k] = prepare.Input{View: in.View, Kind: prepare.Kind(in.Preprocess), Columns: in.Columns, Length: in.Length}
	}
	return out
}

// placement is where a call computes the layers of its samples.
type placement struct {
	session *device.Session // nil: the CPU
	must    bool            // what the device cannot do is an error
	why     string          // the reason for the device, or for the CPU
}

// ran says where the layers of the samples so far ran.
func (on *placement) ran() machine.Ran {
	if on.session != nil {
		return machine.Ran{Device: on.session.Name(), Why: on.why}
	}
	return machine.Ran{Device: "CPU", Why: on.why}
}

// close releases the device, which holds nothing that the result needs.
func (on *placement) close() {
	if on.session != nil {
		_ = on.session.Close()
	}
}

// Parameters returns the names of the learnable nodes of all modules, in their order. Those of the stock modules are
// theta_1 … theta_L, R, U and rho_1_0 … rho_L_k of layers and inputs.
func (p *Predictor) Parameters() []string {
	var out []string
	for _, list := range p.learned {
		for _, l := range list {
			out = append(out, l.name)
		}
	}
	return out
}

// Parameter returns a copy of the value of a learnable node by its name, row-major, and its shape, which is empty for a
// scalar. Thresholds ρ are in their learned unit, as Rho is not. It returns an error if there is no node of that name.
func (p *Predictor) Parameter(name string) (values []float64, shape []int, err error) {
	for _, list := range p.learned {
		for _, l := range list {
			if l.name == name {
				return slices.Clone(l.values), slices.Clone(l.shape), nil
			}
		}
	}
	return nil, nil, fmt.Errorf("largemvc: no learnable node %q; there are %q", name, p.Parameters())
}
