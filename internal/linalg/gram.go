package linalg

import (
	"errors"
	"math"
)

// factorDirect sets the slot p.at to the polar factor of SlotA by a Direct. It reports false like factorGram, or without one.
func (p *Polar) factorDirect() (bool, error) {
	w, ok := p.wide.(Direct)
	if !ok {
		return false, nil
	}
	at, ok, err := w.Factor(p.u, p.ld)
	if p.direct = ok && err == nil; p.direct {
		p.at, p.fresh = at, false
		p.symmetric(p.h, p.u)
	}
	return p.direct, err
}

// symmetric sets dst to the symmetric part of x.
func (p *Polar) symmetric(dst, x []float64) {
	for i := range p.k {
		for j := range p.k {
			dst[i*p.ld+j] = (x[i*p.ld+j] + x[j*p.ld+i]) / 2
		}
	}
}

// factorGram sets the slot p.at to the polar factor of SlotA by the eigenvectors of A·Aᵀ and a polish. It reports false, having
// set nothing that counts, where A is too ill-conditioned for that.
func (p *Polar) factorGram() (bool, error) {
	if err := p.wide.TimesT(p.h, p.ld, SlotA, SlotA); err != nil {
		return false, err
	}
	if !p.eigen(p.h) {
		return false, nil
	}
	low, high := math.Inf(1), 0.0
	for _, v := range p.sigma {
		low, high = min(low, v), max(high, v)
	}
	if !(low*maxGramCondition*maxGramCondition > high) {
		return false, nil
	}
	for i, v := range p.sigma {
		p.sigma[i] = math.Sqrt(v)
		inv := 1 / p.sigma[i]
		for j := range p.k {
			p.s[i*p.ld+j] = p.bt[i*p.ld+j] * inv
		}
	}
	p.product(p.w, p.bt, p.s) // (A·Aᵀ)^−½, symmetric
	if err := p.wide.Combine(SlotP, p.ld, p.w, SlotA, nil, 0); err != nil {
		return false, err
	}
	p.at = SlotP
	if p.fresh = low*polishCondition*polishCondition > high; p.fresh {
		return true, nil
	}
	return p.polish()
}

// polish brings P from an approximate to the exact polar factor. That is the orthonormal P in the row space of A with
// T = A·Pᵀ symmetric and positive; for P → (I + Ω + ½(I−N))·P, N = P·Pᵀ, this asks to first order for the skew Ω with
// T·Ω + Ω·Tᵀ = T − Tᵀ, and in the basis where T is nearly diagonal that is a division by σ_i + σ_j. The error is squared
// in each step: Newton–Schulz for the orthonormality, Newton for the symmetry. At the end p.h is A·Pᵀ, made symmetric.
func (p *Polar) polish() (bool, error) {
	next := SlotNext
	for range maxPolish {
		t, n := p.h, p.t
		if err := p.wide.TimesT(t, p.ld, SlotA, p.at); err != nil {
			return false, err
		}
		if err := p.wide.TimesT(n, p.ld, p.at, p.at); err != nil {
			return false, err
		}
		p.congruence(p.s, p.b, t, p.u)
		p.skewQuotient(p.s, 0)
		p.congruence(p.u, p.bt, p.s, p.w) // −Ω = Ωᵀ
		size := 0.0
		for i := range p.k {
			for j := range p.k {
				e := n[i*p.ld+j]
				if i == j {
					e--
				}
				o := p.u[i*p.ld+j]
				size = max(size, math.Abs(e), math.Abs(o))
				n[i*p.ld+j] = o - e/2
				if i == j {
					n[i*p.ld+j]++
				}
			}
		}
		if !(size < 0.5) {
			return false, nil
		}
		if err := p.wide.Combine(next, p.ld, n, p.at, nil, 0); err != nil {
			return false, err
		}
		p.at, next = next, p.at
		if size < polishEnough {
			p.transpose(p.s, t)
			p.product(p.u, p.s, n) // T·(I + Ω + …)ᵀ
			p.symmetric(p.h, p.u)
			return true, nil
		}
	}
	return false, nil
}

// refresh takes singular values and left vectors from A·Pᵀ = B·Σ·Bᵀ, which unlike the Gram matrix has the condition of A. The
// eigenvectors of the Gram matrix, if there are any, are good to 1e-5.
func (p *Polar) refresh() error {
	copy(p.t, p.h)
	if p.eigen(p.t) {
		for i, v := range p.sigma {
			p.sigma[i] = math.Abs(v)
		}
	} else if p.direct {
		return errNoConvergence
	}
	p.fresh = true
	return nil
}

var errNoConvergence = errors.New("linalg: the eigenvalues of a Procrustes step do not converge")
