package rows

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
)

// computed has rows that are computed at each read, and counts the reads.
type computed struct {
	*Dense[float32]
	reads int
}

func (c *computed) Bytes() int64             { return 0 }
func (c *computed) Row(i int, dst []float32) { c.reads++; c.Dense.Row(i, dst) }

// TestHeld: held rows are read once, and their products have the same bits. Rows in memory, and too many, are not copied.
func TestHeld(t *testing.T) {
	const n, d, k = 150, 7, 3
	values := func(n int) []float32 {
		r, out := rand.New(rand.NewPCG(1, 2)), make([]float32, n)
		for i := range out {
			out[i] = float32(r.NormFloat64())
		}
		return out
	}
	x := NewDense(n, d, d, values(n*d))
	c := &computed{Dense: x}
	held, err := Held(t.Context(), Matrix[float32](c), 1)
	if err != nil || held == Matrix[float32](c) || c.reads != n {
		t.Fatalf("%v, %d reads, want %d", err, c.reads, n)
	}
	var p kernel.Panel[float32]
	kernel.PackT(&p, d, k, values(k*d), d)
	ld := kernel.Pad(k)
	want, got := make([]float32, n*ld), make([]float32, n*ld)
	x.Mul(0, n, &p, want, ld)
	held.Mul(0, n, &p, got, ld)
	if !slices.Equal(got, want) {
		t.Error("products differ")
	}
	large := &computed{Dense: NewDense(heldNumbers/d+1, d, d, make([]float32, (heldNumbers/d+1)*d))}
	for name, m := range map[string]Matrix[float32]{"in memory": x, "too many": large} {
		if same, err := Held(t.Context(), m, 2); err != nil || same != m {
			t.Errorf("%s: copied, %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Held(ctx, Matrix[float32](c), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
