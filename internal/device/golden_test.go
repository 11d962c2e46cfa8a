package device

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// loadGolden returns a whole-model case of testdata/golden, nil where its start has E ≠ 0, which no shard can hold.
func loadGolden(t *testing.T, path string) (*problem, map[string]testutil.Array) {
	t.Helper()
	f := testutil.LoadNPZ(t, path)
	count := f["V"].Ints()[0]
	p := &problem{h0: f["H0"].Float64s()}
	p.spec = engine.Spec{Samples: f["n"].Ints()[0], Anchors: f["m"].Ints()[0], Layers: f["L"].Ints()[0], Noise: true,
		Anchored: true, Dims: f["dims"].Ints()}
	if strings.Contains(path, "selu") {
		p.spec.Represent, p.spec.Shrink = engine.SELU, engine.SELU
	}
	for v := range count {
		p.x = append(p.x, f[fmt.Sprintf("X_%d", v)].Float64s())
		p.start = append(p.start, f[fmt.Sprintf("P0_%d", v)].Float64s())
		for _, e := range f[fmt.Sprintf("E0_%d", v)].Float64s() {
			if e != 0 {
				return nil, nil
			}
		}
	}
	p.params = engine.NewParams(&p.spec)
	copy(p.params.Theta, f["theta"].Float64s())
	copy(p.params.R, f["R"].Float64s())
	copy(p.params.U, f["U"].Float64s())
	for l := range p.params.Rho {
		copy(p.params.Rho[l], f["rho"].Float64s()[l*count:])
	}
	if mask, ok := f["mask"]; ok {
		p.present = make([][]bool, count)
		for v, d := range p.spec.Dims {
			p.present[v] = make([]bool, p.spec.Samples)
			for i := range p.present[v] {
				if p.present[v][i] = mask.Float64s()[i*count+v] != 0; !p.present[v][i] {
					clear(p.x[v][i*d : (i+1)*d])
				}
			}
		}
	}
	return p, f
}

// relative is the largest difference relative to the largest value.
func relative(got, want []float64) float64 {
	diff, scale := 0.0, 1e-12
	for i := range want {
		if math.IsNaN(got[i]) {
			return math.NaN()
		}
		diff, scale = max(diff, math.Abs(got[i]-want[i])), max(scale, math.Abs(want[i]))
	}
	return diff / scale
}

// The golden vectors in float64, to the tolerances that the engine in memory has.
func TestGoldenModels(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/golden/model_*.npz")
	if err != nil || len(paths) != 34 {
		t.Fatalf("%d golden models, %v; want 34", len(paths), err)
	}
	visited := 0
	for _, path := range paths {
		p, f := loadGolden(t, path)
		if p == nil {
			continue
		}
		visited++
		for _, variant := range []string{"full", "nonoise", "represent"} {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".npz")+"/"+variant, func(t *testing.T) {
				t.Parallel()
				compareGolden(t, *p, f, variant)
			})
		}
	}
	if visited < 14 {
		t.Fatalf("only %d golden models start from E = 0", visited)
	}
}

func compareGolden(t *testing.T, p problem, f map[string]testutil.Array, variant string) {
	compareGoldenOn(t, &simdevice.Sim{}, p, f, variant)
}

func compareGoldenOn(t *testing.T, drv Driver, p problem, f map[string]testutil.Array, variant string) {
	p.spec.Noise, p.spec.Anchored = variant == "full", variant != "represent"
	net := allOnDevice[float64](t, &p, drv)
	within := func(name string, got []float64, tol float64) {
		t.Helper()
		if e := relative(got, f[name].Float64s()); !(e <= tol) {
			t.Errorf("%s: relative difference %.2g, want at most %.0g", name, e, tol)
		}
	}
	loss, err := net.Forward(context.Background(), p.params, true)
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for _, x := range loss {
		total += x
	}
	within(variant+"_sum_loss", []float64{total}, 1e-12)
	for l := 1; l <= p.spec.Layers; l++ {
		h := make([]float64, p.spec.Samples*p.spec.Anchors)
		if err := net.Read(engine.FieldH, l, 0, 0, p.spec.Samples, h); err != nil {
			t.Fatal(err)
		}
		within(fmt.Sprintf("%s_H_%d", variant, l), h, 1e-12)
		for v := range p.spec.Dims {
			if p.spec.Anchored {
				within(fmt.Sprintf("%s_P_%d_%d", variant, l, v), anchorsOf(t, net, l, v), 1e-11)
			}
		}
	}
	g := engine.NewParams(&p.spec)
	if err := net.Backward(context.Background(), 1, g); err != nil {
		t.Fatal(err)
	}
	within(variant+"_sum_dtheta", g.Theta, 2e-11)
	within(variant+"_sum_dR", g.R, 2e-11)
	within(variant+"_sum_dU", g.U, 2e-11)
	if p.spec.Noise {
		var rho []float64
		for _, r := range g.Rho {
			rho = append(rho, r...)
		}
		within(variant+"_sum_drho", rho, 2e-11)
	}
}
