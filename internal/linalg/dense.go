package linalg

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
)

// resize makes room for an m×d matrix.
func (p *Polar) resize(m, d int) error {
	k, q := min(m, d), max(m, d)
	other := k != p.k
	p.k, p.q, p.ld, p.fresh = k, q, kernel.Pad(k), false
	p.m, p.d = m, d
	if p.wide = p.Wide; p.wide == nil {
		p.wide = &p.host
	}
	if m > d {
		p.turned = grow(p.turned, k*q)
	}
	for _, x := range []*[]float64{&p.h, &p.s, &p.t, &p.u, &p.w, &p.b, &p.bt} {
		*x = grow(*x, k*p.ld)
		if other {
			clear(*x) // the kernels want zeros from column k to the stride
		}
	}
	p.sigma = grow(p.sigma, k)
	g := &p.eig
	g.a, g.z, g.w = grow(g.a, k*k), grow(g.z, k*k), grow(g.w, 32*k)
	g.d, g.e, g.tau = grow(g.d, k), grow(g.e, k), grow(g.tau, k)
	return p.wide.Resize(k, q)
}

func grow(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n)
	}
	return x[:n]
}

// put sets a slot to scale times the m×d matrix x, or its transpose where m > d.
func (p *Polar) put(to Slot, x []float64, scale float64) error {
	if p.m <= p.d {
		return p.wide.Put(to, x, scale)
	}
	turned := make([]float64, len(x)) // the slot may keep it
	for i := range p.m {
		for j := range p.d {
			turned[j*p.m+i] = x[i*p.d+j]
		}
	}
	return p.wide.Put(to, turned, scale)
}

// get sets the m×d matrix x to scale times a slot, or its transpose where m > d.
func (p *Polar) get(x []float64, from Slot, scale float64) error {
	if p.m <= p.d {
		return p.wide.Get(x, from, scale)
	}
	if err := p.wide.Get(p.turned, from, scale); err != nil {
		return err
	}
	for i := range p.m {
		for j := range p.d {
			x[i*p.d+j] = p.turned[j*p.m+i]
		}
	}
	return nil
}

// fewRows is the most rows for which packing them costs more than it gains.
const fewRows = 24

// product sets dst to Xᵀ·Y, all k×k.
func (p *Polar) product(dst, x, y []float64) {
	clear(dst)
	kernel.TMulAdd(p.k, p.k, p.k, x, p.ld, y, p.ld, dst, p.ld)
}

// congruence sets dst to Xᵀ·Y·X, all k×k, with tmp for scratch.
func (p *Polar) congruence(dst, x, y, tmp []float64) {
	p.product(dst, x, y) // Xᵀ Y
	p.transpose(tmp, dst)
	p.product(dst, tmp, x)
}

// transpose sets dst to Xᵀ, k×k.
func (p *Polar) transpose(dst, x []float64) {
	for i := range p.k {
		for j := range p.k {
			dst[j*p.ld+i] = x[i*p.ld+j]
		}
	}
}

// skewQuotient replaces x_ij by (x_ji − x_ij)/(σ_i + σ_j), each σ at least floor: the negative, that is the transpose, of
// the skew matrix that the formulas ask for, as product takes it.
func (p *Polar) skewQuotient(x []float64, floor float64) {
	for i := range p.k {
		x[i*p.ld+i] = 0
		for j := range i {
			o := (x[j*p.ld+i] - x[i*p.ld+j]) / (max(p.sigma[i], floor) + max(p.sigma[j], floor))
			x[i*p.ld+j], x[j*p.ld+i] = o, -o
		}
	}
}

// factorSVD sets SlotP to the polar factor of SlotA by the singular value decomposition, completed where A has no full rank.
func (p *Polar) factorSVD() error {
	a := make([]float64, p.k*p.q)
	if err := p.wide.Get(a, SlotA, 1); err != nil {
		return err
	}
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(p.k, p.q, a), mat.SVDThin) {
		return errors.New("linalg: the singular value decomposition does not converge")
	}
	svd.Values(p.sigma)
	var left, right mat.Dense
	svd.UTo(&left)
	svd.VTo(&right)
	rank := 0
	for rank < p.k && p.sigma[rank] > float64(p.q)*0x1p-52*p.sigma[0] {
		rank++
	}
	// Rows of b and c: left and right singular vectors.
	b, c := make([]float64, p.k*p.k), make([]float64, p.k*p.q)
	for i := range rank {
		for j := range p.k {
			b[i*p.k+j] = left.At(j, i)
		}
		for j := range p.q {
			c[i*p.q+j] = right.At(j, i)
		}
	}
	complete(b, p.k, rank, p.k, nil)
	complete(c, p.k, rank, p.q, p.emptyColumns(a))
	for i := range p.k {
		for j := range p.k {
			p.bt[i*p.ld+j], p.b[j*p.ld+i] = b[i*p.k+j], b[i*p.k+j]
		}
	}
	if err := p.wide.Put(SlotNext, c, 1); err != nil {
		return err
	}
	if err := p.wide.Combine(SlotP, p.ld, p.bt, SlotNext, nil, 0); err != nil {
		return err
	}
	p.at = SlotP
	for i := rank; i < p.k; i++ {
		p.sigma[i] = 0
	}
	p.fresh = true
	return nil
}

// emptyColumns returns which columns of A are zero; nil if none is, if the others are less than the rows, or if A is Mᵀ. Such a
// column is a feature without any value: a unit vector of it would change P where a matrix without the feature had none.
func (p *Polar) emptyColumns(a []float64) []bool {
	empty, others := make([]bool, p.q), 0
	for j := range empty {
		empty[j] = true
		for i := 0; i < p.k && empty[j]; i++ {
			empty[j] = a[i*p.q+j] == 0
		}
		if !empty[j] {
			others++
		}
	}
	if p.m > p.d || others == p.q || others < p.k {
		return nil
	}
	return empty
}

// complete extends the first rank orthonormal rows of the k×n matrix x to k: each new row is the unit vector furthest
// from the span of those before, orthogonalised, the first of them at ties. It takes no unit vector j for which empty[j] is true.
func complete(x []float64, k, rank, n int, empty []bool) {
	inside := make([]float64, n) // squared norm of the part of unit vector j inside the span
	for j, e := range empty {
		if e {
			inside[j] = math.Inf(1)
		}
	}
	for i := range k {
		row := x[i*n : (i+1)*n]
		if i >= rank {
			pick := 0
			for j, v := range inside {
				if v < inside[pick]-1e-8 {
					pick = j
				}
			}
			clear(row)
			row[pick] = 1
			for range 2 { // the second time removes what rounding left
				orthogonalise(row, x[:i*n])
			}
		}
		for j, v := range row {
			inside[j] += v * v
		}
	}
}

// orthogonalise removes from row its parts along the orthonormal rows of basis and scales it to length 1.
func orthogonalise(row, basis []float64) {
	n := len(row)
	for ; len(basis) > 0; basis = basis[n:] {
		dot := 0.0
		for j, v := range basis[:n] {
			dot += v * row[j]
		}
		for j, v := range basis[:n] {
			row[j] -= dot * v
		}
	}
	norm := mat.Norm(mat.NewVecDense(n, row), 2)
	for j := range row {
		row[j] /= norm
	}
}
