package smooth

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/trust"
	"github.com/largemvc/largemvc/internal/view"
)

const (
	// noiseRows is the number of rows of noise that bad rows are compared with.
	noiseRows = 256
	// roundValues is the number of values in a round of looks, unless a row has more: tens of milliseconds.
	roundValues = 1 << 22
	// valueProducts is the number of multiplications of a search for directions that take as long as one value of a look.
	valueProducts = 64
)

// appearance distinguishes the rows of a view from noise.
type appearance struct {
	mean  []float64 // of each column
	noise *trust.Noise
}

// looks learns the appearances of views, in rounds of a few rows, so that it can be cancelled and report its progress between
// rows of millions of columns. One stream draws the noise of a view, row after row, and marks are sums over all columns in their
// order, for sparse rows too: computing them from the entries only would change the trust.
type looks struct {
	views   []view.View
	samples []int // samples to learn from
	round   int   // rows of each view in a round
	options Options
}

// newLooks returns the looks at the views, none for a single view, whose rows cannot be compared with other views.
func newLooks(views []view.View, o Options) *looks {
	l := &looks{views: views, options: o}
	if len(views) > 1 {
		l.samples = trust.Samples(o.Group.Total(views[0].Rows), o.Seed)
	}
	l.round = max(1, roundValues/l.columns())
	return l
}

func (l *looks) columns() (sum int) {
	for _, x := range l.views {
		sum += x.Cols
	}
	return max(sum, 1)
}

// rows returns the number of rows of each view, with the rows of noise.
func (l *looks) rows() int {
	if l.samples == nil {
		return 0
	}
	return len(l.samples) + noiseRows
}

// steps returns the number of steps of the search for directions that take about as long as the looks.
func (l *looks) steps(s *Standardised, wide []int) int {
	if l.rows() == 0 {
		return 0
	}
	others := 0.0
	for _, in := range s.Inputs {
		others += float64(entries(l.views[in.View]))
	}
	for _, k := range wide {
		others += float64(s.Inputs[k].Columns) * float64(entries(l.views[s.Inputs[k].View])) / valueProducts
	}
	own := float64(l.rows()) * float64(l.columns())
	rounds := (l.rows() + l.round - 1) / l.round
	return int(max(1, min(float64(rounds), float64(1+len(wide))*own/max(others, 1))))
}

// entries returns the number of stored values of a view.
func entries(x view.View) int {
	if x.Sparse != nil {
		return len(x.Sparse.Cols)
	}
	return x.Rows * x.Cols
}

// learning is the state of learning one view.
type learning struct {
	seen        view.Seen
	look        *view.Look
	rng         *rand.Rand  // of the noise
	rows, noise [][]float64 // marks
}

// learn learns the appearances, after `before` steps of a work of total steps.
func (l *looks) learn(ctx context.Context, before, total int) ([]appearance, error) {
	if l.rows() == 0 {
		return nil, nil
	}
	o, n := l.options, l.options.Group.Total(l.views[0].Rows)
	known, out := make([]learning, len(l.views)), make([]appearance, len(l.views))
	for v, x := range l.views {
		known[v] = learning{seen: x, rng: rand.New(rand.NewPCG(o.Seed, uint64(v)))}
		if o.Group == nil {
			continue
		}
		var err error
		numbers := append(view.LookRows(n, x.Cols, o.Seed, x.Present != nil), l.samples...)
		if known[v].seen, err = x.Only(ctx, o.Group, numbers, o.Workers); err != nil {
			return nil, err
		}
	}
	buffers := make([][]float64, parallel.Workers(o.Workers))
	for lo := 0; lo < l.rows(); lo += l.round {
		hi := min(lo+l.round, l.rows())
		parallel.Tell(ctx, before+lo*(total-before)/l.rows(), total)
		err := parallel.For(ctx, o.Workers, len(l.views), func(worker, v int) error {
			k, cols := &known[v], l.views[v].Cols
			if lo == 0 {
				k.look = view.NewLook(k.seen, n, cols, o.Seed)
			}
			buffers[worker] = slices.Grow(buffers[worker][:0], cols)
			if err := k.mark(ctx, l.samples, lo, hi, buffers[worker][:cols]); err != nil {
				return err
			}
			if hi == l.rows() {
				out[v] = appearance{k.look.Mean, trust.NewNoise(k.rows, k.noise)}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// mark marks rows [lo, hi), first the samples and then noise, in a row's memory.
func (k *learning) mark(ctx context.Context, samples []int, lo, hi int, row []float64) error {
	for r := lo; r < hi; r++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case r >= len(samples):
			k.look.Noise(k.rng, row)
			k.noise = append(k.noise, view.Marks(row, k.look.Mean))
		case k.seen.Has(samples[r]):
			k.seen.Row(samples[r], row)
			k.rows = append(k.rows, view.Marks(row, k.look.Mean))
		}
	}
	return nil
}
