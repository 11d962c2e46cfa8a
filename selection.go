package largemvc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/largemvc/largemvc/internal/confidence"
	"github.com/largemvc/largemvc/internal/inputs"
	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/outlier"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/structure"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/score"
)

// streamSamples keeps the draws of FitSamples apart from what else is drawn with the same seed.
const streamSamples = 0x73616d70

// drawMargin is more than what rounding makes of equal sums of NMI.
const drawMargin = 1e-9

// drawn returns the samples of a draw of FitSamples.
func drawn(c *Config, n, draw int) []int {
	return rows.Sample(rand.New(rand.NewPCG(c.Seed, streamSamples+uint64(draw))), n, c.FitSamples)
}

// subset returns the chosen samples of all ranks. It checks rows outside memory; other rows are checked when they are labelled.
func (r *run) subset(ctx context.Context, chosen []int) ([]view.View, error) {
	n := r.views[0].Rows
	here, some := r.group.Here(chosen, n), make([]view.View, len(r.views))
	for v, x := range r.views {
		some[v] = x.Take(here)
	}
	if view.Outside(r.views) {
		err := view.CheckFinite(ctx, some, r.config.Machine.Workers)
		if err != nil { // with the number that the sample has among all
			return nil, withName(cmp.Or(view.FirstNotFinite(ctx, r.views, here), err))
		}
	}
	return some, withName(r.shared(ctx, some, len(chosen)))
}

// shared puts the samples of all ranks, count together, in the place of those here.
func (r *run) shared(ctx context.Context, some []view.View, count int) (err error) {
	if r.group == nil {
		return nil
	}
	for v := range some {
		if some[v], err = view.Gather(ctx, r.group, v, some[v], count); err != nil {
			return err
		}
	}
	return nil
}

// checkDrawn checks the configuration for samples that were drawn, and that these have all views.
func checkDrawn(c *Config, some []view.View) error {
	n, public := some[0].Rows, make([]View, len(some))
	for v, x := range some {
		public[v].in = x
	}
	if err := checkPresence(public, n); err != nil {
		return fmt.Errorf("%w among the %d samples that are trained on", err, n)
	}
	return checkConfig(c, n, public)
}

// checkDraws checks that one of the draws that are compared, or else the first, has all views. Its error is about the first.
func (r *run) checkDraws(ctx context.Context, c *Config, n int) (first error) {
	for d := range draws {
		some, err := r.subset(ctx, drawn(c, n, d))
		if err != nil {
			return err
		}
		if err = checkDrawn(c, some); err == nil || !c.comparesDraws(n) {
			return err
		}
		first = cmp.Or(first, err)
	}
	return first
}

// chooseDraw returns the draw of FitSamples to train on. A resumed training keeps its draw. Otherwise chooseDraw takes the draw
// whose initial clustering agrees best with the others, by the mean NMI of the labels that start returns for the same samples.
// start returns nil if no sample of the draw has some view. A draw can have a poor initial clustering that training does not
// mend, and no measure within one draw was found that detects it.
func (r *run) chooseDraw(
	ctx context.Context, start func(ctx context.Context, drawn, compared []int) ([]int, error),
) (int, error) {
	c, from := r.config, r.state
	n := r.group.Total(r.views[0].Rows)
	if !c.comparesDraws(n) {
		return 0, nil
	}
	if from != nil {
		return r.drawOfState(ctx)
	}
	if err := r.meter.Enter(meter.Draws, 0); err != nil {
		return 0, err
	}
	compared := rows.Sample(rand.New(rand.NewPCG(c.Seed, streamSamples+draws)), n, min(c.FitSamples, comparedSamples))
	var labels [draws][]int
	for d := range labels {
		parallel.Tell(ctx, d, draws)
		var err error
		if labels[d], err = start(r.meter.Within(ctx), drawn(c, n, d), compared); err != nil {
			return 0, err
		}
	}
	return mostAlike(labels[:])
}

// drawOfState returns the draw that the state of a training is of, 0 where it is of none.
func (r *run) drawOfState(ctx context.Context) (int, error) {
	for d := range draws {
		some, err := r.subset(ctx, drawn(r.config, r.group.Total(r.views[0].Rows), d))
		if err != nil {
			return 0, err
		}
		sum, err := view.Fingerprint(ctx, nil, some, r.config.Machine.Workers)
		if err != nil {
			return 0, err
		}
		if r.state.fit.Matches(some, sum) == nil {
			return d, nil
		}
	}
	return 0, nil
}

// mostAlike returns which of some labelings of the same samples is most like the others, by the sum of NMI. A nil labeling is
// like none, and is not chosen if there is another.
func mostAlike(labels [][]int) (int, error) {
	like := make([]float64, len(labels))
	for d := range labels {
		for e := range d {
			if labels[d] == nil || labels[e] == nil {
				continue
			}
			table, err := score.NewContingency(labels[d], labels[e])
			if err != nil {
				return 0, err
			}
			nmi := table.NMI(score.NMIArithmetic)
			like[d], like[e] = like[d]+nmi, like[e]+nmi
		}
	}
	best := 0
	for d, x := range like {
		if labels[best] == nil || labels[d] != nil && x > like[best]+drawMargin {
			best = d
		}
	}
	return best, nil
}

// startOfDraw returns the labels of the compared samples by the untrained network of the drawn samples. It returns nil if none of
// the drawn samples has some view.
func (r *run) startOfDraw(ctx context.Context, drawn, compared []int) ([]int, error) {
	defer inputs.Collect(r.views) // a fit of few samples leaves garbage
	begin := *r.config
	begin.Epochs, begin.Restarts, begin.Checkpoint = None, 1, Checkpoint{}
	fillModules(&begin)
	some, err := r.subset(ctx, drawn)
	if err != nil || checkDrawn(r.config, some) != nil {
		return nil, err
	}
	untrained := &run{processes: r.alone(), config: &begin, views: some, storage: r.storage, began: time.Now()}
	out, err := untrained.fit(ctx)
	if err != nil {
		return nil, err
	}
	if some, err = r.subset(ctx, compared); err != nil {
		return nil, err
	}
	err = out.relabel(ctx, some)
	return out.Labels, err
}

// selection is the fit of the samples that are trained on. extend adds the other samples to its result; ended ended the training
// early, if it is not nil.
type selection struct {
	*run
	extend func(ctx context.Context, out *Clustering, ended error) (*Clustering, error)
}

// selectSamples returns the samples to train on: all samples, or a draw. It checks that their values are finite.
func (r *run) selectSamples(ctx context.Context) (*selection, error) {
	if err := r.meter.Enter(meter.Checks, 0); err != nil {
		return nil, err
	}
	if r.config.samples(r.group.Total(r.views[0].Rows)) {
		some, err := r.subsample(ctx)
		return &selection{some, r.labelAll}, err
	}
	all := *r
	if r.storage.Rows {
		var err error
		if all.views, err = view.Hold(ctx, r.views, r.config.Machine.Workers); err != nil {
			return nil, withName(err)
		}
	}
	whole := func(_ context.Context, out *Clustering, ended error) (*Clustering, error) { return out, ended }
	err := view.CheckFinite(ctx, all.views, r.config.Machine.Workers)
	if err == nil {
		err = view.CheckSteady(ctx, all.views)
	}
	return &selection{&all, whole}, withName(err)
}

// labelAll extends the result of a training on some samples to all.
func (r *run) labelAll(ctx context.Context, out *Clustering, ended error) (*Clustering, error) {
	began := time.Now()
	out.StartLabels = nil
	if err := out.relabel(ctx, r.views); err != nil {
		return nil, joined(ended, err)
	}
	if f := r.meter.Failure(); !errors.Is(f, ErrStop) {
		ended = joined(ended, f)
	}
	out.Timings.Clusters += time.Since(began)
	out.Timings.Total = time.Since(r.began)
	return out, joined(ended, out.setNotes(r.group, r.views))
}

// alone returns the processes of a fit in which each process has the samples of all.
func (r *run) alone() processes { return processes{team: r.team} }

// subsample returns the fit of the drawn samples. Every rank has all of them.
func (r *run) subsample(ctx context.Context) (*run, error) {
	c, n := *r.config, r.group.Total(r.views[0].Rows)
	c.Known = nil // known labels are used after the training, for all samples
	chosen := drawn(&c, n, 0)
	if labels := c.StartLabels; r.state == nil && labels != nil {
		var own []int
		for _, i := range r.group.Here(chosen, len(labels)) {
			own = append(own, labels[i])
		}
		var err error
		if c.StartLabels, err = ranks.GatherAll(r.group, "StartLabels of the draw", own, len(chosen)); err != nil {
			return nil, withName(err)
		}
	}
	if err := r.checkDraws(ctx, &c, n); err != nil {
		return nil, err
	}
	if !view.Outside(r.views) {
		if err := view.CheckFinite(ctx, r.views, c.Machine.Workers); err != nil {
			return nil, withName(err)
		}
	}
	out := r.with(&c)
	draw, err := out.chooseDraw(ctx, out.startOfDraw)
	if err != nil {
		return nil, err
	}
	out.views, err = out.subset(ctx, drawn(&c, n, draw))
	out.processes = r.alone()
	return out, err
}

// relabel replaces labels, representation and trust by those for all samples. It checks rows outside memory.
func (c *Clustering) relabel(ctx context.Context, all []view.View) error {
	n := all[0].Rows
	h := &matrix{}
	c.Labels, c.H = make([]int, n), h
	to := &labelled{c.Labels, h, c.Trust}
	for v := range c.Trust {
		c.Trust[v] = make([]float64, n)
	}
	outside := view.Outside(all)
	return withName(view.Pass(ctx, all, func(lo int, in []view.View) error {
		if outside {
			if err := view.CheckFinite(ctx, in, c.config.Machine.Workers); err != nil {
				return err
			}
		}
		return c.model.label(ctx, &request{views: in, workers: c.config.Machine.Workers}, lo, n, to)
	}))
}

// samplesToJudge returns the samples of all ranks that the judgement of the structure uses; nil: there is no judgement.
func (r *run) samplesToJudge(ctx context.Context) (*judgedSamples, error) {
	if r.config.NoStructure {
		return nil, nil
	}
	n := r.views[0].Rows
	chosen := structure.Choose(r.group.Total(n), structureOptions(r.config))
	here, some := r.group.Here(chosen, n), make([]view.View, len(r.views))
	for v, x := range r.views {
		some[v] = x.Take(here)
	}
	if err := r.shared(ctx, some, len(chosen)); err != nil {
		return nil, withName(err)
	}
	of := &judgedSamples{numbers: chosen, views: some}
	return of, withName(r.findOutliers(ctx, of))
}

// fewestAgree is the agreement of views below which their rows may be in different orders. Of 30 public sets 29 have 0.032 or
// more, and citeseer 0.003 to 0.050. With the rows of each view in an order of its own, the highest has 0.005 (docs/trust.md).
const fewestAgree = 0.015

// samples returns the samples to train on, with their first classes if known labels are in the loss, and those to judge.
func (r *run) samples(ctx context.Context) (*selection, *judgedSamples, error) {
	s, err := r.selectSamples(ctx)
	if err != nil {
		return nil, nil, err
	}
	some, err := r.samplesToJudge(ctx) // before the views are overwritten
	if err != nil {
		return nil, nil, err
	}
	return s, some, startAtClasses(ctx, s.run)
}

// appraise judges the result by some samples and gives its samples their classes.
func (r *run) appraise(ctx context.Context, some *judgedSamples, out *Clustering) error {
	if err := r.judge(ctx, some, out); err != nil {
		return err
	}
	return classify(context.WithoutCancel(ctx), r, out)
}

// judge sets the structure of a result by some samples, if there are any, and what follows from it. If the callback of a rank
// stops the judgement, no rank has one. The result of the training stays.
func (r *run) judge(ctx context.Context, some *judgedSamples, out *Clustering) error {
	if some == nil {
		return nil
	}
	began := time.Now()
	out.Remoteness, out.Outlier = some.remoteness, some.outlier
	on, err := r.goesOn(cmp.Or(ctx.Err(), r.meter.Enter(meter.Structure, out.Restart)))
	if on {
		found, failed := structure.Judge(ctx, some.views, structureOptions(r.config))
		if on, err = r.goesOn(failed); on {
			out.Structure = found.Score()
			err = r.setConfidence(some, found, out)
		}
	}
	out.Timings.Structure, out.Timings.Total = time.Since(began), time.Since(r.began)
	// An agreement of exactly 0 says that fewer than two views could be compared. Views of different samples may well disagree.
	lacks := func(x view.View) bool { return x.Present != nil }
	if s := out.Structure; s.Agreement != 0 && s.Agreement < fewestAgree && !slices.ContainsFunc(some.views, lacks) {
		out.Notes = append([]string{fmt.Sprintf("clusters of single views agree no more than by chance (%.3f; 1 is equal, 0 "+
			"chance): is row i the same sample in all views?", s.Agreement)}, out.Notes...)
	}
	if out.Structure.Judgement == score.StructureNone {
		out.Notes = append([]string{"structure " + out.Structure.String()}, out.Notes...)
	}
	return err
}

// judgedSamples are the samples that the judgement of the structure uses.
type judgedSamples struct {
	numbers []int       // among the samples of all ranks, in increasing order
	views   []view.View // on every rank
	// Of all samples of this rank; nil: not known.
	remoteness []float64
	outlier    []bool
}

// findOutliers compares all samples here with the judged ones.
func (r *run) findOutliers(ctx context.Context, of *judgedSamples) error {
	workers := r.config.Machine.Workers
	from, err := outlier.New(ctx, of.numbers, of.views, workers)
	if err != nil || from == nil {
		return err
	}
	return view.Pass(ctx, r.views, func(first int, in []view.View) error {
		part, err := from.Remoteness(ctx, r.group.First()+first, in, workers)
		of.remoteness = append(of.remoteness, part...)
		for _, x := range part {
			of.outlier = append(of.outlier, from.Outlier(x))
		}
		return err
	})
}

// setConfidence compares the labels of the judged samples with the clusters of their halves, and sets the confidence of all. It
// cannot be stopped: all ranks have a confidence, or none.
func (r *run) setConfidence(of *judgedSamples, found *structure.Result, out *Clustering) error {
	if !found.Judged() {
		return nil
	}
	n := len(out.Labels)
	near, next := make([]float64, n), make([]float64, n)
	err := out.squares(context.Background(), out.H, func(i int, squares []float64) {
		own := out.Labels[i]
		near[i], next[i] = squares[own], math.Inf(1)
		for k, q := range squares {
			if k != own {
				next[i] = min(next[i], q)
			}
		}
	})
	if err != nil {
		return err
	}
	var labels []int
	var margin []float64
	for _, i := range r.group.Here(of.numbers, n) {
		labels, margin = append(labels, out.Labels[i]), append(margin, confidence.Margin(near[i], next[i]))
	}
	if labels, err = ranks.GatherAll(r.group, "the labels of the judged samples", labels, len(of.numbers)); err != nil {
		return withName(err)
	}
	if margin, err = ranks.GatherAll(r.group, "the margins of the judged samples", margin, len(of.numbers)); err != nil {
		return withName(err)
	}
	agreed := found.Agree(labels)
	if agreed == nil {
		return nil
	}
	if out.curve = confidence.Fit(margin, agreed.Share, agreed.Chance, r.group.Total(n)); out.curve == nil {
		return nil
	}
	out.Confidence = make([]float64, n)
	for i := range out.Confidence {
		out.Confidence[i] = out.curve.At(near[i], next[i])
	}
	return nil
}

// goesOn agrees with the other ranks whether all go on after a step that ended with err here. None does after an error or
// ErrStop on any of them. ErrStop is no error.
func (r *run) goesOn(err error) (bool, error) {
	stops := []int{0}
	if err = r.meter.Stopped(withName(err)); errors.Is(err, ErrStop) {
		stops[0], err = 1, nil
	}
	if err = r.team.Agree("the judgement of the structure", err); err == nil {
		err = r.team.SumInts("ends of the judgement", stops)
	}
	return err == nil && stops[0] == 0, err
}
