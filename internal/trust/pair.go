package trust

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
)

const (
	// fewestPairs is the number of known samples with two views from which the two views are compared.
	fewestPairs = 20
	// drawn is the number of random pairs for each pair of rows of one sample.
	drawn = 3
	// penalty is the penalty of the regression of one view on another, as a share of the sum of squares.
	penalty = 3e-3
	// features is the number of features of the logistic regression: see describe.
	features = 7
)

// pair compares views u and v.
type pair[T kernel.Float] struct {
	u, v    int
	forward *ridge[T] // of v on u
	back    *ridge[T] // of u on v
	ratio   *logistic // nil: too few samples have both views
}

// fit learns from the known samples that have both views.
func (p *pair[T]) fit(j *Judge[T], all []profile[T], rng *rand.Rand) error {
	var both []int
	for i := range all {
		if all[i].has(p.u) && all[i].has(p.v) {
			both = append(both, i)
		}
	}
	if len(both) < fewestPairs {
		return nil
	}
	var err error
	if p.forward, err = regress(j, p.u, p.v, all, both); err != nil {
		return err
	}
	if p.back, err = regress(j, p.v, p.u, all, both); err != nil {
		return err
	}
	for lo := 0; lo < len(all); lo += chunkRows {
		p.guess(j, all[lo:min(lo+chunkRows, len(all))])
	}
	x := make([][]float64, 0, len(both)*(1+drawn))
	y, weights := make([]float64, 0, cap(x)), make([]float64, 0, cap(x))
	for at, i := range both {
		x = append(x, p.describe(j, &all[i], &all[i]))
		y, weights = append(y, 1), append(weights, 1)
		for range drawn {
			other := rng.IntN(len(both) - 1)
			if other >= at {
				other++
			}
			x = append(x, p.describe(j, &all[i], &all[both[other]]))
			y, weights = append(y, 0), append(weights, 1./drawn)
		}
	}
	for i := range all { // no longer needed
		all[i].guess[p.u][p.v], all[i].guess[p.v][p.u] = nil, nil
	}
	p.ratio = newLogistic(x, y, weights)
	return nil
}

// guess sets the regressions between the two views for some samples, at most chunkRows.
func (p *pair[T]) guess(j *Judge[T], some []profile[T]) {
	p.forward.predict(j, p.u, p.v, some)
	p.back.predict(j, p.v, p.u, some)
}

// logRatio returns the estimated logarithm of the likelihood ratio: that view u of a and view v of b belong to one sample,
// against that they do not.
func (p *pair[T]) logRatio(j *Judge[T], a, b *profile[T]) float64 {
	return p.ratio.at(p.describe(j, a, b))
}

// describe returns the features of the logistic regression for view u of a and view v of b.
func (p *pair[T]) describe(j *Judge[T], a, b *profile[T]) []float64 {
	f := make([]float64, 0, features)
	f = j.says(f, p.u, p.v, a, b)
	f = j.says(f, p.v, p.u, b, a)
	return append(f, j.common(p.u, p.v, a, b))
}

// says appends the features by which view u of a predicts view v of b: its nearness to the mean of a's neighbours and to the
// regressed row, by angle, with and without equal weight for all directions.
func (j *Judge[T]) says(f []float64, u, v int, a, b *profile[T]) []float64 {
	s, own := j.views[v], b.y[v]
	sum, count := 0.0, 0.0
	for _, r := range a.near[u] {
		if int(r) == a.known || int(r) == b.known || !s.present[r] {
			continue
		}
		sum += dot(s.y[int(r)*s.ld:int(r)*s.ld+s.rank], own)
		if count++; count == meanNeighbors {
			break
		}
	}
	near := 0.0
	if count > 0 {
		near = (sum/count - b.mean[v]) / b.std[v]
	}
	plain, white := [3]float64{}, [3]float64{} // x·y, x·x, y·y
	for c, g := range a.guess[u][v] {
		x, y, w := float64(g), float64(own[c]), s.scale[c]
		plain[0], plain[1], plain[2] = plain[0]+x*y, plain[1]+x*x, plain[2]+y*y
		white[0], white[1], white[2] = white[0]+x*y*w*w, white[1]+x*x*w*w, white[2]+y*y*w*w
	}
	return append(f, near, cosine(plain), cosine(white))
}

func cosine(p [3]float64) float64 { return p[0] / (math.Sqrt(p[1]*p[2]) + 1e-300) }

func dot[T kernel.Float](x, y []T) float64 {
	sum := T(0)
	for c, e := range x {
		sum += e * y[c]
	}
	return float64(sum)
}

// common measures the common neighbours of a in view u and of b in view v. Near neighbours count more; neighbours of many samples
// count less.
func (j *Judge[T]) common(u, v int, a, b *profile[T]) float64 {
	sum := 0.0
	for i, r := range closest(a.near[u]) {
		if int(r) == b.known {
			continue
		}
		for k, q := range closest(b.near[v]) {
			if r == q && int(q) != a.known {
				places := (1 - float64(i)/(2*overlapNeighbors)) * (1 - float64(k)/(2*overlapNeighbors))
				sum += places / math.Sqrt(1+j.views[u].often[r]*j.views[v].often[r])
			}
		}
	}
	return math.Sqrt(sum)
}

// ridge predicts a view from another, in their leading directions.
type ridge[T kernel.Float] struct {
	weights  kernel.Panel[T]
	leverage map[int]T // of the samples of the regression
}

// regress returns the regression of view v on view u over the samples that have both.
func regress[T kernel.Float](j *Judge[T], u, v int, all []profile[T], both []int) (*ridge[T], error) {
	a, b := j.views[u].rank, j.views[v].rank
	x, y := mat.NewDense(len(both), a, nil), mat.NewDense(len(both), b, nil)
	for k, i := range both {
		copyRow(x.RawRowView(k), all[i].y[u])
		copyRow(y.RawRowView(k), all[i].y[v])
	}
	gram := mat.NewSymDense(a, nil)
	gram.SymOuterK(1, x.T())
	total := 0.0
	for c := range a {
		total += gram.At(c, c)
	}
	for c := range a {
		gram.SetSym(c, c, gram.At(c, c)+penalty*total)
	}
	out := &ridge[T]{leverage: make(map[int]T, len(both))}
	var factor mat.Cholesky
	if total == 0 || !factor.Factorize(gram) { // Equal rows have no information.
		kernel.Pack(&out.weights, a, b, make([]float64, a*b), b)
		return out, nil
	}
	var right, weights, inverse mat.Dense
	right.Mul(x.T(), y)
	if err := factor.SolveTo(&weights, &right); err != nil {
		return nil, err
	}
	if err := factor.SolveTo(&inverse, x.T()); err != nil {
		return nil, err
	}
	kernel.Pack(&out.weights, a, b, weights.RawMatrix().Data, b)
	for k, i := range both {
		h := 0.0
		for c, e := range x.RawRowView(k) {
			h += e * inverse.At(c, k)
		}
		out.leverage[i] = T(min(h, mostLeverage))
	}
	return out, nil
}

// mostLeverage keeps 1 less a leverage above its rounding error.
const mostLeverage = 1 - 1e-4

// predict sets the rows of view v from the rows of view u. A sample of the regression is left out of its own prediction.
func (r *ridge[T]) predict(j *Judge[T], u, v int, some []profile[T]) {
	from, to := j.views[u], j.views[v]
	x := make([]T, len(some)*from.ld)
	for i := range some {
		copy(x[i*from.ld:], some[i].y[u])
	}
	y := make([]T, len(some)*to.ld)
	kernel.Mul(len(some), x, from.ld, &r.weights, y, to.ld, false)
	for i := range some {
		p := &some[i]
		if !p.has(u) {
			continue
		}
		row := y[i*to.ld : i*to.ld+to.rank]
		if h, ok := r.leverage[p.known]; ok && p.has(v) {
			for c, own := range p.y[v] {
				row[c] = (row[c] - h*own) / (1 - h)
			}
		}
		p.guess[u][v] = row
	}
}

func copyRow[T kernel.Float](dst []float64, src []T) {
	for c, e := range src {
		dst[c] = float64(e)
	}
}
