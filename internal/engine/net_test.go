package engine

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/rows"
)

// problem is a made network of any shape: clustered views, anchors from random labels, parameters off their start.
type problem struct {
	spec    Spec
	x       [][]float64
	present [][]bool
	start   [][]float64
	params  *Params
	sparse  bool // netOf makes sparse views
}

// thin makes most entries of the views zero and the views sparse.
func (p *problem) thin() {
	p.sparse = true
	rng := rand.New(rand.NewPCG(3, 4))
	for _, x := range p.x {
		for i := range x {
			if rng.Float64() < 0.8 {
				x[i] = 0
			}
		}
	}
}

func sparseOf[T kernel.Float](n, d int, x []T) rows.Matrix[T] {
	ptr, cols, values := make([]int, 1, n+1), []int32{}, []T{}
	for i := range n {
		for j, v := range x[i*d : (i+1)*d] {
			if v != 0 {
				cols, values = append(cols, int32(j)), append(values, v)
			}
		}
		ptr = append(ptr, len(cols))
	}
	return rows.NewSparse(n, d, ptr, cols, values, nil, nil)
}

// meanWeights average a view's squared errors over the entries of the counts[v] samples that have it.
func meanWeights(spec *Spec, counts []int) []float64 {
	w := make([]float64, len(counts))
	for v, count := range counts {
		w[v] = 1 / (float64(count) * float64(spec.Dims[v]))
	}
	return w
}

func makeProblem(t testing.TB, spec Spec, missing float64, seed uint64) *problem {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	p := &problem{spec: spec}
	n, m := spec.Samples, spec.Anchors
	labels := make([]int, n)
	for i := range labels {
		labels[i] = rng.IntN(m)
	}
	if missing > 0 {
		p.present = make([][]bool, len(spec.Dims))
		for v := range p.present {
			p.present[v] = make([]bool, n)
			for i := range n {
				p.present[v][i] = v == i%len(spec.Dims) || rng.Float64() >= missing
			}
		}
	}
	counts := make([]int, len(spec.Dims))
	for v, d := range spec.Dims {
		x, sums := make([]float64, n*d), make([]float64, m*d)
		centre := make([]float64, m*d)
		for j := range centre {
			centre[j] = 2 * rng.NormFloat64()
		}
		for i := range n {
			if p.present != nil && !p.present[v][i] {
				continue
			}
			counts[v]++
			for j := range d {
				x[i*d+j] = centre[labels[i]*d+j] + rng.NormFloat64()
				sums[labels[i]*d+j] += x[i*d+j]
			}
		}
		var polar linalg.Polar
		start := make([]float64, m*d)
		if err := polar.Factor(m, d, sums, start); err != nil {
			t.Fatal(err)
		}
		p.x, p.start = append(p.x, x), append(p.start, start)
	}
	if spec.LossWeights == nil {
		p.spec.LossWeights = meanWeights(&spec, counts)
	}
	p.params = NewParams(&spec)
	for l := range p.params.Theta {
		p.params.Theta[l] = 0.05 + 0.1*rng.Float64()
	}
	for l, rho := range p.params.Rho {
		for v := range rho {
			p.params.Rho[l][v] = (0.5 + rng.Float64()) * math.Sqrt(float64(spec.Dims[v]))
		}
	}
	for i := range m {
		for j := range m {
			p.params.R[i*m+j], p.params.U[i*m+j] = 0.1*rng.NormFloat64(), 0.1*rng.NormFloat64()
			if i == j {
				p.params.R[i*m+j] += 0.4
				p.params.U[i*m+j] += 0.6
			}
		}
	}
	return p
}

// netOf returns the problem's network over shards whose sizes are given; none means one shard.
func netOf[T kernel.Float](t testing.TB, p *problem, sizes ...int) *Net {
	t.Helper()
	if len(sizes) == 0 {
		sizes = []int{p.spec.Samples}
	}
	spec := p.spec
	var shards []Shard
	lo := 0
	for _, size := range sizes {
		var x []rows.Matrix[T]
		var present [][]bool
		for v, d := range spec.Dims {
			data := make([]T, size*d)
			for i := range data {
				data[i] = T(p.x[v][lo*d+i])
			}
			if p.sparse {
				x = append(x, sparseOf(size, d, data))
			} else {
				x = append(x, rows.NewDense(size, d, d, data))
			}
			if p.present != nil {
				present = append(present, p.present[v][lo:lo+size])
			}
		}
		shard, err := NewMemory(&spec, lo, x, present, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		shards = append(shards, shard)
		lo += size
	}
	net, err := NewNet(spec, shards, InOrder{}, p.start)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// step runs forward and backward and returns loss and all gradients in one slice.
func step(t testing.TB, net *Net, q *Params) []float64 {
	t.Helper()
	loss, err := net.Forward(context.Background(), q, true)
	if err != nil {
		t.Fatal(err)
	}
	out := append([]float64(nil), loss...)
	g := NewParams(net.Spec())
	if err := net.Backward(context.Background(), 1, g); err != nil {
		t.Fatal(err)
	}
	out = append(append(append(out, g.Theta...), g.R...), g.U...)
	return append(out, flat(g.Rho)...)
}

func shape(n int, m int, dims ...int) Spec {
	return Spec{Samples: n, Dims: dims, Anchors: m, Layers: 3, Noise: true, Anchored: true}
}

func TestBitsDoNotDependOnWorkers(t *testing.T) {
	spec := shape(1500, 6, 40, 4, 23)
	var first []float64
	for _, workers := range []int{1, 2, 5} {
		spec.Workers = workers
		got := step(t, netOf[float32](t, makeProblem(t, spec, 0.3, 5)), makeProblem(t, spec, 0.3, 5).params)
		if first == nil {
			first = got
			continue
		}
		for i := range got {
			if got[i] != first[i] {
				t.Fatalf("%d workers: value %d is %v, with one %v", workers, i, got[i], first[i])
			}
		}
	}
}

// Shards whose rows begin where chunks do give the bits of one shard of all rows, whatever their number and that of workers.
func TestBitsDoNotDependOnShards(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		spec := shape(2600, 5, 12, 3, 30)
		chunk := ChunkRows(&spec, sparse)
		p := makeProblem(t, spec, 0.4, 9)
		if sparse {
			p.thin()
		}
		want := step(t, netOf[float32](t, p), p.params)
		chunks := (spec.Samples + chunk - 1) / chunk
		for _, shards := range []int{1, 2, 3, 5} {
			shards = min(shards, chunks)
			sizes := make([]int, shards)
			for k := range sizes {
				lo, hi := k*chunks/shards*chunk, min((k+1)*chunks/shards*chunk, spec.Samples)
				sizes[k] = hi - lo
			}
			for _, workers := range []int{1, 3} {
				p.spec.Workers = workers
				got := step(t, netOf[float32](t, p, sizes...), p.params)
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf(
							"sparse %v, shards of %v rows, %d workers: value %d is %v, want %v",
							sparse, sizes, workers, i, got[i], want[i],
						)
					}
				}
			}
		}
	}
}

func TestShardsBeginWhereChunksDo(t *testing.T) {
	p := makeProblem(t, shape(200, 3, 4), 0, 1)
	x := []rows.Matrix[float64]{rows.NewDense(100, 4, 4, p.x[0][400:])}
	if _, err := NewMemory(&p.spec, 100, x, nil, nil, true); err == nil {
		t.Error("a shard from row 100 on: no error")
	}
}

func TestFloat32AgreesWithFloat64(t *testing.T) {
	p := makeProblem(t, shape(900, 12, 60, 9, 33), 0.2, 3)
	want := step(t, netOf[float64](t, p), p.params)
	got := step(t, netOf[float32](t, p), p.params)
	within(t, "float32", got, want, 1e-5)
}

// Rows that the anchors reproduce almost exactly lose all digits of ‖x‖² − 2h·y + hKh; they must take the direct path.
func TestFloat32KeepsSmallResiduals(t *testing.T) {
	spec := shape(400, 4, 6, 50)
	p := makeProblem(t, spec, 0, 11)
	for v, d := range spec.Dims { // samples in the span of the start anchors, off it by 1e-3
		rng := rand.New(rand.NewPCG(2, uint64(v)))
		for i := range spec.Samples {
			row := p.x[v][i*d : (i+1)*d]
			clear(row)
			for j := range spec.Anchors {
				c := 3 + rng.Float64()
				if i%spec.Anchors != j {
					c = 0
				}
				for q, a := range p.start[v][j*d : (j+1)*d] {
					row[q] += c * a
				}
			}
			for q := range row {
				row[q] += 1e-3 * rng.NormFloat64()
			}
		}
	}
	for i := range p.params.U {
		p.params.U[i], p.params.R[i] = 0, 0
		if i%(spec.Anchors+1) == 0 {
			p.params.U[i] = 1
		}
	}
	for l := range p.params.Theta {
		p.params.Theta[l] = 0
		for v := range spec.Dims {
			p.params.Rho[l][v] = 2e-3
		}
	}
	want, got := netOf[float64](t, p), netOf[float32](t, p)
	a, b := step(t, want, p.params), step(t, got, p.params)
	within(t, "loss", b[:2], a[:2], 1e-3)
	within(t, "gradients", b[2:], a[2:], 5e-3)
	for v := range spec.Dims {
		r, s := make([]float64, spec.Samples), make([]float64, spec.Samples)
		if err := errors.Join(want.Read(FieldNorm, 1, v, 0, len(r), r), got.Read(FieldNorm, 1, v, 0, len(s), s)); err != nil {
			t.Fatal(err)
		}
		within(t, "residual norms", s, r, 1e-3)
	}
}

// The frozen network on any rows gives the bits that training ended with.
func TestFrozenGivesTheBitsOfTraining(t *testing.T) {
	for _, anchored := range []bool{true, false} {
		spec := shape(300, 5, 40, 3)
		spec.Anchored = anchored
		p := makeProblem(t, spec, 0.3, 21)
		net := netOf[float32](t, p)
		step(t, net, p.params)
		frozen, err := NewFrozen[float32](spec, p.params, func(l, v int) []float64 { return net.p[l][v] })
		if err != nil {
			t.Fatal(err)
		}
		shard := net.shards[0].(*Memory[float32])
		ld := shard.ld
		trained := make([]float32, spec.Samples*ld)
		if err := CopyH(net, spec.Layers, trained, ld); err != nil {
			t.Fatal(err)
		}
		if err := CopyH(net, spec.Layers, make([]float64, spec.Samples*ld), ld); err == nil {
			t.Fatal("H of a float32 network in float64: no error")
		}
		for _, at := range []int{0, 7, 123, 299} {
			var x []rows.Matrix[float32]
			var present [][]bool
			for v, d := range spec.Dims {
				row := make([]float32, d)
				shard.x[v].Row(at, row)
				x = append(x, rows.NewDense(1, d, d, row))
				present = append(present, p.present[v][at:at+1])
			}
			alone, err := frozen.NewRows(1, present)
			if err != nil {
				t.Fatal(err)
			}
			for v := range x {
				alone.Use(v, x[v])
			}
			alone.Run(1)
			h, _ := alone.H()
			for j := range spec.Anchors {
				if h[j] != trained[at*ld+j] {
					t.Fatalf("row %d, anchor %d: %v alone, %v in training", at, j, h[j], trained[at*ld+j])
				}
			}
		}
	}
}

func TestCancelledPassReturnsTheContextsError(t *testing.T) {
	p := makeProblem(t, shape(100, 3, 8), 0, 1)
	net := netOf[float64](t, p)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := net.Forward(ctx, p.params, true); !errors.Is(err, context.Canceled) {
		t.Errorf("forward: %v", err)
	}
	if err := net.Backward(context.Background(), 1, NewParams(&p.spec)); err == nil {
		t.Error("a backward pass without a forward pass: no error")
	}
}

func TestDivergenceIsAnError(t *testing.T) {
	p := makeProblem(t, shape(100, 3, 8), 0, 1)
	p.params.U[0] = math.NaN()
	var diverged *DivergedError
	if _, err := netOf[float64](t, p).Forward(context.Background(), p.params, true); !errors.As(err, &diverged) {
		t.Errorf("NaN in U: %v", err)
	}
}

// After the first epochs an epoch allocates a few small objects, whatever n.
func TestEpochsDoNotAllocateByTheSample(t *testing.T) {
	p := makeProblem(t, shape(4000, 5, 50, 20), 0, 1)
	p.spec.Workers = 1
	net := netOf[float32](t, p)
	g := NewParams(&p.spec)
	run := func() {
		if _, err := net.Forward(context.Background(), p.params, true); err != nil {
			t.Fatal(err)
		}
		if err := net.Backward(context.Background(), 1, g); err != nil {
			t.Fatal(err)
		}
	}
	run()
	bytes := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			run()
		}
	}).AllocedBytesPerOp()
	if bytes > 64<<10 {
		t.Errorf("an epoch allocates %d bytes", bytes)
	}
}

func TestSpecErrors(t *testing.T) {
	good := shape(10, 2, 4)
	for _, c := range []struct {
		what   string
		change func(s *Spec)
	}{
		{"samples", func(s *Spec) { s.Samples = 0 }}, {"views", func(s *Spec) { s.Dims = nil }},
		{"anchors", func(s *Spec) { s.Anchors = 0 }},
		{"layers", func(s *Spec) { s.Layers = 0 }}, {"columns", func(s *Spec) { s.Dims = []int{0} }},
		{"loss weights", func(s *Spec) { s.LossWeights = []float64{1, 2} }},
	} {
		s := good
		c.change(&s)
		if _, err := NewNet(s, []Shard{nil}, InOrder{}, [][]float64{make([]float64, 8)}); err == nil {
			t.Errorf("%s: no error", c.what)
		}
	}
}
