package largemvc

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
)

// wideSparse returns a view of n samples in the given number of classes of d features, of which each sample has share
// filled, half of them among those of its class, and the classes.
func wideSparse(n, d, classes int, share float64) (View, []int) {
	rng := rand.New(rand.NewPCG(7, 11))
	ptr, labels := make([]int, n+1), make([]int, n)
	var cols []int32
	var values []float32
	part := d / classes
	for i := range n {
		labels[i] = i % classes
		row := map[int32]float32{}
		for range int(share * float64(d) / 2) {
			row[int32(rng.IntN(d))] = 1 + rng.Float32()
			row[int32(labels[i]*part+rng.IntN(part)/8)] = 1 + rng.Float32()
		}
		own := make([]int32, 0, len(row))
		for j := range row {
			own = append(own, j)
		}
		slices.Sort(own)
		for _, j := range own {
			cols, values = append(cols, j), append(values, row[j])
		}
		ptr[i+1] = len(cols)
	}
	return SparseView(n, d, ptr, cols, values), labels
}

// A sparse view of a million features fits in memory in proportion to its entries and features, not to their product with
// directions or samples; it finds the classes, and saved and loaded it gives the same bits.
func TestWideSparse(t *testing.T) {
	testutil.Long(t, "a view of a million features")
	const n, d = 50, 1_000_000
	x, classes := wideSparse(n, d, 2, 0.01)
	entries := len(x.in.Sparse.Cols)
	runtime.GC()
	var c *Clustering
	got := testutil.Allocated(func() { c = mustFit(t, []View{x}, Config{Clusters: 2, Machine: machine.Options{Workers: 2}}) })
	limit := uint64(100*entries + 200*d) // bytes allocated in all, freed ones included
	t.Logf("%d entries: %d MiB allocated, limit %d MiB", entries, got>>20, limit>>20)
	if got > limit {
		t.Errorf("%d MiB allocated for %d entries and %d features, want at most %d", got>>20, entries, d, limit>>20)
	}
	if acc, err := accuracyOf(classes, c.Labels); err != nil || acc < 1 {
		t.Errorf("ACC %v, %v", acc, err)
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if limit := 24*2*entries + 32*2*d; b.Len() > limit {
		t.Errorf("the model has %d bytes, want at most %d", b.Len(), limit)
	}
	again, err := ReadPredictor(&b)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*Predictor{"trained": c.Predictor, "loaded": again} {
		a, err := p.Assign(context.Background(), []View{x})
		if err != nil || !slices.Equal(a.Labels, c.Labels) {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
}
