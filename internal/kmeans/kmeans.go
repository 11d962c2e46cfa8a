// Package kmeans clusters samples that consist of several views, some of which a sample may lack.
//
// With the view weights w_v, the squared distance of sample i to centroid k is
//
//	d²(i, k) = (Σ_v w_v / Σ_{v present} w_v) · Σ_{v present} w_v ‖x_iv − c_kv‖²
//
// A centroid's part in a view is the mean of its members that have the view, weighted by the factor in brackets, which is 1 for a
// sample with all views. This minimises the inertia Σ_i d²(i, label_i). If no member has the view, the part is the view's mean
// row plus the deviation of a present row, drawn by the seed. A single matrix is one view of weight 1.
//
// Starts are greedy k-means++ (D. Arthur, S. Vassilvitskii, SODA 2007; 2+⌊ln c⌋ candidates a step), followed by Lloyd iterations.
// All starts of a group advance together, so that one product with a block of rows serves all of them. Random numbers come from
// PCG generators seeded by Config.Seed only. Sums are taken over chunks that depend on the sizes only, and added in order. So
// results have the same bits for any number of workers.
package kmeans

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Streams of the generators that are seeded by Config.Seed; start i has stream i.
const (
	streamSample = 1 << 62
	streamFill   = 1 << 61
)

const (
	defaultStarts  = 10
	defaultMaxIter = 300
	defaultTol     = 1e-4

	// Up to allRows samples, every start uses all of them. Above, starts use a sample of sampleRowsPerCluster·c rows, at least
	// minSampleRows and at most maxSampleRows (with a Score as many), or manySampleRows·c if that is more. The best start, or
	// each scored one, then iterates over all rows, at most Config.Passes times. On MNIST (60,000×40 principal components) the
	// inertia is 0.00 to 0.04 % above the inertia of ten starts on all rows for c = 10, and 0.0 to 0.5 % above one start on all
	// rows for c = 100.
	allRows              = 5000
	sampleRowsPerCluster = 100
	minSampleRows        = 2048
	maxSampleRows        = 10000
	manySampleRows       = 20
	defaultPasses        = 10

	// panelColumns bounds the centroids of the starts that advance together.
	panelColumns = 256
)

// Config sets how Run works. Zero values other than Clusters mean the defaults.
type Config struct {
	Clusters int     // c, from 1 to n
	Starts   int     // number of starts; Run keeps the first of lowest inertia; 0: 10
	MaxIter  int     // Lloyd iterations of a start; 0: 300
	Passes   int     // iterations over all rows after starts on a sample, each a pass over the rows; 0: 10
	Tol      float64 // stops when Σ‖centroid shift‖² ≤ Tol·(mean column variance); 0: 1e-4; negative: only when no label changes
	Seed     uint64
	Workers  int   // goroutines; 0: GOMAXPROCS
	Full     bool  // all starts use all rows, however many they are
	Relocate bool  // moves centroids from outliers and adds iterations over all rows, after starts on a sample
	Labels   []int // n labels from 0 to c−1, the only start, on all rows; nil: none

	// Score, if not nil, selects among the starts whose inertia, on the rows of all starts, is at most Within times the lowest.
	// Run keeps the start of the highest score; of equal ones the lower inertia. Score gets the labels of all n samples at the
	// end of a start, from 0 to c−1, and must not keep them.
	Score  func(ctx context.Context, labels []int) (float64, error)
	Within float64 // at least 1 with a Score

	// Device, if not nil, computes the products of Lloyd's iterations. Labels do not change: if scores differ by less than their
	// rounding error, the distances decide, here.
	Device rows.Device
}

// Result is a clustering. It is not changed after Run returns and is safe for concurrent use.
type Result[T kernel.Float] struct {
	Labels     []int   // n, from 0 to Found−1; every label occurs
	Centroids  [][]T   // of each view, Found×d_v, row-major
	Inertia    float64 // Σ_i d²(i, Labels[i])
	Iterations int     // Lloyd iterations of the start that was kept, with iterations over a sample
	Repaired   int     // times that an empty cluster was given the sample farthest from its centroid
	Found      int     // clusters; fewer than Clusters if there are fewer distinct samples
	Converged  bool    // whether the last iterations stopped by Tol or because no label changed
	*Assigner[T]
}

// Run clusters the samples of src, of all ranks if src has a group: each rank gets the labels of its own samples and the same
// centroids. It returns an error for a configuration out of range and for values so large that squared distances overflow. If ctx
// is cancelled, it returns the context's error within one iteration.
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

// runSampled runs the starts on m rows and continues with the best of them, or the scored ones, over all rows.
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
	case c.Score != nil: // A score must see rare samples, and starts of slightly higher inertia.
		return min(n, max(maxSampleRows, manySampleRows*c.Clusters))
	}
	return min(n, max(minSampleRows, min(sampleRowsPerCluster*c.Clusters, maxSampleRows), manySampleRows*c.Clusters))
}

// check returns an error for a configuration that does not fit n samples of all ranks and here of this one.
func (c *Config) check(n, here int) error {
	switch {
	case c.Clusters < 1 || c.Clusters > n:
		return fmt.Errorf("kmeans: %d clusters for %d samples", c.Clusters, n)
	case uint(c.Starts) > math.MaxInt32:
		return fmt.Errorf("kmeans: %d starts, want 0 to %d", c.Starts, math.MaxInt32)
	case c.MaxIter < 0:
		return fmt.Errorf("kmeans: MaxIter is %d, want 1 or more", c.MaxIter)
	case c.Passes < 0:
		return fmt.Errorf("kmeans: Passes is %d, want 1 or more", c.Passes)
	case c.Tol != c.Tol:
		return fmt.Errorf("kmeans: Tol is NaN, want a number")
	case c.Workers < 0:
		return fmt.Errorf("kmeans: %d workers", c.Workers)
	case c.Score != nil && !(c.Within >= 1):
		return fmt.Errorf("kmeans: Within is %g, want at least 1 with a Score", c.Within)
	case c.Labels != nil && len(c.Labels) != here:
		return fmt.Errorf("kmeans: %d initial labels for %d samples", len(c.Labels), here)
	}
	for i, l := range c.Labels {
		if l < 0 || l >= c.Clusters {
			return fmt.Errorf("kmeans: the initial label of sample %[2]d is %[1]d, want 0 to %[3]d", l, i, c.Clusters-1)
		}
	}
	return nil
}

// solver holds a source with the data that the starts share.
type solver[T kernel.Float] struct {
	cfg    Config
	src    *Source[T]
	frame  *frame[T] // of the rows that the starts see; its spread and total are of those rows
	norm   []float64 // of the source's rows
	panel  panel[T]
	spaces []*workspace[T]
	orders []updates // one for each workspace
	wide   bool      // the rows are all rows, more than the starts use, and perhaps of several ranks

	measured bool // wide: norm is set

	products rows.Products[T] // nil: products are computed here
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

// use describes the products for a device: the two lowest scores of every row among each start's centroids.
func (s *solver[T]) use() rows.Use {
	return rows.Use{Columns: s.cfg.Clusters * max(s.cfg.Starts, 1), Keep: 2 * max(s.cfg.Starts, 1)}
}

// close releases the rows on a device.
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

// onto sets the solver's source; the centre and the tolerance do not change.
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
