package report

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/structure"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/score"
)

// Importance holds the features and the views that distinguish the clusters. The package's documentation describes the method.
type Importance struct {
	Samples  int              // samples of the tests
	Tests    int              // pairs of a feature and a cluster that were tested
	Untested string           // why nothing was tested; "" if the tests were made
	Features []Feature        // features that passed, by cluster, then from the largest effect
	Clusters []ClusterSupport // one for each cluster
	Views    []ViewSupport    // one for each view
}

// Feature is a feature that distinguishes a cluster from all others.
type Feature struct {
	Cluster, View, Column int
	ViewName, Name        string
	Mean, Elsewhere       float64   // means in the cluster and in all other samples
	Effect                float64   // their difference, in standard deviations of the feature over all samples
	P                     float64   // p-value of the test, before the correction for the number of tests
	Effects               []float64 // of this feature in every cluster; NaN: not tested there
}

// ClusterSupport says how well clusterings of other samples find a cluster again.
type ClusterSupport struct {
	Again  float64 // share of its samples that clusters of the other half of the samples give its label
	Other  int     // the cluster whose label most of its other samples get; −1: none
	Lost   float64 // share of its samples that get that label
	Tested bool    // the cluster is found again without half of the features, so that these could be tested
	// Views has, per view, the share of the cluster's samples that the view places in it, less the share of all other samples
	// that the view places there. 0 is chance, 1 is perfect; NaN: not tested.
	Views []float64
}

// ViewSupport says how well a view distinguishes the clusters.
type ViewSupport struct {
	Name string
	// Agreement is the adjusted Rand index between the clusters and the nearest cluster means in the view. 0 is chance, 1 equal;
	// NaN: the view has no features that vary.
	Agreement float64
}

const (
	falseShare      = 0.05 // expected share of false features among those shown, at most
	smallestEffect  = 0.5  // standard deviations
	foundAgain      = 0.5  // overlap of a cluster from which it counts as found again
	heldOutSteps    = 6    // of smoothing, as in the judgement of the structure
	featureFolds    = 2
	featureRows     = 2000 // samples of the tests, unless the views are wide
	fewestRows      = 600
	featureValues   = 4e7 // numbers of all views that are held
	featureTests    = 4e7 // pairs of a feature and a cluster
	columnsAtOnce   = 256
	allFeatures     = featureFolds // the number of the clustering with all features
	streamOfFolds   = 17
	streamOfSamples = 18
)

// Features finds the features and the views that distinguish the clusters of Fit, in Options.Views. A page of Write has them too.
// It uses the options Views, Seed, Workers and Progress. It has the errors of Write, and needs Views.
func Features(ctx context.Context, c *largemvc.Clustering, o Options) (*Importance, error) {
	if err := parallel.CheckContext(ctx); err != nil {
		return nil, err
	}
	r, err := ofClustering(c)
	if err != nil {
		return nil, err
	}
	if o.Views == nil {
		return nil, errors.New("report: Options.Views is empty: features are found in the values of the views")
	}
	var out *Importance
	err = o.within(ctx, r, func(ctx context.Context) (err error) {
		out, err = findFeatures(ctx, r, &o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// untested returns why features of a result cannot be tested, "" if they can.
func untested(r *result) string {
	switch {
	case r.predicted:
		return "a model labelled these samples, and it has no judgement whether they have clusters"
	case r.clusters() < 2:
		return "there is one cluster"
	case r.structure.Judgement == score.StructureNone:
		return "noise would have clusters as good as these"
	case r.structure.Judgement == score.StructureUnknown:
		return "it was not judged whether the samples have clusters (docs/trust.md says when)"
	}
	return ""
}

// findFeatures implements Features for a checked result and options.
func findFeatures(ctx context.Context, r *result, o *Options) (*Importance, error) {
	out := &Importance{Clusters: make([]ClusterSupport, r.clusters()), Views: make([]ViewSupport, len(r.dims))}
	for v, name := range r.views {
		out.Views[v] = ViewSupport{name, math.NaN()}
	}
	for k := range out.Clusters {
		out.Clusters[k] = ClusterSupport{Again: math.NaN(), Other: -1, Views: slices.Repeat([]float64{math.NaN()}, len(r.dims))}
	}
	if out.Untested = untested(r); out.Untested != "" {
		return out, nil
	}
	if float64(width(r.dims))*float64(r.clusters()) > featureTests {
		out.Untested = "there are too many features and clusters"
		return out, nil
	}
	if err := o.Progress("features", 0, 2); err != nil {
		return nil, err
	}
	s := newSearch(r, o, out)
	if err := s.cluster(ctx); err != nil {
		return nil, err
	}
	s.support()
	if err := o.Progress("features", 1, 2); err != nil {
		return nil, err
	}
	if err := s.test(ctx); err != nil {
		return nil, err
	}
	if err := s.place(ctx); err != nil {
		return nil, err
	}
	if out.Tests == 0 {
		out.Untested = "no cluster is found again without half of the features and half of the samples"
	}
	return out, nil
}

// search finds features in some samples.
type search struct {
	out      *Importance
	workers  int
	options  structure.Options
	names    []string
	given    []largemvc.View
	views    []view.View // of the samples of the tests
	labels   []int       // of these samples
	clusters int
	fold     [][]int // per view and feature: the fold whose labels do not depend on it
	runs     [featureFolds + 1]*heldOut
}

// heldOut holds the labels that clusters of the other half of the samples give, found without the features of a fold.
type heldOut struct {
	*structure.Placed
	overlap []float64 // per cluster: samples that both labelings place in it, of those that one does
}

// newSearch draws the samples and splits the features in folds.
func newSearch(r *result, o *Options, out *Importance) *search {
	s := &search{
		out: out, workers: o.Workers, names: r.views, given: o.Views, clusters: r.clusters(), options: searchOptions(r, o),
	}
	of := o.featureRows(r)
	out.Samples = len(of)
	rng := rand.New(rand.NewPCG(o.Seed, streamOfFolds))
	first := 0 // the fold of the next feature: folds have as many features as can be, also of views of one
	for v, d := range r.dims {
		s.views = append(s.views, o.inner[v].Take(of))
		folds := make([]int, d)
		for _, j := range rng.Perm(d) {
			folds[j], first = first, (first+1)%featureFolds
		}
		s.fold = append(s.fold, folds)
	}
	s.labels = make([]int, len(of))
	for q, i := range of {
		s.labels[q] = r.labels[i]
	}
	return s
}

// searchOptions returns the settings with which a fit judges the structure, for the number of clusters of the result.
func searchOptions(r *result, o *Options) structure.Options {
	c := r.predictor.Config()
	return structure.Options{
		Clusters: r.clusters(), Kind: prepare.Kind(c.Preprocess), Neighbors: max(c.Neighborhood.Neighbors, 0),
		Steps: heldOutSteps, Seed: o.Seed, Workers: o.Workers,
	}
}

func width(dims []int) (sum int) {
	for _, d := range dims {
		sum += d
	}
	return sum
}

// featureRows returns the samples whose features are tested and whose distances are measured. They are as many of effectRows as
// fit in memory.
func (o *Options) featureRows(r *result) []int {
	of := o.effectRows(r)
	most := max(fewestRows, min(featureRows, int(featureValues)/width(r.dims)))
	out := make([]int, 0, most)
	for _, q := range draw(len(of), most, o.Seed+streamOfSamples) {
		out = append(out, of[q])
	}
	return out
}

// columns returns the features of a view in a fold (in) or outside it.
func (s *search) columns(v, fold int, in bool) (of []int) {
	for j, f := range s.fold[v] {
		if (f == fold) == in {
			of = append(of, j)
		}
	}
	return of
}

// cluster labels the samples without each fold, and with all features.
func (s *search) cluster(ctx context.Context) error {
	return parallel.For(ctx, s.workers, len(s.runs), func(_, f int) error {
		var views []view.View
		for v, x := range s.views {
			if of := s.columns(v, f, false); len(of) > 0 {
				views = append(views, structure.Columns(x, of))
			}
		}
		if len(views) == 0 {
			return nil
		}
		placed, err := structure.HeldOut(ctx, views, s.options)
		if err != nil || placed == nil {
			return err
		}
		s.runs[f], err = named(placed, s.labels, s.clusters)
		return err
	})
}

// named gives each held-out cluster the number of its cluster of the fit, by the one-to-one matching of the most samples.
func named(placed *structure.Placed, labels []int, clusters int) (*heldOut, error) {
	var mine, theirs []int
	for i, k := range placed.Labels {
		if k >= 0 {
			mine, theirs = append(mine, labels[i]), append(theirs, k)
		}
	}
	t, err := score.NewContingency(mine, theirs)
	if err != nil {
		return nil, err
	}
	number, err := t.Match()
	if err != nil {
		return nil, err
	}
	out := &heldOut{placed, make([]float64, clusters)}
	both, either := make([]float64, clusters), make([]float64, clusters)
	for i, k := range placed.Labels {
		if k < 0 {
			continue
		}
		to, ok := number[k]
		if !ok {
			to = -1
		}
		placed.Labels[i] = to
		either[labels[i]]++
		if to == labels[i] {
			both[to]++
		} else if to >= 0 {
			either[to]++
		}
	}
	for k := range both {
		out.overlap[k] = both[k] / max(either[k], 1)
	}
	return out, nil
}

func (s *search) found(fold, k int) bool {
	return s.runs[fold] != nil && s.runs[fold].overlap[k] >= foundAgain
}

// support counts which labels the samples of each cluster get from the other half of the samples.
func (s *search) support() {
	for k := range s.out.Clusters {
		for f := range featureFolds {
			s.out.Clusters[k].Tested = s.out.Clusters[k].Tested || s.found(f, k)
		}
	}
	run := s.runs[allFeatures]
	if run == nil {
		return
	}
	counts, size := make([][]float64, s.clusters), make([]float64, s.clusters)
	for k := range counts {
		counts[k] = make([]float64, s.clusters)
	}
	for i, to := range run.Labels {
		size[s.labels[i]]++
		if to >= 0 {
			counts[s.labels[i]][to]++
		}
	}
	for k := range s.out.Clusters {
		c := &s.out.Clusters[k]
		c.Again = counts[k][k] / size[k] // NaN without samples
		for l, n := range counts[k] {
			if l != k && n > 0 && (c.Other < 0 || n > counts[k][c.Other]) {
				c.Other, c.Lost = l, n/size[k]
			}
		}
	}
}

func (s *search) test(ctx context.Context) error {
	var all []Feature
	tests := 0
	for v, x := range s.views {
		blocks := (x.Cols + columnsAtOnce - 1) / columnsAtOnce
		found, count := make([][]Feature, blocks), make([]int, blocks)
		if err := parallel.For(ctx, s.workers, blocks, func(_, b int) error {
			t := newTester(s)
			first := b * columnsAtOnce
			for q, column := range structure.Entries(x, first, min(first+columnsAtOnce, x.Cols)) {
				passed, n := t.feature(v, first+q, column)
				found[b], count[b] = append(found[b], passed...), count[b]+n
			}
			return nil
		}); err != nil {
			return err
		}
		for b := range found {
			all, tests = append(all, found[b]...), tests+count[b]
		}
	}
	s.out.Tests = tests
	for _, f := range rejected(all, tests) {
		if math.Abs(f.Effect) >= smallestEffect {
			f.ViewName, f.Name = s.names[f.View], featureName(s.given[f.View].FeatureNames(), f.Column)
			s.out.Features = append(s.out.Features, f)
		}
	}
	slices.SortStableFunc(s.out.Features, func(a, b Feature) int {
		return cmp.Or(a.Cluster-b.Cluster, cmp.Compare(math.Abs(b.Effect), math.Abs(a.Effect)))
	})
	return nil
}

// rejected returns the features whose p-values pass the procedure of Benjamini and Hochberg (J. R. Stat. Soc. B 57, 1995). of
// holds the tests whose p-value is at most falseShare.
func rejected(of []Feature, tests int) []Feature {
	p := make([]float64, len(of))
	for i, f := range of {
		p[i] = f.P
	}
	slices.Sort(p)
	limit := -1.0
	for i, x := range p {
		if x <= falseShare*float64(i+1)/float64(tests) {
			limit = x
		}
	}
	return slices.DeleteFunc(of, func(f Feature) bool { return f.P > limit })
}

// place measures how well the features of a fold of each view place samples in the clusters that were found without them. The
// means of the clusters come from the other half of the samples.
func (s *search) place(ctx context.Context) error {
	return parallel.For(ctx, s.workers, len(s.views), func(_, v int) error {
		agreement, parts := 0.0, 0.0
		right, size, placed := make([]float64, s.clusters), make([]float64, s.clusters), make([]float64, s.clusters)
		total := 0.0
		for f := range featureFolds {
			of := s.columns(v, f, true)
			if len(of) == 0 || s.runs[f] == nil {
				continue
			}
			x := structure.Columns(s.views[v], of)
			for half := range 2 {
				votes, err := s.votes(ctx, x, f, half)
				if err != nil {
					return err
				}
				var given, voted []int
				for i, k := range s.runs[f].Labels {
					if votes[i] < 0 {
						continue
					}
					given, voted = append(given, k), append(voted, votes[i])
					total, size[k], placed[votes[i]] = total+1, size[k]+1, placed[votes[i]]+1
					if votes[i] == k {
						right[k]++
					}
				}
				if len(given) == 0 {
					continue
				}
				t, err := score.NewContingency(given, voted)
				if err != nil {
					return err
				}
				agreement, parts = agreement+t.Pairs().ARI(), parts+1
			}
		}
		s.out.Views[v].Agreement = agreement / parts // NaN without a part
		for k := range s.out.Clusters {
			if s.out.Clusters[k].Tested {
				s.out.Clusters[k].Views[v] = right[k]/size[k] - (placed[k]-right[k])/(total-size[k])
			}
		}
		return nil
	})
}

// votes returns the cluster of the nearest mean of the other half for each sample of a half; −1 for all others.
func (s *search) votes(ctx context.Context, x view.View, fold, half int) ([]int, error) {
	run := s.runs[fold]
	var mine, others []int
	for i, k := range run.Labels {
		switch {
		case k < 0:
		case run.Half[i] == half:
			mine = append(mine, i)
		default:
			others = append(others, i)
		}
	}
	votes := slices.Repeat([]int{-1}, len(run.Labels))
	m, err := newMoments(ctx, x, run.Labels, s.clusters, others)
	if err != nil || m == nil || m.total == 0 {
		return votes, err
	}
	found, err := m.votes(ctx, x, run.Labels, mine, false, 1)
	for q, i := range mine {
		if found != nil {
			votes[i] = found[q]
		}
	}
	return votes, err
}
