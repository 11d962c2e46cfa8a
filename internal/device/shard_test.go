package device

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
)

// cases are networks of every kind.
func cases(t testing.TB) map[string]*problem {
	out := map[string]*problem{}
	put := func(name string, missing float64, spec engine.Spec, change func(*problem)) {
		p := makeProblem(t, spec, missing, uint64(len(out)+1))
		if change != nil {
			change(p)
		}
		out[name] = p
	}
	put("two layers", 0, shape(70, 5, 2, 12, 7), nil)
	put("missing views", 0.3, shape(61, 4, 2, 9, 5, 6), nil)
	put("one layer", 0, shape(33, 3, 1, 5), nil)
	put("nine layers", 0, shape(24, 3, 9, 6, 4), nil)
	put("fewer columns than anchors", 0.2, shape(50, 6, 3, 3, 11), nil)
	put("one anchor", 0, shape(20, 1, 2, 3, 2), nil)
	one := shape(1, 2, 2, 3, 2)
	one.Floor = 1e-5 // M has a singular value of rounding alone, which the gradient divides by
	put("one sample", 0, one, nil)
	selu := shape(40, 5, 2, 8, 3)
	selu.Represent, selu.Shrink = engine.SELU, engine.SELU
	put("SELU", 0.2, selu, nil)
	selu.OneSided = true
	put("SELU, one-sided", 0, selu, nil)
	relu := shape(40, 5, 2, 8, 3)
	relu.OneSided = true
	put("one-sided, θ < 0", 0, relu, func(p *problem) { p.params.Theta[1] = -0.05 })
	plain := shape(40, 5, 3, 8, 3)
	plain.Noise = false
	put("no noise", 0.3, plain, nil)
	fixed := shape(40, 5, 3, 8, 3)
	fixed.Anchored = false
	put("fixed anchors", 0.3, fixed, nil)
	detach := shape(40, 5, 3, 8, 3)
	detach.Detach = true
	put("detached", 0.3, detach, nil)
	put("a start", 0.2, shape(45, 4, 3, 7, 5), func(p *problem) {
		rng := rand.New(rand.NewPCG(7, 8))
		for range p.spec.Samples * p.spec.Anchors {
			p.h0 = append(p.h0, float64(float32(rng.Float64())))
		}
	})
	put("small residuals", 0, shape(60, 4, 2, 6, 150), fitExactly)
	return out
}

// fitExactly puts the samples near the span of the start anchors, where ‖x‖² − 2h·y + hKh loses all digits.
func fitExactly(p *problem) {
	for v, d := range p.spec.Dims {
		rng := rand.New(rand.NewPCG(2, uint64(v)))
		for i := range p.spec.Samples {
			row := p.x[v][i*d : (i+1)*d]
			c := 3 + rng.Float64()
			for q, a := range p.start[v][i%p.spec.Anchors*d:][:d] {
				row[q] = float64(float32(c*a + 1e-3*rng.NormFloat64()))
			}
		}
	}
	for i := range p.params.U {
		p.params.U[i], p.params.R[i] = 0, 0
		if i%(p.spec.Anchors+1) == 0 {
			p.params.U[i] = 1
		}
	}
	for l := range p.params.Theta {
		p.params.Theta[l] = 0
		for v := range p.spec.Dims {
			p.params.Rho[l][v] = 2e-3
		}
	}
}

// A step on the device gives what one in memory gives: in float64 to rounding, in float32 to 1e-5 or, where the problem itself is
// worse, to three times the error of float32 in memory.
func TestStep(t *testing.T) {
	for name, p := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			added := func(net *engine.Net) { addCotangents(t, net) }
			want := step(t, inMemory[float64](t, p), p.params, added)
			compare(t, step(t, onDevice[float64](t, p, &simdevice.Sim{}), p.params, added), want, nil, 1e-9)
			compare(t, step(t, allOnDevice[float64](t, p, &simdevice.Sim{}), p.params, added), want, nil, 1e-9)
			compare(t, step(t, onDevice[float32](t, p, &simdevice.Sim{}), p.params, added), want,
				step(t, inMemory[float32](t, p), p.params, added), 1e-5)
		})
	}
}

// addCotangents adds to the cotangents of some H, P and t, to one H twice.
func addCotangents(t testing.TB, net *engine.Net) {
	spec := net.Spec()
	n, m := spec.Samples, spec.Anchors
	rng := rand.New(rand.NewPCG(5, 5))
	random := func(k int) []float64 {
		x := make([]float64, k)
		for i := range x {
			x[i] = float64(float32(1e-3 * rng.NormFloat64()))
		}
		return x
	}
	for _, l := range []int{spec.Layers, 1, 1} {
		if err := net.AddH(l, random(n*m)); err != nil {
			t.Fatal(err)
		}
	}
	for l := range spec.Layers + 1 {
		for v, d := range spec.Dims {
			net.AddAnchors(l, v, random(m*d))
		}
	}
	if spec.Noise {
		for _, l := range []int{spec.Layers, 1} {
			if err := net.AddTrust(l, 0, random(n)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Steps after the first one start from a state of which nothing but the rows may count.
func TestStepsDoNotDependOnEarlierOnes(t *testing.T) {
	p := cases(t)["missing views"]
	net := onDevice[float32](t, p, &simdevice.Sim{})
	first := step(t, net, p.params, nil)
	for i := range p.params.Theta {
		p.params.Theta[i] += 0.01
	}
	step(t, net, p.params, func(net *engine.Net) { addCotangents(t, net) })
	for i := range p.params.Theta {
		p.params.Theta[i] -= 0.01
	}
	again := step(t, net, p.params, nil)
	fresh := step(t, onDevice[float32](t, p, &simdevice.Sim{}), p.params, nil)
	same(t, "a third step", again, fresh)
	_ = first
}

func same(t *testing.T, what string, got, want *result) {
	t.Helper()
	for _, name := range want.names {
		for i, x := range want.values[name] {
			if got.values[name][i] != x {
				t.Fatalf("%s: value %d of %s is %v, want %v", what, i, name, got.values[name][i], x)
			}
		}
	}
}

// Blocks and warps run in other orders, on more goroutines: the bits stay.
func TestBitsDoNotDependOnTheOrderOfBlocks(t *testing.T) {
	p := makeProblem(t, shape(150, 5, 2, 20, 6), 0.2, 3)
	want := step(t, allOnDevice[float32](t, p, &simdevice.Sim{Workers: 1}), p.params, nil)
	for seed := uint64(1); seed < 4; seed++ {
		got := step(t, allOnDevice[float32](t, p, &simdevice.Sim{Order: seed, Workers: int(seed)}), p.params, nil)
		same(t, fmt.Sprintf("order %d", seed), got, want)
	}
}

func TestMemoryIsAskedBefore(t *testing.T) {
	p := makeProblem(t, shape(64, 4, 2, 9, 5), 0.3, 1)
	need, err := Bytes[float32](&p.spec, p.present, false, true)
	if err != nil {
		t.Fatal(err)
	}
	drv := &simdevice.Sim{Limit: need + need/spare}
	shard, err := New(drv, &p.spec, views[float32](p), p.present, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	free, total, _ := drv.Memory()
	if shard.Bytes() != need || total-free > need {
		t.Errorf("a plan of %d bytes, %d in use, %d of the device", need, shard.Bytes(), total-free)
	}
	if err := shard.Close(); err != nil {
		t.Fatal(err)
	}
	if free, total, _ = drv.Memory(); free != total {
		t.Errorf("%d bytes are left after Close", total-free)
	}
	drv = &simdevice.Sim{Limit: need}
	var short *MemoryError
	if _, err := New(drv, &p.spec, views[float32](p), p.present, nil, true); !errors.As(err, &short) || short.Free != need {
		t.Errorf("a device that is too small: %v", err)
	}
	if free, total, _ := drv.Memory(); free != total {
		t.Errorf("%d bytes were taken from a device that is too small", total-free)
	}
}

// What is no longer finite is reported as in memory, and nothing hangs or is swallowed on the way.
func TestDivergence(t *testing.T) {
	p := makeProblem(t, shape(40, 4, 2, 9, 5), 0, 1)
	for _, change := range []func(){
		func() { p.params.U[5] = 1e300 },
		func() { p.params.U[5], p.params.Rho[0][0] = 1, math.NaN() },
	} {
		change()
		for name, net := range map[string]*engine.Net{
			"in memory": inMemory[float32](t, p), "device": onDevice[float32](t, p, &simdevice.Sim{}),
			"tensor cores": onTensorCores(t, p, &simdevice.Sim{}), "all on device": allOnDevice[float32](t, p, &simdevice.Sim{}),
		} {
			var diverged *engine.DivergedError
			if _, err := net.Forward(context.Background(), p.params, true); !errors.As(err, &diverged) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Sizes that a launch cannot have are errors before anything is allocated.
func TestSizesThatDoNotFit(t *testing.T) {
	for what, spec := range map[string]engine.Spec{
		"chunks": shape(300_000_000, 5, 1, 3), "samples": shape(1<<31, 5, 1, 3), "anchors": shape(100_000, 70_000, 1, 3),
		"columns": shape(100, 5, 1, 1<<25), "a panel": shape(100_000, 60_000, 1, 40_000),
	} {
		if _, err := Bytes[float32](&spec, nil, false, true); err == nil {
			t.Errorf("too many %s: no error", what)
		}
	}
	// A row of 26,000 values in float32, of 13,000 in float64, is more than the shared memory of a block on some cards.
	for _, double := range []bool{false, true} {
		spec := shape(10, 26_000, 1, 3)
		if double {
			spec = shape(10, 13_000, 1, 3)
		}
		var full *MemoryError
		err := NewSession(&simdevice.Sim{Target: "sm_86", Limit: 1 << 50}, true).Fits(&spec, nil, double)
		if !errors.As(err, &full) || !full.Shared || !strings.Contains(err.Error(), "shared memory, the simulator has 101376") {
			t.Errorf("anchors, float64 %v: %v", double, err)
		}
		if err := NewSession(&simdevice.Sim{Limit: 1 << 50}, true).Fits(&spec, nil, double); err != nil {
			t.Errorf("anchors, float64 %v, of a larger block: %v", double, err)
		}
	}
}

// Sums of kept views stay with their shard, so there can be no other.
func TestKeptViewsNeedAllSamples(t *testing.T) {
	p := makeProblem(t, shape(64, 4, 2, 9, 5), 0, 1)
	shard, err := newShard(&simdevice.Sim{}, &p.spec, views[float32](p), nil, nil, true, tuning{0, fewRows})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.NewNet(p.spec, []engine.Shard{shard, shard}, engine.InOrder{}, p.start); err == nil {
		t.Error("two shards, no error")
	}
	if _, err := engine.NewNet(p.spec, []engine.Shard{shard}, engine.OverRanks{}, p.start); err == nil {
		t.Error("several processes, no error")
	}
}

func TestCancel(t *testing.T) {
	p := makeProblem(t, shape(64, 4, 2, 9, 5), 0, 1)
	net := onDevice[float32](t, p, &simdevice.Sim{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := net.Forward(ctx, p.params, true); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled pass: %v", err)
	}
	if _, err := net.Forward(context.Background(), p.params, true); err != nil {
		t.Errorf("after it: %v", err)
	}
}
