package spectral

import (
	"math/bits"
	"sync"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// A search for directions computes many products of a few hundred rows, one after another. Their memory is reused: the garbage
// collector would let the heap double before it collects.

// spares hold released slices, by the logarithm of their capacity.
var spares [64]sync.Pool

// take returns memory for n values, with undefined content.
func take(n int) []float64 {
	class := bits.Len(uint(max(n, 1) - 1))
	if x, _ := spares[class].Get().(*[]float64); x != nil {
		return (*x)[:n]
	}
	return make([]float64, n, 1<<class)
}

// give releases the memory of take, which must not be used afterwards.
func give(x []float64) {
	if c := cap(x); c > 0 && c&(c-1) == 0 {
		x = x[:0]
		spares[bits.Len(uint(c-1))].Put(&x)
	}
}

// panels hold right-hand sides of products.
var panels = sync.Pool{New: func() any { return new(kernel.Panel[float64]) }}

// gramSpace is the memory for one Gram matrix at a time.
type gramSpace[T kernel.Float] struct {
	size    int // of the current matrix
	tree    *parallel.Tree[*gramPart]
	mu      sync.Mutex
	buffers []*gramBuffer[T]
	free    int
}

type gramPart struct{ sum []float64 }

// gramBuffer is one goroutine's memory: some rows of all views side by side, and the sums of a chunk.
type gramBuffer[T kernel.Float] struct{ block, sums []T }

// gramSpaces hold released spaces, of float32 and of float64.
var gramSpaces [2]sync.Pool

func gramPool[T kernel.Float]() *sync.Pool {
	if kernel.Is32[T]() {
		return &gramSpaces[0]
	}
	return &gramSpaces[1]
}

// takeGramSpace returns the memory for a matrix of the given number of columns.
func takeGramSpace[T kernel.Float](total int) *gramSpace[T] {
	w, _ := gramPool[T]().Get().(*gramSpace[T])
	if w == nil {
		w = &gramSpace[T]{}
		w.tree = parallel.NewTree(
			func() *gramPart { return &gramPart{} },
			func(dst, src *gramPart) { kernel.AddTo(dst.sum[:w.size], src.sum[:w.size]) },
		)
	}
	w.size, w.free = total*total, 0
	w.tree.Reset()
	return w
}

func (w *gramSpace[T]) buffer(total int) *gramBuffer[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.free == len(w.buffers) {
		w.buffers = append(w.buffers, &gramBuffer[T]{})
	}
	b := w.buffers[w.free]
	w.free++
	b.block, b.sums = grow(b.block, gramRows*total), grow(b.sums, total*total)
	return b
}

func grow[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}
