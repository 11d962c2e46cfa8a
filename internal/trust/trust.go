// Package trust estimates, for every sample and view, how well the view fits the sample's other views. It finds rows that are
// noise, and rows that belong to other samples.
//
// For every pair of views it estimates the logarithm of a likelihood ratio, p(x_u, x_v) / (p(x_u)·p(x_v)): that two rows belong
// to one sample, against two samples. The estimate is a logistic regression of true pairs of rows against pairs drawn at random.
// Its features measure how one view predicts the other: by the mean of the nearest neighbours' rows, a ridge regression, and the
// common neighbours. A sample is left out of its own prediction. Bayes' rule and the sums over a view's pairs give the
// probability that this view is the bad one: with one bad view, all its pairs are bad, and the pairs of the other views are good.
package trust

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/spectral"
)

const (
	// directions is the number of leading directions of a view in which its rows are compared.
	directions = 200
	// directionPasses is the number of passes over the samples that find the directions.
	directionPasses = 4
	// prior is the prior probability that a sample has a view that does not belong to it.
	prior = 0.1
	// chunkRows is the number of samples that a goroutine judges at once.
	chunkRows = 64
	// mostSamples is the number of samples that others are compared with, and manySamples its value above manyFrom samples, which
	// keeps the time linear in n.
	mostSamples, manySamples, manyFrom = 2000, 1000, 10_000
	// sampleStream separates the choice of these samples from other draws with the same seed.
	sampleStream = 0x74727573
)

// SampleCount returns the number of samples, of n, that a Judge is made from.
func SampleCount(n int) int {
	if n > manyFrom {
		return manySamples
	}
	return min(n, mostSamples)
}

// Samples returns the numbers, in order, of these samples.
func Samples(n int, seed uint64) []int {
	m := SampleCount(n)
	rng, taken := rand.New(rand.NewPCG(seed, sampleStream)), make(map[int]bool, m)
	for last := n - m; last < n; last++ { // R. W. Floyd's choice of m of n
		if i := rng.IntN(last + 1); taken[i] {
			taken[last] = true
		} else {
			taken[i] = true
		}
	}
	return slices.Sorted(maps.Keys(taken))
}

// Rows holds some samples: the rows of each view, and the samples that have it.
type Rows[T kernel.Float] struct {
	Views   [][]T    // n×Dims[v], row-major
	Dims    []int    // of the views
	Present [][]bool // of the views; nil: all samples have it. Values of absent rows do not matter
	// Odd is the Oddness of each row, by view; only for samples to be judged.
	Odd [][]float64
}

// Len returns n.
func (r *Rows[T]) Len() int { return len(r.Views[0]) / r.Dims[0] }

func (r *Rows[T]) has(v, i int) bool { return r.Present[v] == nil || r.Present[v][i] }

func (r *Rows[T]) row(v, i int) []T { return r.Views[v][i*r.Dims[v] : (i+1)*r.Dims[v]] }

// Judge judges samples by comparing them with known ones. It is safe for concurrent use.
type Judge[T kernel.Float] struct {
	views []*side[T]
	pairs []*pair[T]     // pairs of views that enough samples have
	known map[string]int // the numbers of the known samples
}

// ErrOneView means that there is no other view to compare with.
var ErrOneView = errors.New("trust in views compares them with each other: there is only one view")

// New makes a judge from samples, and keeps their rows. The same rows and seed give the same judge, for any number of workers.
func New[T kernel.Float](ctx context.Context, known Rows[T], seed uint64, workers int) (*Judge[T], error) {
	if len(known.Views) < 2 {
		return nil, ErrOneView
	}
	j := &Judge[T]{known: map[string]int{}}
	for v := range known.Views {
		s, err := newSide(ctx, &known, v, seed, workers)
		if err != nil {
			return nil, fmt.Errorf("view %d: %w", v, err)
		}
		j.views = append(j.views, s)
	}
	for i := range known.Len() {
		if key := keyOf(&known, i); key != "" {
			if _, seen := j.known[key]; !seen {
				j.known[key] = i
			}
		}
	}
	all := make([]profile[T], known.Len())
	err := parallel.For(ctx, workers, (len(all)+chunkRows-1)/chunkRows, func(_, c int) error {
		lo, hi := c*chunkRows, min((c+1)*chunkRows, len(all))
		for i := lo; i < hi; i++ {
			all[i] = newProfile[T](i, len(j.views))
		}
		for v, s := range j.views {
			s.describe(&known, v, lo, all[lo:hi])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for v, s := range j.views {
		s.countNeighbors(v, all)
		for u := range v {
			j.pairs = append(j.pairs, &pair[T]{u: u, v: v})
		}
	}
	err = parallel.For(ctx, workers, len(j.pairs), func(_, q int) error {
		p := j.pairs[q]
		return p.fit(j, all, rand.New(rand.NewPCG(seed, uint64(q)<<32|sampleStream)))
	})
	j.pairs = slices.DeleteFunc(j.pairs, func(p *pair[T]) bool { return p.ratio == nil })
	return j, err
}

// keyOf returns a key that is equal for samples that are equal in all views.
func keyOf[T kernel.Float](r *Rows[T], i int) string {
	var b []byte
	for v := range r.Views {
		if !r.has(v, i) {
			b = append(b, 0)
			continue
		}
		b = append(b, 1)
		h := uint64(14695981039346656037)
		for _, x := range r.row(v, i) {
			h = (h ^ math.Float64bits(float64(x)+0)) * 1099511628211
			h ^= h >> 29
		}
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	return string(b)
}

// Of returns, for each view and sample, the trust in [0, 1]: the probability that the row belongs to the sample, if at most one
// row of a sample does not. It is 1 for views that a sample lacks, and if a sample has no second view. A known sample is judged
// as if it were unknown.
func (j *Judge[T]) Of(ctx context.Context, r Rows[T], workers int) ([][]float64, error) {
	if len(r.Views) != len(j.views) {
		return nil, fmt.Errorf("%d views, the judge has %d", len(r.Views), len(j.views))
	}
	for v, s := range j.views {
		if r.Dims[v] != s.dim {
			return nil, fmt.Errorf("view %d has %d columns, the judge has %d", v, r.Dims[v], s.dim)
		}
	}
	n := r.Len()
	out := make([][]float64, len(j.views))
	for v := range out {
		out[v] = make([]float64, n)
	}
	return out, parallel.For(ctx, workers, (n+chunkRows-1)/chunkRows, func(_, c int) error {
		lo, hi := c*chunkRows, min((c+1)*chunkRows, n)
		all := make([]profile[T], hi-lo)
		for i := range all {
			known, ok := j.known[keyOf(&r, lo+i)]
			if !ok {
				known = -1
			}
			all[i] = newProfile[T](known, len(j.views))
		}
		for v, s := range j.views {
			s.describe(&r, v, lo, all)
		}
		for _, p := range j.pairs {
			p.guess(j, all)
		}
		bad := make([]float64, len(j.views))
		for i := range all {
			good := j.odds(&all[i], &r, lo+i, bad)
			for v, x := range bad {
				out[v][lo+i] = trusted(good, bad, v, x)
			}
		}
		return nil
	})
}

// odds returns, up to a common factor, the probability that all views of a sample belong to it. bad receives the probability that
// each view is the one that does not, −1 if there is no view to compare with.
func (j *Judge[T]) odds(p *profile[T], r *Rows[T], i int, bad []float64) (good float64) {
	for v := range bad {
		bad[v] = math.NaN()
	}
	for _, q := range j.pairs {
		if !p.has(q.u) || !p.has(q.v) {
			continue
		}
		l := q.logRatio(j, p, p)
		for _, v := range []int{q.u, q.v} {
			if math.IsNaN(bad[v]) {
				bad[v] = 0
			}
			bad[v] -= l
		}
	}
	for v, x := range bad {
		if !math.IsNaN(x) { // A row may be unlike all others of its view, whatever the other views predict.
			bad[v] = x + r.Odd[v][i]
		}
	}
	most, compared := 0.0, 0.0
	for _, x := range bad {
		if !math.IsNaN(x) {
			compared++
			most = max(most, x)
		}
	}
	for v, x := range bad {
		if bad[v] = -1; !math.IsNaN(x) {
			bad[v] = math.Exp(x - most)
		}
	}
	return math.Exp(-most) * (1 - prior) / prior * compared
}

// trusted returns the probability that view v, which has the odds x to be bad, belongs to its sample.
func trusted(good float64, bad []float64, v int, x float64) float64 {
	if x < 0 {
		return 1
	}
	rest := good // a difference would have rounding errors
	for u, e := range bad {
		if u != v && e >= 0 {
			rest += e
		}
	}
	return rest / (rest + x)
}

// side is a view of the known samples.
type side[T kernel.Float] struct {
	dim     int
	mean    []T // of the rows
	project *spectral.Projector[T]
	rank    int
	ld      int
	y       []T       // the known samples' rows in the leading directions, with the stride ld; zeros where absent
	scale   []float64 // of each direction, towards unit variance
	square  []T       // norms of the rows of y, squared
	present []bool
	count   int              // samples that have the view
	panel   *kernel.Panel[T] // the rows of y as columns
	often   []float64        // how often a sample is a neighbour of others, as a multiple of the mean
}

// whitening is the share of the total variance that is added to the variance of each direction before it is scaled to 1.
const whitening = 1e-2

func newSide[T kernel.Float](ctx context.Context, known *Rows[T], v int, seed uint64, workers int) (*side[T], error) {
	n, d := known.Len(), known.Dims[v]
	s := &side[T]{dim: d, present: make([]bool, n), mean: make([]T, d), panel: new(kernel.Panel[T])}
	sum := make([]float64, d)
	for i := range n {
		if s.present[i] = known.has(v, i); s.present[i] {
			kernel.AddTo(sum, known.row(v, i))
			s.count++
		}
	}
	for c, x := range sum {
		s.mean[c] = T(x / float64(max(s.count, 1)))
	}
	centred := make([]T, n*d)
	for i := range n {
		s.centre(centred[i*d:(i+1)*d], known, v, i)
	}
	x := rows.NewDense(n, d, d, centred)
	s.rank = min(directions, n, d)
	basis, err := spectral.Find(ctx, []rows.Matrix[T]{x}, spectral.Config{
		Rank: s.rank, Iterations: directionPasses, Seed: seed, Workers: workers,
	})
	if err != nil {
		return nil, err
	}
	s.project, s.ld = spectral.NewProjector[T](basis), kernel.Pad(s.rank)
	total := 0.0
	for _, e := range basis.S {
		total += e * e
	}
	for _, e := range basis.S {
		s.scale = append(s.scale, 1/math.Sqrt(e*e+whitening*total+1e-300))
	}
	s.y = make([]T, n*s.ld)
	s.project.Rows(x, 0, n, s.y)
	for i := range n {
		s.square = append(s.square, T(kernel.SumSquares(s.y[i*s.ld:i*s.ld+s.rank], 0)))
	}
	kernel.PackT(s.panel, s.rank, n, s.y, s.ld)
	return s, nil
}

// centre sets dst to a row less the mean, zeros where it is absent.
func (s *side[T]) centre(dst []T, r *Rows[T], v, i int) {
	if !r.has(v, i) {
		clear(dst)
		return
	}
	for c, x := range r.row(v, i) {
		dst[c] = x - s.mean[c]
	}
}

// countNeighbors counts how often the known samples are neighbours in view v.
func (s *side[T]) countNeighbors(v int, all []profile[T]) {
	s.often = make([]float64, len(s.present))
	for i := range all {
		for _, r := range closest(all[i].near[v]) {
			s.often[r] += 1. / overlapNeighbors
		}
	}
}
