package device

import (
	"context"
	"errors"
	"fmt"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/neighbor"
)

var (
	_ engine.TermShard = (*Shard[float32])(nil)
	_ engine.TermShard = (*Shard[float64])(nil)
)

// term holds a shard's data for the terms of the loss beside the reconstruction. Their rows use the scratch of the passes, which
// is free between the final pass and the backward passes.
type term[T kernel.Float] struct {
	totals  *information.Totals
	samples links // of the samples to the atoms, or of a graph
	atoms   links // of the atoms to the samples, for every chunk of samples; none without a factor
	count   int   // number of atoms; 0: a Graph

	rank, ldy         int
	y, leverage, rest Ptr // of held-out prediction

	table, square, coefficients Ptr // constants: atoms × ld, m×ld, m×ldy
	part, sum                   Ptr
	largest                     int // sums of a step
	content                     []content
}

// links are sparse rows on the device.
type links struct{ begin, columns, values Ptr }

// SetTerm adds the terms of information.NewTerms to a network on a device. Their value and cotangent are part of every later
// Forward.
func SetTerm[T kernel.Float](n *engine.Net, o information.TermsOptions[T]) error {
	return n.SetTerms(func(s engine.Shard, lo, hi int) error {
		d, ok := s.(*Shard[T])
		if !ok {
			return fmt.Errorf("device: a %T: %w", s, errElsewhere)
		}
		return d.setTerm(o)
	})
}

var errElsewhere = errors.New("its rows are not on a device")

func (s *Shard[T]) setTerm(o information.TermsOptions[T]) error {
	p := &s.plan
	if p.m < 2 || o.Neighbors == 0 && o.HeldOut == 0 {
		return errors.New("device: the terms need at least two clusters and a weight")
	}
	t, err := newTerm(p, o)
	if err != nil {
		return err
	}
	var count memory
	t.allocate(p, &count)
	if err := fits(s.k.drv, fmt.Sprintf("the terms of %d samples", p.n), count.total); err != nil {
		return err
	}
	t.allocate(p, &s.mem)
	if err, s.mem.err = s.mem.err, nil; err != nil {
		return err
	}
	for _, x := range t.content {
		if len(x.bytes) > 0 {
			if err := s.k.drv.Upload(*x.to, x.bytes); err != nil {
				return err
			}
		}
	}
	t.content, s.term = nil, t
	return nil
}

// content is the initial content of an array of a term.
type content struct {
	to    *Ptr
	name  string
	bytes []byte
}

// newTerm checks the options and prepares the content of the arrays.
func newTerm[T kernel.Float](p *plan, o information.TermsOptions[T]) (*term[T], error) {
	t := &term[T]{}
	totals := information.TotalsOptions{Samples: p.n, Clusters: p.m, Stride: p.ld, Neighbors: o.Neighbors, HeldOut: o.HeldOut}
	t.largest = p.m * p.m
	if o.Neighbors != 0 {
		if err := t.setLinks(p, o.Graph); err != nil {
			return nil, err
		}
		totals.Atoms = t.count
		t.largest = max(t.largest, t.count*p.ld)
	}
	if o.HeldOut != 0 {
		if o.Held == nil || o.Held.Samples() != p.n {
			return nil, errors.New("device: the regression has other samples")
		}
		r := o.Held.Parts()
		totals.Regression, t.rank, t.ldy = r.Weight, r.Rank, r.Stride
		t.largest = max(t.largest, p.m*t.rank)
		t.content = append(t.content, content{&t.y, "directions of held-out prediction", rawBytes(r.Y[:p.n*t.ldy])},
			content{&t.leverage, "leverages", rawBytes(r.Leverage)}, content{&t.rest, "1 less leverages", rawBytes(r.Rest)})
	}
	t.totals = information.NewTotals(totals)
	return t, nil
}

// allocate takes all arrays from mem.
func (t *term[T]) allocate(p *plan, mem *memory) {
	for _, x := range t.content {
		*x.to = mem.take(int64(len(x.bytes)), "%s", x.name)
	}
	t.table = mem.take(int64(t.count*p.ld)*p.size, "neighbours' share of the atoms")
	t.coefficients = mem.take(int64(p.m*t.ldy)*p.size, "coefficients")
	t.square = mem.take(int64(p.m*p.ld)*p.size, "cotangent of the joint table")
	t.part = mem.take(int64(p.chunks*t.largest)*p.size, "terms' sums of the chunks")
	t.sum = mem.take(int64(2*t.largest)*8, "terms' sums")
}

// setLinks prepares a graph for the device.
func (t *term[T]) setLinks(p *plan, graph neighbor.Operator) error {
	var l *neighbor.Links
	switch g := graph.(type) {
	case *neighbor.Graph:
		l = g.Links()
	case *neighbor.Factor:
		l, t.count = g.Links(), g.Links().Atoms()
	default:
		return fmt.Errorf("device: the graph is a %T, want a *neighbor.Graph or a *neighbor.Factor", graph)
	}
	if l.Len() != p.n {
		return errors.New("device: the graph has other samples")
	}
	own := &sparse[T]{begin: []int64{0}}
	for i := range l.Len() {
		atoms, weights := l.Row(i)
		for e, a := range atoms {
			own.add(int(a), weights[e])
		}
		own.end()
	}
	t.hold(&t.samples, own, "links")
	if t.count > 0 {
		t.hold(&t.atoms, byAtoms[T](l, p.chunk), "links of the atoms")
	}
	return nil
}

// sparse holds rows of links while they are built.
type sparse[T kernel.Float] struct {
	begin   []int64
	columns []int32
	values  []T
}

func (s *sparse[T]) add(column int, value float64) {
	s.columns, s.values = append(s.columns, int32(column)), append(s.values, T(value))
}

func (s *sparse[T]) end() { s.begin = append(s.begin, int64(len(s.columns))) }

// hold adds links to the content for the device.
func (t *term[T]) hold(to *links, l *sparse[T], name string) {
	t.content = append(t.content, content{&to.begin, name + ": begins", rawBytes(l.begin)},
		content{&to.columns, name + ": columns", rawBytes(l.columns)}, content{&to.values, name + ": values", rawBytes(l.values)})
}

// byAtoms returns a row for each atom and chunk of samples, all atoms of the first chunk first.
func byAtoms[T kernel.Float](l *neighbor.Links, chunk int) *sparse[T] {
	out := &sparse[T]{begin: []int64{0}}
	type link struct {
		sample int
		weight float64
	}
	for lo := 0; lo < l.Len(); lo += chunk {
		of := make([][]link, l.Atoms())
		for i := lo; i < min(lo+chunk, l.Len()); i++ {
			atoms, weights := l.Row(i)
			for e, a := range atoms {
				of[a] = append(of[a], link{i, weights[e]})
			}
		}
		for _, list := range of {
			for _, e := range list {
				out.add(e.sample, e.weight)
			}
			out.end()
		}
	}
	return out
}

func (s *Shard[T]) TermSteps() (value, all int) { return s.term.totals.Steps() }

func (s *Shard[T]) TermSize(step int) int {
	a, b := s.term.totals.Sizes(step)
	return a + b
}

// TermValue returns the weighted sum of the terms.
func (s *Shard[T]) TermValue() float64 { return s.term.totals.Value() }

// TermTotal takes the sums of a step, and uploads the matrices that follow from them.
func (s *Shard[T]) TermTotal(step int, sums []float64) {
	t := s.term
	t.totals.Total(step, sums)
	neighbors, heldOut := t.totals.Sizes(step)
	send := func(to Ptr, a []float64, rows, columns, ld int) {
		x := make([]T, rows*ld)
		put(x, ld, a, rows, columns)
		if s.k.err == nil {
			s.k.err = s.k.drv.Upload(to, rawBytes(x))
		}
	}
	if step == information.StepAssign && neighbors > 0 {
		send(t.table, t.totals.Table, t.count, s.plan.ld, s.plan.ld)
	}
	if heldOut > 0 && (step == information.StepAssign || step == information.StepGuess) {
		send(t.coefficients, t.totals.Coefficients, s.plan.m, t.rank, t.ldy)
	}
}

func (s *Shard[T]) sendSquare(a []float64, turned bool) Ptr {
	x := make([]T, s.plan.m*s.plan.ld)
	if turned {
		putTransposed(x, s.plan.ld, a, s.plan.m)
	} else {
		put(x, s.plan.ld, a, s.plan.m, s.plan.m)
	}
	if s.k.err == nil {
		s.k.err = s.k.drv.Upload(s.term.square, rawBytes(x))
	}
	return s.term.square
}

// RunTerm does a step of the terms and pushes its sums, as those of one chunk.
func (s *Shard[T]) RunTerm(ctx context.Context, step int, tree *parallel.Tree[[]float64]) error {
	s.k.ctx = ctx
	t, p := s.term, &s.plan
	h, q, aq, guess, dq, d := s.h[p.layers], s.scratch[0], s.scratch[1], s.scratch[2], s.scratch[3], s.scratch[4]
	n, m, ld := int32(p.n), int32(p.m), int32(p.ld)
	neighbors, heldOut := t.totals.Sizes(step)
	hasHeld := t.y != 0
	switch step {
	case information.StepAssign:
		s.byTermRow("assign", p.n, q, h, n, m, ld, information.DefaultTemperature)
		if neighbors > 0 {
			rows := p.chunks * t.count
			s.byTermRow("gather", rows, t.part, t.atoms.begin, t.atoms.columns, t.atoms.values, q, int32(rows), ld)
			s.k.fold(t.sum, t.part, p.chunks, neighbors)
		}
		if hasHeld {
			s.termSquare(neighbors, q, t.y, t.ldy, t.rank)
		}
	case information.StepJoint:
		if neighbors > 0 {
			s.byTermRow("gather", p.n, aq, t.samples.begin, t.samples.columns, t.samples.values, q, n, ld)
			s.termSquare(0, q, aq, p.ld, p.m)
		}
		if hasHeld {
			s.regressed(guess, store)
			s.byTermRow("predict", p.n, guess, q, t.leverage, t.rest, n, m, ld, information.DefaultTemperature)
			s.termSquare(neighbors, q, guess, p.ld, p.m)
		}
	case information.StepGuess:
		if hasHeld {
			s.bySquare(dq, guess, s.sendSquare(t.totals.ByJoint, false), product{op: store})
			s.bySquare(d, q, s.sendSquare(t.totals.ByJoint, true), product{op: store})
			s.byTermRow("guess_cotangent", p.n, guess, d, t.rest, n, m, ld, information.DefaultTemperature)
			s.termSquare(0, guess, t.y, t.ldy, t.rank)
		}
	case information.StepRows:
		s.termRows(h, q, aq, guess, dq, d)
	}
	if err := s.k.failed(); err != nil {
		return err
	}
	part := tree.Part()
	if count := neighbors + heldOut; count > 0 {
		if err := s.k.drv.Download(rawBytes(part[:count]), t.sum); err != nil {
			return err
		}
	}
	tree.Push(0, part)
	return nil
}

// termRows adds the terms' cotangent of H to dH.
func (s *Shard[T]) termRows(h, q, aq, guess, dq, d Ptr) {
	t, p := s.term, &s.plan
	n, ld := int32(p.n), int32(p.ld)
	var back, leverage Ptr
	op := add
	switch {
	case t.samples.begin == 0:
		op = store
	case t.count > 0:
		s.byTermRow("gather", p.n, d, t.samples.begin, t.samples.columns, t.samples.values, t.table, n, ld)
	default:
		s.bySquare(d, aq, s.sendSquare(t.totals.Share, true), product{op: store})
	}
	if t.y != 0 {
		s.regressed(d, op)
		back, leverage = guess, t.leverage
	} else {
		dq = 0
	}
	s.byTermRow("term_cotangent", p.n, s.dh, d, dq, back, leverage, h, q, n, int32(p.m), ld, information.DefaultTemperature)
}

// regressed sets dst to Y·C, or adds Y·C to it.
func (s *Shard[T]) regressed(dst Ptr, op epilogue) {
	t, p := s.term, &s.plan
	s.k.timesTransposed(product{op: op, base: dst, out: dst, ldOut: p.ld, a: t.y, lda: t.ldy, b: t.coefficients, ldb: t.ldy,
		n: p.n, m: p.m, k: t.rank})
}

// termSquare sums AᵀB of two sets of rows at offset to of the terms' sums; B has d columns and the stride ldb.
func (s *Shard[T]) termSquare(to int, a, b Ptr, ldb, d int) {
	t, p := s.term, &s.plan
	s.k.transposedTimes(sums{part: t.part, a: a, lda: p.ld, x: b, ldx: ldb, n: p.n, m: p.m, d: d, chunk: p.chunk})
	s.k.fold(t.sum+Ptr(8*to), t.part, p.chunks, p.m*d)
}

// byTermRow launches a kernel of the terms that has a warp for each of n rows.
func (s *Shard[T]) byTermRow(name string, n int, args ...any) {
	s.k.launch(s.k.terms, name, [3]int{ceil(n, fourRows), 1, 1}, rowThreads, 0, args...)
}
