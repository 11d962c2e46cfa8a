package baseline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
)

// IncompleteFunc is Func for samples that lack views: present[i][v] says whether sample i has view v. The content of an absent
// row does not matter. It also returns an error if the mask does not fit, or a sample has no view.
type IncompleteFunc func(ctx context.Context, views []mat.Matrix, present [][]bool, c int, seed uint64) ([]int, error)

// IncompleteMethod is a comparison method for samples that lack views.
type IncompleteMethod struct {
	Name     string
	Source   string // the paper; "": none
	Settings string
	Run      IncompleteFunc
}

// IncompleteMethods returns the comparison methods for samples that lack views. None needs class labels.
func IncompleteMethods() []IncompleteMethod {
	return []IncompleteMethod{
		{"mean imputation + k-means", "", "samples standardised per view, unit norm; absent rows are the mean of their view; " +
			"10 k-means++ starts", MeanImputed},
		{"kNN imputation + k-means", "O. Troyanskaya et al., Bioinformatics 2001", knnSettings, KNNImputed},
		{"OPIMC", "M. Hu and S. Chen, AAAI 2019", opimcSettings, OPIMC},
		{"IMVC-CBG", "S. Wang et al., CVPR 2022", cbgSettings, IMVCCBG},
	}
}

const (
	donors      = 10
	knnSettings = "samples standardised per view, unit norm; absent rows are the mean row of the 10 nearest samples that " +
		"have the view, by the mean squared distance over the views that both have; 10 k-means++ starts"
)

// KNNImputed is k-means after absent rows are set to the mean row of the nearest samples that have the view.
func KNNImputed(ctx context.Context, views []mat.Matrix, present [][]bool, c int, seed uint64) ([]int, error) {
	x, err := load(ctx, views, present, c, unitRow)
	if err != nil {
		return nil, err
	}
	if err := impute(ctx, x, present); err != nil {
		return nil, err
	}
	return labelsOf(ctx, x, c, seed, false)
}

// impute sets absent rows to the mean row of the nearest samples that have the view. A row does not change if no such sample
// shares a view with its sample.
func impute(ctx context.Context, x []*block, present [][]bool) error {
	n := x[0].n
	products := make([]*mat.Dense, len(x))
	for v, b := range x {
		wide := b.widened(func(int) bool { return true })
		products[v] = new(mat.Dense)
		products[v].Mul(wide, wide.T())
	}
	filled := make([]*block, len(x))
	for v, b := range x {
		filled[v] = &block{b.n, b.d, slices.Clone(b.x)}
	}
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		if present == nil || !slices.Contains(present[i], false) {
			continue
		}
		near := nearest(products, present, i)
		for v, b := range x {
			if !present[i][v] {
				meanOfDonors(filled[v].row(i), b, near, func(sample int) bool { return present[sample][v] })
			}
		}
	}
	copy(x, filled)
	return nil
}

// donor is a sample at a mean squared distance over the views that it shares with another.
type donor struct {
	sample int
	square float64
}

// nearest returns the samples that share a view with sample i, the nearest first. products are the scalar products of the rows of
// each view.
func nearest(products []*mat.Dense, present [][]bool, i int) []donor {
	var near []donor
	for j := range present {
		sum, shared := 0.0, 0.0
		for v, p := range products {
			if j != i && present[i][v] && present[j][v] {
				sum += p.At(i, i) + p.At(j, j) - 2*p.At(i, j)
				shared++
			}
		}
		if shared > 0 {
			near = append(near, donor{j, sum / shared})
		}
	}
	slices.SortStableFunc(near, func(a, b donor) int { return cmp.Compare(a.square, b.square) })
	return near
}

// meanOfDonors sets a row to the mean row of the first donors that have the view. It does not change the row if none has.
func meanOfDonors(row []float32, b *block, near []donor, has func(sample int) bool) {
	mean, count := make([]float64, b.d), 0
	for _, d := range near {
		if has(d.sample) && count < donors {
			kernel.AddTo(mean, b.row(d.sample))
			count++
		}
	}
	for j, a := range mean {
		if count > 0 {
			row[j] = float32(a / float64(count))
		}
	}
}

const (
	opimcAlpha    = 0.01
	opimcStarts   = 10
	opimcSettings = "samples standardised per view, unit norm; all samples in one chunk, α = 0.01, the best of 10 random " +
		"starts by the objective"
)

// OPIMC is one-pass incomplete multi-view clustering (M. Hu and S. Chen, AAAI 2019), with all samples in one chunk:
//
//	min Σ_v ‖P_v (X_v − Y U_v)‖² + α‖U_v‖²  subject to Y a partition,
//
// P_v leaves out the samples that lack view v. The centres U_v of the present rows and the partition are updated in turn.
func OPIMC(ctx context.Context, views []mat.Matrix, present [][]bool, c int, seed uint64) ([]int, error) {
	x, err := load(ctx, views, present, c, unitRow)
	if err != nil {
		return nil, err
	}
	r := source(seed)
	var best []int
	lowest := math.Inf(1)
	for range opimcStarts {
		labels := make([]int, x[0].n)
		for i := range labels {
			labels[i] = r.IntN(c)
		}
		objective := math.Inf(1)
		for range 100 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			next := opimcStep(x, present, labels, c)
			if done := objective-next <= 1e-6*next; done {
				objective = next
				break
			}
			objective = next
		}
		if objective < lowest {
			lowest, best = objective, labels
		}
	}
	return renumbered(best), nil
}

// opimcStep finds the centres of the labels, then the labels of the nearest centres, and returns the objective of both.
func opimcStep(x []*block, present [][]bool, labels []int, c int) float64 {
	distance, objective := make([]float64, len(labels)*c), 0.0
	for v, b := range x {
		centres, count := make([]float64, c*b.d), make([]float64, c)
		for i, l := range labels {
			if present == nil || present[i][v] {
				kernel.AddTo(centres[l*b.d:(l+1)*b.d], b.row(i))
				count[l]++
			}
		}
		own := make([]float64, c)
		for k := range c {
			for j := range b.d {
				centres[k*b.d+j] /= count[k] + opimcAlpha
				own[k] += centres[k*b.d+j] * centres[k*b.d+j]
			}
			objective += opimcAlpha * own[k]
		}
		var panel kernel.Panel[float32]
		kernel.PackT(&panel, b.d, c, centres, b.d)
		ld := kernel.Pad(c)
		products := make([]float32, b.n*ld)
		kernel.Mul(b.n, b.x, b.d, &panel, products, ld, false)
		for i := range labels {
			if present != nil && !present[i][v] {
				continue
			}
			square := kernel.SumSquares(b.row(i), 0)
			for k := range c {
				distance[i*c+k] += square - 2*float64(products[i*ld+k]) + own[k]
			}
		}
	}
	for i := range labels {
		d := distance[i*c : (i+1)*c]
		for k := range d {
			if d[k] < d[labels[i]] {
				labels[i] = k
			}
		}
		objective += d[labels[i]]
	}
	return objective
}

const (
	cbgLambda   = 1
	cbgSettings = "columns z-scored, c anchors in c dimensions, at most as many as the narrowest view has features, λ = 1, " +
		"at most 50 iterations"
)

// IMVCCBG is incomplete multi-view clustering with a consensus bipartite graph (S. Wang, X. Liu, L. Liu, W. Tu, X. Zhu, J. Liu,
// S. Zhou and E. Zhu, CVPR 2022):
//
//	min Σ_v α_v² ‖P_v (X_v − Z Aᵀ W_v)‖² + λ‖Z‖²  subject to W_v W_vᵀ = I, AᵀA = I, Z ≥ 0, Z1 = 1, Σ_v α_v = 1,
//
// with the anchors A common to the views, the projection W_v of each, and the graph Z (n×m) of samples and anchors, whose left
// singular vectors are clustered. P_v leaves out the samples that lack view v. By turns in W, A, Z and α.
func IMVCCBG(ctx context.Context, views []mat.Matrix, present [][]bool, c int, seed uint64) ([]int, error) {
	x, err := load(ctx, views, present, c, zScore)
	if err != nil {
		return nil, err
	}
	n, m := x[0].n, c
	wide := make([]*mat.Dense, len(x))
	for v, b := range x {
		m = min(m, b.d)
		wide[v] = b.widened(func(i int) bool { return present == nil || present[i][v] })
	}
	z, anchors := mat.NewDense(n, m, nil), mat.NewDense(m, m, nil)
	for k, i := range source(seed).Perm(n)[:m] {
		z.Set(i, k, 1)
		anchors.Set(k, k, 1)
	}
	w, alpha := make([]*mat.Dense, len(x)), make([]float64, len(x))
	for v, b := range x {
		w[v], alpha[v] = mat.NewDense(m, b.d, nil), 1/float64(len(x))
	}
	last := math.Inf(1)
	for t := 1; t <= 50; t++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		objective, err := cbgStep(wide, present, z, anchors, w, alpha)
		if err != nil {
			return nil, err
		}
		if t > 2 && math.Abs(objective-last) <= 1e-5*objective {
			break
		}
		last = objective
	}
	return clusterVectors(ctx, z, c, seed)
}

// widened returns the rows of a view, with zeros in place of those that are absent.
func (b *block) widened(has func(i int) bool) *mat.Dense {
	out := mat.NewDense(b.n, b.d, nil)
	for i := range b.n {
		if has(i) {
			kernel.Widen(out.RawRowView(i), b.row(i))
		}
	}
	return out
}

// cbgStep updates all variables once. The rows of x are zero where they are absent.
func cbgStep(x []*mat.Dense, present [][]bool, z, anchors *mat.Dense, w []*mat.Dense, alpha []float64) (float64, error) {
	_, m := z.Dims()
	var polar linalg.Polar
	orthogonal := func(what string, a *mat.Dense) error {
		rows, cols := a.Dims()
		if err := polar.Factor(rows, cols, a.RawMatrix().Data, a.RawMatrix().Data); err != nil {
			return fmt.Errorf("baseline: IMVC-CBG, %s: %w", what, err)
		}
		return nil
	}
	sums, all := make([]mat.Dense, len(x)), mat.NewDense(m, m, nil) // ZᵀX_v; Σ_v α_v² W_v X_vᵀZ
	for v := range x {
		sums[v].Mul(z.T(), x[v])
		w[v].Mul(anchors, &sums[v])
		if err := orthogonal(fmt.Sprintf("view %d", v), w[v]); err != nil {
			return 0, err
		}
		var part mat.Dense
		part.Mul(w[v], sums[v].T())
		part.Scale(alpha[v]*alpha[v], &part)
		all.Add(all, &part)
	}
	anchors.Copy(all)
	if err := orthogonal("the anchors", anchors); err != nil {
		return 0, err
	}
	codes := make([]mat.Dense, len(x)) // n×m: X_v W_vᵀ A
	for v := range x {
		var inner mat.Dense
		inner.Mul(x[v], w[v].T())
		codes[v].Mul(&inner, anchors)
	}
	objective, residual := cbgGraph(x, present, z, codes, alpha)
	total := 0.0
	for v, r := range residual {
		objective += alpha[v] * alpha[v] * r
		total += 1 / max(r, 1e-12)
	}
	for v, r := range residual {
		alpha[v] = 1 / max(r, 1e-12) / total
	}
	return objective, nil
}

// cbgGraph sets Z to the minimum for the codes X_v W_vᵀ A, and returns λ‖Z‖² and the residuals of the views.
func cbgGraph(x []*mat.Dense, present [][]bool, z *mat.Dense, codes []mat.Dense, alpha []float64) (float64, []float64) {
	n, _ := z.Dims()
	objective, residual := 0.0, make([]float64, len(x))
	for i := range n {
		row, weight := z.RawRowView(i), float64(cbgLambda)
		clear(row)
		for v := range x {
			if present == nil || present[i][v] {
				weight += alpha[v] * alpha[v]
				for k, a := range codes[v].RawRowView(i) {
					row[k] += alpha[v] * alpha[v] * a
				}
			}
		}
		for k := range row {
			row[k] /= weight
		}
		toSimplex(row)
		own := 0.0
		for _, a := range row {
			own += a * a
		}
		objective += cbgLambda * own
		for v := range x {
			if present != nil && !present[i][v] {
				continue
			}
			residual[v] += own
			for _, a := range x[v].RawRowView(i) {
				residual[v] += a * a
			}
			for k, a := range codes[v].RawRowView(i) {
				residual[v] -= 2 * a * row[k]
			}
		}
	}
	return objective, residual
}

// toSimplex replaces x by the nearest point with entries ≥ 0 of sum 1.
func toSimplex(x []float64) {
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	sum, shift := 0.0, 0.0
	for k := len(sorted) - 1; k >= 0; k-- {
		sum += sorted[k]
		if s := (sum - 1) / float64(len(sorted)-k); s < sorted[k] {
			shift = s
		}
	}
	for k := range x {
		x[k] = max(x[k]-shift, 0)
	}
}
