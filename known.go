package largemvc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/known"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/score"
)

// unknown is the label of a sample in Config.Known whose class is not known.
const unknown = -1

// checkKnown reports what is wrong with the known labels of n samples.
func checkKnown(c *Config, n int) (errs []error) {
	if c.Known == nil {
		return nil
	}
	if c.Neighborhood.Neighbors == None {
		errs = append(errs, &FieldError{"Neighborhood.Neighbors", None, fromOne + ", for Config.Known needs neighbours"})
	}
	if len(c.Known) != n {
		return append(errs, fmt.Errorf("largemvc: Config.Known has %d labels for %d samples", len(c.Known), n))
	}
	for i, l := range c.Known {
		if l < unknown || l >= n {
			return append(errs, fmt.Errorf("largemvc: Known[%d] is %d, want −1 (not known) or a class from 0 to %d", i, l, n-1))
		}
	}
	if len(seenClasses(c.Known)) < 2 {
		errs = append(errs, errors.New("largemvc: Config.Known has labels of fewer than two classes; give some of each"))
	}
	return errs
}

// seenClasses returns the classes that some sample is known to have, in increasing order.
func seenClasses(labels []int) []int {
	seen := slices.Compact(slices.Sorted(slices.Values(labels)))
	return slices.DeleteFunc(seen, func(l int) bool { return l == unknown })
}

// classifier gives samples their classes, by the weights that known labels have taught.
type classifier struct {
	seen    []int      // the classes that it can give, in increasing order
	weights *mat.Dense // features×len(seen)
	panel   kernel.Panel[float64]
	chance  *known.Chance // nil: there were too few known samples to learn it
}

// newClassifier returns the classifier of weights for the seen classes.
func newClassifier(seen []int, weights *mat.Dense, chance *known.Chance) *classifier {
	out := &classifier{seen: seen, weights: weights, chance: chance}
	raw := weights.RawMatrix()
	kernel.Pack(&out.panel, raw.Rows, raw.Cols, raw.Data, raw.Stride)
	return out
}

// label sets the classes of samples from number first on, and how likely they are right, from their rows of features.
func (k *classifier) label(out *score.Classes, first, n int, phi []float64) {
	features, classes := k.weights.Dims()
	ld := kernel.Pad(classes)
	scores := make([]float64, n*ld)
	kernel.Mul(n, phi, features, &k.panel, scores, ld, false)
	for i := range n {
		best, margin := known.Best(scores[i*ld : i*ld+classes])
		out.Labels[first+i] = k.seen[best]
		if k.chance != nil {
			out.Confidence[first+i] = k.chance.Of(margin)
		}
	}
}

// room returns room for the classes of n samples.
func (k *classifier) room(n int) *score.Classes {
	out := &score.Classes{Labels: make([]int, n)}
	if k.chance != nil {
		out.Confidence = make([]float64, n)
	}
	return out
}

// Classify returns the classes of samples, by the weights that Config.Known has taught. For training samples without a known
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
	out := p.classes.room(in[0].Rows)
	err := p.pass(ctx, in, nil, func(first int, r *request) error {
		return p.model.features(ctx, r, func(lo, n int, phi []float64) error {
			p.classes.label(out, first+lo, n, phi)
			return nil
		})
	})
	return out, withName(err)
}

// knownRows is the number of known samples whose features are computed at once.
const knownRows = 1024

// classify teaches the predictor of a result the known labels, and gives all samples their classes.
func (r *run) classify(ctx context.Context, out *Clustering) error {
	c := r.config
	if c.Known == nil {
		return nil
	}
	if out.unfit != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("there are no classes: the modules take no new samples: %v", out.unfit))
		return nil
	}
	var samples, labels []int
	seen := seenClasses(c.Known)
	for i, l := range c.Known {
		if l != unknown {
			k, _ := slices.BinarySearch(seen, l)
			samples, labels = append(samples, i), append(labels, k)
		}
	}
	ridge := known.NewRidge(out.featureCount(), len(seen), labels)
	blocks := func(do func(first, n int, phi []float64) error) error {
		return r.knownBlocks(ctx, out.Predictor, samples, do)
	}
	err := blocks(func(first, _ int, phi []float64) error { return ridge.Add(ctx, c.Machine.Workers, first, phi) })
	if err != nil {
		return withName(err)
	}
	weights, err := ridge.Solve()
	if err != nil {
		return withName(err)
	}
	left := make([]float64, 0, len(samples)*len(seen)) // scores of known samples, each by the others
	if ridge.NeedsRows() {
		err = blocks(func(first, n int, phi []float64) error {
			left = append(left, ridge.LeaveOut(first, n, phi)...)
			return nil
		})
		if err != nil {
			return withName(err)
		}
	} else {
		left = ridge.LeaveOut(0, len(samples), nil)
	}
	suspects, chance := judgeKnown(samples, labels, seen, left)
	out.classes = newClassifier(seen, weights, chance)
	found, err := out.classify(ctx, r.views)
	if err != nil {
		return err
	}
	for _, i := range samples {
		found.Labels[i] = c.Known[i]
		if found.Confidence != nil {
			found.Confidence[i] = 1
		}
	}
	found.Suspects, out.Classes = suspects, found
	out.Timings.Total = time.Since(r.began)
	return out.nameClusters(c, samples)
}

// knownBlocks shows the features of known samples to do, a block at a time, in order.
func (r *run) knownBlocks(
	ctx context.Context, p *Predictor, samples []int, do func(first, n int, phi []float64) error,
) error {
	width := p.featureCount()
	phi := make([]float64, min(len(samples), knownRows)*width)
	for lo := 0; lo < len(samples); lo += knownRows {
		chosen := samples[lo:min(lo+knownRows, len(samples))]
		some := make([]view.View, len(r.views))
		for v, x := range r.views {
			some[v] = x.Take(chosen)
		}
		in := &request{views: some, workers: r.config.Machine.Workers}
		err := p.model.features(ctx, in, func(at, _ int, rows []float64) error {
			copy(phi[at*width:], rows)
			return nil
		})
		if err == nil {
			err = do(lo, len(chosen), phi[:len(chosen)*width])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// featureCount returns the number of features of a sample.
func (p *Predictor) featureCount() int {
	columns := make([]int, len(p.inputs))
	for k, in := range p.inputs {
		columns[k] = in.Columns
	}
	return known.Features(columns, p.config.Anchors)
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
func (c *Clustering) nameClusters(config *Config, samples []int) error {
	classes := 0
	var labels, clusters []int
	for _, i := range samples {
		labels, clusters = append(labels, config.Known[i]), append(clusters, c.Labels[i])
		classes = max(classes, config.Known[i]+1)
	}
	out := c.Classes
	out.Known, out.Clusters = make([]int, classes), slices.Repeat([]int{unknown}, c.Predictor.Clusters)
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
		c.Notes = append(c.Notes, "no sample is known to have, and none gets, the class "+names)
	}
	if names := without(out.Clusters, unknown); names != "" {
		c.Notes = append(c.Notes, "by the known samples no class goes with cluster "+names+
			": its samples get the classes of others, which is wrong if they are of a class that is not known")
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

// The tensors of the classes, see docs/format.md.
const classesName, classWeightsName, classChanceName = "classes", "class_weights", "class_chance"

// saveClasses appends what gives samples their classes.
func (p *Predictor) saveClasses(f *safetensors.File) {
	k := p.classes
	if k == nil {
		return
	}
	raw := k.weights.RawMatrix()
	f.Tensors = append(f.Tensors, safetensors.Ints(classesName, k.seen, len(k.seen)),
		safetensors.Float64s(classWeightsName, raw.Data, raw.Rows, raw.Cols))
	if k.chance != nil {
		f.Tensors = append(f.Tensors, safetensors.Float64s(classChanceName, []float64{k.chance.Offset, k.chance.Slope}, 2))
	}
}

// decodeClasses reads what gives samples their classes, if a file has it; in has the first error.
func (p *Predictor) decodeClasses(in *file.Tensors) {
	if !in.Has(classesName) {
		return
	}
	seen := in.Ints(classesName, -1)
	rise := slices.IsSorted(seen) && len(slices.Compact(slices.Clone(seen))) == len(seen)
	if in.Err == nil && (len(seen) < 2 || seen[0] < 0 || !rise) {
		in.Fail("the classes are %v, want at least two increasing numbers of classes", seen)
	}
	if in.Err == nil && p.config.Neighborhood.Neighbors == None {
		in.Fail("it has classes, which need neighbours")
	}
	weights := in.Floats(classWeightsName, p.featureCount(), len(seen))
	var chance *known.Chance
	if in.Has(classChanceName) {
		if x := in.Floats(classChanceName, 2); in.Err == nil {
			chance = &known.Chance{Offset: x[0], Slope: x[1]}
		}
	}
	if in.Err == nil {
		p.classes = newClassifier(seen, mat.NewDense(p.featureCount(), len(seen), weights), chance)
	}
}
