package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/spectral"
	vw "github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// startingPoint is where training begins.
type startingPoint struct {
	labels  []int       // of the samples, 0 to m−1; nil where anchors were given
	anchors [][]float64 // P_v, m×d_v
	scale   []float64   // the unit of ρ per view
}

// start finds the first anchors of the preprocessed views by the configured method. graph is that of the samples'
// neighbours if it has a say, else nil.
func start[T kernel.Float](ctx context.Context, x []rows.Matrix[T], views []vw.View, graph neighbor.Operator, c *Config, seed uint64) (*startingPoint, error) {
	s := &startingPoint{}
	perView := make([][]int, len(x)) // the labels that view v's anchors come from
	switch {
	case c.StartAnchors != nil:
		for v, p := range c.StartAnchors { // Given anchors forbid a rotation.
			_, d := x[v].Dims()
			own := make([]float64, c.Anchors*d)
			for i := range c.Anchors {
				for j := range d {
					own[i*d+j] = p.At(i, j)
				}
			}
			s.anchors = append(s.anchors, own)
		}
		return s, measure(ctx, s, x, views, c)
	case c.StartLabels != nil:
		s.labels = slices.Clone(c.StartLabels)
	default:
		var err error
		if s.labels, err = startLabels(ctx, x, views, graph, c, seed, perView); err != nil {
			return nil, err
		}
	}
	for v, xv := range x {
		labels := s.labels
		if perView[v] != nil {
			labels = perView[v]
		}
		sums, err := clusterSums(ctx, xv, views[v], labels, c.Anchors, c.Workers)
		if err != nil {
			return nil, err
		}
		_, d := xv.Dims()
		if kernel.Is32[T]() {
			if err := dropNoise(sums, c.Anchors, d); err != nil {
				return nil, fmt.Errorf("largemvc: start anchors of %s: %w", views[v].Label(v), err)
			}
		}
		var polar linalg.Polar
		p := make([]float64, len(sums))
		if err := polar.Factor(c.Anchors, d, sums, p); err != nil {
			return nil, fmt.Errorf("largemvc: start anchors of %s: %w", views[v].Label(v), err)
		}
		s.anchors = append(s.anchors, p)
	}
	return s, measure(ctx, s, x, views, c)
}

// noiseShare is the size of singular values of sums over float32 data, relative to the largest, that may be rounding.
const noiseShare = 1e-6

// dropNoise removes from the sums (m×d) their parts along left singular vectors whose singular values are no more than the
// rounding of float32 data. Centred columns sum to zero over all clusters, so one singular value is zero; what rounding
// makes of it would decide a direction of the anchors.
func dropNoise(sums []float64, m, d int) error {
	s := mat.NewDense(m, d, sums)
	var gram mat.SymDense
	gram.SymOuterK(1, s)
	var e mat.EigenSym
	if !e.Factorize(&gram, true) {
		return errors.New("the eigenvalues of ZᵀX·(ZᵀX)ᵀ do not converge")
	}
	squares := e.Values(nil)
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	small := 0
	for small < m && squares[small] <= noiseShare*noiseShare*squares[m-1] {
		small++
	}
	if small == 0 {
		return nil
	}
	u := vectors.Slice(0, m, 0, small)
	var part, noise mat.Dense
	part.Mul(u.T(), s)
	noise.Mul(u, &part)
	s.Sub(s, &noise)
	return nil
}

// startLabels clusters the samples for the start; PerView fills perView too.
func startLabels[T kernel.Float](ctx context.Context, x []rows.Matrix[T], views []vw.View, graph neighbor.Operator, c *Config, seed uint64, perView [][]int) ([]int, error) {
	cfg := kmeans.Config{Clusters: c.Anchors, Starts: c.KMeansStarts, Seed: seed, Workers: c.Workers}
	joint := make([]kmeans.View[T], len(x))
	for v := range x {
		joint[v] = kmeans.View[T]{Rows: x[v], Weight: 1, Present: views[v].Present}
	}
	switch c.Start {
	case Spectral, ScaledSpectral:
		n, _ := x[0].Dims()
		total := 0
		for _, xv := range x {
			_, d := xv.Dims()
			total += d
		}
		rank := min(c.Anchors, n, total)
		basis, err := spectral.Find(ctx, x, spectral.Config{Rank: rank, Seed: seed, Workers: c.Workers})
		if err != nil {
			return nil, err
		}
		u, err := spectral.Project(ctx, basis, x, c.Workers)
		if err != nil {
			return nil, err
		}
		ld := kernel.Pad(rank)
		for i := range n {
			row := u[i*ld : i*ld+rank]
			if c.Start == ScaledSpectral {
				scaleSingular(row, basis.S)
				continue
			}
			for j, s := range basis.S {
				if s > 0 {
					row[j] = T(float64(row[j]) / s)
				}
			}
		}
		joint = []kmeans.View[T]{{Rows: rows.NewDense(n, rank, ld, u), Weight: 1}}
	case PerView:
		for v := range x {
			labels, err := runKMeans(ctx, cfg, joint[v])
			if err != nil {
				return nil, err
			}
			perView[v] = labels
		}
		return perView[0], nil
	}
	if graph != nil { // A single input has all samples then, so they are all in what is scored.
		cfg = byNeighbors[T](cfg, graph)
	}
	return runKMeans(ctx, cfg, joint...)
}

// scaleSingular takes a row of U·diag(s) to that of U·diag(s)^½, at norm 1.
func scaleSingular[T kernel.Float](row []T, s []float64) {
	for j, x := range row {
		if s[j] > 0 {
			row[j] = T(float64(x) / math.Sqrt(s[j]))
		}
	}
	if q := kernel.SumSquares(row, 0); q > 0 {
		kernel.Affine(row, row, 1/math.Sqrt(q), 0)
	}
}

// runKMeans returns the labels.
func runKMeans[T kernel.Float](ctx context.Context, cfg kmeans.Config, views ...kmeans.View[T]) ([]int, error) {
	if len(views) == 1 && views[0].Present != nil {
		return runOnPresent(ctx, cfg, views[0])
	}
	src, err := kmeans.NewSource(views...)
	if err != nil {
		return nil, err
	}
	r, err := kmeans.Run(ctx, src, cfg)
	if err != nil {
		return nil, err
	}
	return r.Labels, nil
}

// runOnPresent clusters the samples that have a view; the others get label 0.
func runOnPresent[T kernel.Float](ctx context.Context, cfg kmeans.Config, view kmeans.View[T]) ([]int, error) {
	n, d := view.Rows.Dims()
	var have []int
	for i := range n {
		if view.Present[i] {
			have = append(have, i)
		}
	}
	x := make([]T, len(have)*d)
	for j, i := range have {
		view.Rows.Row(i, x[j*d:(j+1)*d])
	}
	cfg.Clusters = min(cfg.Clusters, len(have))
	part, err := runKMeans(ctx, cfg, kmeans.View[T]{Rows: rows.NewDense(len(have), d, d, x), Weight: 1})
	if err != nil {
		return nil, err
	}
	labels := make([]int, n)
	for j, i := range have {
		labels[i] = part[j]
	}
	return labels, nil
}

// clusterSums returns ZᵀX (m×d) for the one-hot matrix Z of the labels, over the samples that have the view.
func clusterSums[T kernel.Float](ctx context.Context, x rows.Matrix[T], in vw.View, labels []int, m, workers int) ([]float64, error) {
	n, d := x.Dims()
	total := make([]float64, m*d)
	chunk := max((n+63)/64, 256)
	adder, _ := x.(rows.Adder)
	type buffer struct {
		sum, shift []float64
		row        []T
	}
	err := parallel.Fold(ctx, workers, (n+chunk-1)/chunk, func() *buffer {
		return &buffer{sum: make([]float64, m*d), shift: make([]float64, m), row: make([]T, d)}
	}, func(_, c int, b *buffer) error {
		clear(b.sum)
		clear(b.shift)
		for i := c * chunk; i < min((c+1)*chunk, n); i++ {
			if !in.Has(i) {
				continue
			}
			dst := b.sum[labels[i]*d : (labels[i]+1)*d]
			if adder != nil {
				b.shift[labels[i]] += adder.AddRow(i, 1, dst)
				continue
			}
			x.Row(i, b.row)
			kernel.AddTo(dst, b.row)
		}
		for k := 0; adder != nil && k < m; k++ {
			adder.AddShift(b.shift[k], b.sum[k*d:(k+1)*d])
		}
		return nil
	}, func(_ int, b *buffer) error {
		kernel.AddTo(total, b.sum)
		return nil
	})
	return total, err
}

// measure sets the units of ρ: 1, or per view the median distance of the present samples to the mean of their start
// cluster. Without labels (given anchors) it is the distance to the anchors' span, ‖x − xPᵀP‖.
func measure[T kernel.Float](ctx context.Context, s *startingPoint, x []rows.Matrix[T], views []vw.View, c *Config) error {
	s.scale = make([]float64, len(views))
	for v := range s.scale {
		s.scale[v] = 1
	}
	if c.RhoScale == UnitScale || c.Variant != Large {
		return nil
	}
	for v := range views {
		residual, err := startResiduals(ctx, x[v], views[v], s.labels, s.anchors[v], c)
		if err != nil {
			return err
		}
		slices.Sort(residual)
		if median := residual[len(residual)/2]; median > 0 {
			s.scale[v] = median
		}
	}
	return nil
}

// startResiduals returns the distance of every present sample to the mean of its cluster, or to the anchors' span.
func startResiduals[T kernel.Float](ctx context.Context, x rows.Matrix[T], in vw.View, labels []int, anchors []float64, c *Config) ([]float64, error) {
	n, d := x.Dims()
	m := c.Anchors
	mean := make([]T, m*d)
	if labels != nil {
		sums, err := clusterSums(ctx, x, in, labels, m, c.Workers)
		if err != nil {
			return nil, err
		}
		count := make([]float64, m)
		for i, l := range labels {
			if in.Has(i) {
				count[l]++
			}
		}
		for i, sum := range sums {
			mean[i] = T(sum / max(count[i/d], 1))
		}
	}
	out := make([]float64, n)
	const chunk = 1024
	err := parallel.For(ctx, c.Workers, (n+chunk-1)/chunk, func(_, k int) error {
		row, fit := make([]T, d), make([]T, d)
		for i := k * chunk; i < min((k+1)*chunk, n); i++ {
			if !in.Has(i) {
				out[i] = math.Inf(1)
				continue
			}
			x.Row(i, row)
			if labels != nil {
				out[i] = math.Sqrt(kernel.SquaredDistance(row, mean[labels[i]*d:(labels[i]+1)*d]))
				continue
			}
			projectRow(fit, row, anchors, m)
			out[i] = math.Sqrt(kernel.SquaredDistance(row, fit))
		}
		return nil
	})
	return slices.DeleteFunc(out, func(r float64) bool { return math.IsInf(r, 1) }), err
}

// projectRow sets fit = x PᵀP.
func projectRow[T kernel.Float](fit, x []T, p []float64, m int) {
	d := len(x)
	clear(fit)
	for j := range m {
		pj := p[j*d : (j+1)*d]
		dot := 0.0
		for q, a := range pj {
			dot += a * float64(x[q])
		}
		for q, a := range pj {
			fit[q] += T(dot * a)
		}
	}
}
