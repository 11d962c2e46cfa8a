package neighbor

import (
	"context"
	"fmt"
	"sync"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
)

const gatherRows = 256

// chunkRows returns the number of samples, of n, in one partial sum of a factor. A strip of them stays in a core's second-level
// cache.
func chunkRows(n int) int { return parallel.ChunkRows(n, parallel.MaxChunk) }

// layout holds links in the form for products.
type layout[T Float] struct {
	links  *Links
	values []T // of the links
	// chunks are the parts of a factor; nil for a graph.
	chunks []transposed[T]
}

// transposed is the links of some consecutive samples seen from the atoms; samples are counted from the first of them.
type transposed[T Float] struct {
	from, count int
	ptr         []int
	col         []int32
	values      []T
}

func newLayout[T Float](l *Links, factor bool) *layout[T] {
	out := &layout[T]{links: l, values: weightsOf[T](l)}
	if !factor {
		return out
	}
	chunk := chunkRows(l.samples())
	count := (l.n + chunk - 1) / chunk
	ptr, col := make([]int, count*(l.atoms+1)), make([]int32, len(l.col)) // of all chunks
	values, next := make([]T, len(l.col)), make([]int, l.atoms)
	for q := range count {
		lo, hi := q*chunk, min((q+1)*chunk, l.n)
		from, end := l.ptr[lo], l.ptr[hi]
		t := transposed[T]{
			from: lo, count: hi - lo, ptr: ptr[q*(l.atoms+1) : (q+1)*(l.atoms+1)], col: col[from:end], values: values[from:end],
		}
		t.fill(l, next)
		out.chunks = append(out.chunks, t)
	}
	return out
}

// fill sets the links of the atoms to the samples of a chunk; next is scratch, an entry for each atom.
func (t *transposed[T]) fill(l *Links, next []int) {
	for _, c := range l.col[l.ptr[t.from]:l.ptr[t.from+t.count]] {
		t.ptr[c+1]++
	}
	for c := range next {
		t.ptr[c+1] += t.ptr[c]
		next[c] = t.ptr[c]
	}
	for i := range t.count {
		for e := l.ptr[t.from+i]; e < l.ptr[t.from+i+1]; e++ {
			c := l.col[e]
			t.col[next[c]], t.values[next[c]] = int32(i), T(l.weight(e))
			next[c]++
		}
	}
}

// layouts holds an operator's layouts, made when they are first needed.
type layouts struct {
	once32, once64 sync.Once
	l32            *layout[float32]
	l64            *layout[float64]
	memory         [2]sync.Pool // of *part[float32] and *part[float64], for products one after another
}

func (l *layouts) single(links *Links, factor bool) *layout[float32] {
	l.once32.Do(func() { l.l32 = newLayout[float32](links, factor) })
	return l.l32
}

func (l *layouts) double(links *Links, factor bool) *layout[float64] {
	l.once64.Do(func() { l.l64 = newLayout[float64](links, factor) })
	return l.l64
}

// part is an operator as A = L·(table of x), where the table has a row for each atom: x itself for a graph, Lᵀ·x for a
// factor. It holds the memory for one product at a time.
type part[T Float] struct {
	*layout[T]
	tree  *parallel.Tree[[]float64]
	atoms []T
}

// partOf returns the part of a Graph or a Factor.
func partOf[T Float](op Operator) (part[T], error) {
	var all *layouts
	var links *Links
	factor := false
	switch o := op.(type) {
	case *Graph:
		all, links = &o.layouts, o.links
	case *Factor:
		all, links, factor = &o.layouts, o.links, true
	default:
		return part[T]{}, fmt.Errorf("neighbor: the operator is a %T, want a *Graph or a *Factor", op)
	}
	out := part[T]{}
	if kernel.Is32[T]() {
		out.layout = any(all.single(links, factor)).(*layout[T])
	} else {
		out.layout = any(all.double(links, factor)).(*layout[T])
	}
	return out, nil
}

// table returns the table of x (n rows with the stride ld, a multiple of 16), with the same stride. It is valid until the
// next call.
func (p *part[T]) table(ctx context.Context, workers int, x []T, ld int) ([]T, error) {
	if p.chunks == nil {
		return x, nil
	}
	size := p.links.atoms * ld
	if len(p.atoms) != size {
		p.atoms, p.tree = make([]T, size), parallel.NewVectorTree(size)
	}
	p.tree.Reset()
	var mu sync.Mutex
	var taken []*[]T // one for each goroutine
	defer func() {
		for _, b := range taken {
			giveRows(b)
		}
	}()
	g := p.links.group
	err := parallel.Sum(ctx, workers, g.First()/chunkRows(p.links.samples()), len(p.chunks), p.tree,
		func() []T {
			b := takeRows[T](size)
			mu.Lock()
			defer mu.Unlock()
			taken = append(taken, b)
			return *b
		},
		func(_, i int, b []T, part []float64) error {
			c := &p.chunks[i]
			kernel.MulSparse(c.ptr, c.col, c.values, ld, x[c.from*ld:], b, ld)
			kernel.Widen(part, b)
			return nil
		})
	if err == nil {
		err = ranks.JoinTree(g, "a product with landmarks", p.tree, func(part, _ []float64) []float64 { return part })
	}
	if err != nil {
		return nil, err
	}
	for j, v := range p.tree.Total() {
		p.atoms[j] = T(v)
	}
	return p.atoms, nil
}

// gather sets row i of dst, for i from lo to hi, to Σ_a l_ia·(row a of the table). dst begins at row lo; both have the stride
// ld, a multiple of 16.
func (l *layout[T]) gather(lo, hi int, dst, table []T, ld int) {
	kernel.MulSparse(l.links.ptr[lo:hi+1], l.links.col, l.values, ld, table, dst, ld)
}

// product sets dst = A·x for n rows with the stride ld.
func (p *part[T]) product(ctx context.Context, workers int, dst, x []T, ld int) error {
	table, err := p.table(ctx, workers, x, ld)
	if err != nil {
		return err
	}
	return p.gatherAll(ctx, workers, dst, table, ld, nil)
}

// gatherAll sets all rows of dst, with the stride ld, to L·table. It calls then for each row while the row is in cache.
func (p *part[T]) gatherAll(ctx context.Context, workers int, dst, table []T, ld int, then func(i int, row []T)) error {
	n := p.links.n
	return parallel.For(ctx, workers, (n+gatherRows-1)/gatherRows, func(_, b int) error {
		lo, hi := b*gatherRows, min((b+1)*gatherRows, n)
		p.gather(lo, hi, dst[lo*ld:], table, ld)
		for i := lo; then != nil && i < hi; i++ {
			then(i, dst[i*ld:(i+1)*ld])
		}
		return nil
	})
}

// mul multiplies with the memory of an earlier product, if there is some.
func mul[T Float](ctx context.Context, p part[T], memory *sync.Pool, workers int, dst, x []T, ld int) error {
	if had, _ := memory.Get().(*part[T]); had != nil {
		p = *had
	}
	defer memory.Put(&p)
	if err := checkProduct(p.links.n, len(dst), len(x), ld); err != nil {
		return err
	}
	return p.product(ctx, workers, dst, x, ld)
}
