package structure

import (
	"context"
	"slices"

	"github.com/largemvc/largemvc/internal/parallel"
)

// A judgement in doubt on at most fewRows rows, of at most fewClusters clusters, or of rows that may lie on a surface, is
// repeated with moreGroups·moreSplits splits of the rows. On few rows, where null data vary too, it is repeated with moreSplits
// splits of each null data.
const fewRows, moreSplits, moreGroups = 200, 6, 3

// measurement measures the figures of a result.
type measurement struct {
	*Result
	all       *data
	null      *null
	options   Options // of a split, which has one goroutine
	workers   int
	agreement float64 // of the views
	drawn     [allKinds][draws]drawn
}

// draw measures one draw of a kind of null data.
func (m *measurement) draw(ctx context.Context, kind, draw, splits int) (err error) {
	m.nulls[kind][draw], err = m.null.measure(ctx, &m.drawn[kind][draw], kind, draw, splits, m.options)
	return err
}

// measure sets the figures of the rows, of null data, and the agreement between single views. It draws no more null data if the
// rows are far less clustered than the first ones, or far more and not few. It draws no more null data of a kind that is far less
// clustered than another kind. For few rows, few clusters and few dimensions it repeats a judgement in doubt, with more splits.
func (m *measurement) measure(ctx context.Context) error {
	if err := m.first(ctx); err != nil {
		return err
	}
	gain, few := m.gain(), m.Rows <= fewRows
	if gain >= plain && !few || gain < -hopeless {
		return nil
	}
	var near []int // kinds that may be the most clustered: shuffled columns, which take longest, first
	for kind, x := range slices.Backward(m.nulls[:]) {
		if meanClustered(m.groups)-meanClustered(x) < gain+plain {
			near = append(near, kind)
			m.nulls[kind] = m.nulls[kind][:draws]
		}
	}
	err := parallel.For(ctx, m.workers, len(near)*(draws-1), func(_, t int) error {
		return m.draw(ctx, near[t/(draws-1)], 1+t%(draws-1), drawSplits)
	})
	m.summarise()
	if err != nil || !m.doubtful() {
		return err
	}
	if !few {
		near = nil
	}
	return m.repeat(ctx, near)
}

// doubtful reports whether to repeat the judgement: the figures vary much, and the rows are neither certainly more clustered than
// null data nor less.
func (m *measurement) doubtful() bool {
	excess, varies := m.gain()/m.deviation(), m.Rows <= fewRows || m.options.Clusters <= fewClusters || m.Dimension < flat
	return varies && excess > 0 && excess < certain && !(m.Dimension < flat && m.Curved())
}

// first measures the rows, one draw of each kind of null data, and the agreement of the views.
func (m *measurement) first(ctx context.Context) error {
	m.trials = make([]trial, splits)
	for kind := range m.nulls {
		m.nulls[kind] = make([]Figures, draws)
	}
	const early = len(m.nulls)
	// What takes longest begins first, so that goroutines end at nearly the same time.
	err := parallel.For(ctx, m.workers, 1+early+splits, func(_, t int) (err error) {
		switch {
		case t == 0:
			m.agreement, err = m.all.agreementOfViews(ctx, m.options)
		case t <= early:
			err = m.draw(ctx, early-t, 0, drawSplits)
		default:
			s := t - 1 - early
			m.trials[s], err = measure(ctx, m.all, m.options, splitNumber(0, s), true)
		}
		return err
	})
	for t := range m.trials {
		m.trials[t].Agreement = m.agreement
	}
	for kind := range m.nulls {
		m.nulls[kind] = m.nulls[kind][:1]
	}
	m.group(m.trials, drawSplits)
	m.summarise()
	return err
}

// repeat measures more splits of the rows, and of null data of some kinds.
func (m *measurement) repeat(ctx context.Context, kinds []int) error {
	more := make([]trial, moreGroups*moreSplits)
	done := copy(more, m.trials)
	left := len(more) - done
	err := parallel.For(ctx, m.workers, left+len(kinds)*draws, func(_, t int) (err error) {
		if k := t - left; k >= 0 {
			return m.draw(ctx, kinds[k%len(kinds)], k/len(kinds), moreSplits)
		}
		more[done+t], err = measure(ctx, m.all, m.options, splitNumber(0, done+t), false)
		more[done+t].Agreement = m.agreement
		return err
	})
	m.repeated = true
	size := drawSplits // of the null data
	if len(kinds) > 0 {
		size = moreSplits
	}
	m.group(more, size)
	m.summarise()
	return err
}

// splitNumber returns the number that seeds split s of the rows, for which draw is 0, or of a draw of null data.
func splitNumber(draw, s int) uint64 {
	switch {
	case draw == 0 && s < splits:
		return uint64(s)
	case draw > 0 && s < drawSplits:
		return uint64(splits + draw*drawSplits + s)
	}
	return uint64(1000 + draw*moreGroups*moreSplits + s)
}

// group sets the means of size trials each.
func (m *measurement) group(trials []trial, size int) {
	m.groups = nil
	for some := range slices.Chunk(trials, size) {
		var of []Figures
		for _, t := range some {
			of = append(of, t.Figures)
		}
		m.groups = append(m.groups, average(of))
	}
}

// summarise sets the means over the trials and over the draws of null data.
func (m *measurement) summarise() {
	for kind, to := range []*Figures{&m.Normal, &m.Uniform, &m.Shuffled} {
		*to = average(m.nulls[kind])
	}
	m.Sparsity, m.Dimension = 0, 0
	for _, t := range m.trials {
		m.Sparsity += t.sparsity / float64(len(m.trials))
		m.Dimension += t.dimension / float64(len(m.trials))
	}
	m.Data = average(m.groups)
}
