package rows

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// blocksOf returns blocks of a dense matrix, which counts the rows that were made.
func blocksOf(r *Reads, x *Dense[float32], workers int, count *atomic.Int64) *Blocks[float32] {
	n, d := x.Dims()
	return NewBlocks(r, n, d, workers, func(_ context.Context, lo, hi int, dst []float32) error {
		count.Add(int64(hi - lo))
		copy(dst, x.x[lo*d:hi*d])
		return nil
	})
}

// Rows in blocks give the bits of rows in memory, from several goroutines too, and a pass in order makes each row once.
func TestBlocksAreTheDenseMatrix(t *testing.T) {
	const n, d, m, span = 3000, 700, 5, 137
	rng := rand.New(rand.NewPCG(1, 2))
	data, b := make([]float32, n*d), make([]float32, d*m)
	for i := range data {
		data[i] = float32(rng.NormFloat64())
	}
	for i := range b {
		b[i] = rng.Float32()
	}
	x := NewDense(n, d, d, data)
	var panel kernel.Panel[float32]
	kernel.Pack(&panel, d, m, b, m)
	ld := kernel.Pad(m)
	for _, workers := range []int{1, 3} {
		reads, ctx := NewReads(context.Background())
		var count atomic.Int64
		blocks := blocksOf(reads, x, workers, &count)
		for pass := range 2 {
			err := parallel.For(ctx, workers, (n+span-1)/span, func(_, c int) error {
				lo, hi := c*span, min((c+1)*span, n)
				y, want := make([]float32, (hi-lo)*ld), make([]float32, (hi-lo)*ld)
				blocks.Mul(lo, hi, &panel, y, ld)
				x.Mul(lo, hi, &panel, want, ld)
				sums, wantSums := make([]float32, m*d), make([]float32, m*d)
				blocks.TMulAdd(lo, hi, m, want, ld, sums, d)
				x.TMulAdd(lo, hi, m, want, ld, wantSums, d)
				norms, wantNorms := make([]float64, hi-lo), make([]float64, hi-lo)
				blocks.SquaredNorms(lo, hi, norms)
				x.SquaredNorms(lo, hi, wantNorms)
				row, wantRow := make([]float32, d), make([]float32, d)
				blocks.Row(lo, row)
				x.Row(lo, wantRow)
				if fmt.Sprint(y, sums, norms, row) != fmt.Sprint(want, wantSums, wantNorms, wantRow) {
					return fmt.Errorf("rows %d to %d differ", lo, hi)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if workers == 1 && count.Load() != int64((pass+1)*n) {
				t.Errorf("pass %d: %d rows were made", pass, count.Load())
			}
		}
		reads.End()
		if blocks.Err() != nil || blocks.Bytes() != BlocksBytes(d, workers, 4) || blocks.Bytes() > 30<<20 {
			t.Errorf("%v, %d bytes", blocks.Err(), blocks.Bytes())
		}
	}
}

// The first read that fails, or panics, gives NaN, ends the work with its error and stays.
func TestBlocksThatFail(t *testing.T) {
	broken := errors.New("broken")
	for name, fail := range map[string]func() error{
		"an error": func() error { return broken }, "a panic": func() error { panic(broken) },
	} {
		reads, ctx := NewReads(context.Background())
		blocks := NewBlocks(reads, 10_000, 1000, 2, func(_ context.Context, lo, _ int, dst []float32) error {
			if lo > 5000 {
				return fail()
			}
			clear(dst)
			return nil
		})
		row := make([]float32, 1000)
		blocks.Row(4000, row)
		if err := Failure([]Matrix[float32]{blocks}); err != nil || row[0] != 0 {
			t.Error(name, err, row[0])
		}
		blocks.Row(9999, row)
		if err := Failure([]Matrix[float32]{blocks}); !errors.Is(err, broken) || !math.IsNaN(float64(row[0])) {
			t.Error(name, err, row[0])
		}
		if ctx.Err() == nil || !errors.Is(context.Cause(ctx), broken) {
			t.Error(name, ctx.Err(), context.Cause(ctx))
		}
		reads.End()
	}
}

// A context that ends does not end reads, of which a result so far may be made.
func TestReadsGoOn(t *testing.T) {
	parent, stop := context.WithCancel(context.Background())
	reads, ctx := NewReads(parent)
	var count atomic.Int64
	blocks := blocksOf(reads, NewDense(2, 1, 1, []float32{3, 4}), 1, &count)
	stop()
	row := make([]float32, 1)
	if blocks.Row(1, row); row[0] != 4 || blocks.Err() != nil || ctx.Err() == nil {
		t.Error(row, blocks.Err(), ctx.Err())
	}
	reads.End()
}

// Two that go through chunks of some blocks each, the one where the other has been, do not read blocks again that the other is
// done with, and the next pass is read ahead as the first one was.
func TestNothingIsReadInVain(t *testing.T) {
	const d, chunk, chunks = 1024, 12, 40 // blocks of a chunk
	n := BlockRows(4*d) * chunk * chunks
	x := NewDense(n, d, d, make([]float32, n*d))
	reads, _ := NewReads(context.Background())
	defer reads.End()
	var count atomic.Int64
	blocks := blocksOf(reads, x, 2, &count)
	row := make([]float32, d)
	for pass := range 3 {
		count.Store(0)
		for c := 0; c < chunks; c += 2 {
			for b := range chunk {
				blocks.Row((c*chunk+b)*blocks.rows, row)
				blocks.Row(((c+1)*chunk+b)*blocks.rows, row)
			}
		}
		reads.ahead.Wait()
		if made := int(count.Load()); made > n+4*blocks.rows || made < n-blocks.most*blocks.rows {
			t.Errorf("pass %d made %.1f blocks of %d", pass, float64(made)/float64(blocks.rows), chunk*chunks)
		}
	}
}

// Few rows are made one by one, without those around them; what is there already is not made again.
func TestRowAlone(t *testing.T) {
	const n, d = 4000, 512
	x := NewDense(n, d, d, make([]float32, n*d))
	for i := range x.x {
		x.x[i] = float32(i % 1013)
	}
	reads, ctx := NewReads(context.Background())
	var count atomic.Int64
	blocks := blocksOf(reads, x, 1, &count)
	row, want := make([]float32, d), make([]float32, d)
	read := RowReader[float32](blocks, n/8)
	for _, i := range []int{3, 700, n - 1} {
		read(i, row)
		if x.Row(i, want); !slices.Equal(row, want) {
			t.Errorf("row %d differs", i)
		}
	}
	if count.Load() != 3 {
		t.Errorf("%d rows were made", count.Load())
	}
	RowReader[float32](blocks, n/8+1)(0, row)
	reads.ahead.Wait()
	made := count.Load()
	if read(5, row); count.Load() != made || made < int64(blocks.rows) {
		t.Errorf("%d rows were made, %d before", count.Load(), made)
	}
	reads.End()
	if read(n-1, row); ctx.Err() == nil || !math.IsNaN(float64(row[0])) || reads.Err() == nil {
		t.Error("a row is read after the end")
	}
}
