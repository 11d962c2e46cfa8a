package device

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/rows"
)

// problem is a network with its data, parameters and start.
type problem struct {
	spec    engine.Spec
	x       [][]float64
	present [][]bool
	start   [][]float64
	h0      []float64
	params  *engine.Params
}

func shape(n, m, layers int, dims ...int) engine.Spec {
	return engine.Spec{Samples: n, Dims: dims, Anchors: m, Layers: layers, Noise: true, Anchored: true}
}

// makeProblem returns clustered views with a share of samples missing, anchors from random labels, parameters off their start.
func makeProblem(t testing.TB, spec engine.Spec, missing float64, seed uint64) *problem {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	p := &problem{spec: spec, params: engine.NewParams(&spec)}
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
	for v, d := range spec.Dims {
		x, sums, centre := make([]float64, n*d), make([]float64, m*d), make([]float64, m*d)
		for j := range centre {
			centre[j] = 2 * rng.NormFloat64()
		}
		count := 0
		for i := range n {
			if p.present != nil && !p.present[v][i] {
				continue
			}
			count++
			for j := range d {
				x[i*d+j] = float64(float32(centre[labels[i]*d+j] + rng.NormFloat64()))
				sums[labels[i]*d+j] += x[i*d+j]
			}
		}
		var polar linalg.Polar
		start := make([]float64, m*d)
		if err := polar.Factor(m, d, sums, start); err != nil {
			t.Fatal(err)
		}
		p.x, p.start = append(p.x, x), append(p.start, start)
		if spec.LossWeights == nil {
			p.spec.LossWeights = append(p.spec.LossWeights, 1/(float64(count)*float64(d)))
		}
	}
	for l := range p.params.Theta {
		p.params.Theta[l] = 0.05 + 0.1*rng.Float64()
	}
	for _, rho := range p.params.Rho {
		for v := range rho {
			rho[v] = (0.5 + rng.Float64()) * math.Sqrt(float64(spec.Dims[v]))
		}
	}
	for i := range m * m {
		p.params.R[i], p.params.U[i] = 0.1*rng.NormFloat64(), 0.1*rng.NormFloat64()
		if i%(m+1) == 0 {
			p.params.R[i] += 0.4
			p.params.U[i] += 0.6
		}
	}
	return p
}

func views[T kernel.Float](p *problem) []rows.Matrix[T] {
	var x []rows.Matrix[T]
	for v, d := range p.spec.Dims {
		x = append(x, rows.NewDense(p.spec.Samples, d, d, kernel.Convert[T](p.x[v])))
	}
	return x
}

func netOf(t testing.TB, p *problem, shard engine.Shard, err error) *engine.Net {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	net, err := engine.NewNet(p.spec, []engine.Shard{shard}, engine.InOrder{}, p.start)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// inMemory returns the problem's network on the CPU, onDevice that on a device.
func inMemory[T kernel.Float](t testing.TB, p *problem) *engine.Net {
	shard, err := engine.NewMemory(&p.spec, 0, views[T](p), p.present, p.h0, true)
	return netOf(t, p, shard, err)
}

func onDevice[T kernel.Float](t testing.TB, p *problem, drv Driver) *engine.Net {
	shard, err := New(drv, &p.spec, views[T](p), p.present, p.h0, true)
	return netOf(t, p, shard, err)
}

// onTensorCores is onDevice with the products of X on tensor cores, however few rows there are.
func onTensorCores(t testing.TB, p *problem, drv Driver) *engine.Net {
	shard, err := newShard(drv, &p.spec, views[float32](p), p.present, p.h0, true, tuning{worthMoving, 0})
	return netOf(t, p, shard, err)
}

// allOnDevice is onDevice with the wide products of every Procrustes step there.
func allOnDevice[T kernel.Float](t testing.TB, p *problem, drv Driver) *engine.Net {
	shard, err := newShard(drv, &p.spec, views[T](p), p.present, p.h0, true, tuning{0, fewRows})
	return netOf(t, p, shard, err)
}

func anchorsOf(t testing.TB, net *engine.Net, l, v int) []float64 {
	t.Helper()
	p, err := net.Anchors(l, v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// result is all that a step gives, by name.
type result struct {
	names  []string
	values map[string][]float64
}

func (r *result) add(name string, values ...float64) {
	if r.values == nil {
		r.values = map[string][]float64{}
	}
	if r.values[name] == nil {
		r.names = append(r.names, name)
	}
	r.values[name] = append(r.values[name], values...)
}

// step runs forward and backward and reads all states.
func step(t testing.TB, net *engine.Net, q *engine.Params, added func(net *engine.Net)) *result {
	t.Helper()
	ctx, spec, r := context.Background(), net.Spec(), &result{}
	loss, err := net.Forward(ctx, q, true)
	if err != nil {
		t.Fatal(err)
	}
	r.add("loss", loss...)
	n, m := spec.Samples, spec.Anchors
	read := func(name string, f engine.Field, l, v, width int) {
		x := make([]float64, n*width)
		if err := net.Read(f, l, v, 0, n, x); err != nil {
			t.Fatal(err)
		}
		r.add(name, x...)
	}
	for l := 0; l <= spec.Layers; l++ {
		read("H", engine.FieldH, l, 0, m)
		for v, d := range spec.Dims {
			if l == 0 {
				continue
			}
			r.add("P", anchorsOf(t, net, l, v)...)
			read("t", engine.FieldTrust, l, v, 1)
			if spec.Noise {
				read("r", engine.FieldNorm, l, v, 1)
				read("E", engine.FieldE, l, v, d)
			}
		}
	}
	if added != nil {
		added(net)
	}
	g := engine.NewParams(spec)
	if err := net.Backward(ctx, 1.25, g); err != nil {
		t.Fatal(err)
	}
	r.add("dθ", g.Theta...)
	r.add("dR", g.R...)
	r.add("dU", g.U...)
	for _, rho := range g.Rho {
		r.add("dρ", rho...)
	}
	return r
}

// distance is ‖got − want‖ / ‖want‖.
func distance(got, want []float64) float64 {
	diff, scale := 0.0, 0.0
	for i := range want {
		diff += (got[i] - want[i]) * (got[i] - want[i])
		scale += want[i] * want[i]
	}
	if scale == 0 {
		scale = 1
	}
	return math.Sqrt(diff / scale)
}

// compare fails where the distance of a part of got from that of want is above tol, and above three times that of other.
func compare(t *testing.T, got, want, other *result, tol float64) {
	t.Helper()
	for _, name := range want.names {
		most := tol
		if other != nil {
			most = max(most, 3*distance(other.values[name], want.values[name]))
		}
		if e := distance(got.values[name], want.values[name]); !(e <= most) {
			t.Errorf("%s: relative distance %.2g, want at most %.2g", name, e, most)
		}
	}
}
