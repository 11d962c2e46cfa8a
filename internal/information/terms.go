package information

import (
	"errors"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/neighbor"
)

// Terms are both terms, weighted and with the sign of a loss, in steps over chunks of rows: −w_n·I/log m of neighbours and
// −w_h·I/log m of held-out prediction. It is an engine.Term for all samples. They share Q; what is kept for a sample are four
// rows of m values at most.
type Terms[T kernel.Float] struct {
	softAssignment[T]
	neighbors, heldOut float64 // weights; 0: without the term
	parts              *neighbor.Parts[T]
	held               *LeaveOneOut[T]
	chunk              int

	q, aq, guess, dq []T // n rows with the stride ld
	value            float64
	table            []T // of the neighbours' share of dQ: its product with the links is that share
	toShare          kernel.Panel[T]
	coefficients     kernel.Panel[T] // (YᵀY + λ‖X‖²I)⁻¹ YᵀQ, then that of the guesses' cotangents
	forQ, forGuess   kernel.Panel[T]
	scratch          []*termScratch[T]
}

type termScratch[T kernel.Float] struct {
	u, dz  []float64
	atoms  []T // a table of a chunk
	values []T // products of a chunk
	block  []T
}

// TermsOptions say which terms there are.
type TermsOptions[T kernel.Float] struct {
	Graph       neighbor.Operator // of the neighbours' term, a *neighbor.Graph or *neighbor.Factor
	Neighbors   float64           // its weight; 0: none
	Held        *LeaveOneOut[T]   // of held-out prediction
	HeldOut     float64           // its weight; 0: none
	Temperature float64           // of the softmax; 0: DefaultTemperature
	Workers     int
}

// NewTerms returns the terms for m clusters, at least 2.
func NewTerms[T kernel.Float](n, m int, o TermsOptions[T]) (*Terms[T], error) {
	s := &Terms[T]{softAssignment: newSoftAssignment[T](o.Workers, n, m, o.Temperature),
		neighbors: o.Neighbors, heldOut: o.HeldOut, held: o.Held}
	if m < 2 || o.Neighbors == 0 && o.HeldOut == 0 {
		return nil, errors.New("terms of fewer than two clusters, or without a weight")
	}
	rows := func() []T { return make([]T, n*s.ld) }
	s.chunk, s.q = parallel.ChunkRows(n, parallel.MaxChunk), rows()
	if s.neighbors != 0 {
		var err error
		if s.parts, err = neighbor.NewParts[T](o.Graph); err != nil {
			return nil, err
		}
		if o.Graph.Len() != n || s.parts.Chunk() != s.chunk {
			return nil, errors.New("a graph of other samples")
		}
		if s.parts.Factored() {
			s.table = make([]T, s.parts.Atoms()*s.ld)
		} else {
			s.aq = rows()
		}
	}
	if s.heldOut != 0 {
		if o.Held.n != n {
			return nil, errors.New("a regression of other samples")
		}
		s.guess, s.dq = rows(), rows()
	}
	s.scratch = make([]*termScratch[T], parallel.Workers(o.Workers))
	return s, nil
}

// The steps.
const (
	stepAssign = iota // Q, and the sums BᵀQ and YᵀQ
	stepJoint         // A·Q of a graph and guesses, and the joint tables
	stepGuess         // cotangents of guesses, and their product with Y
	stepRows          // the cotangent of H
	steps
)

// Chunk is the number of rows of a chunk.
func (s *Terms[T]) Chunk() int { return s.chunk }

// Steps returns the number of steps to the value, and to the cotangent too.
func (s *Terms[T]) Steps() (value, all int) { return stepJoint + 1, steps }

// sizes of the sums of a step: those of the neighbours and those of held-out prediction.
func (s *Terms[T]) sizes(step int) (neighbors, heldOut int) {
	factored := s.parts != nil && s.parts.Factored()
	switch step {
	case stepAssign:
		if factored {
			neighbors = s.parts.Atoms() * s.ld
		}
	case stepJoint:
		if s.parts != nil && !factored {
			neighbors = s.m * s.m
		}
		if s.held != nil && s.heldOut != 0 {
			return neighbors, s.m * s.m
		}
		return neighbors, 0
	}
	if step != stepRows && s.heldOut != 0 {
		heldOut = s.m * s.held.rank
	}
	return neighbors, heldOut
}

// Size is the number of sums of a step.
func (s *Terms[T]) Size(step int) int {
	a, b := s.sizes(step)
	return a + b
}

func (s *Terms[T]) scratchOf(worker int) *termScratch[T] {
	if s.scratch[worker] == nil {
		w := &termScratch[T]{u: make([]float64, s.m), dz: make([]float64, s.m), block: make([]T, block*s.ld)}
		size := s.m * s.m
		if s.heldOut != 0 {
			size = max(size, s.m*s.held.rank)
		}
		w.values = make([]T, size)
		if s.table != nil {
			w.atoms = make([]T, len(s.table))
		}
		s.scratch[worker] = w
	}
	return s.scratch[worker]
}

// Rows does a step for the rows from lo to hi.
func (s *Terms[T]) Rows(step, worker, lo, hi int, h, dh []T, ld int, sums []float64) {
	w := s.scratchOf(worker)
	split, _ := s.sizes(step)
	switch step {
	case stepAssign:
		for i := lo; i < hi; i++ {
			s.assign(h[(i-lo)*ld:(i-lo)*ld+s.m], w.u, s.q[i*s.ld:])
		}
		if s.table != nil {
			s.parts.Scatter(lo/s.chunk, w.atoms, s.q[lo*s.ld:hi*s.ld], s.ld)
			kernel.AddTo(sums[:split], w.atoms)
		}
		if s.heldOut != 0 {
			s.product(w, s.q, s.held.y, s.held.ld, s.held.rank, lo, hi, sums[split:])
		}
	case stepJoint:
		if s.aq != nil {
			s.parts.Gather(lo, hi, s.aq[lo*s.ld:], s.q, s.ld)
			s.product(w, s.q, s.aq, s.ld, s.m, lo, hi, sums[:split])
		}
		if s.heldOut != 0 {
			s.predict(w, lo, hi)
			s.product(w, s.q, s.guess, s.ld, s.m, lo, hi, sums[split:])
		}
	case stepGuess:
		if s.heldOut != 0 {
			s.guesses(w, lo, hi)
			s.product(w, s.guess, s.held.y, s.held.ld, s.held.rank, lo, hi, sums)
		}
	case stepRows:
		s.cotangents(w, lo, hi, h, dh, ld)
	}
}

// product adds AᵀB of the rows from lo to hi to sums (m×l), A having the stride of Q and B the stride ldb.
func (s *Terms[T]) product(w *termScratch[T], a, b []T, ldb, l, lo, hi int, sums []float64) {
	part := w.values[:s.m*l]
	clear(part)
	kernel.TMulAdd(hi-lo, s.m, l, a[lo*s.ld:], s.ld, b[lo*ldb:], ldb, part, l)
	kernel.AddTo(sums, part)
}

// predict sets the guesses: the softmax of K·Q.
func (s *Terms[T]) predict(w *termScratch[T], lo, hi int) {
	r, m := s.held, s.m
	kernel.Mul(hi-lo, r.y[lo*r.ld:], r.ld, &s.coefficients, s.guess[lo*s.ld:hi*s.ld], s.ld, false)
	for i := lo; i < hi; i++ {
		guess, q := s.guess[i*s.ld:i*s.ld+m], s.q[i*s.ld:i*s.ld+m]
		h, rest := r.leverage[i], r.rest[i]
		for j, x := range guess {
			w.u[j] = float64((x - h*q[j]) / rest)
		}
		softmax(w.u, s.temperature, guess)
	}
}

// guesses leaves in dq what the guesses give to the cotangent of Q directly, and in place of the guesses the cotangents of
// the predictions, over 1 − h.
func (s *Terms[T]) guesses(w *termScratch[T], lo, hi int) {
	r, m := s.held, s.m
	kernel.Mul(hi-lo, s.guess[lo*s.ld:], s.ld, &s.forQ, s.dq[lo*s.ld:hi*s.ld], s.ld, false)
	for ; lo < hi; lo += block {
		end := min(lo+block, hi)
		kernel.Mul(end-lo, s.q[lo*s.ld:], s.ld, &s.forGuess, w.block, s.ld, false)
		for i := lo; i < end; i++ {
			guess, rest := s.guess[i*s.ld:i*s.ld+m], float64(r.rest[i])
			softmaxBackward(guess, w.block[(i-lo)*s.ld:], s.temperature, w.dz)
			for j, x := range w.dz {
				guess[j] = T(x / rest)
			}
		}
	}
}

// cotangents adds those of H to dh.
func (s *Terms[T]) cotangents(w *termScratch[T], lo, hi int, h, dh []T, ld int) {
	m, from := s.m, lo
	for ; lo < hi; lo += block {
		end := min(lo+block, hi)
		d := w.block[:(end-lo)*s.ld]
		switch {
		case s.neighbors == 0:
			clear(d)
		case s.table != nil:
			s.parts.Gather(lo, end, d, s.table, s.ld)
		default:
			kernel.Mul(end-lo, s.aq[lo*s.ld:], s.ld, &s.toShare, d, s.ld, false)
		}
		if r := s.held; s.heldOut != 0 {
			kernel.Mul(end-lo, r.y[lo*r.ld:], r.ld, &s.coefficients, d, s.ld, true)
			for i := lo; i < end; i++ {
				di, dq, back := d[(i-lo)*s.ld:(i-lo)*s.ld+m], s.dq[i*s.ld:i*s.ld+m], s.guess[i*s.ld:i*s.ld+m]
				for j := range di {
					di[j] += dq[j] - r.leverage[i]*back[j]
				}
			}
		}
		for i := lo; i < end; i++ {
			at := (i - from) * ld
			s.addBackward(h[at:at+m], s.q[i*s.ld:], d[(i-lo)*s.ld:], w.u, w.dz, dh[at:at+m])
		}
	}
}

// Total takes the sums of a step over all rows.
func (s *Terms[T]) Total(step int, sums []float64) {
	split, _ := s.sizes(step)
	switch step {
	case stepAssign:
		s.value = 0
		if s.table != nil { // QᵀAQ = (BᵀQ)ᵀ(BᵀQ)
			joint := make([]float64, s.m*s.m)
			kernel.TMulAdd(s.parts.Atoms(), s.m, s.m, sums, s.ld, sums, s.ld, joint, s.m)
			share := s.neighborShare(joint)
			var panel kernel.Panel[float64]
			kernel.Pack(&panel, s.m, s.m, share, s.m)
			out := make([]float64, split)
			kernel.Mul(s.parts.Atoms(), sums, s.ld, &panel, out, s.ld, false)
			for j, x := range out {
				s.table[j] = T(x)
			}
		}
		if s.heldOut != 0 {
			s.regress(sums[split:])
		}
	case stepJoint:
		if s.aq != nil {
			kernel.Pack(&s.toShare, s.m, s.m, s.neighborShare(sums[:split]), s.m)
		}
		if s.heldOut != 0 {
			s.heldOutShares(sums[split:])
		}
	case stepGuess:
		if s.heldOut != 0 {
			s.regress(sums)
		}
	}
}

// regress sets the coefficients from YᵀQ, or from that of cotangents.
func (s *Terms[T]) regress(sums []float64) {
	for a := range s.m {
		for j, w := range s.held.weight {
			sums[a*s.held.rank+j] *= w
		}
	}
	kernel.PackT(&s.coefficients, s.held.rank, s.m, sums, s.held.rank)
}

// neighborShare adds the neighbours' term to the value and returns the matrix that takes A·Q to its cotangent of Q.
func (s *Terms[T]) neighborShare(joint []float64) []float64 {
	t := &NeighborTable[T]{}
	t.measure(joint, s.m)
	share := make([]float64, s.m*s.m)
	if t.total == 0 {
		return share
	}
	scale := s.neighbors / math.Log(float64(s.m))
	s.value -= scale * t.Information
	for j, l := range t.ratio {
		share[j] = -2 * scale * (l - t.Information) / t.total
	}
	return share
}

// heldOutShares adds the term of held-out prediction to the value and sets the panels of its cotangents.
func (s *Terms[T]) heldOutShares(joint []float64) {
	total := kernel.Sum(joint) // n but for rounding
	for j := range joint {
		joint[j] /= total
	}
	t := newJointTable(joint, s.m)
	scale := s.heldOut / math.Log(float64(s.m))
	s.value -= scale * t.Information
	byJoint := make([]float64, s.m*s.m)
	for j, w := range t.ratio {
		byJoint[j] = -scale * w / float64(s.n)
	}
	kernel.PackT(&s.forQ, s.m, s.m, byJoint, s.m)
	kernel.Pack(&s.forGuess, s.m, s.m, byJoint, s.m)
}

// Value returns the weighted sum of the terms.
func (s *Terms[T]) Value() float64 { return s.value }
