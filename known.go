package largemvc

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/inputs"
	"github.com/largemvc/largemvc/internal/known"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/score"
)

// knownRows is the number of known samples whose features are computed at once.
const knownRows = 1024

// classify teaches the predictor of a result the known labels, and gives all samples their classes.
func classify(ctx context.Context, r *run, out *Clustering) error {
	c := r.config
	if c.Known == nil {
		return nil
	}
	if out.unfit != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("there are no classes, because the modules cannot take new samples: "+
			"%v", out.unfit))
		return nil
	}
	var samples, labels []int
	seen := known.Seen(c.Known)
	for i, k := range known.Columns(c.Known, seen) {
		if k != known.Unknown {
			samples, labels = append(samples, i), append(labels, k)
		}
	}
	weights, left, err := learnKnown(ctx, r, out, samples, labels, len(seen))
	if err != nil {
		return withName(err)
	}
	suspects, chance := judgeKnown(samples, labels, seen, left)
	out.classes = known.NewClassifier(seen, weights, chance)
	found, err := out.classify(ctx, r.views)
	if err != nil {
		return err
	}
	for _, i := range r.group.Here(samples, r.views[0].Rows) {
		found.Labels[i] = c.Known[r.group.First()+i]
		if found.Confidence != nil {
			found.Confidence[i] = 1
		}
	}
	found.Suspects, out.Classes = suspects, found
	out.Timings.Total = time.Since(r.began)
	return nameClusters(r, out, samples)
}

// startAtClasses sets the initial clustering of a fit with known labels in its loss to the classes that these labels give with an
// untrained network, unless the clustering is given.
func startAtClasses(ctx context.Context, r *run) error {
	if r.config.Neighborhood.KnownWeight == 0 || r.config.StartLabels != nil {
		return nil
	}
	defer inputs.Collect(r.views)
	c, begin := *r.config, *r.config
	begin.Epochs, begin.Restarts, begin.Neighborhood.KnownWeight, begin.Checkpoint = None, 1, 0, Checkpoint{}
	fillModules(&begin)
	untrained := &run{processes: r.processes, config: &begin, views: r.views, storage: r.storage, began: r.began}
	ctx = r.meter.Within(ctx)
	out, err := untrained.fit(ctx)
	if err == nil {
		err = classify(ctx, untrained, out)
	}
	if err != nil {
		return err
	}
	if out.Classes == nil {
		return fmt.Errorf("largemvc: Config.Neighborhood.KnownWeight needs modules that take new samples: %w", out.unfit)
	}
	c.StartLabels = known.Columns(out.Classes.Labels, known.Seen(c.Known))
	r.config = &c
	return nil
}

// learnKnown returns the weights of the classes (features×classes), and the scores of known samples, each by the others.
func learnKnown(
	ctx context.Context, r *run, out *Clustering, samples, labels []int, classes int,
) (weights *mat.Dense, left []float64, err error) {
	ridge := known.NewRidge(out.inputColumns(), out.Predictor.config.Anchors, classes, labels)
	blocks := func(do func(first, n int, phi []float64) error) error {
		return knownBlocks(ctx, r, out.Predictor, samples, do)
	}
	err = blocks(func(first, _ int, phi []float64) error { return ridge.Add(ctx, r.config.Machine.Workers, first, phi) })
	if err != nil {
		return nil, nil, err
	}
	if err := ridge.Solve(); err != nil {
		return nil, nil, err
	}
	if ridge.NeedsRows() {
		err = blocks(func(first, n int, phi []float64) error { ridge.LeaveOut(first, n, phi); return nil })
		if err != nil {
			return nil, nil, err
		}
	} else {
		ridge.LeaveOut(0, len(samples), nil)
	}
	weights, left = ridge.Choose()
	return weights, left, nil
}

// knownBlocks shows the features of known samples, of all ranks, to do, a block at a time, in order.
func knownBlocks(ctx context.Context, r *run, p *Predictor, samples []int, do func(first, n int, phi []float64) error) error {
	width := p.featureCount()
	phi := make([]float64, min(len(samples), knownRows)*width)
	for lo := 0; lo < len(samples); lo += knownRows {
		chosen := samples[lo:min(lo+knownRows, len(samples))]
		here := r.group.Here(chosen, r.views[0].Rows)
		if err := knownHere(ctx, r, p, here, phi); err != nil {
			return err
		}
		all, err := ranks.GatherAll(r.group, "features of known samples", phi[:len(here)*width], len(chosen)*width)
		if err == nil {
			err = do(lo, len(chosen), all)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// knownHere sets phi to the features of some samples here.
func knownHere(ctx context.Context, r *run, p *Predictor, samples []int, phi []float64) error {
	if len(samples) == 0 {
		return nil
	}
	some, width := make([]view.View, len(r.views)), p.featureCount()
	for v, x := range r.views {
		some[v] = x.Take(samples)
	}
	in := &request{views: some, workers: r.config.Machine.Workers}
	return p.model.features(ctx, in, func(at, _ int, rows []float64) error {
		copy(phi[at*width:], rows)
		return nil
	})
}

// judgeKnown returns the suspects among known labels, by the scores that the other known samples give them, and the probability
// that a class is right; nil if there are too few samples to learn it. A sample that is the only known one of its class says
// nothing of either: the others cannot give it that class.
func judgeKnown(samples, labels, seen []int, left []float64) ([]score.Suspect, *known.Chance) {
	classes := len(seen)
	count := make([]int, classes)
	for _, l := range labels {
		count[l]++
	}
	var suspects []score.Suspect
	var margins []float64
	var right []bool
	for i, l := range labels {
		if count[l] < 2 {
			continue
		}
		scores := left[i*classes : (i+1)*classes]
		best, margin := known.Best(scores)
		margins, right = append(margins, margin), append(right, best == l)
		if best != l {
			suspects = append(suspects, score.Suspect{
				Sample: samples[i], Known: seen[l], Found: seen[best], Margin: scores[best] - scores[l],
			})
		}
	}
	slices.SortStableFunc(suspects, func(a, b score.Suspect) int { return cmp.Compare(b.Margin, a.Margin) })
	if len(margins) < known.Fewest {
		return suspects, nil
	}
	chance := known.Calibrate(margins, right)
	return suspects, &chance
}

// nameClusters finds the class of each cluster by the known samples in it, and notes which clusters and classes have none.
func nameClusters(r *run, c *Clustering, samples []int) error {
	var labels, clusters []int
	for _, i := range samples {
		labels = append(labels, r.config.Known[i])
	}
	for _, i := range r.group.Here(samples, len(c.Labels)) {
		clusters = append(clusters, c.Labels[i])
	}
	clusters, err := ranks.GatherAll(r.group, "clusters of known samples", clusters, len(samples))
	if err != nil {
		return withName(err)
	}
	classes := slices.Max(labels) + 1
	out := c.Classes
	out.Known, out.Clusters = make([]int, classes), slices.Repeat([]int{known.Unknown}, c.Predictor.Clusters)
	for _, l := range labels {
		out.Known[l]++
	}
	table, err := score.NewContingency(labels, clusters)
	if err != nil {
		return withName(err)
	}
	match, err := table.Match()
	if err != nil {
		return withName(err)
	}
	for i, l := range labels { // a match without a known sample is none
		if match[clusters[i]] == l {
			out.Clusters[clusters[i]] = l
		}
	}
	if names := without(out.Known, 0); names != "" {
		c.Notes = append(c.Notes, "no known sample has, and no sample gets, the class "+names)
	}
	if names := without(out.Clusters, known.Unknown); names != "" {
		c.Notes = append(c.Notes, "by the known samples no class goes with cluster "+names+
			": its samples get classes of other clusters, which is wrong if their own class has no known sample")
	}
	return nil
}

// without lists where x has a value, at most ten places; "": nowhere.
func without(x []int, value int) string {
	const most = 10
	text, count := "", 0
	for i, y := range x {
		if y != value {
			continue
		}
		switch count++; {
		case count == 1:
			text = fmt.Sprint(i)
		case count <= most:
			text += fmt.Sprintf(", %d", i)
		}
	}
	if count > most {
		text += fmt.Sprintf(" and %d more", count-most)
	}
	return text
}
