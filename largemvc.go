package largemvc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/predict"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
)

// Clustering is what Fit found: the trained network and what it says of the training samples. Its fields and what they
// refer to must not be changed; then it is safe for concurrent use.
//
// Training can take clusters away from what the data support. With both terms in the loss, and as many anchors as clusters, the
// labels of the trained network are therefore compared with those of its start: by twice their information about neighbours and
// their held-out information together (package terms), of the labels themselves. Where the start has more, and every sample has
// every view, its clusters are returned, refined by k-means, and Kept says so. H and the centroids are then of the rows that the
// start clusters, U√S of the smoothed views at norm 1, for new samples too; anchors, trust and parameters stay those of the
// trained network. Neighborhood.NeverKeep leaves this out.
//
// Where samples lack views and have neighbours, H with ReadOutUnit is at norm 1 and smoothed along the neighbours as the inputs
// are, in fewer steps; that of new samples is too. It changes little of what training has made of its own samples, and much where
// a new sample has few of its views.
type Clustering struct {
	// Predictor is the trained network, which labels new samples and can be saved. Keep only the Predictor to release the
	// memory that grows with n, except for the neighbours of up to Neighborhood.Exact samples, which new ones are joined to.
	*Predictor

	// n, from 0 to Clusters−1; cluster 0 is the largest of the samples trained on, equal sizes in the order of their first
	// sample (with exact neighbours, the first in the order of content, see Fit)
	Labels []int
	H      *Matrix // n×m: the representation of the last layer, or of the start (Kept)
	// per input (Predictor.Inputs) and sample: E_v = (1−t)(X_v − H P_v); nil without noise module. In [0, 1] for ρ ≥ 0 with
	// ReLU; with SELU, whose slope is 1.0507, down to −0.0507
	Trust [][]float64

	// labels of the samples that the first anchors came from, 0 to m−1; nil for given anchors, and where Config.FitSamples had
	// only some of the samples trained on
	StartLabels []int
	Timings     Timings
	Notes       []string // what the data do not support, as sentences with figures; nil: nothing is known
	Repaired    int      // clusters that k-means on H found empty and repaired
}

// Fit trains the network on the views and clusters its representation by k-means: n samples, row i of every view being
// sample i.
//
// It returns an error, and does no work, if the configuration or the views are not usable; the message names the view,
// the row and the value. When ctx is cancelled, Fit stops within an epoch, clusters what there is so far and returns
// it (nil if the first epoch had not ended) with the context's error. A loss that diverges gives the last good state
// with a *DivergedError; where the training was ended at that very step, with what ended it too. An error of Config.Progress
// is returned beside the state at that epoch, ErrStop as no error.
//
// With Config.Restarts, the best run (see there) is kept among those that came to their end, whatever ended the last one; if
// none did, among those that were interrupted, and if all diverged, among those. Only then is a *DivergedError returned.
//
// With neighbours that are searched (up to Neighborhood.Exact samples), the samples are taken in an order of their content and of
// the seed: a permutation of the samples permutes the result and changes no bit of it, unless samples that are equal in all views
// have different labels in Start. With ExtraLoss they stay in the caller's order.
//
// Time and memory grow linearly with n, Σ d_v, L and, once m is large, with m; Config.EstimateMemory tells the memory. Up to
// Neighborhood.Exact samples, finding their neighbours takes time in n².
func Fit(ctx context.Context, views []View, config Config) (*Clustering, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	return fitFrom(ctx, views, config, nil)
}

// fitFrom is Fit, from the state of a checkpoint if there is one.
func fitFrom(ctx context.Context, views []View, config Config, from *resumed) (*Clustering, error) {
	ctx, group := ranks.Enter(ctx, config.Machine.Comm)
	return onRanks(group, func() (*Clustering, error) { return fitAlone(ctx, views, config, from) })
}

// onRanks does this rank's part of what a group, if there is one, does together, and tells the others of its error.
func onRanks(group *ranks.Group, work func() (*Clustering, error)) (*Clustering, error) {
	if group == nil {
		return work()
	}
	defer func() {
		if p := recover(); p != nil {
			_ = group.Leave(fmt.Errorf("panic: %v", p))
			panic(p)
		}
	}()
	out, err := work()
	if other := group.Leave(err); other != nil && err == nil {
		return nil, withName(other)
	}
	return out, err
}

// fitAlone is fitFrom for the samples of this process.
func fitAlone(ctx context.Context, views []View, config Config, from *resumed) (*Clustering, error) {
	out, err := fitViews(ctx, views, config, from)
	if err != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	return out, err
}

func fitViews(ctx context.Context, views []View, config Config, from *resumed) (out *Clustering, err error) {
	begin := time.Now()
	group := ranks.Of(ctx)
	check := checkShapes
	if group != nil { // what masks say is known of all samples together
		check = checkSizes
	}
	n, err := check(views)
	if err != nil {
		return nil, err
	}
	c := config.WithDefaults()
	if group != nil {
		if err := c.join(group, n, views); err != nil {
			return nil, err
		}
	}
	c.forSamples(group.Total(n))
	if group != nil && c.searched(group.Total(n)) {
		return fitWhole(ctx, group, views, config, from)
	}
	if !c.samples(n) || from == nil { // else the state has labels for the samples that are drawn
		if err := c.check(group.Total(n), views); err != nil {
			return nil, err
		}
	}
	where, err := c.place(n, views)
	if err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, againKey{}, where.again)
	defer func() {
		if out != nil {
			out.Ran.Storage = where.why
		}
	}()
	in := inner(views)
	for v := range in {
		in[v].Offset = group.First()
	}
	if group != nil {
		if err := withName(view.Together(group, in)); err != nil {
			return nil, err
		}
	}
	if view.Outside(in) && !where.rows {
		var reads *rows.Reads
		reads, ctx = rows.NewReads(ctx)
		defer reads.End()
		defer func() {
			if failed := reads.Err(); failed != nil { // what there is may come of rows that were not read
				out, err = nil, withName(failed)
			}
		}()
		group.Watch(reads.Err)
		in = view.Bind(in, reads, c.Machine.Workers, !where.streamed)
	}
	ctx, m := withMeter(ctx, &c, in, from)
	defer m.stop()
	if err := m.enter(phaseChecks, 0); err != nil {
		return nil, err
	}
	if c.samples(n) {
		return fitSamples(ctx, in, &c, from, begin)
	}
	if where.rows {
		if in, err = view.Hold(ctx, in, c.Machine.Workers); err != nil {
			return nil, m.stopped(withName(err))
		}
	}
	if err := withName(view.CheckFinite(ctx, in, c.Machine.Workers)); err != nil {
		return nil, m.stopped(err)
	}
	return fitChecked(ctx, in, &c, from, begin)
}

// join tells the ranks of each other before they do anything else together.
func (c *Config) join(group *ranks.Group, n int, views []View) error {
	same, err := c.sameOnRanks(views)
	if err != nil {
		return err
	}
	if err := withName(group.Join(n, same)); err != nil {
		return err
	}
	sized := *c
	sized.forSamples(group.Total(n))
	whole := sized.searched(group.Total(n))
	if c.Rotate == Auto && !whole { // the rows that span the others are looked for in order
		c.Rotate = None
	}
	return c.checkRanks(views, whole)
}

// fitWhole is fitViews for so few samples that their neighbours are searched among all of them: every rank gets all samples, does
// the same with them, and returns what concerns its own.
func fitWhole(ctx context.Context, group *ranks.Group, views []View, config Config, from *resumed) (*Clustering, error) {
	in, whole := inner(views), make([]View, len(views))
	for v := range in {
		in[v].Offset = group.First()
	}
	if err := withName(view.CheckFinite(ctx, in, config.Machine.Workers)); err != nil {
		return nil, err
	}
	for v, x := range in {
		var err error
		if whole[v].in, err = view.Gather(ctx, group, v, x); err != nil {
			return nil, withName(err)
		}
	}
	out, err := fitViews(ranks.Whole(ctx), whole, config, from)
	if out != nil {
		out.window(group.First(), group.First()+views[0].in.Rows)
	}
	return out, err
}

// window leaves of what there is for each sample that of the samples from lo to hi−1.
func (c *Clustering) window(lo, hi int) {
	c.Labels, c.H = slices.Clone(c.Labels[lo:hi]), c.H.window(lo, hi)
	for v, t := range c.Trust {
		c.Trust[v] = slices.Clone(t[lo:hi])
	}
	if c.StartLabels != nil {
		c.StartLabels = slices.Clone(c.StartLabels[lo:hi])
	}
}

type againKey struct{}

// againOf says whether nothing of the samples' state is kept in a fit, by its context.
func againOf(ctx context.Context) bool { again, _ := ctx.Value(againKey{}).(bool); return again }

// fitChecked is fit in the arithmetic of the configuration.
func fitChecked(ctx context.Context, views []view.View, c *Config, from *resumed, begin time.Time) (*Clustering, error) {
	if c.Float64 {
		return fit[float64](ctx, views, c, from, begin)
	}
	return fit[float32](ctx, views, c, from, begin)
}

// startOfDraw returns the labels of the compared samples by the network at the start of the drawn ones, nil if none of these has
// some view.
func (c *Config) startOfDraw(ctx context.Context, all []view.View, drawn, compared []int) ([]int, error) {
	begin := *c
	begin.Epochs, begin.Restarts, begin.Checkpoint = None, 1, Checkpoint{}
	begin.fillModules()
	some, err := c.take(ctx, all, drawn)
	if err != nil || c.checkDrawn(some) != nil {
		return nil, err
	}
	out, err := fitChecked(ctx, some, &begin, nil, time.Now())
	if err != nil {
		return nil, err
	}
	if some, err = c.take(ctx, all, compared); err != nil {
		return nil, err
	}
	err = out.relabel(ctx, some)
	return out.Labels, err
}

// fitSamples trains on some of the samples and labels all of them.
func fitSamples(ctx context.Context, all []view.View, c *Config, from *resumed, begin time.Time) (*Clustering, error) {
	n := all[0].Rows
	chosen := c.drawn(n, 0)
	if labels := c.Start.Labels; from == nil && labels != nil {
		c.Start.Labels = make([]int, len(chosen))
		for k, i := range chosen {
			c.Start.Labels[k] = labels[i]
		}
	}
	some, err := c.take(ctx, all, chosen)
	if err == nil {
		err = c.checkDrawn(some)
	}
	m := meterOf(ctx)
	if err != nil {
		return nil, m.stopped(err)
	}
	if !view.Outside(all) {
		if err := view.CheckFinite(ctx, all, c.Machine.Workers); err != nil {
			return nil, m.stopped(withName(err))
		}
	}
	draw, err := c.chooseDraw(ctx, all, from, func(ctx context.Context, drawn, compared []int) ([]int, error) {
		defer collect(all) // what a start has used, which a fit of few samples leaves to the collector
		return c.startOfDraw(ctx, all, drawn, compared)
	})
	if err != nil {
		return nil, m.stopped(err)
	}
	some, err = c.take(ctx, all, c.drawn(n, draw))
	if err != nil {
		return nil, m.stopped(err)
	}
	out, ended := fitChecked(ctx, some, c, from, begin)
	if out == nil {
		return nil, ended
	}
	labelled := time.Now()
	out.StartLabels = nil
	if err := out.relabel(context.WithoutCancel(ctx), all); err != nil {
		return nil, joined(ended, err)
	}
	if f := m.failure(); !errors.Is(f, ErrStop) {
		ended = joined(ended, f)
	}
	out.Timings.Clusters += time.Since(labelled)
	out.Timings.Total = time.Since(begin)
	out.Notes, err = notesOn(context.WithoutCancel(ctx), all)
	return out, joined(ended, err)
}

// relabel makes labels, representation and trust those of other samples. What is outside memory is checked.
func (c *Clustering) relabel(ctx context.Context, all []view.View) error {
	n := all[0].Rows
	c.Labels, c.H = make([]int, n), &Matrix{}
	for v := range c.Trust {
		c.Trust[v] = make([]float64, n)
	}
	outside := view.Outside(all)
	return withName(view.Pass(ctx, all, func(lo int, in []view.View) error {
		if outside {
			if err := c.checkBlock(ctx, in); err != nil {
				return err
			}
		}
		return c.model.label(ctx, in, lo, n, c)
	}))
}

// fit prepares the views, trains every restart and makes a result of the best.
func fit[T kernel.Float](
	ctx context.Context, views []view.View, c *Config, from *resumed, begin time.Time,
) (*Clustering, error) {
	on, err := c.openDevice(views)
	if err != nil {
		return nil, err
	}
	defer on.close()
	ctx = context.WithValue(ctx, deviceKey{}, on.session)
	m := meterOf(ctx)
	saver, err := newSaver(ctx, views, c, from)
	if err != nil {
		return nil, m.stopped(err)
	}
	in, err := prepareInputs[T](ctx, views, c)
	if err != nil {
		return nil, m.stopped(on.explained(err, c))
	}
	if err := saver.setInputs(len(in.list), in.order, from); err != nil {
		return nil, err
	}
	prepareFor := time.Since(begin)
	net, r, ended := trainRuns(ctx, in, c, saver, from)
	ended = on.explained(ended, c)
	if ended = m.stopped(ended); net == nil {
		return nil, ended
	}
	if errors.Is(ended, ErrStop) { // in a run after the first
		ended = nil
	}
	_ = m.enter(phaseClusters, r.Restart) // its error is seen below: what was trained is not thrown away
	out, err := finish(context.WithoutCancel(ctx), in, net, r)
	if err != nil {
		return nil, joined(ended, on.explained(err, c))
	}
	out.Ran = on.ran()
	out.Timings.Prepare, out.Timings.Total = prepareFor, time.Since(begin)
	if f := m.failure(); !errors.Is(f, ErrStop) {
		ended = joined(ended, f)
	}
	out.Notes, err = notesOn(context.WithoutCancel(ctx), views)
	return out, joined(ended, err)
}

func (f *fitted[T]) label(ctx context.Context, views []view.View, lo, n int, out *Clustering) error {
	rows, ld := views[0].Rows, kernel.Pad(f.anchors)
	to := &predict.Output[T]{
		H: make([]T, rows*ld), Labels: out.Labels[lo : lo+rows], Near: make([]float64, rows), Next: make([]float64, rows),
	}
	for _, t := range out.Trust {
		to.Trust = append(to.Trust, t[lo:lo+rows])
	}
	workers := out.config.Machine.Workers
	err := f.network(workers).Run(ctx, views, workers, to)
	out.H.add(resultMatrix(rows, f.anchors, ld, to.H), n)
	return withName(err)
}

// fewJoin is the share of the samples below which what joins the views is called little.
const fewJoin = 0.05

// notesOn says what the views do not support.
func notesOn(ctx context.Context, views []view.View) ([]string, error) {
	joint, err := view.WeakestJoint(ctx, views)
	if err != nil || float64(joint.Both) >= fewJoin*float64(joint.Of) {
		return nil, withName(err)
	}
	return []string{joint.Text(views) + ": little joins these views, and clusters may follow which of them a sample has"}, nil
}

// finish clusters the representation of a trained network and makes the predictor.
func finish[T kernel.Float](
	ctx context.Context, in *prepared[T], net *lossNetwork[T], r *runState,
) (*Clustering, error) {
	began := time.Now()
	c, views := net.config, in.views
	p := newPredictor(c, views, in.list, r)
	p.samples = ranks.Of(ctx).Total(p.samples)
	p.setNetwork(net.model, net.reads, in.rotated)
	out := &Clustering{Predictor: p, StartLabels: view.Back(in.order, r.Begin.Labels, 1)}
	n, m, ld := views[0].Rows, c.Anchors, kernel.Pad(c.Anchors)
	collect(views)
	h, trust, err := represent(ctx, views, in, net, p)
	if err != nil {
		return nil, err
	}
	if err := smoothLast(ctx, in, c, h); err != nil {
		return nil, withName(err)
	}
	found, err := clustered(ctx, in, c, r, h)
	if err != nil {
		return nil, withName(err)
	}
	kept, err := keepsStart(ctx, in, c, r, found.Labels)
	if err != nil {
		return nil, withName(err)
	}
	if kept {
		e, err := cluster.Embed(ctx, in.x, m, c.Seed+uint64(r.Restart), c.Machine.Workers)
		if err != nil {
			return nil, withName(err)
		}
		if h, err = e.Rows(ctx, in.x, c.Machine.Workers); err != nil {
			return nil, withName(err)
		}
		if found, err = clustered(ctx, in, c, r, h); err != nil {
			return nil, withName(err)
		}
		p.Kept, p.start = true, e.Basis
	}
	out.H = resultMatrix(n, m, ld, view.Back(in.order, h, ld))
	for _, t := range trust {
		out.Trust = append(out.Trust, view.Back(in.order, t, 1))
	}
	out.Labels, out.Repaired = view.Back(in.order, found.Labels, 1), found.Repaired
	p.Clusters, p.Sizes, p.centroids = len(found.Sizes), found.Sizes, kernel.Float64s(found.Centroids)
	from, err := in.intake(ctx, p.dims, c.Machine.Workers)
	if err != nil {
		return nil, withName(err)
	}
	if p.model, err = newFitted(p, from, found.Assigner); err != nil {
		return nil, err
	}
	if err := setNovelty(ctx, p, views, in, out.H); err != nil {
		return nil, withName(err)
	}
	out.Timings = Timings{Start: r.startFor, Train: r.trainFor, Epoch: median(r.durations), Clusters: time.Since(began)}
	return out, nil
}

// setNetwork takes over what a trained network has learned.
func (p *Predictor) setNetwork(m *Model[Represent, Noise, Anchor], reads *readOuts, rotated []*prepare.Rotated) {
	var values [3][]learned
	for i, module := range m.modules() {
		values[i] = learnedBy(m.env.Prefix, module.Learnables())
	}
	if fused := m.fused(); fused != nil {
		p.learned = values
		p.setParameters(fused.Parameters())
		p.setAnchors(fused.Engine().Anchors, rotated)
		return
	}
	p.setLearned(values)
	p.setAnchors(func(l, v int) []float64 { return float64s(reads.anchors[l][v]) }, rotated)
	// The configuration keeps modules with the trained values, in graphs that hold nothing of the samples.
	p.unfit = p.fill(p.config.modules())
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
	if in.rotated == nil && net.fused != nil {
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
		if p.unfit != nil {
			copyReads(net.reads, h, trust, kernel.Pad(p.config.Anchors))
		}
		return h, trust, nil
	}
	standard := *in.standard
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
	f, err := newFitted[T](p, asPrepared[T](in.x), nil)
	if err != nil {
		return err
	}
	workers := net.config.Machine.Workers
	return withName(f.network(workers).Run(ctx, views, workers, out))
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
func (x asPrepared[T]) Take(
	_ context.Context, _ []view.View, lo, hi, _ int, _ *prepare.Buffer[T],
) ([]rows.Matrix[T], error) {
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

// Resume continues the training whose state Config.Checkpoint left in the file at path, on the same views, and goes on
// writing to it. On the same machine the result has the same bits as that of a Fit that was never interrupted, Timings
// aside; a training that was over gives its result again.
//
// change, if not nil, may set the fields Progress, ExtraLoss, Machine, Checkpoint and EarlyStop of the configuration that the
// training began with, and without restarts Epochs: a higher number trains on, even where the training was over; where EarlyStop
// ended it, only with an EarlyStop that would not have. ExtraLoss must be set if, and only if, the training had one; that it is
// the same one cannot be checked. Any other change is an error, as are views that differ from those of the training, as they
// were before Machine.Overwrite. A file that is truncated, was changed, is no checkpoint or comes from a later version of the
// format gives an error that errors.Is tells apart (package saved).
func Resume(ctx context.Context, views []View, path string, change func(*Config)) (*Clustering, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	saved, err := readResumed(path)
	config := Config{}.WithDefaults() // of no use but to find the other ranks, where there is no state
	if err == nil {
		config = *saved.config
	}
	config.Checkpoint.Path = path
	if change != nil {
		change(&config)
	}
	ctx, group := ranks.Enter(ctx, config.Machine.Comm)
	return onRanks(group, func() (*Clustering, error) {
		if err != nil {
			return nil, fmt.Errorf("largemvc: resuming from %s: %w", path, err)
		}
		return resume(ctx, views, path, config, saved)
	})
}

// resume is Resume from a state that was read.
func resume(ctx context.Context, views []View, path string, config Config, saved *resumed) (*Clustering, error) {
	if err := saved.allows(&config); err != nil {
		return nil, fmt.Errorf("largemvc: resuming from %s: %w", path, err)
	}
	if b := saved.best; saved.current == nil && b != nil && config.Restarts == 1 && b.status == EpochLimit &&
		saved.config.Epochs < config.Epochs {
		saved.current, saved.best, saved.next = b, nil, b.Restart
	}
	return fitAlone(ctx, views, config, saved)
}
