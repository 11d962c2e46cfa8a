// Package spectral finds the leading singular directions of views side by side, by randomised subspace iteration (Halko,
// Martinsson and Tropp, 2011). Each iteration is one pass over row blocks of X. If X has few columns or few rows, XᵀX or XXᵀ is
// formed in one pass and replaces X.
package spectral

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// Config sets how the directions are found.
type Config struct {
	Rank       int    // number of directions; at most min(n, Σ d_v)
	Iterations int    // of G ← G XᵀX; 0: 8
	Seed       uint64 // of the initial directions
	Workers    int    // goroutines; 0: GOMAXPROCS

	Group *ranks.Group // processes that hold the other rows; nil: there are none

	// ByColumns iterates with XᵀX even for few rows, as several ranks do: then the bits are the same for any number of ranks.
	ByColumns bool

	// Device, if not nil, computes the products with the rows.
	Device rows.Device
}

// oversample is the number of additional directions in the iteration.
const oversample = 10

// Basis holds the leading right singular vectors of X = [X_1 … X_V] (n×D): X ≈ U diag(S) V.
type Basis struct {
	Dims []int       // d_v
	S    []float64   // singular values, decreasing
	V    [][]float64 // per view, rank×d_v row-major: the view's columns of the right singular vectors
}

const (
	blockRows = 64
	chunkRows = 1024
)

// Find returns the leading directions of the views; with a group, of the rows of all ranks. Rows of absent samples must be zero.
func Find[T kernel.Float](ctx context.Context, x []rows.Matrix[T], cfg Config) (*Basis, error) {
	b, _, err := onDevice(x, cfg, func(p rows.Products[T]) (*Basis, []T, error) {
		b, err := find(ctx, x, p, cfg)
		return b, nil, err
	})
	return b, err
}

// onDevice calls f with a device's products of rows, nil without a device.
func onDevice[T kernel.Float](
	x []rows.Matrix[T], cfg Config, f func(p rows.Products[T]) (*Basis, []T, error),
) (*Basis, []T, error) {
	p, err := rows.Take(cfg.Device, x, nil, rows.Use{Columns: cfg.Rank + oversample, Sums: true})
	if err != nil {
		return nil, nil, err
	}
	b, y, err := f(p)
	if p != nil {
		if closing := p.Close(); err == nil {
			err = closing
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return b, y, nil
}

func find[T kernel.Float](ctx context.Context, x []rows.Matrix[T], p rows.Products[T], cfg Config) (*Basis, error) {
	if len(x) == 0 {
		return nil, errors.New("spectral: no views")
	}
	n, _ := x[0].Dims()
	b := &Basis{}
	total := 0
	for v := range x {
		nv, d := x[v].Dims()
		if nv != n {
			return nil, fmt.Errorf("spectral: view %d has %d rows, view 0 has %d", v, nv, n)
		}
		b.Dims = append(b.Dims, d)
		total += d
	}
	n = cfg.Group.Total(n)
	if cfg.Rank < 1 || cfg.Rank > min(n, total) {
		return nil, fmt.Errorf("spectral: rank %d of a %d×%d matrix", cfg.Rank, n, total)
	}
	if cfg.Iterations == 0 {
		cfg.Iterations = 8
	}
	k := min(cfg.Rank+oversample, n, total)
	if k == min(n, total) { // One pass finds all of the rows' span.
		cfg.Iterations = 1
	}
	var v []float64 // the directions, and b.S of them
	var err error
	if p == nil && fewSamples(x, k, cfg) {
		v, err = findBySamples(ctx, x, b, k, cfg)
	} else {
		v, err = findByColumns(ctx, x, p, b, k, cfg)
	}
	if err != nil {
		return nil, err
	}
	defer give(v)
	for i := range cfg.Rank {
		fixSign(v[i*total : (i+1)*total])
	}
	lo := 0
	for _, d := range b.Dims {
		part := make([]float64, 0, cfg.Rank*d)
		for i := range cfg.Rank {
			part = append(part, v[i*total+lo:i*total+lo+d]...)
		}
		b.V = append(b.V, part)
		lo += d
	}
	return b, nil
}

// findByColumns returns the directions, as rows of all views' columns, and sets b.S. It iterates with XᵀX. The caller releases
// the rows with give.
func findByColumns[T kernel.Float](
	ctx context.Context, x []rows.Matrix[T], p rows.Products[T], b *Basis, k int, cfg Config,
) ([]float64, error) {
	total := width(b.Dims)
	timesGram := func(g []float64) ([]float64, error) { return gramTimes(ctx, x, b.Dims, g, k, cfg) }
	last := timesGram // for the last iteration, and for the singular values
	if p != nil {
		timesGram = func(g []float64) ([]float64, error) { return p.GramTimes(ctx, g, k) }
		last = timesGram
	} else if n := cfg.Group.Total(count(x)); gramPays(n, total, k, cfg.Iterations) {
		square, err := gram(ctx, x, total, cfg)
		if err != nil {
			return nil, err
		}
		defer give(square)
		timesGram = func(g []float64) ([]float64, error) { return times(ctx, g, square, k, total, total, cfg.Workers) }
		if tall(n, total) {
			last = timesGram
		}
	}
	g := randomRows(k, total, cfg.Seed)
	for step := range cfg.Iterations {
		next, keepApart := timesGram, nearlyOrthonormalise
		if step == cfg.Iterations-1 {
			next, keepApart = last, orthonormalise
		}
		z, err := next(g)
		if err != nil {
			return nil, err
		}
		give(g)
		g = z
		if err := keepApart(ctx, g, k, total, cfg.Workers); err != nil {
			return nil, err
		}
	}
	// Rayleigh–Ritz: the eigenvectors of G (XᵀX) Gᵀ turn G into singular vectors.
	z, err := last(g)
	if err != nil {
		return nil, err
	}
	small, err := timesTransposed(ctx, z, g, k, total, cfg.Workers)
	if err != nil {
		return nil, err
	}
	defer give(small)
	give(z)
	values, vectors, err := eigen(small, k)
	if err != nil {
		return nil, err
	}
	v, err := times(ctx, vectors[:cfg.Rank*k], g, cfg.Rank, k, total, cfg.Workers)
	if err != nil {
		return nil, err
	}
	give(g)
	b.setValues(values[:cfg.Rank])
	return v, nil
}

// setValues sets S to the roots of eigenvalues.
func (b *Basis) setValues(squares []float64) {
	for _, x := range squares {
		b.S = append(b.S, math.Sqrt(max(x, 0)))
	}
}

func count[T kernel.Float](x []rows.Matrix[T]) int {
	n, _ := x[0].Dims()
	return n
}

func width(dims []int) int {
	total := 0
	for _, d := range dims {
		total += d
	}
	return total
}

func randomRows(k, d int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 0x5bec7a1))
	g := make([]float64, k*d)
	for i := range g {
		g[i] = rng.NormFloat64()
	}
	return g
}

// fixSign makes the entry of largest magnitude positive, so that the sign does not depend on rounding.
func fixSign(v []float64) {
	if !leadsUp(v) {
		for j := range v {
			v[j] = -v[j]
		}
	}
}

// leadsUp reports whether the entry of largest magnitude, the first of equal ones, is not negative.
func leadsUp(v []float64) bool {
	at := 0
	for j, x := range v {
		if math.Abs(x) > math.Abs(v[at]) {
			at = j
		}
	}
	return !(v[at] < 0)
}

// panelsOf returns the part of each view in k rows of all views' columns, as right-hand sides of products with its rows.
func panelsOf[T kernel.Float](dims []int, g []float64, k int) []kernel.Panel[T] {
	panels, total, lo := make([]kernel.Panel[T], len(dims)), width(dims), 0
	for v, d := range dims {
		kernel.PackT(&panels[v], d, k, g[lo:], total)
		lo += d
	}
	return panels
}

// timesPanels sets y to the products of the rows from lo to hi of all views side by side. part is scratch of the same size, and
// ones has a 1 for each.
func timesPanels[T kernel.Float](x []rows.Matrix[T], panels []kernel.Panel[T], lo, hi int, y, part, ones []T, ld int) {
	x[0].Mul(lo, hi, &panels[0], y, ld)
	for v := 1; v < len(x); v++ {
		x[v].Mul(lo, hi, &panels[v], part, ld)
		kernel.RowAxpy(y, part, ones[:hi-lo], ld)
	}
}

// gramTimes returns G XᵀX, k×D, in one pass over the rows.
func gramTimes[T kernel.Float](
	ctx context.Context, x []rows.Matrix[T], dims []int, g []float64, k int, cfg Config,
) ([]float64, error) {
	total := len(g) / k
	n, ld, panels := count(x), kernel.Pad(k), panelsOf[T](dims, g, k)
	type buffer struct {
		y, part, ones []T
		sums          []T // k×d_v per view, one after another
	}
	s := ranks.RowSum{What: "products for leading directions", Workers: cfg.Workers, Rows: n, Chunk: chunkRows, Size: k * total}
	return ranks.SumRows(ctx, cfg.Group, s, func() *buffer {
		return &buffer{y: make([]T, blockRows*ld), part: make([]T, blockRows*ld), ones: slices.Repeat([]T{1}, blockRows),
			sums: make([]T, k*total)}
	}, func(_, from, to int, b *buffer, part []float64) error {
		clear(b.sums)
		for i := from; i < to; i += blockRows {
			j := min(i+blockRows, to)
			timesPanels(x, panels, i, j, b.y, b.part, b.ones, ld)
			at := 0
			for v, d := range dims {
				x[v].TMulAdd(i, j, k, b.y, ld, b.sums[at:], d)
				at += k * d
			}
		}
		at, lo := 0, 0
		for _, d := range dims {
			for r := range k {
				kernel.AddTo(part[r*total+lo:r*total+lo+d], b.sums[at+r*d:at+(r+1)*d])
			}
			at += k * d
			lo += d
		}
		return nil
	})
}

// eigen returns the eigenvalues of a symmetric matrix, decreasing, and its eigenvectors in rows.
func eigen(a []float64, k int) ([]float64, []float64, error) {
	for i := range k {
		for j := range i {
			m := (a[i*k+j] + a[j*k+i]) / 2
			a[i*k+j], a[j*k+i] = m, m
		}
	}
	for _, x := range a {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, nil, fmt.Errorf("spectral: the Gram matrix holds %v", x)
		}
	}
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(k, a), true) {
		return nil, nil, errors.New("spectral: the eigenvalues of the Gram matrix do not converge")
	}
	var vec mat.Dense
	e.VectorsTo(&vec)
	values, vectors := make([]float64, k), make([]float64, k*k)
	up := e.Values(nil)
	for j := range k {
		values[j] = up[k-1-j]
		for i := range k {
			vectors[j*k+i] = vec.At(i, k-1-j)
		}
	}
	return values, vectors, nil
}

// Project returns X Vᵀ = U diag(S) (n×rank) as rows with the stride kernel.Pad(rank). The rows of the views may differ from the
// rows of Find.
func Project[T kernel.Float](ctx context.Context, b *Basis, x []rows.Matrix[T], workers int) ([]T, error) {
	n, _ := x[0].Dims()
	out := make([]T, n*kernel.Pad(len(b.S)))
	return out, project(ctx, b, x, workers, out)
}

// project is Project with a zeroed result in out.
func project[T kernel.Float](ctx context.Context, b *Basis, x []rows.Matrix[T], workers int, out []T) error {
	k := len(b.S)
	ld := kernel.Pad(k)
	n, _ := x[0].Dims()
	panels := make([]kernel.Panel[T], len(x))
	for v, d := range b.Dims {
		kernel.PackT(&panels[v], d, k, b.V[v], d)
	}
	return parallel.For(ctx, workers, (n+chunkRows-1)/chunkRows, func(_, c int) error {
		part, ones := make([]T, blockRows*ld), slices.Repeat([]T{1}, blockRows)
		for i := c * chunkRows; i < min((c+1)*chunkRows, n); i += blockRows {
			j := min(i+blockRows, (c+1)*chunkRows, n)
			for v := range x {
				x[v].Mul(i, j, &panels[v], part, ld)
				kernel.RowAxpy(out[i*ld:j*ld], part, ones[:j-i], ld)
			}
		}
		return nil
	})
}

// Projector projects rows of a single view to its directions.
type Projector[T kernel.Float] struct {
	panel kernel.Panel[T]
	rank  int
}

// NewProjector returns the projector of a basis of one view.
func NewProjector[T kernel.Float](b *Basis) *Projector[T] {
	p := &Projector[T]{rank: len(b.S)}
	kernel.PackT(&p.panel, b.Dims[0], p.rank, b.V[0], b.Dims[0])
	return p
}

// Rows sets y to rows [lo, hi) of x in the directions, with the stride kernel.Pad of their number. The bits of a row do not
// depend on other rows.
func (p *Projector[T]) Rows(x rows.Matrix[T], lo, hi int, y []T) {
	x.Mul(lo, hi, &p.panel, y, kernel.Pad(p.rank))
}
