// Package tsne draws points of many dimensions in the plane: t-SNE with the Barnes–Hut approximation (L. van der Maaten,
// "Accelerating t-SNE using tree-based algorithms", JMLR 15, 2014) on gonum's spatial/barneshut, and principal components.
//
//	y, err := tsne.Embed(ctx, h, tsne.Config{Seed: 1})
//
// The same points and seed give the same bits, whatever the number of workers.
package tsne

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/parallel"
)

type Config struct {
	Perplexity float64 // effective number of neighbours; 0: 30, or (n−1)/3 where that is less
	Iterations int     // 0: 1000
	Dims       int     // principal components of the search for neighbours; 0: 50; negative: the points as they are
	Theta      float64 // size over distance below which a cell of the plane acts as one point; 0: 0.5; negative: exact
	Rate       float64 // learning rate; 0: n/12, at least 200 (A. Belkina et al., Nat. Commun. 10, 2019)
	Seed       uint64  // of the principal components
	Workers    int     // goroutines; 0: GOMAXPROCS. They do not change the result

	// Progress, if not nil, is called every 50 iterations with the Kullback–Leibler divergence. An error ends Embed,
	// which returns it.
	Progress func(iteration int, divergence float64) error
}

// Result is an embedding in the plane.
type Result struct {
	Y *mat.Dense // n×2
	// Divergence is KL(P‖Q) after every 50th iteration and after the last. P is never exaggerated here.
	Divergence []float64
}

const (
	exaggeration      = 12  // factor on P of the first iterations
	exaggerationSteps = 250 // their number
	reportEvery       = 50
	spread            = 1e-4 // standard deviation of the initial positions
)

// Embed places the n rows of x in the plane by t-SNE. The initial positions are the first two principal components, scaled to a
// standard deviation of 10⁻⁴.
//
// It returns an error if x has fewer than 4 rows, no columns or entries that are NaN or infinite, or if the configuration is out
// of range. If ctx is cancelled, it returns the context's error within an iteration.
//
// Embed takes O(n²·Dims) once for the neighbours and O(n log n) for each iteration.
func Embed(ctx context.Context, x mat.Matrix, c Config) (*Result, error) {
	n, err := check(x)
	if err != nil {
		return nil, err
	}
	if err := c.setDefaults(n); err != nil {
		return nil, err
	}
	points, start, err := prepare(ctx, x, &c)
	if err != nil {
		return nil, err
	}
	k := min(n-1, int(3*c.Perplexity))
	near, err := nearest(ctx, points, k, c.Workers)
	if err != nil {
		return nil, err
	}
	p, err := affinities(ctx, near, c.Perplexity, c.Workers)
	if err != nil {
		return nil, err
	}
	return descend(ctx, p, start, &c)
}

func check(x mat.Matrix) (int, error) {
	if x == nil {
		return 0, errors.New("tsne: no matrix")
	}
	n, d := x.Dims()
	if n < 4 || d < 1 {
		return 0, fmt.Errorf("tsne: %d×%d points, want at least 4 rows and 1 column", n, d)
	}
	for i := range n {
		for j := range d {
			if a := x.At(i, j); math.IsNaN(a) || math.IsInf(a, 0) {
				return 0, fmt.Errorf("tsne: row %d, column %d: value is %v", i, j, a)
			}
		}
	}
	return n, nil
}

func (c *Config) setDefaults(n int) error {
	if c.Perplexity == 0 {
		c.Perplexity = min(30, float64(n-1)/3)
	}
	if c.Iterations == 0 {
		c.Iterations = 1000
	}
	if c.Dims == 0 {
		c.Dims = 50
	}
	if c.Theta == 0 {
		c.Theta = 0.5
	}
	if c.Rate == 0 {
		c.Rate = max(200, float64(n)/exaggeration)
	}
	switch {
	case !(c.Perplexity >= 1) || c.Perplexity > float64(n-1):
		return fmt.Errorf("tsne: Perplexity is %v, want 1 to the number of points less one, %d", c.Perplexity, n-1)
	case c.Iterations < 1:
		return fmt.Errorf("tsne: Iterations is %d, want at least 1", c.Iterations)
	case math.IsNaN(c.Theta) || math.IsInf(c.Theta, 0):
		return fmt.Errorf("tsne: Theta is %v", c.Theta)
	case !(c.Rate > 0) || math.IsInf(c.Rate, 0):
		return fmt.Errorf("tsne: Rate is %v", c.Rate)
	}
	return nil
}

// prepare returns the points for the search of neighbours, and the initial positions.
func prepare(ctx context.Context, x mat.Matrix, c *Config) (points, start *mat.Dense, err error) {
	n, d := x.Dims()
	dims := max(2, c.Dims)
	scores, err := PCA(ctx, x, min(dims, d, n), c.Seed, c.Workers)
	if err != nil {
		return nil, nil, err
	}
	points = scores
	if c.Dims < 0 {
		points = mat.DenseCopyOf(x)
	}
	start = mat.NewDense(n, 2, nil)
	_, have := scores.Dims()
	square := 0.0
	for i := range n {
		square += scores.At(i, 0) * scores.At(i, 0)
	}
	scale := 0.0
	if square > 0 {
		scale = spread / math.Sqrt(square/float64(n))
	}
	for i := range n {
		for j := range min(2, have) {
			start.Set(i, j, scale*scores.At(i, j))
		}
		// Equal points need distinct initial positions to separate. A spiral moves them by 1e-3 of the spread.
		a := 2.399963229728653 * float64(i) // the golden angle
		r := 1e-3 * spread * math.Sqrt(float64(i+1)/float64(n))
		start.Set(i, 0, start.At(i, 0)+r*math.Cos(a))
		start.Set(i, 1, start.At(i, 1)+r*math.Sin(a))
	}
	return points, start, nil
}

// descend minimises KL(P‖Q) by gradient descent with momentum and a gain for every coordinate.
func descend(ctx context.Context, p *sparse, y *mat.Dense, c *Config) (*Result, error) {
	n, _ := y.Dims()
	pos := y.RawMatrix().Data
	gradient, step, gain := make([]float64, 2*n), make([]float64, 2*n), make([]float64, 2*n)
	for i := range gain {
		gain[i] = 1
	}
	f := newField(n)
	out := &Result{Y: y}
	for t := 1; t <= c.Iterations; t++ {
		factor, momentum := 1.0, 0.8
		if t <= exaggerationSteps {
			factor, momentum = exaggeration, 0.5
		}
		if err := f.gradient(ctx, p, pos, factor, max(0, c.Theta), c.Workers, gradient); err != nil {
			return nil, err
		}
		for i, g := range gradient {
			if (g > 0) != (step[i] > 0) {
				gain[i] += 0.2
			} else {
				gain[i] = max(0.01, gain[i]*0.8)
			}
			step[i] = momentum*step[i] - c.Rate*gain[i]*g
			pos[i] += step[i]
		}
		centre(pos)
		if t%reportEvery != 0 && t != c.Iterations {
			continue
		}
		kl, err := f.divergence(ctx, p, pos, max(0, c.Theta), c.Workers)
		if err != nil {
			return nil, err
		}
		if math.IsNaN(kl) {
			return nil, fmt.Errorf("tsne: the descent diverged in iteration %d; a smaller Rate may help", t)
		}
		out.Divergence = append(out.Divergence, kl)
		if c.Progress != nil {
			if err := c.Progress(t, kl); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func centre(pos []float64) {
	var sx, sy float64
	for i := 0; i < len(pos); i += 2 {
		sx, sy = sx+pos[i], sy+pos[i+1]
	}
	n := float64(len(pos) / 2)
	for i := 0; i < len(pos); i += 2 {
		pos[i] -= sx / n
		pos[i+1] -= sy / n
	}
}

func forRows(ctx context.Context, workers, n int, f func(i int)) error {
	const chunk = 64
	return parallel.For(ctx, workers, (n+chunk-1)/chunk, func(_, b int) error {
		for i := b * chunk; i < min((b+1)*chunk, n); i++ {
			f(i)
		}
		return nil
	})
}
