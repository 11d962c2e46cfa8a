// Package structure judges whether samples form clusters, or whether a clustering only divides samples without gaps.
//
// It works on at most a few hundred rows, in the prepared views. It clusters them by the method of the initial clustering: a
// graph of mutual neighbours, smoothing along it, k-means on the leading singular vectors. No network is trained. The rows are
// split in halves, each half is clustered by itself, and each clustering is applied to the other half. Five figures result:
//
//   - Stability is the adjusted Rand index between the clusters of a half and the labels that the other half's clusters give to
//     it. Its mean is 0 if the clusters are chance.
//   - Border is the density of samples at the borders between clusters, relative to the density within clusters. A gap has a
//     density near 0, a cut through evenly spread rows about 1.
//   - Sparsity is the rank correlation between a sample's nearness to a border and the distance of its neighbours. It is positive
//     if rows thin out towards the borders; on an even curve it is 0.
//   - Agreement is the mean adjusted Rand index between the clusters of single views. Weak clusters of several views need more of
//     it than null data have.
//   - Dimension is the number of coordinates that the rows have locally. A curve has about 1, a surface 2.
//
// Stable halves do not prove clusters: along a line, or on a few normal factors, halves agree without clusters. So stability,
// border and agreement are compared with three kinds of null data. Two kinds are rows that are drawn with the mean and the
// covariance of the prepared views, with normal and with uniform scores of their principal directions. The third kind permutes
// each column of the views independently. (The comparison follows Y. Liu et al., JASA 103, 2008, "SigClust", and R. Tibshirani et
// al., J. R. Stat. Soc. B 63, 2001, the gap statistic.) Curves and surfaces are more stable than null data with their covariance.
// Dimension detects them, and the rule then requires thin borders. Fewer than 42 rows have no local dimension, and need thin
// borders too.
//
// The same rows, options and seed give the same bits for any number of goroutines.
package structure

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/score"
)

// Options are the settings of Judge.
type Options struct {
	Clusters  int          // k
	Kind      prepare.Kind // the standardisation of the views
	Neighbors int          // of the graph; 0: 10
	Steps     int          // of smoothing
	Seed      uint64       // of all random draws
	Workers   int          // goroutines; 0: GOMAXPROCS
}

const (
	// mostRows is the number of rows that are judged, unless many clusters need more; rowsPerCluster is the number for each
	// cluster. The time grows with the square of the number of rows.
	mostRows       = 600
	rowsPerCluster = 8
	// fewClusters is the number of clusters up to which rowsOfFew rows are judged: the figures of few clusters depend most on the
	// choice of the samples.
	fewClusters, rowsOfFew = 3, 1200
	// MostClusters is the number of clusters above which nothing is judged: the time grows with its square.
	MostClusters = 200
	// fewestPerHalf is the number of rows for each cluster below which halves cannot be clustered.
	fewestPerHalf = 2
	// fewestNeighbors is the smallest number of neighbours of a sample. Otherwise a sample has at most half of a cluster's
	// samples in a half as neighbours: with more of them, smoothing makes small clusters alike.
	fewestNeighbors = 2
	// fewestRows is the number of rows below which nothing is judged.
	fewestRows = 24
	// directions is the number of leading directions that are kept of each input.
	directions = 50
	// splits is the number of splits of the rows in halves, draws the number of null data of each kind, and drawSplits the number
	// of splits of each null data.
	splits, draws, drawSplits = 4, 4, 2
	// starts is the number of starts of each k-means.
	starts = 4
)

// Figures are the figures of one set of rows: means over halves and splits.
type Figures struct {
	Stability float64 // adjusted Rand index, at most 1
	Border    float64 // density at borders relative to the density within, at least 0
	Agreement float64 // mean adjusted Rand index between clusters of single views; 0 for one view
}

// Result is a judgement with its figures.
type Result struct {
	Judgement score.Judgement
	Rows      int // number of rows that were judged
	Data      Figures
	Normal    Figures // means over null data with normal scores
	Uniform   Figures // means over null data with uniform scores
	Shuffled  Figures // means over null data with shuffled columns
	Sparsity  float64 // of the data, −1 to 1
	Dimension float64 // of the data
	Excess    float64 // standard deviations of null data by which the rows are more clustered; see rule.go

	views    int // that vary
	trials   []trial
	groups   []Figures           // means over as many splits of the rows as each null data has
	repeated bool                // with more splits
	nulls    [allKinds][]Figures // of each kind, a mean for each draw
}

// Choose returns the numbers of the samples to judge, of n, in increasing order. They are drawn by Options.Seed.
func Choose(n int, o Options) []int {
	return rows.Sample(rand.New(rand.NewPCG(o.Seed, streamRows)), n, Chosen(n, o.Clusters))
}

// Chosen is the number of samples that Choose returns.
func Chosen(n, clusters int) int {
	if clusters <= fewClusters {
		return min(n, rowsOfFew)
	}
	return min(n, max(mostRows, rowsPerCluster*min(clusters, MostClusters)))
}

// Judge judges the clusters of the samples that Choose chose, of views that were checked and are in memory. It returns
// score.StructureUnknown for one cluster, for more than MostClusters, for fewer than 24 samples, and for fewer than four
// samples for each cluster. It leaves out views in which the chosen rows are constant; if none is left, it also returns
// score.StructureUnknown. Its only errors are errors of the context.
func Judge(ctx context.Context, views []view.View, o Options) (*Result, error) {
	m := views[0].Rows
	out := &Result{Rows: m}
	if o.Clusters < 2 || o.Clusters > MostClusters || m < fewestRows || m/2 < fewestPerHalf*o.Clusters {
		return out, nil
	}
	o.Neighbors = min(cmp.Or(o.Neighbors, 10), max(fewestNeighbors, m/(4*o.Clusters)))
	views = slices.Clone(views)
	for v, x := range views {
		views[v] = moderate(x)
	}
	sets, err := prepared(ctx, views, true, o)
	if err != nil || len(sets) == 0 {
		return out, err
	}
	out.views = len(sets)
	all := joined(sets)
	null, err := newNull(ctx, all, views, o)
	if err != nil {
		return nil, err
	}
	of := measurement{Result: out, all: all, null: null, options: o, workers: o.Workers}
	of.options.Workers = 1
	if err := of.measure(ctx); err != nil {
		return nil, err
	}
	out.Judgement = out.judge()
	return out, nil
}

// Streams of the generators that are seeded by Options.Seed.
const (
	streamRows = iota + 1
	streamHalves
	streamNull
	streamAgreement
)

// average returns the means of figures.
func average(of []Figures) (out Figures) {
	n := float64(len(of))
	for _, f := range of {
		out.Stability += f.Stability / n
		out.Border += f.Border / n
		out.Agreement += f.Agreement / n
	}
	return out
}

// smoothing returns the settings with which one view is prepared.
func (o Options) smoothing() smooth.Options {
	return smooth.Options{
		Kind: o.Kind, Neighbors: o.Neighbors, Directions: directions, Steps: o.Steps, Exact: math.MaxInt, Seed: o.Seed,
		Workers: o.Workers,
	}
}
