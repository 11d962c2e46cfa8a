package neighbor

import (
	"context"
	"math"
	"sync"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
)

// atomSpace is the memory for a strip that is filtered in the space of a factor's atoms. With A = BBᵀ every iterate is a multiple
// of x_0 plus B·w for some w. The table Bᵀx of x becomes the table of A·x by G = BᵀB. So only tables are stored, with one row for
// each atom, and samples are processed in chunks.
type atomSpace[T Float] struct {
	part  part[T]
	tree  *parallel.Tree[*atomSum[T]]
	size  int    // of the current sums; the tree's parts have room for whole strips
	atoms [4][]T // the table of x_0, and the tables of the last iterates

	mu      sync.Mutex
	buffers [][]T // rows, of the goroutines
	free    int   // number of the first free buffer
}

// atomSum is a table: of one chunk in single, of several in sum.
type atomSum[T Float] struct {
	single  []T
	sum     []float64
	several bool
}

// widened returns the table in float64. Its values are undefined if single was not set.
func (s *atomSum[T]) widened(size int) []float64 {
	if !s.several {
		kernel.Widen(s.sum[:size], s.single[:size])
		s.several = true
	}
	return s.sum[:size]
}

// add adds another table.
func (s *atomSum[T]) add(other *atomSum[T], size int) {
	if other.several {
		kernel.AddTo(s.widened(size), other.sum[:size])
	} else {
		kernel.AddTo(s.widened(size), other.single[:size])
	}
}

// buffer returns memory for strips of the given width.
func (w *atomSpace[T]) buffer(width int) []T {
	w.mu.Lock()
	defer w.mu.Unlock()
	rows := min(chunkRows(w.part.links.samples()), w.part.links.n)
	if w.free == len(w.buffers) {
		w.buffers = append(w.buffers, make([]T, rows*stripColumns))
	}
	b := w.buffers[w.free]
	w.free++
	return b[:rows*width]
}

func newAtomSpace[T Float](base part[T]) *atomSpace[T] {
	w := &atomSpace[T]{part: base}
	for j := range w.atoms {
		w.atoms[j] = make([]T, base.links.atoms*stripColumns)
	}
	return w
}

// sums sets dst to Bᵀy for the n×width matrix y whose rows lo to hi−1 fill writes to y.
func (w *atomSpace[T]) sums(ctx context.Context, workers, width int, dst []T, fill func(lo, hi int, y []T)) error {
	w.free = 0
	chunks := w.part.chunks
	if w.tree == nil {
		room := w.part.links.atoms * stripColumns
		w.tree = parallel.NewTree(
			func() *atomSum[T] { return &atomSum[T]{single: make([]T, room), sum: make([]float64, room)} },
			func(dst, src *atomSum[T]) { dst.add(src, w.size) },
		)
	}
	w.size = len(dst)
	w.tree.Reset()
	g := w.part.links.group
	err := parallel.Sum(ctx, workers, g.First()/chunkRows(w.part.links.samples()), len(chunks), w.tree,
		func() []T { return w.buffer(width) },
		func(_, i int, y []T, part *atomSum[T]) error {
			c := &chunks[i]
			fill(c.from, c.from+c.count, y)
			kernel.MulSparse(c.ptr, c.col, c.values, width, y, part.single, width)
			part.several = false
			return nil
		})
	if err == nil {
		err = ranks.JoinTree(g, "a product with landmarks", w.tree, func(part, _ *atomSum[T]) []float64 {
			return part.widened(w.size)
		})
	}
	if err != nil {
		return err
	}
	kernel.ScaleTo(dst, w.tree.Total().widened(w.size), 1)
	return nil
}

// atomStrip is a strip that is filtered in the space of the atoms.
type atomStrip[T Float] struct {
	strip[T]
	space          *atomSpace[T]
	workers, width int
}

// runAtoms filters the strip of a factor.
func (s *strip[T]) runAtoms(ctx context.Context, workers int, w *atomSpace[T]) error {
	a := &atomStrip[T]{*s, w, workers, Stride(s.cols)}
	f, b := s.filter, s.view
	for j := range w.atoms {
		w.atoms[j] = w.atoms[j][:f.Atoms*a.width]
	}
	ld, table := Stride(f.Cols), w.atoms[0]
	if !s.filtered {
		var err error
		if table, err = a.table(ctx); err != nil {
			return err
		}
	}
	for q := range f.Atoms {
		own, all := table[q*a.width:(q+1)*a.width], f.Table[q*ld+s.from:q*ld+s.from+a.width]
		if s.filtered {
			own, all = all, own
		}
		copy(all, own)
	}
	share := T(math.Ldexp(1, -f.Steps))
	return parallel.For(ctx, workers, (w.part.links.n+gatherRows-1)/gatherRows, func(_, q int) error {
		lo, hi := q*gatherRows, min((q+1)*gatherRows, w.part.links.n)
		buf := takeRows[T]((hi - lo) * a.width)
		defer giveRows(buf)
		au := *buf
		w.part.gather(lo, hi, au, table, a.width)
		for i := lo; i < hi; i++ {
			xi := b.X[i*b.Ld+s.from : i*b.Ld+s.from+s.cols]
			if b.has(i) {
				finish(xi, au[(i-lo)*a.width:], share, s.factor(i))
			} else {
				clear(xi)
			}
		}
		return nil
	})
}

// table returns the table of u.
func (s *atomStrip[T]) table(ctx context.Context) ([]T, error) {
	w, steps := s.space, s.filter.Steps
	z, one, two, out := w.atoms[0], w.atoms[1], w.atoms[2], w.atoms[3]
	if steps == 0 {
		clear(z)
		return z, nil
	}
	if err := w.sums(ctx, s.workers, s.width, z, s.start); err != nil {
		return nil, err
	}
	c := s.filter.series
	if c == nil { // u_1 = x_0/2, u_(t+1) = (u_t + 2^−t·x_0 + A·u_t)/2
		for j, v := range z {
			one[j] = v / 2
		}
		share := T(1)
		for t := 1; t < steps; t++ {
			share /= 2
			if err := s.product(ctx, out, one); err != nil {
				return nil, err
			}
			for j, v := range out {
				out[j] = (one[j] + share*z[j] + v) / 2
			}
			one, out = out, one
		}
		return one, nil
	}
	// Clenshaw's rule for Σ_j c_j·T_j(2A − I)·x_0: with b_(k+1) = 0, b_k = c_k·x_0 and b_j = c_j·x_0 + 2(2A −
	// I)·b_(j+1) − b_(j+2) it is c_0·x_0 + (2A − I)·b_1 − b_2.
	k := len(c) - 1
	for j, v := range z {
		one[j], two[j] = T(c[k])*v, 0
	}
	for t := k - 1; t >= 0; t-- {
		if err := s.product(ctx, out, one); err != nil {
			return nil, err
		}
		ct, up := T(c[t]), T(2)
		if t == 0 {
			up = 1
		}
		for j, v := range out {
			out[j] = ct*z[j] + up*(2*v-one[j]) - two[j]
		}
		one, two, out = out, one, two
	}
	return one, nil
}

// start writes x_0.
func (s *atomStrip[T]) start(lo, hi int, y []T) {
	b := s.view
	for i := lo; i < hi; i++ {
		row := y[(i-lo)*s.width : (i-lo+1)*s.width]
		copied := 0
		if b.has(i) {
			copied = copy(row, b.X[i*b.Ld+s.from:i*b.Ld+s.from+s.cols])
		}
		clear(row[copied:])
	}
}

// product sets dst to the table of A·x, given the table of x.
func (s *atomStrip[T]) product(ctx context.Context, dst, x []T) error {
	w := s.space
	return w.sums(ctx, s.workers, s.width, dst, func(lo, hi int, y []T) {
		w.part.gather(lo, hi, y, x, s.width)
		if s.factors == nil {
			return
		}
		for i := lo; i < hi; i++ {
			row := y[(i-lo)*s.width : (i-lo+1)*s.width]
			if !s.view.has(i) {
				clear(row)
				continue
			}
			for j := range row {
				row[j] *= s.factors[i]
			}
		}
	})
}
