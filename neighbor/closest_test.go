package neighbor

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
)

// fading returns samples around some centres whose columns weigh less and less, as those of leading directions do.
func fading(rng *rand.Rand, n, cols int) []float32 {
	const centres = 20
	c, x := make([]float32, centres*cols), make([]float32, n*cols)
	for i := range c {
		c[i] = float32(rng.NormFloat64()) / float32(1+i%cols)
	}
	for i := range n {
		from := rng.IntN(centres)
		for j := range cols {
			x[i*cols+j] = c[from*cols+j] + float32(rng.NormFloat64())/float32(2+j)
		}
		toUnit(x[i*cols : (i+1)*cols])
	}
	return x
}

// What bounds pass over is nowhere among the nearest: the links are those of products of all columns, to the bit.
func TestBoundsChangeNothing(t *testing.T) {
	const n = 600
	rng := rand.New(rand.NewPCG(1, 2))
	for _, masked := range []bool{false, true} {
		views := make([]View[float32], 2)
		for v, cols := range []int{90, 70} {
			var present []bool
			if masked && v == 1 {
				present = make([]bool, n)
				for i := range present {
					present[i] = i%5 > 0
				}
			}
			var err error
			if views[v], err = Dense(n, cols, cols, fading(rng, n, cols), present); err != nil {
				t.Fatal(err)
			}
		}
		x, err := Build(context.Background(), views, Spaces([]int{0, 1}), Config{ExactUpTo: -1, Landmarks: leastPruned, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		src, err := newSource(context.Background(), nil, views, 1)
		if err != nil {
			t.Fatal(err)
		}
		for q, m := range x.sets {
			if !m.short {
				t.Errorf("space %d: heads of %v columns do not pay", q, m.heads)
			}
			bounded, whole := m.newSpace(src), m.newSpace(src)
			for b := range src.blocks() {
				lo, hi := src.block(b)
				var links [2][][]found
				for k, w := range []*landmarkSpace[float32]{bounded, whole} {
					w.skip = k
					m.closest(src, lo, hi, m.nearest+1, true, w, func(_ int, near []found) {
						links[k] = append(links[k], slices.Clone(near))
					})
				}
				for i, near := range links[0] {
					if !slices.Equal(near, links[1][i]) {
						t.Fatalf("space %d, sample %d: %v with bounds, %v without", q, lo+i, near, links[1][i])
					}
				}
			}
		}
	}
}
