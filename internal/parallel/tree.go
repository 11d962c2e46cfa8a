package parallel

import (
	"context"
	"sync"
)

// MaxChunk is the largest number of rows in a chunk: so few that their sum may be taken in the precision of the data.
const MaxChunk = 4096

// ChunkRows returns the number of rows in a chunk of n rows, a power of two from 8 to MaxChunk: about a 64th of all, at least
// about a quarter of all or the number of some rows. It depends on n and that number alone, so that any part of the rows that
// begins at a multiple of it has the same chunks as all rows together; of two chunks of n rows one is a multiple of the other.
func ChunkRows(n, some int) int {
	c, share := 8, min(n/64, MaxChunk) // c becomes the power nearest to the share, by ratio
	for c < MaxChunk && (2*c <= min(some, n/4) || 2*c*c < share*share) {
		c *= 2
	}
	return c
}

// Tree adds up the parts of numbered chunks in a fixed binary tree: two neighbours of a level are added as soon as both are
// there, and in the end what is left, from the right. What is added to what depends on the numbers of the chunks alone. So
// whoever has some of the chunks can stop where they end, and joining the trees of all in order gives the bits of a tree
// that had all chunks.
type Tree[S any] struct {
	fresh func() S
	add   func(dst, src S)
	nodes []Node[S]
	spare []S
}

// Node is the sum of the chunks from Index<<Level to (Index+1)<<Level − 1.
type Node[S any] struct {
	Level, Index int
	Sum          S
}

// NewTree returns a tree whose parts are made by fresh and added up by add, which must be commutative to the bit, as the
// addition of numbers is.
func NewTree[S any](fresh func() S, add func(dst, src S)) *Tree[S] {
	return &Tree[S]{fresh: fresh, add: add}
}

// NewVectorTree returns a tree of vectors.
func NewVectorTree(size int) *Tree[[]float64] {
	return NewTree(func() []float64 { return make([]float64, size) }, addVectors)
}

func addVectors(dst, src []float64) {
	for i, x := range src {
		dst[i] += x
	}
}

// Part returns a part for Push, with whatever it held before.
func (t *Tree[S]) Part() S {
	if k := len(t.spare); k > 0 {
		s := t.spare[k-1]
		t.spare = t.spare[:k-1]
		return s
	}
	return t.fresh()
}

// Push adds the part of a chunk, whose number is larger than all before. The part is the tree's from now on.
func (t *Tree[S]) Push(chunk int, part S) { t.push(0, chunk, part) }

func (t *Tree[S]) push(level, index int, sum S) {
	for k := len(t.nodes) - 1; k >= 0 && index&1 == 1; k-- {
		left := t.nodes[k]
		if left.Level != level || left.Index != index-1 {
			break
		}
		t.add(left.Sum, sum)
		t.spare = append(t.spare, sum)
		level, index, sum, t.nodes = level+1, index>>1, left.Sum, t.nodes[:k]
	}
	t.nodes = append(t.nodes, Node[S]{level, index, sum})
}

// PushNode adds a node of another tree, whose chunks follow all before.
func (t *Tree[S]) PushNode(level, index int, sum S) { t.push(level, index, sum) }

// Finish adds up what can be added up because no chunk follows, as Total would, and leaves fewer nodes. A node then stands for
// chunks beyond the last, too.
func (t *Tree[S]) Finish() {
	for k := len(t.nodes) - 1; k >= 0; k = len(t.nodes) - 1 {
		last := t.nodes[k]
		if last.Index == 0 || last.Index&1 == 1 {
			return
		}
		t.nodes = t.nodes[:k]
		t.push(last.Level+1, last.Index>>1, last.Sum)
	}
}

// Nodes returns what there is of the tree, in the order of the chunks. It is the tree's own.
func (t *Tree[S]) Nodes() []Node[S] { return t.nodes }

// Join takes the nodes of a tree whose chunks follow those of t, and leaves it empty.
func (t *Tree[S]) Join(next *Tree[S]) {
	for _, n := range next.nodes {
		t.push(n.Level, n.Index, n.Sum)
	}
	next.nodes = next.nodes[:0]
}

// Total returns the sum of all parts; none makes it the zero value of S. It is the tree's own until Reset.
func (t *Tree[S]) Total() S {
	var total S
	for len(t.nodes) > 1 {
		k := len(t.nodes) - 1
		t.add(t.nodes[k-1].Sum, t.nodes[k].Sum)
		t.spare = append(t.spare, t.nodes[k].Sum)
		t.nodes = t.nodes[:k]
	}
	if len(t.nodes) == 1 {
		total = t.nodes[0].Sum
	}
	return total
}

// Take empties the tree and leaves the sums of its nodes to whoever has them.
func (t *Tree[S]) Take() { t.nodes = t.nodes[:0] }

// Reset empties the tree and keeps its memory for further parts.
func (t *Tree[S]) Reset() {
	for _, n := range t.nodes {
		t.spare = append(t.spare, n.Sum)
	}
	t.nodes = t.nodes[:0]
}

// Sum runs work(worker, i, b, part) for i = 0 … n−1 as Fold does, and pushes the part of item i, which work must set
// whatever it held before, as the one of chunk first+i.
func Sum[B, S any](ctx context.Context, workers, first, n int, tree *Tree[S], newBuf func() B,
	work func(worker, i int, b B, part S) error) error {
	type buffer struct {
		b    B
		part S
	}
	var mu sync.Mutex // of the tree's parts and of buffers
	var buffers []*buffer
	err := Fold(ctx, workers, n, func() *buffer {
		b := &buffer{b: newBuf()}
		mu.Lock()
		defer mu.Unlock()
		b.part = tree.Part()
		buffers = append(buffers, b)
		return b
	}, func(worker, i int, b *buffer) error { return work(worker, i, b.b, b.part) },
		func(i int, b *buffer) error {
			mu.Lock()
			defer mu.Unlock()
			tree.Push(first+i, b.part)
			b.part = tree.Part()
			return nil
		})
	for _, b := range buffers {
		tree.spare = append(tree.spare, b.part)
	}
	return err
}

// SumVectors returns the sum, of the given size, of what work adds to part, which is zero before, for i = 0 … n−1. The
// items are added up in the fixed tree of their numbers.
func SumVectors[B any](ctx context.Context, workers, n, size int, newBuf func() B,
	work func(worker, i int, b B, part []float64) error) ([]float64, error) {
	tree := NewVectorTree(size)
	err := Sum(ctx, workers, 0, n, tree, newBuf, func(worker, i int, b B, part []float64) error {
		clear(part)
		return work(worker, i, b, part)
	})
	if err != nil || n == 0 {
		return make([]float64, size), err
	}
	return tree.Total(), nil
}
