package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/predict"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/smooth"
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

	config    Config       // with its defaults, without what belongs to the training samples or the caller
	learned   [3][]learned // the values of the learnable nodes, by module
	samples   int
	dims      []int
	names     []string
	features  [][]string // per view, nil without names
	inputs    []Input
	start     *spectral.Basis // of the inputs side by side, where the start is kept
	scale     []float64       // the unit of ρ per input
	anchors   [][]*mat.Dense  // per layer from 0, per input
	r, u      []float64       // m×m
	centroids []float64       // Clusters×m
	novelty   []float64       // quantiles of how far training samples are, in equal steps; nil where they are not known
	model     fittedNetwork
	unfit     error // why the network cannot take new samples, where modules of a user's own cannot
}

// newPredictor returns the predictor of a run that is over, without its parameters, anchors and clusters.
func newPredictor(c *Config, views []view.View, inputs []Input, r *runState) *Predictor {
	p := &Predictor{
		Loss: r.Loss, ViewLoss: r.ViewLoss, Status: r.status, Epochs: r.Epochs, Restart: r.Restart,
		config: c.withoutData(), samples: views[0].Rows, inputs: inputs, scale: r.Begin.Scale,
	}
	for _, x := range views {
		p.dims, p.names = append(p.dims, x.Cols), append(p.names, x.Name)
		p.features = append(p.features, slices.Clone(x.Features))
	}
	return p
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

// spec is the shape of the network, of stock modules.
func (p *Predictor) spec() engine.Spec {
	dims := make([]int, len(p.inputs))
	for k, in := range p.inputs {
		dims[k] = in.Columns
	}
	return p.config.spec(p.samples, dims, 1)
}

// String says what was found and how the training went, in a line.
func (p *Predictor) String() string {
	if p == nil || p.samples == 0 {
		return "an empty predictor"
	}
	text := fmt.Sprintf("%d clusters of %d samples in %d views, sizes %v; %d epochs (%v)", p.Clusters, p.samples, len(p.dims),
		p.Sizes, p.Epochs, p.Status)
	if len(p.Loss) > 0 {
		text += fmt.Sprintf(", loss %.4g → %.4g", p.Loss[0], last(p.Loss))
	}
	if p.Kept {
		text += "; the clusters of the start are kept"
	}
	return text
}

// Config returns the configuration of the fit with every default filled in and copies of its modules, without Start.Labels,
// Start.Anchors, Progress and ExtraLoss, and without what belongs to the machine that trained: Checkpoint.Path and
// Machine.Comm.
func (p *Predictor) Config() Config {
	c := p.config
	c.Represent, c.Noise, c.Anchor = copied(c.Represent), copied(c.Noise), copied(c.Anchor)
	return c
}

// WithWorkers returns the predictor with a number of goroutines for each of its calls, 0 for GOMAXPROCS. Without it they are
// those of the fit (machine.Options.Workers), which a file keeps, and which need not suit the machine that labels new samples or
// a server that serves many at once. It has all else in common with p, and the same results.
func (p *Predictor) WithWorkers(workers int) *Predictor {
	if p == nil {
		return nil
	}
	out := *p
	out.config.Machine.Workers = min(max(workers, 0), parallel.MostWorkers)
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

// Centroids returns the centres of the clusters in H, or in its rows at norm 1 (Config.ReadOut), Clusters×m, in new memory.
func (p *Predictor) Centroids() *mat.Dense {
	if p.Clusters == 0 {
		return nil
	}
	return mat.NewDense(p.Clusters, p.config.Anchors, slices.Clone(p.centroids))
}

// Predict returns the clusters of samples: the trained layers with their stored anchors, then the nearest centroid. On
// the training samples, given as they were to Fit, it returns Labels. Samples may lack views. A context of machine.On has the
// layers run on a GPU.
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
	// Near and Next are the squared distances in H, or in its rows at norm 1 (Config.ReadOut), to the nearest and the
	// next nearest centroid (+Inf if there is only one): the closer their ratio to 1, the less sure the label.
	Near, Next []float64
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

// Assign is Predict with the distances to the two nearest centroids. For one sample it takes microseconds, with
// neighbours besides the time of its distances to the stored samples or landmarks.
func (p *Predictor) Assign(ctx context.Context, views []View) (*Assignments, error) {
	in, err := p.checked(ctx, views)
	if err != nil {
		return nil, err
	}
	ctx, closed, err := p.open(ctx, in)
	if err != nil {
		return nil, err
	}
	defer closed()
	n := in[0].Rows
	distances := make([]float64, 2*n)
	out := &Assignments{Labels: make([]int, n), Near: distances[:n:n], Next: distances[n:]}
	err = p.pass(ctx, in, func(lo int, in []view.View) error {
		hi := lo + in[0].Rows
		part := &Assignments{Labels: out.Labels[lo:hi], Near: out.Near[lo:hi], Next: out.Next[lo:hi]}
		return p.model.assign(ctx, in, p.config.Machine.Workers, part)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// AssignRows is Assign for any number of samples: it takes them in blocks, in their order, and gives the assignments of each to
// emit, first being the number of the first sample of the block. What it holds in memory does not depend on the number of
// samples; while a block is worked on, the next one is read. An error of emit ends it and is returned. a and what it refers to
// are emit's until it returns.
func (p *Predictor) AssignRows(ctx context.Context, views []View, emit func(first int, a *Assignments) error) error {
	if emit == nil {
		return errors.New("largemvc: the function that takes the assignments is nil")
	}
	in, err := p.checked(ctx, views)
	if err != nil {
		return err
	}
	ctx, closed, err := p.open(ctx, in)
	if err != nil {
		return err
	}
	defer closed()
	out := &Assignments{}
	return withName(view.Pass(ctx, in, func(lo int, in []view.View) error {
		if err := p.checkBlock(ctx, in); err != nil {
			return err
		}
		n := in[0].Rows
		out.Labels = slices.Grow(out.Labels[:0], n)[:n]
		out.Near, out.Next = slices.Grow(out.Near[:0], n)[:n], slices.Grow(out.Next[:0], n)[:n]
		if err := p.model.assign(ctx, in, p.config.Machine.Workers, out); err != nil {
			return err
		}
		return emit(lo, out)
	}))
}

// pass takes views that were checked to f: as they are if they are in memory, else in blocks that are read.
func (p *Predictor) pass(ctx context.Context, in []view.View, f func(first int, in []view.View) error) error {
	if !view.Outside(in) {
		return f(0, in)
	}
	return withName(view.Pass(ctx, in, func(lo int, in []view.View) error {
		if err := p.checkBlock(ctx, in); err != nil {
			return err
		}
		return f(lo, in)
	}))
}

// checkBlock checks the values of samples that were read.
func (p *Predictor) checkBlock(ctx context.Context, in []view.View) error {
	return view.CheckFinite(ctx, in, p.config.Machine.Workers)
}

// Transform returns the representation H (n×m) of samples: the trained layers with their stored anchors.
func (p *Predictor) Transform(ctx context.Context, views []View) (*Matrix, error) {
	in, err := p.checked(ctx, views)
	if err != nil {
		return nil, err
	}
	ctx, closed, err := p.open(ctx, in)
	if err != nil {
		return nil, err
	}
	defer closed()
	if !view.Outside(in) {
		return p.model.transform(ctx, in, p.config.Machine.Workers)
	}
	out := &Matrix{}
	err = p.pass(ctx, in, func(_ int, part []view.View) error {
		h, err := p.model.transform(ctx, part, p.config.Machine.Workers)
		if err == nil {
			out.add(h, in[0].Rows)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ViewTrust returns, for each view and sample, a number in [0, 1] that says whether the row belongs to the sample: the
// probability that it does, if at most one of the sample's rows does not. The least of a sample names the view to look at. A row
// of noise is far from all others; a row of another sample does not go with what the sample's other views, and their neighbours
// among the training samples, say of it. It comes from the views before they are smoothed, so that it does not depend on the
// network or the clusters.
//
// It is 1 for views that a sample lacks, or where there is no other to compare with. With two views, both of a sample are
// trusted alike. The training samples are judged each as if it were new; they must be given as they were to Fit, before an
// Overwrite. The first call learns from at most 2,000 of them, which takes seconds; where its context ends, learning goes on for
// the next one. It needs Neighborhood.Neighbors, and a second view.
func (p *Predictor) ViewTrust(ctx context.Context, views []View) ([][]float64, error) {
	in, err := p.checked(ctx, views)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(in))
	err = p.pass(ctx, in, func(_ int, in []view.View) error {
		part, err := p.model.trust(ctx, in, p.config.Machine.Workers)
		for v, t := range part {
			out[v] = append(out[v], t...)
		}
		return err
	})
	if err != nil {
		return nil, withName(err)
	}
	return out, nil
}

// checked checks the views of new samples and returns them as the internal packages see them.
func (p *Predictor) checked(ctx context.Context, views []View) ([]view.View, error) {
	if p == nil || p.model == nil {
		return nil, errors.New("largemvc: the predictor is empty: Fit and Load make one")
	}
	if p.unfit != nil {
		return nil, fmt.Errorf("largemvc: the modules take no new samples: %w", p.unfit)
	}
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	n, err := checkSizes(views)
	if err != nil {
		return nil, err
	}
	if err := checkSamples(views, n); err != nil {
		return nil, err
	}
	if len(views) != len(p.dims) {
		return nil, fmt.Errorf("largemvc: %d views, the network was trained on %d", len(views), len(p.dims))
	}
	if err := p.checkOrder(views); err != nil {
		return nil, err
	}
	for v, x := range views {
		if x.in.Cols != p.dims[v] {
			return nil, fmt.Errorf(
				"largemvc: %s has %d features, the network was trained on %d",
				x.in.Label(v), x.in.Cols, p.dims[v],
			)
		}
	}
	if err := p.checkFeatures(views); err != nil {
		return nil, err
	}
	in := inner(views)
	if view.Outside(in) { // whose values are checked as they are read
		return in, nil
	}
	return in, withName(view.CheckFinite(ctx, in, p.config.Machine.Workers))
}

// fittedNetwork is a trained network in its own arithmetic.
type fittedNetwork interface {
	// assign takes samples through preprocessing, layers and clusters and fills out, which has room for them.
	assign(ctx context.Context, views []view.View, workers int, out *Assignments) error
	// label fills samples from lo on, of n in all, of a clustering with their labels, representation and trust.
	label(ctx context.Context, views []view.View, lo, n int, out *Clustering) error
	// batches is nil if the layers can be run elsewhere than in memory.
	batches() error
	// transform returns their representation.
	transform(ctx context.Context, views []view.View, workers int) (*Matrix, error)
	// unlike returns how far samples are from those of the training, before Novelty compares it with that of these.
	unlike(ctx context.Context, views []view.View, p *Predictor) ([]float64, error)
	// trust returns the trust in the rows of each view.
	trust(ctx context.Context, views []view.View, workers int) ([][]float64, error)
	// save appends the tensors of what the samples go through first; floats makes one in the arithmetic of the fit.
	save(f *safetensors.File, floats func(name string, x []float64, shape ...int) safetensors.Tensor)
}

// fitted is a fittedNetwork.
type fitted[T kernel.Float] struct {
	// network returns what takes samples through the layers with so many goroutines, which graphs are built for.
	network func(workers int) *predict.Network[T]
	intake  predict.Intake[T]
	anchors int
}

// newFitted makes the network of a predictor whose parameters are set.
func newFitted[T kernel.Float](p *Predictor, from predict.Intake[T], clusters *kmeans.Assigner[T]) (*fitted[T], error) {
	views, unit := make([]int, len(p.inputs)), p.config.ReadOut == ReadOutUnit
	for k, in := range p.inputs {
		views[k] = in.View
	}
	keepStart := func(net *predict.Network[T]) {
		if p.start != nil {
			net.KeepStart(cluster.NewEmbedding[T](p.start, p.config.Anchors))
		}
	}
	out := &fitted[T]{intake: from, anchors: p.config.Anchors}
	if p.config.stock() {
		params := &engine.Params{Theta: p.Theta, Rho: p.Rho, R: p.r, U: p.u}
		anchors := func(l, v int) []float64 { return p.anchors[l][v].RawMatrix().Data }
		net, err := predict.New(p.spec(), params, anchors, views, from, unit, clusters)
		if err != nil {
			return nil, err
		}
		keepStart(net)
		out.network = func(int) *predict.Network[T] { return net }
		return out, nil
	}
	widest := 1
	for _, in := range p.inputs {
		widest = max(widest, in.Columns)
	}
	most := min(256, max(8, batchEntries/widest))
	var made sync.Mutex
	turn, nets := new(sync.Mutex), map[int]*predict.Network[T]{}
	out.network = func(workers int) *predict.Network[T] {
		made.Lock()
		defer made.Unlock()
		net := nets[workers]
		if net == nil {
			net = predict.NewOf(p.config.Anchors, most, views, from, unit, clusters, newBatches[T](p, workers, turn))
			keepStart(net)
			nets[workers] = net
		}
		return net
	}
	return out, nil
}

func (f *fitted[T]) assign(ctx context.Context, views []view.View, workers int, out *Assignments) error {
	to := &predict.Output[T]{Labels: out.Labels, Near: out.Near, Next: out.Next}
	return withName(f.run(ctx, views, workers, to))
}

func (f *fitted[T]) transform(ctx context.Context, views []view.View, workers int) (*Matrix, error) {
	n, ld := views[0].Rows, kernel.Pad(f.anchors)
	to := &predict.Output[T]{H: make([]T, n*ld)}
	if err := f.run(ctx, views, workers, to); err != nil {
		return nil, withName(err)
	}
	return resultMatrix(n, f.anchors, ld, to.H), nil
}

func (f *fitted[T]) trust(ctx context.Context, views []view.View, workers int) ([][]float64, error) {
	from, ok := f.intake.(*smooth.Transform[T])
	if !ok {
		return nil, errors.New("trust in views needs the neighbours of Config.Neighborhood, which this model was trained without")
	}
	return from.Trust(ctx, views, workers)
}

func (f *fitted[T]) save(to *safetensors.File, floats func(string, []float64, ...int) safetensors.Tensor) {
	switch from := f.intake.(type) {
	case *smooth.Transform[T]:
		from.Save(to, floats)
	case *prepare.Rows[T]:
		from.Save(to)
	}
}

// noveltySteps is the number of equal steps of the quantiles that a model keeps.
const noveltySteps = 100

// Novelty returns how far samples are from what the training saw, from 0 to 1: the share of the training samples that are nearer
// to the others. Of samples like those of the training, one in twenty has a novelty above 0.95; 1 is farther than any of them.
//
// With neighbours, far is what smoothing along the neighbours changes: 1 − ⟨x, y⟩, the mean over the inputs of the sample, with
// the row x before smoothing and y after it. Without them it is the share ‖x − hP‖²/‖x‖² of an input that the anchors do not
// explain. The quantiles are of some 200 training samples, with neighbours each taken as if it were new.
//
// Where the training had fewer samples than features, samples like its own seem newer than they are: a fifth of them had a
// novelty above 0.95 after a training on 105 samples of 48 to 1,302 features, and 5 % after one on 1,000 samples of 6 to 240.
//
// It costs about as much as Assign, and has its errors; a model that an earlier version saved has no quantiles,
// which is an error.
func (p *Predictor) Novelty(ctx context.Context, views []View) ([]float64, error) {
	in, err := p.checked(ctx, views)
	if err != nil {
		return nil, err
	}
	if p.novelty == nil {
		return nil, errors.New("largemvc: the model was saved by a version that did not keep what novelty needs: fit it again")
	}
	var far []float64
	err = p.pass(ctx, in, func(_ int, in []view.View) error {
		part, err := p.model.unlike(ctx, in, p)
		far = append(far, part...)
		return err
	})
	if err != nil {
		return nil, withName(err)
	}
	for i, x := range far {
		far[i] = shareBelow(p.novelty, x)
	}
	return far, nil
}

// HasNovelty says whether Novelty is known: for models that a version before it saved, it is not.
func (p *Predictor) HasNovelty() bool { return p != nil && p.novelty != nil }

// shareBelow is the share of a distribution, given by its quantiles in equal steps, that is below x.
func shareBelow(quantiles []float64, x float64) float64 {
	steps := float64(len(quantiles) - 1)
	at, found := slices.BinarySearch(quantiles, x)
	switch {
	case found: // the last of equal ones
		for at+1 < len(quantiles) && quantiles[at+1] == x {
			at++
		}
		return float64(at) / steps
	case at == 0:
		return 0
	case at == len(quantiles):
		return 1
	}
	below, above := quantiles[at-1], quantiles[at]
	return (float64(at-1) + (x-below)/(above-below)) / steps
}

// quantilesOf returns quantiles in equal steps.
func quantilesOf(x []float64) []float64 {
	sorted := slices.Sorted(slices.Values(x))
	out := make([]float64, noveltySteps+1)
	for q := range out {
		at := float64(q) / noveltySteps * float64(len(sorted)-1)
		lo := int(at)
		hi := min(lo+1, len(sorted)-1)
		out[q] = sorted[lo] + (at-float64(lo))*(sorted[hi]-sorted[lo])
	}
	return out
}

// setNovelty keeps the quantiles of how far the training samples are.
func setNovelty[T kernel.Float](ctx context.Context, p *Predictor, views []view.View, in *prepared[T], h mat.Matrix) error {
	far := in.unlike
	if in.standard != nil {
		const samples = 2000
		group := ranks.Of(ctx)
		chosen := rows.Sample(rand.New(rand.NewPCG(p.config.Seed, 2)), p.samples, min(p.samples, samples))
		chosen = group.Here(chosen, views[0].Rows)
		standard := *in.standard
		some := make([]view.View, len(views))
		for v, x := range views {
			standard.Applied = append(standard.Applied, prepare.InPlace[T](x, p.config.Machine.Overwrite))
			some[v] = x.Take(chosen)
		}
		var err error
		far, err = unexplained(ctx, p, prepare.NewRows[T](&standard, p.dims), some, func(dst []float64, i int) {
			for j := range dst {
				dst[j] = h.At(chosen[i], j)
			}
		})
		if err != nil {
			return err
		}
		if far, err = ranks.GatherAll(group, "how far samples are", far, -1); err != nil {
			return err
		}
	}
	p.novelty = quantilesOf(far)
	return nil
}

// unexplained returns the shares of samples that the anchors do not explain: ‖x − hP‖²/‖x‖², the mean over the inputs that they
// have. row gives the representation of sample i.
func unexplained[T kernel.Float](
	ctx context.Context, p *Predictor, from *prepare.Rows[T], views []view.View, row func(dst []float64, i int),
) ([]float64, error) {
	const chunk = 256
	n := views[0].Rows
	out := make([]float64, n)
	err := parallel.For(ctx, p.config.Machine.Workers, (n+chunk-1)/chunk, func(_, c int) error {
		lo, hi := c*chunk, min((c+1)*chunk, n)
		var buffer prepare.Buffer[T]
		inputs, err := from.Take(ctx, views, lo, hi, chunk, &buffer)
		if err != nil {
			return err
		}
		h := make([]float64, p.config.Anchors)
		for i := lo; i < hi; i++ {
			row(h, i)
			sum, count := 0.0, 0.0
			for k, x := range inputs {
				if !views[p.inputs[k].View].Has(i) {
					continue
				}
				sum, count = sum+unexplainedRow(x, i-lo, h, p.P[k]), count+1
			}
			out[i] = sum / max(count, 1)
		}
		return nil
	})
	return out, err
}

func unexplainedRow[T kernel.Float](x rows.Matrix[T], i int, h []float64, anchors *mat.Dense) float64 {
	_, d := anchors.Dims()
	values, fit := make([]T, d), make([]float64, d)
	x.Row(i, values)
	for m, a := range h {
		if a != 0 {
			for j, b := range anchors.RawRowView(m) {
				fit[j] += a * b
			}
		}
	}
	residual, square := 0.0, 0.0
	for j, a := range values {
		residual += (float64(a) - fit[j]) * (float64(a) - fit[j])
		square += float64(a) * float64(a)
	}
	if square == 0 {
		return 1
	}
	return math.Min(residual/square, 1)
}

// unlike is what Novelty has its shares of.
func (f *fitted[T]) unlike(ctx context.Context, views []view.View, p *Predictor) ([]float64, error) {
	switch from := f.intake.(type) {
	case *smooth.Transform[T]:
		return from.Unlike(ctx, views, p.config.Machine.Workers)
	case *prepare.Rows[T]:
		h, err := f.transform(ctx, views, p.config.Machine.Workers)
		if err != nil {
			return nil, err
		}
		return unexplained(ctx, p, from, views, func(dst []float64, i int) { h.Row(dst, i) })
	}
	return nil, errors.New("no such intake")
}
