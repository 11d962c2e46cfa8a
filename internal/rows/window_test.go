package rows

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
)

// A window has the rows of a matrix in memory and of one in blocks, wherever it is moved to, and has fetched each of the latter
// once.
func TestWindow(t *testing.T) {
	const n, d, m = 700, 1200, 3
	data, b := make([]float32, n*d), make([]float32, d*m)
	for i := range data {
		data[i] = float32(i%97) - 40
	}
	for i := range b {
		b[i] = float32(i%13) - 6
	}
	x := NewDense(n, d, d, data)
	var panel kernel.Panel[float32]
	kernel.Pack(&panel, d, m, b, m)
	ld := kernel.Pad(m)
	reads, _ := NewReads(context.Background())
	defer reads.End()
	var count atomic.Int64
	for name, of := range map[string]Matrix[float32]{"memory": x, "blocks": blocksOf(reads, x, 1, &count)} {
		w := NewWindow(of)
		for lo := 0; lo < n; lo += 150 {
			hi := min(lo+150, n)
			w.Move(lo, hi)
			at, end := 3, hi-lo-5 // of the rows of the window
			y, want := make([]float32, (end-at)*ld), make([]float32, (end-at)*ld)
			w.Mul(at, end, &panel, y, ld)
			x.Mul(lo+at, lo+end, &panel, want, ld)
			c, wantC := make([]float32, m*d), make([]float32, m*d)
			w.TMulAdd(at, end, m, want, ld, c, d)
			x.TMulAdd(lo+at, lo+end, m, want, ld, wantC, d)
			q, wantQ := make([]float64, end-at), make([]float64, end-at)
			w.SquaredNorms(at, end, q)
			x.SquaredNorms(lo+at, lo+end, wantQ)
			row := make([]float32, d)
			w.Row(at, row)
			if !slices.Equal(y, want) || !slices.Equal(c, wantC) || !slices.Equal(q, wantQ) ||
				!slices.Equal(row, data[(lo+at)*d:(lo+at+1)*d]) {
				t.Fatalf("%s: other values in rows %d to %d", name, lo, hi-1)
			}
		}
	}
	if got := count.Load(); got != n {
		t.Errorf("%d rows were made, want %d", got, n)
	}
}
