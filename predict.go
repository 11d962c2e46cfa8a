package largemvc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/score"
)

// Predict returns the clusters of samples: it runs the trained layers with the stored anchors and takes the nearest centroid.
// For the training samples, as given to Fit (without Start.H and Start.E), it returns their Labels. Samples may lack views.
func (p *Predictor) Predict(ctx context.Context, views []View) ([]int, error) {
	if p != nil && (p.asked.h || p.asked.trust) {
		p = p.WithResults(false, false)
	}
	a, err := p.assign(ctx, views, false)
	if err != nil {
		return nil, err
	}
	return a.Labels, nil
}

// Assign returns the clusters of samples with the distances to the two nearest centroids, confidence and novelty, and their
// classes if the fit had known labels. WithResults adds their representation and the trust in their views. One sample takes
// microseconds; with neighbours, add the time of its distances to the stored samples or landmarks.
func (p *Predictor) Assign(ctx context.Context, views []View) (*Assignments, error) {
	return p.assign(ctx, views, true)
}

// assign is Assign; without all it finds labels, Near and Next alone.
func (p *Predictor) assign(ctx context.Context, views []View, all bool) (*Assignments, error) {
	out := &Assignments{}
	var h *matrix
	err := p.each(ctx, views, func(first int, r *request) error {
		n := first + r.views[0].Rows
		out.grow(n, all && p.hasNovelty())
		part := &Assignments{Labels: out.Labels[first:n], Near: out.Near[first:n], Next: out.Next[first:n]}
		if out.Novelty != nil {
			part.Novelty = out.Novelty[first:n]
		}
		err := p.model.assign(ctx, r, p, part)
		out.Ran = r.on.ran()
		if x, ok := part.H.(*matrix); ok {
			h = h.joined(x, views[0].in.Rows)
			out.H = h
		}
		out.addTrust(part.Trust)
		if err == nil && all {
			err = p.setClasses(ctx, r, first, out)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	p.setConfidence(out)
	return out, nil
}

// AssignRows is Assign in blocks, for any number of samples in bounded memory. It calls emit with the assignments of each
// block, in order; first is the number of the first sample of the block. It reads the next block while it works on one. An
// error of emit stops AssignRows, which returns it. a is valid until emit returns.
func (p *Predictor) AssignRows(ctx context.Context, views []View, emit func(first int, a *Assignments) error) error {
	if emit == nil {
		return errors.New("largemvc: the function that takes the assignments is nil")
	}
	in, err := p.checked(ctx, views)
	if err != nil {
		return err
	}
	on, err := p.place(in)
	if err != nil {
		return err
	}
	defer on.close()
	out := &Assignments{}
	return p.blocks(ctx, in, on, func(first int, r *request) error {
		out.grow(r.views[0].Rows, p.hasNovelty())
		if err := p.model.assign(ctx, r, p, out); err != nil {
			return err
		}
		if err := p.setClasses(ctx, r, 0, out); err != nil {
			return err
		}
		p.setConfidence(out)
		out.Ran = on.ran()
		return emit(first, out)
	})
}

// Transform returns the representation H of samples (n×m), from the trained layers with the stored anchors.
func (p *Predictor) Transform(ctx context.Context, views []View) (mat.Matrix, error) {
	var out *matrix
	err := p.each(ctx, views, func(_ int, r *request) error {
		h, err := p.model.transform(ctx, r)
		if err == nil {
			out = out.joined(h, views[0].in.Rows)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ViewTrust returns, for each view and sample, the probability (0 to 1) that the row belongs to the sample, if at most one of
// the rows of the sample does not. The view with the lowest value is the one to check. A row of noise is far from all others.
// A row of another sample does not match the other views of the sample and of its neighbours among the training samples.
// ViewTrust uses the views before smoothing; it does not depend on the network or the clusters.
//
// The value is 1 for an absent view, and where there is no other view to compare with. With two views, both of a sample have
// the same value. A training sample is compared with the others only. ViewTrust requires Neighborhood.Neighbors and a second
// view. The first call learns from at most 2,000 samples. This takes seconds. If its context ends, the next call continues.
// Training samples must be given as they were to Fit, before Machine.Overwrite.
func (p *Predictor) ViewTrust(ctx context.Context, views []View) ([][]float64, error) {
	in, err := p.checked(ctx, views)
	if err != nil {
		return nil, err
	}
	out := &Assignments{}
	err = p.pass(ctx, in, nil, func(_ int, r *request) error {
		part, err := p.model.trust(ctx, r)
		out.addTrust(part)
		return err
	})
	if err != nil {
		return nil, withName(err)
	}
	return out.Trust, nil
}

// each checks views, opens the device that WithMachine asks for and takes the samples to do, as pass does.
func (p *Predictor) each(ctx context.Context, views []View, do func(first int, r *request) error) error {
	in, err := p.checked(ctx, views)
	if err != nil {
		return err
	}
	on, err := p.place(in)
	if err != nil {
		return err
	}
	defer on.close()
	return p.pass(ctx, in, on, do)
}

// pass takes checked views to do: as they are if they are in memory, else in blocks.
func (p *Predictor) pass(ctx context.Context, in []view.View, on *placement, do func(first int, r *request) error) error {
	if view.Outside(in) {
		return p.blocks(ctx, in, on, do)
	}
	return do(0, &request{in, on, p.config.Machine.Workers})
}

// blocks calls do with blocks of samples of checked views. It checks the values of each block after reading it.
func (p *Predictor) blocks(ctx context.Context, in []view.View, on *placement, do func(first int, r *request) error) error {
	workers := p.config.Machine.Workers
	return withName(view.Pass(ctx, in, func(first int, in []view.View) error {
		if err := view.CheckFinite(ctx, in, workers); err != nil {
			return err
		}
		return do(first, &request{in, on, workers})
	}))
}

// setConfidence sets the confidence of assignments from their distances.
func (p *Predictor) setConfidence(a *Assignments) {
	if p.curve == nil {
		return
	}
	a.Confidence = slices.Grow(a.Confidence[:0], len(a.Labels))[:len(a.Labels)]
	for i := range a.Labels {
		a.Confidence[i] = p.curve.At(a.Near[i], a.Next[i])
	}
}

// grow makes room for the assignments of n samples, with novel for their novelty too, and keeps those that are there.
func (a *Assignments) grow(n int, novel bool) {
	if novel {
		a.Novelty = slices.Grow(a.Novelty, max(n-len(a.Novelty), 0))[:n]
	}
	a.Labels = slices.Grow(a.Labels, max(n-len(a.Labels), 0))[:n]
	a.Near = slices.Grow(a.Near, max(n-len(a.Near), 0))[:n]
	a.Next = slices.Grow(a.Next, max(n-len(a.Next), 0))[:n]
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
		return nil, view.Wrong(-1, -1, "largemvc: the samples have %s, the training had %d: %s; give these views, in this order",
			textfile.Count(len(views), "view"), len(p.dims), viewList(p.names, p.dims))
	}
	if err := p.checkOrder(views); err != nil {
		return nil, err
	}
	for v, x := range views {
		if x.in.Cols != p.dims[v] {
			return nil, view.Wrong(v, -1,
				"largemvc: %s has %s, the network was trained on %d; its views in order: %s",
				x.in.Label(v), textfile.Count(x.in.Cols, "feature"), p.dims[v], viewList(p.names, p.dims),
			)
		}
	}
	if err := p.checkFeatures(views); err != nil {
		return nil, err
	}
	in := inner(views)
	if view.Outside(in) { // their values are checked when they are read
		return in, nil
	}
	return in, withName(view.CheckFinite(ctx, in, p.config.Machine.Workers))
}

// checkOrder refuses a view with the name of another view of the training. Names that the training did not have say nothing:
// today's file may be called differently.
func (p *Predictor) checkOrder(views []View) error {
	given := make([]string, len(views))
	for v, x := range views {
		given[v] = x.in.Name
	}
	list := func(names []string) string { // a view without a name has its number
		text := make([]string, len(names))
		for v, name := range names {
			text[v] = cmp.Or(name, view.View{}.Label(v))
		}
		return strings.Join(text, ", ")
	}
	for v, name := range given {
		if name != "" && name != p.names[v] && slices.Contains(p.names, name) {
			return view.Wrong(-1, -1, "largemvc: the views are %s, the network was trained on %s: give them in that order, "+
				"or other names", list(given), list(p.names))
		}
	}
	return nil
}

// checkFeatures refuses views that were prepared in another way, and features that have other names than in the training, or the
// same in another order. Views without names are taken as they stand.
func (p *Predictor) checkFeatures(views []View) error {
	for v, x := range views {
		if about, given := p.prepared[v].Changes(), x.in.Prepared.Changes(); given != about {
			return view.Wrong(v, -1, "largemvc: %s has the preparation %s, the network was trained on %s: prepare the samples "+
				"by the model (views.Preparations)", x.in.Label(v), cmp.Or(given, "none"), cmp.Or(about, "none"))
		}
		trained, given := p.features[v], x.in.Features
		if trained == nil || given == nil || slices.Equal(trained, given) {
			continue
		}
		j := 0
		for trained[j] == given[j] {
			j++
		}
		more := "these are other features"
		if at := slices.Index(given, trained[j]); at >= 0 {
			more = fmt.Sprintf("%q is feature %d here: put the features in the order of the training", trained[j], at)
		}
		return &InputError{View: v, Row: -1, Column: j, Err: fmt.Errorf(
			"largemvc: feature %d of %s is %q, the network was trained on %q there; %s",
			j, x.in.Label(v), given[j], trained[j], more,
		)}
	}
	return nil
}

// place opens the device that WithMachine asks for. Where the samples cannot go there, the zero of machine.Device is the CPU and
// CUDA an error.
func (p *Predictor) place(views []view.View) (*placement, error) {
	if p.asked.device == nil {
		return &placement{why: "no device was asked for"}, nil
	}
	d := *p.asked.device
	on := &placement{must: d == machine.CUDA, why: "as was asked for"}
	if !d.Known() {
		return nil, fmt.Errorf("largemvc: the Device of WithMachine is %d, want auto, cpu or cuda", int(d))
	}
	if d == machine.CPU {
		return on, nil
	}
	var err error
	on.session, err = p.tryDevice(views, on.must)
	switch {
	case err != nil && on.must:
		return nil, fmt.Errorf("largemvc: the samples cannot be labelled on a GPU: %w", err)
	case err != nil:
		on.why = err.Error()
	case !on.must:
		on.why = "which is there"
	}
	return on, nil
}

// tryDevice opens a device for samples, or says why they cannot go there.
func (p *Predictor) tryDevice(views []view.View, must bool) (*device.Session, error) {
	if err := p.model.batches(); err != nil {
		return nil, err
	}
	for v, x := range views {
		if x.Sparse != nil && p.config.Neighborhood.Neighbors == None {
			return nil, fmt.Errorf("%s is sparse, and without neighbours sparse views go through the network on the CPU",
				x.Label(v))
		}
	}
	if p.config.Float64 && !must {
		return nil, errors.New("float64 is for the CPU unless a GPU is asked for")
	}
	return device.OpenSession(must, p.config.Machine.Workers)
}

// noveltySteps is the number of equal steps of the quantiles that a model keeps.
const noveltySteps = 100

// Novelty returns how far each sample is from the training samples (0 to 1): the share of the training samples that are
// nearer to the other training samples than this sample is. One in twenty samples like the training samples has a novelty
// above 0.95. 1 is farther than any of them.
//
// With neighbours, the distance is 1 − ⟨x, y⟩, the mean over the inputs, where y is the row x after smoothing. Without
// neighbours it is the share ‖x − hP‖²/‖x‖² of an input that the anchors do not explain. The quantiles come from up to 192
// training samples, each compared with the others only, without neighbours from up to 2,000.
//
// If the training had fewer samples than features, similar samples get too high values: a fifth was above 0.95 after a
// training on 105 samples of 48 to 1,302 features, and 5 % after one on 1,000 samples of 6 to 240 features.
//
// Assign returns the same values, in the same time. A model with an Encoder and without neighbours has no novelty: its anchors
// explain codes, not views. Novelty then returns an error.
func (p *Predictor) Novelty(ctx context.Context, views []View) ([]float64, error) {
	a, err := p.WithResults(false, false).Assign(ctx, views)
	switch {
	case err != nil:
		return nil, err
	case !p.hasNovelty():
		return nil, errors.New("largemvc: there is no novelty without neighbours if the anchors explain the codes of an Encoder")
	}
	return a.Novelty, nil
}

// hasNovelty reports whether the model knows how far its training samples are.
func (p *Predictor) hasNovelty() bool {
	_, encoded := p.config.Represent.(Encoder)
	return !encoded || p.config.Neighborhood.Neighbors != None
}

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

// explainer finds how much of a sample the anchors explain. It is for one goroutine.
type explainer[T kernel.Float] struct {
	p      *Predictor
	h      []float64 // representation of the sample
	values []T       // memory for a row
	fit    []float64
}

func newExplainer[T kernel.Float](p *Predictor) *explainer[T] {
	most := 0
	for _, anchors := range p.P {
		_, d := anchors.Dims()
		most = max(most, d)
	}
	return &explainer[T]{p, make([]float64, p.config.Anchors), make([]T, most), make([]float64, most)}
}

// unexplained returns the share of sample i that the anchors do not explain: ‖x − hP‖²/‖x‖², the mean over the inputs that it
// has.
func (e *explainer[T]) unexplained(inputs []rows.Matrix[T], i int, has func(input, i int) bool) float64 {
	sum, count := 0.0, 0.0
	for k, x := range inputs {
		if has(k, i) {
			_, d := x.Dims()
			x.Row(i, e.values[:d])
			sum, count = sum+unexplainedRow(e.values[:d], e.h, e.p.P[k], e.fit[:d]), count+1
		}
	}
	return sum / max(count, 1)
}

// unexplained sets out to the share of each sample that the anchors do not explain. row gives the representation of a sample.
func unexplained[T kernel.Float](
	ctx context.Context, p *Predictor, from *prepare.Rows[T], views []view.View, out []float64, row func(dst []float64, i int),
) error {
	const chunk = 256
	n := views[0].Rows
	return parallel.For(ctx, p.config.Machine.Workers, (n+chunk-1)/chunk, func(_, c int) error {
		lo, hi := c*chunk, min((c+1)*chunk, n)
		inputs, err := from.Take(ctx, views, lo, hi, chunk, &prepare.Buffer[T]{})
		if err != nil {
			return err
		}
		e := newExplainer[T](p)
		has := func(input, i int) bool { return views[p.inputs[input].View].Has(lo + i) }
		for i := range hi - lo {
			row(e.h, lo+i)
			out[lo+i] = e.unexplained(inputs, i, has)
		}
		return nil
	})
}

// unexplainedRow returns that share of a row, with fit as memory for its fit.
func unexplainedRow[T kernel.Float](values []T, h []float64, anchors *mat.Dense, fit []float64) float64 {
	clear(fit)
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

// Classify returns the classes of samples, by the weights learned from Config.Known. For training samples without a known
// label it returns the classes of Clustering.Classes. It returns an error if the fit had no known labels.
func (p *Predictor) Classify(ctx context.Context, views []View) (*score.Classes, error) {
	in, err := p.checked(ctx, views)
	if err != nil {
		return nil, err
	}
	if p.classes == nil {
		return nil, errors.New("largemvc: the model has no classes: fit it with some known labels (Config.Known)")
	}
	return p.classify(ctx, in)
}

// HasClasses reports whether the fit had known labels, so that Classify has classes to give.
func (p *Predictor) HasClasses() bool { return p != nil && p.classes != nil }

// classify is Classify for views that were checked.
func (p *Predictor) classify(ctx context.Context, in []view.View) (*score.Classes, error) {
	out := &Assignments{}
	err := p.pass(ctx, in, nil, func(first int, r *request) error { return p.setClasses(ctx, r, first, out) })
	return out.Classes, withName(err)
}
