package largemvc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/inputs"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/predict"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/internal/train"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/score"
)

// fewJoin is the share of the samples below which what joins the views is called little.
const fewJoin = 0.05

// setNotes sets the notes on a fit of the views.
func (c *Clustering) setNotes(group *ranks.Group, views []view.View) error {
	c.Notes = nil
	if c.Kept {
		what := "training made the clusters worse, and Fit kept the initial clusters"
		if fewAnchors(&c.config) {
			what = "with fewer anchors than clusters, Fit kept the clusters of the smoothed views"
		}
		c.Notes = append(c.Notes, fmt.Sprintf("%s: their score is %.4g, after training it is %.4g", what, c.StartScore,
			c.TrainedScore))
	}
	if first, end := c.Loss[0], c.Loss[len(c.Loss)-1]; c.Status == Diverged || end > max(first, c.NullLoss) {
		c.Notes = append(c.Notes, fmt.Sprintf("the training diverged: the loss was %.4g at the start and %.4g after %s, "+
			"and it is %.4g for H = 0; set a lower learning rate in Optimizer, or fewer Anchors", first, end,
			textfile.Count(c.Epochs, "epoch"), c.NullLoss))
	}
	if end := c.Loss[len(c.Loss)-1]; c.Clusters < c.config.Clusters && math.Abs(end-c.NullLoss) <= 1e-6 {
		c.Notes = append(c.Notes, fmt.Sprintf("%s for %d that were asked for, and the loss of H = 0: the thresholds exceed the "+
			"data; set Preprocess, or lower Theta0 and Rho0", textfile.Count(c.Clusters, "cluster"), c.config.Clusters))
	}
	for v, count := range c.leftOut {
		if count > 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("%s: left out: %d of %s, constant over the samples",
				views[v].Label(v), count, textfile.Count(views[v].Cols, "feature")))
		}
	}
	c.Notes = append(c.Notes, c.suspicions...)
	joint, err := view.WeakestJoint(group, views)
	if err == nil && float64(joint.Both) < fewJoin*float64(joint.Of) {
		c.Notes = append(c.Notes, joint.Text(views)+
			": so few samples connect these views that clusters may follow which views a sample has")
	}
	return withName(err)
}

// finish clusters the representation of a trained network and makes the predictor.
func finish[T kernel.Float](ctx context.Context, in *prepared[T], net *lossNetwork[T], r *train.Run) (*Clustering, error) {
	began := time.Now()
	c, views := net.config, in.Views
	p := newPredictor(c, views, inputsOf(in.List), r)
	p.samples = in.data.group.Total(p.samples)
	if err := p.setNetwork(net.model, net.reads, in.Rotated); err != nil {
		return nil, err
	}
	out := &Clustering{Predictor: p, StartLabels: view.Back(in.Order, r.Begin.Labels, 1), leftOut: in.LeftOut}
	inputs.Collect(views)
	h, trust, err := represent(ctx, views, in, net, p)
	if err != nil {
		return nil, err
	}
	found, h, err := clustersOf(ctx, in, c, r, out, h)
	if err != nil {
		return nil, withName(err)
	}
	n, m, ld := views[0].Rows, c.Anchors, kernel.Pad(c.Anchors)
	out.H = resultMatrix(n, m, ld, view.Back(in.Order, h, ld))
	for _, t := range trust {
		out.Trust = append(out.Trust, view.Back(in.Order, t, 1))
	}
	out.Labels, out.Repaired = view.Back(in.Order, found.Labels, 1), found.Repaired
	p.Clusters, p.Sizes, p.centroids = len(found.Sizes), found.Sizes, kernel.Float64s(found.Centroids)
	from, err := in.Intake(ctx, p.dims, c.Machine.Workers)
	if err != nil {
		return nil, withName(err)
	}
	if p.model, err = newFitted(p, from, found.Assigner); err != nil {
		return nil, err
	}
	if err := setNovelty(ctx, p, views, in, out.H); err != nil {
		return nil, withName(err)
	}
	out.Timings = Timings{Start: r.StartFor, Train: r.TrainFor, Epoch: r.EpochTime(), Clusters: time.Since(began)}
	return out, nil
}

// setNetwork takes over what a trained network has learned.
func (p *Predictor) setNetwork(m *Model[Represent, Noise, Anchor], reads *readOuts, rotated []*prepare.Rotated) error {
	var values [3][]learned
	for i, module := range m.modules() {
		values[i] = learnedBy(m.env.Prefix, module.Learnables())
	}
	if fused := m.fused(); fused != nil {
		p.learned = values
		p.setParameters(fused.Parameters())
		return p.setAnchors(fused.Engine().Anchors, rotated)
	}
	p.setLearned(values)
	err := p.setAnchors(func(l, v int) ([]float64, error) { return float64s(reads.anchors[l][v]), nil }, rotated)
	if !p.config.stock() {
		// The configuration keeps modules with the trained values, in graphs that hold nothing of the samples.
		p.unfit = p.fill(p.config.modules())
	}
	return err
}

// represent returns H (n×m, with the stride kernel.Pad(m)) of the training samples, and the trust of every input, nil without
// noise. Of rotated views, and of modules that are not from this package, they come from the network that new samples will go
// through.
func represent[T kernel.Float](
	ctx context.Context, views []view.View, in *prepared[T], net *lossNetwork[T], p *Predictor,
) (h []T, trust [][]float64, err error) {
	if net.reads == nil && !net.config.noiseless() || net.reads != nil && net.reads.noise() {
		for range p.inputs {
			trust = append(trust, make([]float64, views[0].Rows))
		}
	}
	if in.Rotated == nil && net.fused != nil {
		trained := net.fused.Engine()
		if h = engine.TakeH[T](trained); h == nil {
			h = make([]T, views[0].Rows*kernel.Pad(p.config.Anchors))
			if err := engine.CopyH(trained, net.config.Layers, h, kernel.Pad(p.config.Anchors)); err != nil {
				return nil, nil, err
			}
		}
		for v, t := range trust {
			if err := trained.Read(engine.FieldTrust, net.config.Layers, v, 0, len(t), t); err != nil {
				return nil, nil, err
			}
		}
		return h, trust, nil
	}
	h = make([]T, views[0].Rows*kernel.Pad(p.config.Anchors))
	out := &predict.Output[T]{H: h, Trust: trust}
	if net.reads != nil {
		if p.unfit == nil {
			p.unfit = representBatches(ctx, views, in, net, p, out)
		}
		if p.unfit != nil || net.config.Start.free() { // with new samples the network begins at H = 0 and E = 0
			copyReads(net.reads, h, trust, kernel.Pad(p.config.Anchors))
		}
		return h, trust, nil
	}
	standard := *in.Standard
	for _, x := range views {
		standard.Applied = append(standard.Applied, prepare.InPlace[T](x, net.config.Machine.Overwrite))
	}
	f, err := newFitted(p, prepare.NewRows[T](&standard, p.dims), nil)
	if err != nil {
		return nil, nil, err
	}
	workers := net.config.Machine.Workers
	return h, trust, withName(f.network(workers).Run(ctx, views, workers, out))
}

// representBatches is represent for modules that are not all from this package.
func representBatches[T kernel.Float](
	ctx context.Context, views []view.View, in *prepared[T], net *lossNetwork[T], p *Predictor, out *predict.Output[T],
) error {
	f, err := newFitted[T](p, asPrepared[T](in.X), nil)
	if err != nil {
		return err
	}
	workers := net.config.Machine.Workers
	return withName(f.network(workers).Run(ctx, views, workers, out))
}

// setNovelty keeps the quantiles of how far the training samples are.
func setNovelty[T kernel.Float](ctx context.Context, p *Predictor, views []view.View, in *prepared[T], h mat.Matrix) error {
	if !p.hasNovelty() {
		return nil
	}
	far := in.Unlike
	if in.Standard != nil {
		const samples = 2000
		group := in.data.group
		chosen := rows.Sample(rand.New(rand.NewPCG(p.config.Seed, 2)), p.samples, min(p.samples, samples))
		chosen = group.Here(chosen, views[0].Rows)
		standard := *in.Standard
		some := make([]view.View, len(views))
		for v, x := range views {
			standard.Applied = append(standard.Applied, prepare.InPlace[T](x, p.config.Machine.Overwrite))
			some[v] = x.Take(chosen)
		}
		far = make([]float64, len(chosen))
		err := unexplained(ctx, p, prepare.NewRows[T](&standard, p.dims), some, far, func(dst []float64, i int) {
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

// copyReads copies H, with a stride, and the trust of every view from the last run of the training.
func copyReads[T kernel.Float](r *readOuts, h []T, trust [][]float64, ld int) {
	m := r.h.Shape()[1]
	for i, x := range float64s(r.h) {
		h[i/m*ld+i%m] = T(x)
	}
	for v, to := range trust {
		if r.trust[v] != nil {
			copy(to, float64s(r.trust[v]))
			continue
		}
		for i := range to {
			to[i] = 1
		}
	}
}

// asPrepared hands out the network's inputs of training samples.
type asPrepared[T kernel.Float] []rows.Matrix[T]

// Take returns samples [lo, hi) of the inputs.
func (x asPrepared[T]) Take(_ context.Context, _ []view.View, lo, hi, _ int, _ *prepare.Buffer[T]) ([]rows.Matrix[T], error) {
	out := make([]rows.Matrix[T], len(x))
	for k, all := range x {
		_, d := all.Dims()
		part := make([]T, (hi-lo)*d)
		for i := lo; i < hi; i++ {
			all.Row(i, part[(i-lo)*d:(i-lo+1)*d])
		}
		out[k] = rows.NewDense(hi-lo, d, d, part)
	}
	return out, nil
}

// clustersOf returns the clusters of H, or the initial ones if they score higher, with the H that belongs to them.
func clustersOf[T kernel.Float](
	ctx context.Context, in *prepared[T], c *Config, r *train.Run, out *Clustering, h []T,
) (*cluster.Clusters[T], []T, error) {
	if err := smoothLast(ctx, in, c, h); err != nil {
		return nil, nil, err
	}
	found, err := clustered(ctx, in, c, r, h)
	if err != nil {
		return nil, nil, err
	}
	kept, begun, err := keptStart(ctx, in, c, r, out, found.Labels)
	if out.Kept {
		found, h = kept, begun
	}
	return found, h, err
}

// clustered runs k-means on the rows of a representation.
func clustered[T kernel.Float](
	ctx context.Context, in *prepared[T], c *Config, r *train.Run, h []T,
) (*cluster.Clusters[T], error) {
	n, m, ld := len(h)/kernel.Pad(c.Anchors), c.Anchors, kernel.Pad(c.Anchors)
	o := cluster.Options{
		Clusters: c.Clusters, Starts: c.KMeansStarts, Seed: c.Seed, Workers: c.Machine.Workers, Device: in.device.Rows(),
		Group: in.data.group,
	}
	switch {
	case c.beginsAtStart() && r.Begin.Labels != nil:
		o.Labels = r.Begin.Labels
	case r.Epochs > 0 && in.data.group.Total(n) <= sharedReadOut:
		o.Score = scoreOf(c, in, c.Clusters)
	}
	seen := h
	if !c.PlainReadOut {
		seen = slices.Clone(h)
		cluster.UnitRows(seen, m)
	}
	return cluster.Rows(ctx, rows.NewDense(n, m, ld, seen), o)
}

// keptNeighbors is the weight of the neighbour information relative to the held-out information, when keptStart compares the
// trained clusters with the initial ones.
const keptNeighbors = 2

// keptMargin exceeds the differences of information (in units of log m) that rounding makes between equal clusters.
const keptMargin = 1e-4

// keptStart compares the information of the initial clusters and of the trained ones. The loss uses soft clusters, so it can fall
// while the information of the final clusters falls too. If the initial clusters have more information, keptStart sets out.Kept
// and returns them, with the rows in which k-means found them. It never keeps them if views are absent: a new sample has no
// filled rows.
func keptStart[T kernel.Float](
	ctx context.Context, in *prepared[T], c *Config, r *train.Run, out *Clustering, labels []int,
) (*cluster.Clusters[T], []T, error) {
	if !c.mayKeep() || r.Epochs == 0 || r.Begin.Labels == nil || in.StartRows != nil {
		return nil, nil, nil
	}
	var err error
	begun := func() (*cluster.Clusters[T], []T, error) {
		e, err := cluster.Embed(ctx, in.data.group, in.X, c.Anchors, c.Seed+uint64(r.Restart), c.Machine.Workers)
		if err != nil {
			return nil, nil, err
		}
		h, err := e.Rows(ctx, in.X, c.Machine.Workers)
		if err != nil {
			return nil, nil, err
		}
		out.start = e.Basis
		found, err := clustered(ctx, in, c, r, h)
		return found, h, err
	}
	score, start := in.tells(c), r.Begin.Labels
	var found *cluster.Clusters[T]
	var h []T
	if fewAnchors(c) {
		if found, h, err = begun(); err != nil {
			return nil, nil, err
		}
		start = found.Labels
	}
	if out.StartScore, err = score(ctx, start); err != nil {
		return nil, nil, err
	}
	if out.TrainedScore, err = score(ctx, labels); err != nil || !(out.TrainedScore < out.StartScore-keptMargin) {
		out.start = nil
		return nil, nil, err
	}
	if out.Kept = true; found == nil {
		found, h, err = begun()
	}
	return found, h, err
}

// tells returns the function by which clusters are compared: twice their information about neighbours and their held-out
// information together. If there are fewer anchors, it is the information about neighbours alone, in less memory.
func (p *prepared[T]) tells(c *Config) cluster.Score {
	near := information.NewNeighbors[T](p.data.group, c.Machine.Workers, c.Clusters, p.Graph, 0).LabelScore()
	if fewAnchors(c) {
		return near
	}
	guessed := information.NewHeldOut(c.Machine.Workers, c.Anchors, p.HeldOut, 0).LabelScore()
	return func(ctx context.Context, labels []int) (float64, error) {
		a, err := near(ctx, labels)
		if err != nil {
			return 0, err
		}
		b, err := guessed(ctx, labels)
		return keptNeighbors*a + b, err
	}
}

// smoothLast smooths an H along the neighbours where samples lack views.
func smoothLast[T kernel.Float](ctx context.Context, in *prepared[T], c *Config, h []T) error {
	n, m, ld := in.Views[0].Rows, c.Anchors, kernel.Pad(c.Anchors)
	o := smoothOptions(c, in.data.group)
	if in.StartRows == nil || c.PlainReadOut || !o.Filters(o.Group.Total(n)) {
		return nil
	}
	cluster.UnitRows(h, m)
	return in.Smooth.SmoothLast(ctx, h, n, m, ld, o)
}

// Clustering is the result of Fit: the trained model and the labels of the samples. It is safe for concurrent use if
// its fields are not modified.
//
// Training can make the clusters worse. If the loss has both terms of Neighborhood, and Anchors equals Clusters, Fit
// therefore compares the trained labels with the initial clustering. The score of labels is twice their neighbour information
// plus their held-out information (package terms), divided by log m. With fewer Anchors Fit compares them with k-means on U√S
// of the smoothed views (left singular vectors times the roots of their singular values), by the neighbour information alone.
// If the initial clustering has the higher score, and every sample has every view, Fit returns the initial clusters, refined by
// k-means; Kept and Notes say so. H and the centroids then refer to U√S of the smoothed views at norm 1, for new samples too.
// Anchors, trust and parameters stay as trained. With a custom module Fit does not compare.
//
// If samples lack views and neighbours are used, H without Config.PlainReadOut has norm 1 and is smoothed along the
// neighbours like the inputs, in fewer steps. This matters most for new samples that have few of their views.
type Clustering struct {
	// Predictor is the trained network. It labels new samples and can be saved. To release the memory that grows with n, keep
	// only the Predictor. It keeps up to Neighborhood.Exact training samples as neighbours of new ones.
	*Predictor

	// Labels has the cluster of each sample (n values, 0 to Clusters−1). Cluster 0 is the largest in the training. Equal sizes
	// are in the order of their first sample; with exact neighbours, of the first sample in the order of content, see Fit.
	Labels []int
	H      mat.Matrix // representation of the last layer, or of the smoothed views if Kept (n×m, read-only)
	// Trust has the trust t of each input (Predictor.Inputs) and sample; the noise is E_v = (1−t)(X_v − H P_v). It is nil
	// without noise module. Its range is 0 to 1 for ρ ≥ 0 with ReLU; with SELU it can be as low as −0.0507.
	Trust [][]float64

	// StartLabels has the initial clustering (n values, 0 to m−1). It is nil with Start.Anchors, and if Config.FitSamples
	// trained on a part of the samples.
	StartLabels []int
	Timings     Timings
	Classes     *score.Classes  // classes by the labels of Config.Known; nil without, and if an error ends the fit early
	Structure   score.Structure // whether the samples have clusters; zero if not judged

	// Confidence says how often the label of each sample is found again (n values, 0 to 1): by clusters of other samples, in
	// excess of chance. It is nil if the structure is unknown (docs/trust.md).
	Confidence []float64
	// Remoteness is the distance of each sample to the nearest 5 % of the judged samples, in the given views and in medians of
	// this distance (n values); +Inf if no view of the sample varies. Outlier marks finite ones that are too large
	// (docs/trust.md). Both are nil with Config.NoStructure, for fewer than 24 samples, and if this median is 0.
	Remoteness []float64
	Outlier    []bool

	Notes    []string // sentences about weak or misleading data and results, and kept initial clusters; nil: none
	Repaired int      // number of clusters that k-means on H found empty and repaired

	// StartScore and TrainedScore are the scores of the initial clusters and of the trained clusters; both are 0 if Fit did not
	// compare them.
	StartScore, TrainedScore float64

	leftOut    []int    // of each view, how many features are constant over the samples trained on
	suspicions []string // notes on the views
}

// newPredictor returns the predictor of a run that is over, without its parameters, anchors and clusters.
func newPredictor(c *Config, views []view.View, inputs []Input, r *train.Run) *Predictor {
	p := &Predictor{
		Loss: r.Loss, ViewLoss: r.ViewLoss, NullLoss: r.NullLoss, Status: Status(r.Status), Epochs: r.Epochs, Restart: r.Restart,
		config: withoutData(c), trainedViews: trainedViews{samples: views[0].Rows, inputs: inputs},
	}
	for _, x := range views {
		p.addView(x.Cols, x.Name, x.Prepared.About)
		p.features = append(p.features, slices.Clone(x.Features))
		p.prepared[len(p.prepared)-1].Numbers = slices.Clone(x.Prepared.Numbers)
	}
	return p
}
