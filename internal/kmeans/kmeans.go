// Package kmeans clusters samples that consist of several views, some of which a sample may lack.
//
// With the view weights w_v, the squared distance of sample i to centroid k is
//
//	d²(i, k) = (Σ_v w_v / Σ_{v present} w_v) · Σ_{v present} w_v ‖x_iv − c_kv‖²
//
// and a centroid's part in a view is the mean of its members that have the view, weighted by the factor in brackets (1
// for a sample that has all views), which is the minimiser of the inertia Σ_i d²(i, label_i). Where no member has the
// view, the part is the view's mean row plus a seeded present row's deviation from it. A row matrix alone is the case
// of one view of weight 1.
//
// Starts are greedy k-means++ (D. Arthur, S. Vassilvitskii, SODA 2007; 2+⌊ln c⌋ candidates a step), followed by Lloyd
// iterations. All starts of a group advance together, so that one product over a block of rows serves them all. Random
// numbers come from PCG generators seeded by Config.Seed alone, sums are taken over chunks that depend on the sizes
// alone and folded in order: results have the same bits whatever the number of workers.
package kmeans

import (
	"context"
	"errors"
	"fmt"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Streams of the generators that are seeded by Config.Seed; the starts have the streams from 0.
const (
	streamSample = 1 << 62
	streamFill   = 1 << 61
)

const (
	defaultStarts  = 10
	defaultMaxIter = 300
	defaultTol     = 1e-4

	// Up to allRows samples, every start sees all of them; above, a sample of sampleRowsPerCluster·c rows, at least
	// minSampleRows and at most maxSampleRows (with a Score as many), and the best start alone, or those that are scored, go
	// over all rows, at most Config.Passes times. On MNIST (60,000×40 principal components) the inertia is 0.00 to 0.04 % above
	// that of ten starts on all rows for c = 10, and 0.0 to 0.5 % above that of one start on all rows for c = 100.
	allRows              = 5000
	sampleRowsPerCluster = 100
	minSampleRows        = 2048
	maxSampleRows        = 10000
	defaultPasses        = 10

	// panelColumns bounds the centroids of the starts that advance together.
	panelColumns = 256
)

// Config says what to do. Zero values other than Clusters mean the defaults.
type Config struct {
	Clusters int     // c, from 1 to n
	Starts   int     // starts, of which the one of lowest inertia is kept, the first of equals; 0: 10
	MaxIter  int     // Lloyd iterations of a start; 0: 300
	Passes   int     // iterations over all rows, where the starts see a sample, each of which is a pass over the rows; 0: 10
	Tol      float64 // stops when Σ‖centroid shift‖² ≤ Tol·(mean column variance); 0: 1e-4; negative: only when no label changes
	Seed     uint64
	Workers  int   // goroutines; 0: GOMAXPROCS
	Full     bool  // all starts on all rows, however many they are
	Relocate bool  // moves centroids from outliers and adds iterations over all rows, where the starts see a sample
	Labels   []int // n labels from 0 to c−1, the one start in place of all others, on all rows; nil: none

	// Score, if not nil, chooses among the starts: of those whose inertia, on the rows that all starts see, is at most Within
	// times the lowest, the one of the highest score is kept, the one of lower inertia of equals. It is given the labels of
	// all n samples at the end of a start, from 0 to c−1, which it must not keep.
	Score  func(ctx context.Context, labels []int) (float64, error)
	Within float64 // at least 1 with a Score

	// Device, if not nil, makes the products of Lloyd's iterations. Labels stay what they are: where scores differ by less than
	// their rounding error, the distances decide, here.
	Device rows.Device
}

// Result is a clustering. It is not changed after Run returns and is safe for concurrent use.
type Result[T kernel.Float] struct {
	Labels     []int   // n, from 0 to Found−1; every label occurs
	Centroids  [][]T   // of each view, Found×d_v, row-major
	Inertia    float64 // Σ_i d²(i, Labels[i])
	Iterations int     // Lloyd iterations of the start that was kept, those over a sample included
	Repaired   int     // times that a cluster had become empty and was given the sample farthest from its centroid
	Found      int     // clusters; fewer than asked for if there are fewer distinct samples
	Converged  bool    // whether the last iterations ended by Tol or because no label changed
	*Assigner[T]
}

// Run clusters the samples of src, those of all ranks where src has a group: each rank gets the labels of its own samples and the
// same centroids. It returns an error for a configuration out of range, for values so large that
// squared distances overflow, and the context's error, within one iteration, if it is cancelled.
func Run[T kernel.Float](ctx context.Context, src *Source[T], cfg Config) (*Result[T], error) {
	g := src.group
	n := g.Total(src.n)
	if err := errors.Join(src.checkRanks(&cfg), cfg.check(n, src.n)); err != nil {
		return nil, err
	}
	if cfg.Starts == 0 {
		cfg.Starts = defaultStarts
	}
	if cfg.Passes == 0 {
		cfg.Passes = defaultPasses
	}
	if cfg.MaxIter == 0 {
		cfg.MaxIter = defaultMaxIter
	}
	if cfg.Tol == 0 {
		cfg.Tol = defaultTol
	}
	if m := cfg.sampleSize(n); m < n && !cfg.Full && cfg.Labels == nil {
		return runSampled(ctx, src, cfg, m)
	}
	wide := cfg.Labels != nil && n > allRows
	if g != nil && !wide {
		return runGathered(ctx, src, cfg)
	}
	s, err := newSolver(ctx, src, cfg)
	if err != nil {
		return nil, err
	}
	s.wide, s.measured = wide, true
	return s.closed(s.whole(ctx))
}

// whole runs all starts on all rows.
func (s *solver[T]) whole(ctx context.Context) (*Result[T], error) {
	ends, err := s.run(ctx)
	if err != nil {
		return nil, err
	}
	best, err := s.pick(ctx, ends, func([]*start[T]) error { return nil })
	if err != nil {
		return nil, err
	}
	return s.finish(ctx, best)
}

// runSampled runs the starts on m rows and takes the best of them, or those that are scored, over all rows.
func runSampled[T kernel.Float](ctx context.Context, src *Source[T], cfg Config, m int) (*Result[T], error) {
	part, err := src.sample(ctx, cfg.Workers, m, cfg.Seed)
	if err != nil {
		return nil, err
	}
	s, err := newSolver(ctx, part, cfg)
	if err != nil {
		return nil, err
	}
	return s.closed(s.sampled(ctx, src))
}

// sampled is runSampled with a solver of the sample.
func (s *solver[T]) sampled(ctx context.Context, src *Source[T]) (*Result[T], error) {
	ends, err := s.runShared(ctx, src.group)
	if err != nil {
		return nil, err
	}
	left, part := s.cfg.MaxIter, s.src
	s.cfg.MaxIter = min(left, s.cfg.Passes)
	if err := s.onto(ctx, src); err != nil {
		return nil, err
	}
	best, err := s.pick(ctx, ends, func(starts []*start[T]) error {
		for _, r := range starts {
			r.moveTo(src)
		}
		return s.lloyd(ctx, starts)
	})
	if err == nil && s.cfg.Relocate {
		best, err = s.relocate(ctx, part, best, left-s.cfg.MaxIter)
	}
	if err != nil {
		return nil, err
	}
	return s.finish(ctx, best)
}

// sampleSize returns the number of rows that the starts see.
func (c *Config) sampleSize(n int) int {
	switch {
	case n <= allRows:
		return n
	case c.Score != nil: // What is rare, or a few per cent from the lowest inertia, is to be seen too.
		return min(n, max(maxSampleRows, c.Clusters))
	}
	return min(n, max(minSampleRows, min(sampleRowsPerCluster*c.Clusters, maxSampleRows), c.Clusters))
}

// check reports what is wrong with a configuration for n samples of all ranks and some of this one.
func (c *Config) check(n, here int) error {
	switch {
	case c.Clusters < 1 || c.Clusters > n:
		return fmt.Errorf("kmeans: %d clusters for %d samples", c.Clusters, n)
	case c.Starts < 0:
		return fmt.Errorf("kmeans: %d starts", c.Starts)
	case c.MaxIter < 0:
		return fmt.Errorf("kmeans: at most %d iterations", c.MaxIter)
	case c.Passes < 0:
		return fmt.Errorf("kmeans: %d passes over all rows", c.Passes)
	case c.Tol != c.Tol:
		return fmt.Errorf("kmeans: tolerance is NaN")
	case c.Workers < 0:
		return fmt.Errorf("kmeans: %d workers", c.Workers)
	case c.Score != nil && !(c.Within >= 1):
		return fmt.Errorf("kmeans: a choice among starts within %g times the lowest inertia", c.Within)
	case c.Labels != nil && len(c.Labels) != here:
		return fmt.Errorf("kmeans: %d start labels for %d samples", len(c.Labels), here)
	}
	for i, l := range c.Labels {
		if l < 0 || l >= c.Clusters {
			return fmt.Errorf("kmeans: start label %d of sample %d is not from 0 to %d", l, i, c.Clusters-1)
		}
	}
	return nil
}

// solver is a source with what the starts share.
type solver[T kernel.Float] struct {
	cfg    Config
	src    *Source[T]
	frame  *frame[T] // of the rows that the starts see; its spread and total are of those rows
	norm   []float64 // of the source's rows
	panel  panel[T]
	spaces []*workspace[T]
	orders []updates // one for each workspace
	wide   bool      // the rows are all rows, more than starts see, and perhaps those of several ranks

	measured bool // wide: norm is there

	products rows.Products[T] // nil: those of the rows here
}

func newSolver[T kernel.Float](ctx context.Context, src *Source[T], cfg Config) (*solver[T], error) {
	f, err := newFrame(ctx, src, cfg.Workers)
	if err != nil {
		return nil, err
	}
	spaces := newWorkspaces(src, cfg.Workers)
	s := &solver[T]{cfg: cfg, src: src, frame: f, norm: f.norm, spaces: spaces, orders: make([]updates, len(spaces))}
	s.products, err = src.take(cfg.Device, s.use())
	return s, err
}

// use is what a device is asked for: the two lowest scores of every row in each start's centroids.
func (s *solver[T]) use() rows.Use {
	return rows.Use{Columns: s.cfg.Clusters * max(s.cfg.Starts, 1), Keep: 2 * max(s.cfg.Starts, 1)}
}

// close gives back what a device holds of the rows.
func (s *solver[T]) close() error {
	if s.products == nil {
		return nil
	}
	p := s.products
	s.products = nil
	return p.Close()
}

// closed returns a result, or the first error, after close.
func (s *solver[T]) closed(r *Result[T], err error) (*Result[T], error) {
	if closing := s.close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// onto makes src the solver's source; the centre and the tolerance stay.
func (s *solver[T]) onto(ctx context.Context, src *Source[T]) error {
	s.src, s.wide = src, true
	err := s.close()
	if err == nil {
		s.products, err = src.take(s.cfg.Device, s.use())
	}
	if err != nil {
		return err
	}
	if s.products == nil { // the first pass measures them
		s.norm, s.measured = make([]float64, src.n), false
		return nil
	}
	s.norm, err = src.norms(ctx, s.cfg.Workers)
	return err
}
