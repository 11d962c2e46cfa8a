package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/confidence"
	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/known"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/score"
)

// Predictor is a trained network with its clusters. It labels new samples and has the figures of the training. Fit returns
// one in a Clustering, Load reads one from a file; the zero value is not usable. It is safe for concurrent use if its fields
// are not modified.
type Predictor struct {
	Clusters int   // number of clusters found; fewer than Config.Clusters if H has fewer distinct rows
	Sizes    []int // number of training samples in each cluster

	P     []*mat.Dense // anchors of the last layer for each input (m×columns of the input)
	Theta []float64    // θ of each layer; nil unless Config.Represent is a *SoftThreshold
	Rho   [][]float64  // ρ of each layer and input, with the scale applied; nil unless Config.Noise is a *RowShrink

	Loss     []float64   // loss before each step and after the last step, extra loss included
	ViewLoss [][]float64 // reconstruction loss of each input, for each entry of Loss
	// NullLoss is the loss of H = 0, without extra loss: nothing is learned. Loss − NullLoss is 0 there, and falls.
	NullLoss float64
	Status   Status      // reason why the training ended
	Epochs   int         // number of steps done
	Restart  int         // restart that was kept, from 0
	Ran      machine.Ran // device of the training, and the reason for it

	// Kept reports that the clusters are the initial clusters, because they have more information than the clusters of the
	// trained network (see Clustering). H, also of new samples, and the centroids then refer to the smoothed views.
	Kept bool

	// ClassNames are the names of the classes of Config.Known, for readers of the model; nil without. Set them before Save.
	ClassNames []string

	asked   asked
	config  Config       // with its defaults, without what belongs to the training samples or the caller
	learned [3][]learned // the values of the learnable nodes, by module
	trainedViews
	trainedTrust
	anchors [][]*mat.Dense // per layer from 0, per input
	r, u    []float64      // m×m
	trainedClusters
	model fittedNetwork
	unfit error // why the network cannot take new samples, where custom modules cannot
}

// asked holds the settings of WithMachine and WithResults.
type asked struct {
	device   *machine.Device // where the layers of new samples run; nil: the CPU
	h, trust bool            // Assign and AssignRows set these fields
}

// trainedClusters are where the clusters lie.
type trainedClusters struct {
	start     *spectral.Basis // of the inputs side by side, where the start is kept
	centroids []float64       // Clusters×m
}

// trainedTrust has the measures of the training samples by which labels of samples are judged.
type trainedTrust struct {
	classes *known.Classifier // nil: the fit had no known labels
	curve   *confidence.Curve // of the labels; nil if the structure is not known
	novelty []float64         // quantiles of how far training samples are, in equal steps; nil where they are not known
}

// trainedViews describe the views of the training samples.
type trainedViews struct {
	samples  int
	dims     []int      // features of each view
	names    []string   // of the views
	features [][]string // names of the features of each view, nil without
	prepared []view.Prepared
	inputs   []Input // of the network
}

// setParameters copies the values of the learnable nodes of stock modules, as applied.
func (p *Predictor) setParameters(q *engine.Params) {
	p.Theta, p.r, p.u = slices.Clone(q.Theta), slices.Clone(q.R), slices.Clone(q.U)
	for _, rho := range q.Rho {
		p.Rho = append(p.Rho, slices.Clone(rho))
	}
}

// setAnchors copies the anchors of every layer and input, in the original columns of rotated views (nil: none is).
func (p *Predictor) setAnchors(anchors func(l, v int) ([]float64, error), rotated []*prepare.Rotated) error {
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
			own, err := anchors(l, v)
			if err != nil {
				return err
			}
			x := r.Original(m, own)
			layer[v] = mat.NewDense(m, len(x)/m, x)
		}
		p.anchors = append(p.anchors, layer)
	}
	p.P = p.anchors[p.config.Layers]
	return nil
}

// inputColumns returns the number of columns of every input.
func (p *Predictor) inputColumns() []int {
	columns := make([]int, len(p.inputs))
	for k, in := range p.inputs {
		columns[k] = in.Columns
	}
	return columns
}

// engineSpec is the shape of the network, of stock modules.
func (p *Predictor) spec() engine.Spec {
	return engineSpec(&p.config, p.samples, p.inputColumns(), 1)
}

// String returns the clusters, their sizes and the course of the training in one line.
func (p *Predictor) String() string {
	if p == nil || p.samples == 0 {
		return "an empty predictor"
	}
	text := fmt.Sprintf("%s of %s in %s, sizes %v; %s (%v)", textfile.Count(p.Clusters, "cluster"),
		textfile.Count(p.samples, "sample"), textfile.Count(len(p.dims), "view"), p.Sizes,
		textfile.Count(p.Epochs, "epoch"), p.Status)
	if len(p.Loss) > 0 {
		text += fmt.Sprintf(", loss %.4g → %.4g (0: the loss of H = 0)", p.Loss[0]-p.NullLoss, p.Loss[len(p.Loss)-1]-p.NullLoss)
	}
	if p.Kept {
		text += "; the initial clusters are kept"
	}
	return text
}

// Config returns the configuration of the fit, with its defaults and copies of its modules. StartLabels, Start,
// Known, Progress, ExtraLoss, Optimizer.Solver, Checkpoint.Path and Machine.Comm are not kept.
func (p *Predictor) Config() Config {
	c := p.config
	c.Represent, c.Noise, c.Anchor = copied(c.Represent), copied(c.Noise), copied(c.Anchor)
	return c
}

// WithMachine returns the predictor with Workers and Device of o for its calls. Both predictors share all else. By default a
// predictor has the Workers of the fit, which Save keeps, and the CPU.
//
// On a GPU, Predict, Assign, AssignRows and Transform run the layers of the network in batches. With machine.CUDA, a call
// that cannot run there returns an error; with the zero Device it runs on the CPU. Standardisation, neighbours and clusters
// are always computed on the CPU. Each call opens the GPU, which takes part of a second. A GPU is faster for many samples per
// call and without neighbours. Its labels can differ for samples that lie on the border of two clusters up to rounding.
func (p *Predictor) WithMachine(o machine.Options) *Predictor {
	if p == nil {
		return nil
	}
	out := *p
	out.config.Machine.Workers = min(max(o.Workers, 0), parallel.MostWorkers)
	out.asked.device = &o.Device
	return &out
}

// WithResults returns the predictor with an Assign and an AssignRows that also set Assignments.H if h is true, and
// Assignments.Trust if trust is true. So one pass over the rows gives all results. With trust they return the errors of ViewTrust
// too. Both predictors share all else.
func (p *Predictor) WithResults(h, trust bool) *Predictor {
	if p == nil {
		return nil
	}
	out := *p
	out.asked.h, out.asked.trust = h, trust
	return &out
}

// Samples returns the number of training samples.
func (p *Predictor) Samples() int { return p.samples }

// Dims returns the number of features of every view, in a new slice.
func (p *Predictor) Dims() []int { return slices.Clone(p.dims) }

// Inputs returns the inputs of the network, in a new slice.
func (p *Predictor) Inputs() []Input { return slices.Clone(p.inputs) }

// ViewNames returns the names of the training views, "" for a view without a name, in a new slice. Predict refuses views with
// the same names in another order.
func (p *Predictor) ViewNames() []string { return slices.Clone(p.names) }

// FeatureNames returns the names of the features of a training view, in a new slice; nil if it had none or does not exist.
// Predict refuses views with other names of features, or another order.
func (p *Predictor) FeatureNames(view int) []string {
	if view < 0 || view >= len(p.features) {
		return nil
	}
	return slices.Clone(p.features[view])
}

// Preparation returns how the values of a training view had been changed before Fit, with its numbers in a new slice
// ([View.WithPreparation]); "" if they were not or the view does not exist.
func (p *Predictor) Preparation(view int) (about string, numbers []float64) {
	if view < 0 || view >= len(p.prepared) {
		return "", nil
	}
	return p.prepared[view].About, slices.Clone(p.prepared[view].Numbers)
}

// addView appends a view.
func (t *trainedViews) addView(features int, name, prepared string) {
	t.dims, t.names = append(t.dims, features), append(t.names, name)
	t.prepared = append(t.prepared, view.Prepared{About: prepared})
}

// Anchors returns the anchors of an input after layer l (m×columns of the input), from 0 (the start) to L; nil if there is no
// such layer or input. Do not modify them. Without neighbours an input is a view.
func (p *Predictor) Anchors(l, input int) *mat.Dense {
	if l < 0 || l >= len(p.anchors) || input < 0 || input >= len(p.inputs) {
		return nil
	}
	return p.anchors[l][input]
}

// R returns the m×m matrix R of the Represent module, in new memory; nil unless that is a *SoftThreshold.
func (p *Predictor) R() *mat.Dense { return p.square(p.r) }

// U returns the m×m matrix U of the Represent module, in new memory; nil unless that is a *SoftThreshold.
func (p *Predictor) U() *mat.Dense { return p.square(p.u) }

func (p *Predictor) square(x []float64) *mat.Dense {
	if x == nil {
		return nil
	}
	return mat.NewDense(p.config.Anchors, p.config.Anchors, slices.Clone(x))
}

// Centroids returns the centres of the clusters (Clusters×m), in new memory: means of rows of H at norm 1, or of H with
// Config.PlainReadOut.
func (p *Predictor) Centroids() *mat.Dense {
	if p.Clusters == 0 {
		return nil
	}
	return mat.NewDense(p.Clusters, p.config.Anchors, slices.Clone(p.centroids))
}

// Assignments has the clusters of samples, and the distances that measure how sure they are.
type Assignments struct {
	Labels []int // cluster of each sample, from 0
	// Near and Next are the squared distances of the row of H (at norm 1 unless Config.PlainReadOut) to the nearest and the
	// second nearest centroid. Next is +Inf with one cluster. The closer Near/Next to 1, the less sure the label.
	Near, Next []float64
	// Confidence says how often the label is found again by clusters of other samples, in excess of chance (0 to 1). It is nil if
	// the fit did not judge the structure (Clustering.Structure).
	Confidence []float64
	// Novelty says how far each sample is from the training samples (0 to 1): the share of the training samples that are nearer
	// to the other training samples. One in twenty samples like the training samples has a novelty above 0.95. It is nil if
	// Predictor.Novelty returns an error.
	Novelty []float64
	// Classes are the classes of the samples, as Predictor.Classify returns them. It is nil if the fit had no known labels.
	Classes *score.Classes
	// H has the rows that Predictor.Transform returns, and Trust the values of Predictor.ViewTrust. Both are nil unless
	// Predictor.WithResults asks for them.
	H     mat.Matrix
	Trust [][]float64
	Ran   machine.Ran // device of the layers (Predictor.WithMachine)
}

// String returns the number of samples in each cluster and the lowest confidence.
func (a *Assignments) String() string {
	sizes := map[int]int{}
	for _, l := range a.Labels {
		sizes[l]++
	}
	text := fmt.Sprintf("%s, by cluster %v", textfile.Count(len(a.Labels), "sample"), sizes)
	if len(a.Confidence) > 0 {
		text += fmt.Sprintf("; the lowest confidence is %.2f", slices.Min(a.Confidence))
	}
	return text
}

// setClasses sets the classes of the samples of a request, from number first on, if the model has classes.
func (p *Predictor) setClasses(ctx context.Context, r *request, first int, a *Assignments) error {
	if p.classes == nil {
		return nil
	}
	if a.Classes == nil {
		a.Classes = &score.Classes{}
	}
	out, n := a.Classes, first+r.views[0].Rows
	out.Labels = slices.Grow(out.Labels, max(n-len(out.Labels), 0))[:n]
	if p.classes.Chance != nil {
		out.Confidence = slices.Grow(out.Confidence, max(n-len(out.Confidence), 0))[:n]
	}
	return p.model.features(ctx, r, func(lo, n int, phi []float64) error {
		lo, hi := first+lo, first+lo+n
		p.classes.Label(out.Labels[lo:hi], out.Confidence[min(lo, len(out.Confidence)):min(hi, len(out.Confidence))], phi)
		return nil
	})
}

// addTrust appends the trust in rows.
func (a *Assignments) addTrust(part [][]float64) {
	for v, t := range part {
		if v == len(a.Trust) {
			a.Trust = append(a.Trust, nil)
		}
		a.Trust[v] = append(a.Trust[v], t...)
	}
}

// request is a block of new samples and where it is computed.
type request struct {
	views   []view.View
	on      *placement // nil: the CPU
	workers int
}

// fittedNetwork is a trained network in its own arithmetic.
type fittedNetwork interface {
	// assign runs samples through preprocessing, layers and clusters, fills the slices of out, and sets what p was asked for.
	assign(ctx context.Context, r *request, p *Predictor, out *Assignments) error
	// label fills samples from lo on, of n in all, with their labels, representation and trust.
	label(ctx context.Context, r *request, lo, n int, out *labelled) error
	// batches is nil if the layers can run on a device.
	batches() error
	// transform returns the representation of samples.
	transform(ctx context.Context, r *request) (*matrix, error)
	// features calls do with rows of features of the samples from lo on, from several goroutines at once.
	features(ctx context.Context, r *request, do func(lo, n int, phi []float64) error) error
	// trust returns the trust in the rows of each view.
	trust(ctx context.Context, r *request) ([][]float64, error)
	// save appends the tensors of the preparation of samples; floats makes one in the arithmetic of the fit.
	save(f *safetensors.File, floats func(name string, x []float64, shape ...int) safetensors.Tensor)
}

// labelled holds the results of a fit for each sample.
type labelled struct {
	labels []int
	h      *matrix
	trust  [][]float64 // per input; nil without noise
}

// Input is an input of the network. Without neighbours there is one per view, with the columns of the view. With neighbours
// there is one for each standardisation of a view, unless nothing of the view remains.
type Input struct {
	View       int        // number of the view, from 0
	Preprocess Preprocess // standardisation of the view
	Columns    int        // d_v, or the number of directions kept; views of few features have one more, for the length of the row
	Length     float64    // value of this column before rows are scaled to norm 1; 0: no such column
}

// String returns the view, its standardisation and the columns.
func (i Input) String() string {
	return fmt.Sprintf("view %d, preprocessing %v, %s", i.View, i.Preprocess, textfile.Count(i.Columns, "column"))
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

// close releases the device. The result does not use it.
func (on *placement) close() {
	if on.session != nil {
		_ = on.session.Close()
	}
}

// Parameters returns the names of the learnable nodes of all modules. With the modules of this package they are theta_1 …
// theta_L, R, U, and rho_1_0 … rho_L_k by layer and input.
func (p *Predictor) Parameters() []string {
	var out []string
	for _, list := range p.learned {
		for _, l := range list {
			out = append(out, l.name)
		}
	}
	return out
}

// Parameter returns a copy of the values of a learnable node (row-major) and its shape, which is empty for a scalar. Values
// of thresholds ρ are ρ̃, without the scale that Rho includes. An unknown name is an error.
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

// squares calls f with the squared distances of each row of a representation to all centroids, from several goroutines.
func (p *Predictor) squares(ctx context.Context, h mat.Matrix, f func(i int, squares []float64)) error {
	const chunk = 256
	n, m := h.Dims()
	return parallel.For(ctx, p.config.Machine.Workers, (n+chunk-1)/chunk, func(_, c int) error {
		row, squares := make([]float64, m), make([]float64, p.Clusters)
		for i := c * chunk; i < min((c+1)*chunk, n); i++ {
			mat.Row(row, i, h)
			if norm := floats.Norm(row, 2); !p.config.PlainReadOut && norm > 0 {
				floats.Scale(1/norm, row)
			}
			for k := range squares {
				squares[k] = 0
				for j, x := range p.centroids[k*m : (k+1)*m] {
					squares[k] += (row[j] - x) * (row[j] - x)
				}
			}
			f(i, squares)
		}
		return nil
	})
}

// Memberships returns soft memberships of samples (n×Clusters) by their representation (n×m): Clustering.H, or what Transform
// returns for new samples. A row sums to 1. Its largest entry is c + (1 − c)·confidence, where c is how often a label is found
// again by chance, about 1/Clusters. The other clusters share the rest by their distance.
//
// A fit that did not judge the structure (Clustering.Structure) has no memberships, and Memberships returns an error.
func (p *Predictor) Memberships(ctx context.Context, h mat.Matrix) (*mat.Dense, error) {
	if p == nil || p.model == nil {
		return nil, errors.New("largemvc: the predictor is empty: Fit and Load make one")
	}
	if p.curve == nil {
		return nil, errors.New("largemvc: there are no memberships: the fit did not judge the structure " +
			"(docs/trust.md says when)")
	}
	if parallel.Nil(h) {
		return nil, errors.New("largemvc: the representation is nil")
	}
	n, m := h.Dims()
	if m != p.config.Anchors || n == 0 {
		return nil, fmt.Errorf("largemvc: the representation is %d×%d, want n×%d (a column an anchor)", n, m, p.config.Anchors)
	}
	out, wrong := mat.NewDense(n, p.Clusters, nil), make([]bool, n)
	err := p.squares(ctx, h, func(i int, squares []float64) {
		wrong[i] = math.IsNaN(floats.Sum(squares)) || math.IsInf(floats.Sum(squares), 0)
		p.curve.Members(out.RawRowView(i), squares)
	})
	if err != nil {
		return nil, err
	}
	for i, w := range wrong {
		if w {
			return nil, fmt.Errorf("largemvc: row %d of the representation has a value that is not finite or too large", i)
		}
	}
	return out, nil
}
