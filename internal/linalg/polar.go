// Package linalg has the orthogonal Procrustes step of LargeMvC-Net: the polar factor of a small, usually wide matrix,
// and its derivative, in float64.
//
//	var p linalg.Polar                     // reusable; one per goroutine
//	err := p.Factor(m, d, M, P)            // P = B·Cᵀ of the thin SVD M = B·Σ·Cᵀ
//	p.Grad(G, dM)                          // dM: the cotangent of M for the cotangent G of P
//	err = p.Load(m, d, M, P)               // or later: Grad for an M whose P was kept
package linalg

import (
	"fmt"
	"math"
	"slices"
)

// DefaultFloor is the floor under the singular values in Grad, relative to the largest, where Polar.Floor is zero.
const DefaultFloor = 1e-10

const (
	// maxGramCondition is the condition number up to which the Gram matrix is used. The square of it is what the Gram
	// matrix loses, so the polish starts from an error of about 1e-16·1e10 there and squares it with every step.
	maxGramCondition = 1e5
	// polishCondition is the condition number up to which the Gram matrix alone gives full accuracy.
	polishCondition = 10
	// polishEnough is the size of a correction after which, convergence being quadratic, no other is needed.
	polishEnough = 1e-9
	maxPolish    = 6
)

// Polar computes polar factors. The zero value is ready; its memory is reused between calls. A Polar must not be used
// from two goroutines at once.
//
// With M = B·Σ·Cᵀ the thin singular value decomposition (r = min(m, d) values), the polar factor P = B·Cᵀ is the matrix
// nearest to M among those with orthonormal rows (m ≤ d: P·Pᵀ = I) or columns (m > d: PᵀP = I). It maximises ⟨P, M⟩.
//
// Singular values that are zero, to max(m, d)·2.2e-16 relative to the largest, leave their part of P free. Factor then
// completes P by a fixed rule: the missing left and the missing right singular vectors are each the unit vectors that
// lie furthest outside the span so far, orthogonalised, the first one at ties, and the i-th left goes with the i-th
// right. Unit vectors of columns of M that are zero are taken only if M has less than m other columns. So P is orthonormal
// always, depends on M alone, and is [I 0] (or its transpose) for M = 0. P jumps where a singular value passes through zero,
// as the polar factor itself does.
//
// Grad divides by singular values and by sums of two; repeated values do no harm. Values below Floor times the largest
// are replaced by that product, which bounds the gradient by about ‖G‖/(Floor·σ_max); for M = 0 the gradient is 0.
type Polar struct {
	// Floor is the smallest singular value that Grad divides by, relative to the largest. 0 means DefaultFloor; use 1e-5
	// where M comes from float32 data.
	Floor float64
	// Wide does the products with k×q matrices; nil: in memory.
	Wide Wide

	m, d   int     // the last M
	k, q   int     // A is k×q with k ≤ q
	ld     int     // stride of the k×k matrices
	scale  float64 // A is M, or Mᵀ, times this power of two; 0: A is M, which is not checked
	zero   bool
	direct bool          // P is the work of a Direct, and there are no eigenvectors of the Gram matrix
	fresh  bool          // sigma and the eigenvectors belong to A·Pᵀ to full accuracy
	ahead  chan struct{} // closed when Prepare has finished; nil: nothing runs

	wide          Wide
	host          host
	at            Slot      // where P is
	turned        []float64 // d×m, where m > d
	h, s, t, u, w []float64 // k×k with stride ld; h = A·Pᵀ
	b, bt         []float64 // eigenvectors in columns, in rows
	sigma         []float64 // singular values, in the order of the eigenvectors
	eig           eigen
}

// Factor sets P to the polar factor of M. M and P are row-major m×d without gaps; P may be M. It returns an error, and
// leaves P alone, where the sizes are wrong or M holds NaN or infinity.
func (p *Polar) Factor(m, d int, M, P []float64) error {
	if err := p.Begin(m, d, M); err != nil {
		return err
	}
	return p.Finish(P)
}

// Begin is the first half of Factor: it checks M and hands it to the Wide. Finish is the second half, before which M must not
// change. A nil M says that SlotA of the Wide, a Direct, has it, for m ≤ d. Then Finish checks M, and Vectors replaces Grad.
func (p *Polar) Begin(m, d int, M []float64) error {
	if M != nil {
		return p.setMatrix(m, d, M, M)
	}
	p.Wait()
	p.zero, p.scale = false, 0
	return p.resize(m, d)
}

// Finish sets P to the polar factor of the M of Begin. A nil P leaves it in SlotP.
func (p *Polar) Finish(P []float64) error {
	if p.m == 0 || P != nil && len(P) != p.m*p.d {
		return fmt.Errorf("linalg: a polar factor of %d entries for a matrix of %d×%d", len(P), p.m, p.d)
	}
	err := p.factor()
	if err == nil && P != nil {
		err = p.get(P, p.at, 1)
	} else if err == nil && p.at != SlotP {
		err = p.wide.(Direct).Move(SlotP, p.at)
		p.at = SlotP
	}
	if err != nil {
		p.m, p.d = 0, 0
	}
	return err
}

// factor sets the slot p.at to the polar factor.
func (p *Polar) factor() error {
	if p.zero {
		return p.factorZero()
	}
	ok, err := p.factorDirect()
	if p.scale == 0 && err == nil {
		if p.scale = 1; !ok {
			err = p.check()
		}
		if p.zero {
			return p.factorZero()
		}
	}
	if err == nil && !ok {
		ok, err = p.factorGram()
	}
	if err == nil && !ok {
		err = p.factorSVD()
	}
	return err
}

// check does for an M in SlotA what Begin does for another one.
func (p *Polar) check() error {
	M := make([]float64, p.m*p.d)
	if err := p.wide.Get(M, SlotA, 1); err != nil {
		return err
	}
	return p.setMatrix(p.m, p.d, M, M)
}

// factorZero sets SlotP to the polar factor of 0.
func (p *Polar) factorZero() error {
	first := make([]float64, p.k*p.q)
	for i := range p.k {
		first[i*p.q+i] = 1
	}
	p.at = SlotP
	return p.wide.Put(SlotP, first, 1)
}

// setMatrix checks M, and the length of P, and sets SlotA.
func (p *Polar) setMatrix(m, d int, M, P []float64) error {
	p.Wait()
	p.m, p.d = 0, 0
	if m < 1 || d < 1 || len(M) != m*d || len(P) != m*d {
		return fmt.Errorf("linalg: polar factor of a %d×%d matrix with %d entries, and %d in the factor", m, d, len(M), len(P))
	}
	top := largest(M)
	if !(top <= math.MaxFloat64) {
		i := slices.IndexFunc(M, func(v float64) bool { return !(math.Abs(v) <= math.MaxFloat64) })
		return &NotFiniteError{M[i], i / d, i % d}
	}
	if err := p.resize(m, d); err != nil {
		return err
	}
	if p.zero = top < 0x1p-1000; p.zero {
		return nil
	}
	_, exp := math.Frexp(top)
	p.scale = math.Ldexp(1, -exp)
	return p.put(SlotA, M, p.scale)
}

// largest returns the largest absolute value of x, NaN before infinity before any number. As bits without their sign the
// values are in that order.
func largest(x []float64) float64 {
	const values = 1<<63 - 1
	var top [4]uint64
	for ; len(x) >= 4; x = x[4:] {
		for j := range top {
			top[j] = max(top[j], math.Float64bits(x[j])&values)
		}
	}
	for _, v := range x {
		top[0] = max(top[0], math.Float64bits(v)&values)
	}
	return math.Float64frombits(max(top[0], top[1], top[2], top[3]))
}

// Load prepares Grad as Factor would, for a matrix M whose polar factor P is known; it is an error where Factor has one.
// P need not be exact: the gradient is as good as P is.
func (p *Polar) Load(m, d int, M, P []float64) error {
	if err := p.setMatrix(m, d, M, P); err != nil {
		return err
	}
	if p.zero {
		return nil
	}
	p.at = SlotP
	if err := p.put(SlotP, slices.Clone(P), 1); err != nil {
		return err
	}
	if err := p.wide.TimesT(p.u, p.ld, SlotA, SlotP); err != nil {
		return err
	}
	p.symmetric(p.h, p.u)
	if !p.eigen(p.h) {
		p.m, p.d = 0, 0
		return errNoConvergence
	}
	for i, v := range p.sigma {
		p.sigma[i] = math.Abs(v)
	}
	p.fresh = true
	return nil
}

// Prepare starts the part of Grad that needs no G: eigenvectors. It returns at once; Begin, Load, Grad and Wait wait for it. So
// they are computed while a device is at work. Without a Wide it does nothing.
func (p *Polar) Prepare() {
	if p.Wide == nil || p.m == 0 || p.zero || p.fresh {
		return
	}
	done := make(chan struct{})
	p.ahead = done
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // Grad meets it again
		_ = p.refresh()                  // Grad meets the error again
	}()
}

// Wait waits for Prepare.
func (p *Polar) Wait() {
	if p.ahead != nil {
		<-p.ahead
		p.ahead = nil
	}
}

// Grad sets dM (m×d, row-major) to the cotangent of M for the cotangent G of P, for the matrix of the last Factor:
//
//	dM = B [ (Q−Qᵀ)_ij / (σ_i+σ_j) ] Cᵀ + (I−BBᵀ) G C Σ⁻¹ Cᵀ + B Σ⁻¹ Bᵀ G (I−CCᵀ),   Q = Bᵀ G C
//
// dM may be G. Without a successful Factor before, or with other lengths, it panics. It has an error of a Wide,
// or if eigenvalues do not converge.
func (p *Polar) Grad(G, dM []float64) error {
	p.Wait()
	if p.m == 0 || len(G) != p.m*p.d || len(dM) != p.m*p.d {
		panic(fmt.Sprintf("linalg: gradient of %d and %d entries after a factor of %d×%d", len(G), len(dM), p.m, p.d))
	}
	if p.zero {
		clear(dM)
		return nil
	}
	if !p.fresh {
		if err := p.refresh(); err != nil {
			return err
		}
	}
	// With k ≤ q the left vectors are complete (BBᵀ = I), Cᵀ = Bᵀ P and W = B Σ⁻¹ Bᵀ, so
	// dM = W·G + (S − W·GPᵀ)·P with S = B [(Q−Qᵀ)/(σ_i+σ_j)] Bᵀ and Q = Bᵀ GPᵀ B.
	if err := p.put(SlotG, G, 1); err != nil {
		return err
	}
	floor := p.floor()
	gp := p.t
	if err := p.wide.TimesT(gp, p.ld, SlotG, p.at); err != nil {
		return err
	}
	p.congruence(p.s, p.b, gp, p.u) // Q
	p.skewQuotient(p.s, floor)
	p.congruence(p.u, p.bt, p.s, p.w) // Sᵀ = −S, see skewQuotient
	for i, s := range p.sigma {
		inv := 1 / max(s, floor)
		for j := range p.k {
			p.s[i*p.ld+j] = p.bt[i*p.ld+j] * inv
		}
	}
	p.product(p.w, p.bt, p.s) // W, symmetric
	// X = S − W·GPᵀ; Xᵀ = −u − (W·GPᵀ)ᵀ.
	p.product(p.s, p.w, gp)
	for i := range p.k {
		for j := range p.k {
			p.u[i*p.ld+j] -= p.s[j*p.ld+i]
		}
	}
	if err := p.wide.Combine(SlotGrad, p.ld, p.w, SlotG, p.u, p.at); err != nil {
		return err
	}
	return p.get(dM, SlotGrad, p.scale)
}

// Vectors sets the rows of vectors (k×k, stride ld) to the left singular vectors of M, and values to its singular values, at
// least the floor. They are infinite for M = 0. With Q = Bᵀ GPᵀ B and W = B Σ⁻¹ Bᵀ, the result of Grad is
// W·(G − GPᵀ·P) + B [(Q−Qᵀ)_ij/(σ_i+σ_j)] Bᵀ·P.
func (p *Polar) Vectors(vectors []float64, ld int, values []float64) error {
	p.Wait()
	if p.m == 0 {
		panic("linalg: singular vectors before a factor")
	}
	if !p.zero && !p.fresh {
		if err := p.refresh(); err != nil {
			return err
		}
	}
	floor := p.floor()
	for i := range p.k {
		row := vectors[i*ld : i*ld+p.k]
		if p.zero {
			clear(row)
			row[i], values[i] = 1, math.Inf(1)
			continue
		}
		copy(row, p.bt[i*p.ld:])
		values[i] = max(p.sigma[i], floor) / p.scale
	}
	return nil
}

// floor is the smallest singular value to divide by.
func (p *Polar) floor() float64 {
	top := 0.0
	for _, s := range p.sigma {
		top = max(top, s)
	}
	if p.Floor > 0 {
		return top * p.Floor
	}
	return top * DefaultFloor
}

// NotFiniteError says that a matrix has an entry that is NaN or infinite.
type NotFiniteError struct {
	Value       float64
	Row, Column int
}

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("linalg: polar factor of a matrix with %v in row %d, column %d", e.Value, e.Row, e.Column)
}
