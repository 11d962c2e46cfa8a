package information

import (
	"errors"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/neighbor"
)

// Terms computes both terms, weighted and with the sign of a loss, in steps over chunks of rows: −w_n·I/log m of neighbours and
// −w_h·I/log m of held-out prediction. It is an engine.Term for all samples. The terms share Q. At most four rows of m values are
// stored for each sample.
type Terms[T kernel.Float] struct {
	softAssignment[T]
	totals *Totals
	parts  *neighbor.Parts[T]
	held   *LeaveOneOut[T]
	chunk  int

	q, aq, guess, dq []T // n rows with the stride ld
	table            []T // of the neighbours' share of dQ: the links times table
	toShare          kernel.Panel[T]
	coefficients     kernel.Panel[T] // (YᵀY + λ‖X‖²I)⁻¹ YᵀQ, then for the guesses' cotangents in place of Q
	forQ, forGuess   kernel.Panel[T]
	scratch          []*termScratch[T]
}

type termScratch[T kernel.Float] struct {
	dots   []float64 // row values of a block
	s1, s2 []T
	atoms  []T // a table of a chunk
	values []T // products of a chunk
	block  []T
}

// TermsOptions selects the terms.
type TermsOptions[T kernel.Float] struct {
	Graph     neighbor.Operator // of the neighbours' term, a *neighbor.Graph or *neighbor.Factor
	Neighbors float64           // its weight; 0: none
	Held      *LeaveOneOut[T]   // of held-out prediction
	HeldOut   float64           // its weight; 0: none
	Workers   int
	Samples   int // of all ranks; 0: the samples of this process
}

// NewTerms returns the terms of n samples for m clusters, at least 2.
func NewTerms[T kernel.Float](n, m int, o TermsOptions[T]) (*Terms[T], error) {
	all := max(n, o.Samples)
	s := &Terms[T]{softAssignment: newSoftAssignment[T](nil, o.Workers, n, m, DefaultTemperature), held: o.Held}
	totals := TotalsOptions{Samples: all, Clusters: m, Stride: s.ld, Neighbors: o.Neighbors, HeldOut: o.HeldOut}
	if m < 2 || o.Neighbors == 0 && o.HeldOut == 0 {
		return nil, errors.New("the terms need at least two clusters and a weight")
	}
	rows := func() []T { return make([]T, n*s.ld) }
	s.chunk, s.q = parallel.ChunkRows(all, parallel.MaxChunk), rows()
	if o.Neighbors != 0 {
		var err error
		if s.parts, err = neighbor.NewParts[T](o.Graph); err != nil {
			return nil, err
		}
		if o.Graph.Len() != n || s.parts.Chunk() != s.chunk {
			return nil, errors.New("the graph has other samples")
		}
		if s.parts.Factored() {
			totals.Atoms = s.parts.Atoms()
			s.table = make([]T, totals.Atoms*s.ld)
		} else {
			s.aq = rows()
		}
	}
	if o.HeldOut != 0 {
		if o.Held.n != n {
			return nil, errors.New("the regression has other samples")
		}
		totals.Regression = o.Held.weight
		s.guess, s.dq = rows(), rows()
	}
	s.totals = NewTotals(totals)
	s.scratch = make([]*termScratch[T], parallel.Workers(o.Workers))
	return s, nil
}

// Chunk is the number of rows of a chunk.
func (s *Terms[T]) Chunk() int { return s.chunk }

// Steps returns the number of steps to the value, and to the cotangent too.
func (s *Terms[T]) Steps() (value, all int) { return s.totals.Steps() }

// Value returns the weighted sum of the terms.
func (s *Terms[T]) Value() float64 { return s.totals.Value() }

// Size is the number of sums of a step.
func (s *Terms[T]) Size(step int) int {
	a, b := s.totals.Sizes(step)
	return a + b
}

func (s *Terms[T]) scratchOf(worker int) *termScratch[T] {
	if s.scratch[worker] == nil {
		w := &termScratch[T]{
			dots: make([]float64, block), s1: make([]T, block), s2: make([]T, block), block: make([]T, block*s.ld),
		}
		size := s.m * s.m
		if s.totals.heldOut != 0 {
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
	split, _ := s.totals.Sizes(step)
	switch step {
	case StepAssign:
		s.assignRows(w, lo, hi, h, ld)
		if s.table != nil {
			s.parts.Scatter(lo/s.chunk, w.atoms, s.q[lo*s.ld:hi*s.ld], s.ld)
			kernel.AddTo(sums[:split], w.atoms)
		}
		if s.totals.heldOut != 0 {
			s.product(w, s.q, s.held.y, s.held.ld, s.held.rank, lo, hi, sums[split:])
		}
	case StepJoint:
		if s.aq != nil {
			s.parts.Gather(lo, hi, s.aq[lo*s.ld:], s.q, s.ld)
			s.product(w, s.q, s.aq, s.ld, s.m, lo, hi, sums[:split])
		}
		if s.totals.heldOut != 0 {
			s.predict(w, lo, hi)
			s.product(w, s.q, s.guess, s.ld, s.m, lo, hi, sums[split:])
		}
	case StepGuess:
		if s.totals.heldOut != 0 {
			s.guesses(w, lo, hi)
			s.product(w, s.guess, s.held.y, s.held.ld, s.held.rank, lo, hi, sums)
		}
	case StepRows:
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

// together is the number of rows that are processed at once if the rows of H have the stride ld.
func (s *Terms[T]) together(ld int) int {
	if ld == s.ld {
		return block
	}
	return 1 // Their strides differ.
}

// inverseNorms sets w.s1 to 1/‖h‖ of rows of H, 0 for rows of zeros.
func (s *Terms[T]) inverseNorms(w *termScratch[T], h []T, rows int) []T {
	kernel.RowDot(w.dots[:rows], h, h, s.ld)
	for i, q := range w.dots[:rows] {
		w.s1[i] = 0
		if q > 0 {
			w.s1[i] = T(1 / math.Sqrt(q))
		}
	}
	return w.s1[:rows]
}

// assignRows sets Q.
func (s *Terms[T]) assignRows(w *termScratch[T], lo, hi int, h []T, ld int) {
	for step := s.together(ld); lo < hi; lo += step {
		end := min(lo+step, hi)
		scale := s.inverseNorms(w, h, end-lo)
		for i := range scale {
			scale[i] /= T(s.temperature)
		}
		kernel.Softmax(s.q[lo*s.ld:], h, scale, s.m, s.ld)
		h = h[min((end-lo)*ld, len(h)):]
	}
}

// predict sets the guesses: the softmax of K·Q.
func (s *Terms[T]) predict(w *termScratch[T], lo, hi int) {
	r := s.held
	kernel.Mul(hi-lo, r.y[lo*r.ld:], r.ld, &s.coefficients, s.guess[lo*s.ld:hi*s.ld], s.ld, false)
	for ; lo < hi; lo += block {
		end := min(lo+block, hi)
		less, scale := w.s1[:end-lo], w.s2[:end-lo]
		for i := range less {
			less[i], scale[i] = -r.leverage[lo+i], T(1/(float64(r.rest[lo+i])*s.temperature))
		}
		guess := s.guess[lo*s.ld : end*s.ld]
		kernel.RowAxpy(guess, s.q[lo*s.ld:end*s.ld], less, s.ld)
		kernel.Softmax(guess, guess, scale, s.m, s.ld)
	}
}

// guesses stores in dq the direct contribution of the guesses to the cotangent of Q. It replaces the guesses by the cotangents of
// the predictions, over 1 − h.
func (s *Terms[T]) guesses(w *termScratch[T], lo, hi int) {
	r := s.held
	kernel.Mul(hi-lo, s.guess[lo*s.ld:], s.ld, &s.forQ, s.dq[lo*s.ld:hi*s.ld], s.ld, false)
	for ; lo < hi; lo += block {
		end := min(lo+block, hi)
		kernel.Mul(end-lo, s.q[lo*s.ld:], s.ld, &s.forGuess, w.block, s.ld, false)
		scale := w.s1[:end-lo]
		for i := range scale {
			scale[i] = T(1 / (float64(r.rest[lo+i]) * s.temperature))
		}
		guess := s.guess[lo*s.ld : end*s.ld]
		kernel.SoftmaxGrad(guess, guess, w.block, scale, s.m, s.ld)
	}
}

// cotangents adds the cotangents of H to dh.
func (s *Terms[T]) cotangents(w *termScratch[T], lo, hi int, h, dh []T, ld int) {
	for step := s.together(ld); lo < hi; lo += step {
		end := min(lo+step, hi)
		d := w.block[:(end-lo)*s.ld]
		switch {
		case s.totals.neighbors == 0:
			clear(d)
		case s.table != nil:
			s.parts.Gather(lo, end, d, s.table, s.ld)
		default:
			kernel.Mul(end-lo, s.aq[lo*s.ld:], s.ld, &s.toShare, d, s.ld, false)
		}
		if r := s.held; s.totals.heldOut != 0 {
			kernel.Mul(end-lo, r.y[lo*r.ld:], r.ld, &s.coefficients, d, s.ld, true)
			one, less := w.s1[:end-lo], w.s2[:end-lo]
			for i := range one {
				one[i], less[i] = 1, -r.leverage[lo+i]
			}
			kernel.RowAxpy(d, s.dq[lo*s.ld:end*s.ld], one, s.ld)
			kernel.RowAxpy(d, s.guess[lo*s.ld:end*s.ld], less, s.ld)
		}
		s.addBackwardRows(w, h, s.q[lo*s.ld:end*s.ld], d, dh)
		h, dh = h[min((end-lo)*ld, len(h)):], dh[min((end-lo)*ld, len(dh)):]
	}
}

// addBackwardRows is addBackward for some rows. It changes d.
func (s *Terms[T]) addBackwardRows(w *termScratch[T], h, q, d, dh []T) {
	rows := len(d) / s.ld
	even := w.s2[:rows]
	for i := range even {
		even[i] = T(1 / s.temperature)
	}
	kernel.SoftmaxGrad(d, q, d, even, s.m, s.ld)
	inverse := s.inverseNorms(w, h, rows)
	along := w.s2[:rows]
	kernel.RowDot(w.dots[:rows], d, h, s.ld)
	for i, f := range inverse {
		along[i] = T(-w.dots[i] * float64(f) * float64(f) * float64(f))
	}
	kernel.RowAxpy(dh, d, inverse, s.ld)
	kernel.RowAxpy(dh, h, along, s.ld)
}

func (s *Terms[T]) Total(step int, sums []float64) {
	s.totals.Total(step, sums)
	switch {
	case step == StepAssign && s.table != nil:
		for j, x := range s.totals.Table {
			s.table[j] = T(x)
		}
	case step == StepJoint:
		if s.aq != nil {
			kernel.Pack(&s.toShare, s.m, s.m, s.totals.Share, s.m)
		}
		if s.totals.heldOut != 0 {
			kernel.PackT(&s.forQ, s.m, s.m, s.totals.ByJoint, s.m)
			kernel.Pack(&s.forGuess, s.m, s.m, s.totals.ByJoint, s.m)
		}
	}
	if s.totals.heldOut != 0 && (step == StepAssign || step == StepGuess) {
		kernel.PackT(&s.coefficients, s.held.rank, s.m, s.totals.Coefficients, s.held.rank)
	}
}
