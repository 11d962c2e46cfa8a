package neighbor

import (
	"context"
	"math/rand/v2"
	"testing"
)

// BenchmarkSmooth filters four strips of columns along links to 8 spaces of 1,000 landmarks.
func BenchmarkSmooth(b *testing.B) {
	const n, spaces, count, nearest, cols, steps = 16384, 8, 1000, 5, 256, 13
	rng := rand.New(rand.NewPCG(1, 1))
	ptr, col, val := []int{0}, []int32{}, []float64{}
	for range n {
		for q := range spaces {
			at := rng.IntN(count / nearest)
			for r := range nearest {
				col = append(col, int32(q*count+at+r*(count/nearest)))
				val = append(val, rng.Float64()/50)
			}
		}
		ptr = append(ptr, len(col))
	}
	links, err := NewLinks(n, spaces*count, ptr, col, val)
	if err != nil {
		b.Fatal(err)
	}
	op, err := NewFactor(links)
	if err != nil {
		b.Fatal(err)
	}
	x := make([]float32, n*cols)
	for i := range x {
		x[i] = rng.Float32()
	}
	for b.Loop() {
		if _, err := Smooth(context.Background(), op, []Block[float32]{{X: x, Ld: cols, Cols: cols}}, steps, 1); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAttach links samples to 1,000 landmarks in three spaces of two views whose columns weigh less and less, as those of
// leading directions do.
func BenchmarkAttach(b *testing.B) {
	const n, cols = 4096, 200
	rng := rand.New(rand.NewPCG(1, 1))
	make1 := func() View[float32] {
		centres := make([]float32, 50*cols)
		for i := range centres {
			centres[i] = float32(rng.NormFloat64()) / float32(1+i%cols)
		}
		x := make([]float32, n*cols)
		for i := range n {
			c := rng.IntN(50)
			for j := range cols {
				x[i*cols+j] = centres[c*cols+j] + float32(rng.NormFloat64())/float32(2+j)
			}
			toUnit(x[i*cols : (i+1)*cols])
		}
		v, err := Dense(n, cols, cols, x, nil)
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
	views := []View[float32]{make1(), make1()}
	spaces := Spaces([]int{0, 1})
	index, err := Build(context.Background(), views, spaces, Config{ExactUpTo: -1, Landmarks: 1000, Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := index.Attach(context.Background(), views, 1); err != nil {
			b.Fatal(err)
		}
	}
}
