package engine

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/rows"
)

// benchRows returns n rows of d features, dense (per == 0) or with about per entries in a row and a shift of all rows.
func benchRows(rng *rand.Rand, n, d, per int) rows.Matrix[float32] {
	if per == 0 {
		data := make([]float32, n*d)
		for i := range data {
			data[i] = rng.Float32() - 0.5
		}
		return rows.NewDense(n, d, d, data)
	}
	ptr, shift, along := []int{0}, make([]float32, n), make([]float32, d)
	var cols []int32
	var values []float32
	for i := range n {
		var row []int32
		for range 1 + rng.IntN(2*per-1) {
			row = append(row, int32(rng.IntN(d)))
		}
		slices.Sort(row)
		for _, j := range slices.Compact(row) {
			cols, values = append(cols, j), append(values, 5+rng.Float32())
		}
		ptr, shift[i] = append(ptr, len(cols)), -0.1
	}
	for j := range along {
		along[j] = 1
	}
	return rows.NewSparse(n, d, ptr, cols, values, shift, rows.NewDirection(along))
}

// BenchmarkStep times a forward and a backward pass through a network of two layers: sparse text against the same in
// full, D features in a few or in many views, few and many anchors.
func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		name    string
		n, m    int
		dims    []int
		entries []int // per row; nil: dense
	}{
		{"text/sparse", 3312, 6, []int{3312, 3703}, []int{3, 32}},
		{"text/dense", 3312, 6, []int{3312, 3703}, nil},
		{"D=2672/V=2", 10000, 10, slices.Repeat([]int{1336}, 2), nil},
		{"D=2672/V=8", 10000, 10, slices.Repeat([]int{334}, 8), nil},
		{"D=1024/V=2", 10000, 10, slices.Repeat([]int{512}, 2), nil},
		{"D=1024/V=8", 10000, 10, slices.Repeat([]int{128}, 8), nil},
		{"mnist", 10000, 10, []int{784, 392, 160}, nil},
		{"many anchors", 4000, 100, []int{944, 576, 512, 640}, nil},
		{"caltech", 2000, 102, []int{48, 40, 254, 1984, 512, 928}, nil},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkStep(b, c.n, c.m, c.dims, c.entries) })
	}
}

func benchmarkStep(b *testing.B, n, m int, dims, entries []int) {
	rng := rand.New(rand.NewPCG(1, 1))
	spec := Spec{Samples: n, Dims: dims, Anchors: m, Layers: 2, Noise: true, Anchored: true, Floor: 1e-5}
	var x []rows.Matrix[float32]
	var start [][]float64
	params := NewParams(&spec)
	for v, d := range dims {
		per := 0
		if entries != nil {
			per = entries[v]
		}
		x = append(x, benchRows(rng, n, d, per))
		p := make([]float64, m*d)
		for i := range p {
			p[i] = rng.NormFloat64()
		}
		var polar linalg.Polar
		if err := polar.Factor(m, d, p, p); err != nil {
			b.Fatal(err)
		}
		start = append(start, p)
		params.Rho[0][v], params.Rho[1][v] = 0.5, 0.5
	}
	for l := range params.Theta {
		params.Theta[l] = 0.01
	}
	for i := range m {
		params.R[i*m+i], params.U[i*m+i] = 0.3, 0.9
	}
	shard, err := NewMemory(&spec, 0, x, nil, nil, true)
	if err != nil {
		b.Fatal(err)
	}
	net, err := NewNet(spec, []Shard{shard}, InOrder{}, start)
	if err != nil {
		b.Fatal(err)
	}
	grads := NewParams(&spec)
	step := func() {
		if _, err := net.Forward(context.Background(), params, true); err != nil {
			b.Fatal(err)
		}
		if err := net.Backward(context.Background(), 1, grads); err != nil {
			b.Fatal(err)
		}
	}
	step()
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		step()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1e3, "ms/step")
}
