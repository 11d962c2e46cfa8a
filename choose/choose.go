// Package choose fits a range of numbers of clusters, compares the results and suggests a number. The suggestion is a first
// guess. The package also chooses among initial clusterings, for classes of very different sizes.
package choose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/score"
)

// Config sets which numbers Clusters tries, and how often. Zero values mean the defaults.
type Config struct {
	Clusters []int // the numbers of clusters, increasing, from 2 to n−1; nil: 2 to 12, below n and FitSamples
	Seeds    int   // fits of each number, with different seeds; 0: 3
	Samples  int   // rows that the indices are computed on, drawn by the Seed of the fits; 0: 1000; all if there are fewer

	// Progress, if not nil, is called after every number of clusters: done of the numbers are finished. An error ends the
	// search. Clusters returns it unless it is largemvc.ErrStop.
	Progress func(done, of int, c Choice) error
}

// Choice holds the results of one number of clusters. A value that does not exist is NaN: an index of a single cluster, the
// agreement of a single fit.
type Choice struct {
	Clusters int // asked for

	// The next fields, up to DaviesBouldin, describe the fit with the lowest loss.
	Found int     // number of clusters found
	Sizes []int   // samples in each cluster
	Loss  float64 // loss minus NullLoss; comparable between numbers of clusters only if Neighborhood.Weight is in effect

	Silhouette       float64 // from −1 to 1, higher is better
	CalinskiHarabasz float64 // ≥ 0, higher is better
	DaviesBouldin    float64 // ≥ 0, lower is better

	SeedARI float64 // mean ARI of the labels of all pairs of fits, up to 1; higher is better
	// Structure compares this number of clusters with noise, on halves of the samples: see largemvc.Clustering.
	Structure score.Structure
	// Gap is the eigengap λ_c − λ_(c+1) of the graph of neighbours (U. von Luxburg, Statistics and Computing 17, 2007). NaN
	// without neighbours.
	Gap float64
	// GapShare (0 to 1) is the squared eigengap of this number, divided by the sum over all numbers tried. It is the mean over
	// five graphs, with half to twice as many neighbours as in the fit. Each graph has up to 1,000 samples, or 50 for each
	// cluster of the highest number tried if that is more. Equal samples count once. NaN without neighbours.
	GapShare float64
}

// Choices is the result of Clusters.
type Choices struct {
	Choices []Choice // in the order of the numbers of clusters

	// Suggested is the number of clusters that the indices favour, 0 if there are none. Clear reports whether it stands out.
	// Reasons explains both in words. It is a first guess: docs/expect.md compares it with the numbers of classes of public
	// sets.
	//
	// With neighbours, Suggested is the weighted median of the numbers tried, with the weights GapShare. It is clear if all of
	// these hold:
	//
	//   - it and the numbers one below and one above it have at least half of the weight;
	//   - the lowest loss is at it or next to it, where losses can be compared (Choice.Loss);
	//   - it is not the highest of several numbers tried;
	//   - Structure is clear.
	//
	// Without neighbours, a number is a candidate if its Silhouette is higher than at the numbers next to it and at least
	// 85 % of the highest, and its SeedARI is at least 0.8. The highest number tried is no candidate. Suggested is the highest
	// candidate, and it is clear if Structure is clear. Without a candidate, Suggested is the number with the highest
	// Silhouette among those of that SeedARI, or among all.
	Suggested int
	Clear     bool
	Reasons   []string

	BySilhouette int // the number of the highest Silhouette, 0 if there is none
	ByGap        int // the number of the largest Gap, 0 if there is none

	byLoss bool
	wanted int // how many numbers were to be tried
}

// String returns a line for every number, and the suggestion with its reasons.
func (c *Choices) String() string {
	var b strings.Builder
	for _, x := range c.Choices {
		fmt.Fprintf(&b, "%d clusters: loss %.4g, structure %v, seeds %.2f, share of the eigengaps %.3f, eigengap %.3f, "+
			"silhouette %.3f\n", x.Clusters, x.Loss, x.Structure.Judgement, x.SeedARI, x.GapShare, x.Gap, x.Silhouette)
	}
	for _, r := range c.Reasons {
		b.WriteString(r + "\n")
	}
	fmt.Fprintf(&b, "suggested: %d", c.Suggested)
	if !c.Clear {
		b.WriteString(", but no number stands out")
	}
	return b.String()
}

// Clusters fits a range of numbers of clusters, each with several seeds, and computes indices that need no classes. Every fit
// has the settings in config, except for Clusters, Seed, Known, Neighborhood.KnownWeight, Checkpoint and Machine.Overwrite, and
// only the first fit of a number judges the structure. Two defaults differ from Fit:
//
//   - Neighbors of 0 means 10 for all numbers of clusters, also where Fit takes fewer.
//   - HeldOutWeight of 0 means largemvc.None, because with that term the loss is a worse guide: on nine public sets of 4 to 10
//     classes it was lowest at the number of classes on two, without the term on four.
//
// The indices compare the labels with the preprocessed views side by side. They do not use H, whose columns differ between
// numbers of anchors. An absent row counts as the mean of its view.
//
// If ctx is cancelled, Clusters returns the results so far and the context's error. A configuration or views that Fit would
// refuse, for any of the numbers, are an error before the first fit. So is Machine.Comm.
func Clusters(ctx context.Context, views []largemvc.View, config largemvc.Config, choose Config) (*Choices, error) {
	if err := named(parallel.CheckContext(ctx)); err != nil {
		return nil, err
	}
	n := 0
	if len(views) > 0 {
		n, _ = views[0].Dims()
	}
	if err := choose.complete(n, config.FitSamples); err != nil {
		return nil, err
	}
	config, err := configOfFits(views, config, choose.Clusters)
	if err != nil {
		return nil, err
	}
	c := config.WithDefaults()
	var space *indexSpace
	if err := within(ctx, views, &c, func(ctx context.Context, views []view.View) (err error) {
		space, err = newIndexSpace(ctx, views, &c, choose.Samples)
		return err
	}); err != nil {
		return nil, err
	}
	out := &Choices{wanted: len(choose.Clusters), byLoss: c.Neighborhood.Neighbors != largemvc.None && c.Neighborhood.Weight > 0}
	gaps, err := eigengaps(ctx, views, &c, choose.Clusters)
	if err != nil {
		return nil, err
	}
	shares, err := gapShares(ctx, views, &c, choose.Clusters)
	if err != nil {
		return nil, err
	}
	for i, clusters := range choose.Clusters {
		config.Clusters = clusters
		row, err := tryClusters(ctx, views, config, choose.Seeds, space)
		if err == nil {
			row.Gap, row.GapShare = gaps[i], shares[i]
		} else {
			out.suggest()
			return out, err
		}
		out.Choices = append(out.Choices, *row)
		if choose.Progress == nil {
			continue
		}
		if err := choose.Progress(i+1, len(choose.Clusters), *row); err != nil {
			out.suggest()
			if errors.Is(err, largemvc.ErrStop) {
				err = nil
			}
			return out, err
		}
	}
	out.suggest()
	return out, nil
}

// configOfFits returns the configuration of the fits, at the first number of clusters. It checks all numbers, because what a
// later fit would refuse is known before the first.
func configOfFits(views []largemvc.View, config largemvc.Config, numbers []int) (largemvc.Config, error) {
	if config.Machine.Comm != nil {
		return config, errors.New("choose: numbers of clusters are tried in one process, and Machine.Comm is set: leave it out")
	}
	config.Checkpoint.Path, config.Machine.Overwrite, config.Known = "", false, nil
	config.Neighborhood.KnownWeight = 0
	config.Neighborhood.Neighbors = config.WithDefaults().Neighborhood.Neighbors // the same for all numbers of clusters
	if config.Neighborhood.Neighbors != largemvc.None && config.Neighborhood.HeldOutWeight == 0 {
		config.Neighborhood.HeldOutWeight = largemvc.None
	}
	for _, clusters := range numbers {
		config.Clusters = clusters
		if err := config.Check(views); err != nil {
			return config, err
		}
	}
	config.Clusters = numbers[0]
	return config, nil
}

// complete fills in the defaults and checks the rest, for n samples. A fit sees some of them; 0: all.
func (c *Config) complete(n, fitSamples int) error {
	if n < 3 {
		return fmt.Errorf("largemvc: the data have %s, too few to choose a number of clusters", textfile.Count(n, "sample"))
	}
	if c.Clusters == nil {
		c.Clusters = defaultNumbers(n, fitSamples)
	}
	if !increasing(c.Clusters, 2, n-1) {
		return fmt.Errorf("largemvc: the numbers of clusters to choose from are %v, want them increasing, from 2 to %d",
			c.Clusters, n-1)
	}
	if len(c.Clusters) == 0 || c.Seeds < 0 || c.Samples < 0 {
		return fmt.Errorf(
			"largemvc: Clusters has the length %d, Seeds is %d and Samples is %d, want at least 1, 0 and 0",
			len(c.Clusters), c.Seeds, c.Samples,
		)
	}
	if c.Seeds == 0 {
		c.Seeds = 3
	}
	if c.Samples == 0 {
		c.Samples = 1000
	}
	return nil
}

// increasing reports whether numbers increase and lie from low to high.
func increasing(numbers []int, low, high int) bool {
	for i, k := range numbers {
		if k < low || k > high || i > 0 && k <= numbers[i-1] {
			return false
		}
	}
	return true
}

// defaultNumbers are the numbers of clusters from 2 to 12, or to as many as a fit of fitSamples samples can have.
func defaultNumbers(n, fitSamples int) []int {
	most := n
	if fitSamples > 2 {
		most = min(n, fitSamples)
	}
	var numbers []int
	for k := 2; k <= min(12, most-1); k++ {
		numbers = append(numbers, k)
	}
	return numbers
}

// tryClusters fits one number of clusters.
func tryClusters(
	ctx context.Context, views []largemvc.View, config largemvc.Config, seeds int, space *indexSpace,
) (*Choice, error) {
	var labels [][]int
	var best *largemvc.Clustering
	var judged score.Structure // of the first fit: it does not depend on the training
	first := config.Seed
	for s := range seeds {
		config.Seed = first + uint64(s*max(1, config.Restarts)) // restarts take the seeds in between
		fit, err := largemvc.Fit(ctx, views, config)
		if err != nil {
			return nil, err
		}
		labels = append(labels, fit.Labels)
		if s == 0 {
			judged, config.NoStructure = fit.Structure, true
		}
		if best == nil || last(fit.Loss) < last(best.Loss) {
			best = fit
		}
	}
	out := &Choice{
		Clusters: config.Clusters, Found: best.Clusters, Sizes: best.Sizes,
		Loss:    last(best.Loss) - best.NullLoss,
		SeedARI: math.NaN(), Structure: judged,
	}
	total, pairs := 0.0, 0
	for i := range labels {
		for j := range i {
			table, err := score.NewContingency(labels[i], labels[j])
			if err != nil {
				return nil, err
			}
			total += table.Pairs().ARI()
			pairs++
		}
	}
	if pairs > 0 {
		out.SeedARI = total / float64(pairs)
	}
	return out, space.indices(ctx, best.Labels, out)
}

// indexSpace holds the data of the indices: some rows of the preprocessed views, side by side.
type indexSpace struct {
	chosen  []int
	x       *mat.Dense
	workers int
}

func newIndexSpace(ctx context.Context, views []view.View, c *largemvc.Config, samples int) (*indexSpace, error) {
	if err := view.CheckFinite(ctx, views, c.Machine.Workers); err != nil {
		return nil, err
	}
	standard, err := prepare.Measure(ctx, nil, prepare.Kind(c.Preprocess).Parts()[0], views, c.Machine.Workers)
	if err != nil {
		return nil, err
	}
	width := 0
	for _, x := range views {
		width += x.Cols
	}
	n := views[0].Rows
	chosen := rows.Sample(rand.New(rand.NewPCG(c.Seed, 0)), n, min(samples, n))
	out := &indexSpace{chosen: chosen, workers: c.Machine.Workers}
	out.x = mat.NewDense(len(out.chosen), width, nil)
	at := 0
	for v, x := range views {
		mean, count := make([]float64, x.Cols), 0
		part := out.x.Slice(0, len(out.chosen), at, at+x.Cols).(*mat.Dense)
		for k, i := range out.chosen {
			if x.Has(i) {
				x.Row(i, part.RawRowView(k))
				standard.Apply(v, part.RawRowView(k))
				kernel.AddTo(mean, part.RawRowView(k))
				count++
			}
		}
		for k, i := range out.chosen {
			for j := 0; !x.Has(i) && j < x.Cols; j++ {
				part.Set(k, j, mean[j]/float64(max(count, 1)))
			}
		}
		at += x.Cols
	}
	return out, ctx.Err()
}

// indices computes the indices of labels of all samples.
func (s *indexSpace) indices(ctx context.Context, labels []int, out *Choice) error {
	mine := make([]int, len(s.chosen))
	for k, i := range s.chosen {
		mine[k] = labels[i]
	}
	out.Silhouette, out.CalinskiHarabasz, out.DaviesBouldin = math.NaN(), math.NaN(), math.NaN()
	if distinct := len(slices.Compact(slices.Sorted(slices.Values(mine)))); distinct < 2 || distinct >= len(mine) {
		return nil
	}
	var err error
	if out.Silhouette, err = score.Silhouette(ctx, s.x, mine, score.SilhouetteConfig{Workers: s.workers}); err != nil {
		return err
	}
	if out.CalinskiHarabasz, err = score.CalinskiHarabasz(s.x, mine); err != nil {
		return err
	}
	out.DaviesBouldin, err = score.DaviesBouldin(s.x, mine)
	return err
}

func last(x []float64) float64 { return x[len(x)-1] }

// named puts the library's name before an error of an internal package. The context's own stays as it is.
func named(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("largemvc: %w", err)
}
