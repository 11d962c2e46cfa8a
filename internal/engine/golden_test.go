package engine

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// goldenCase is a whole-model case of testdata/golden, as a network can hold it.
type goldenCase struct {
	file    map[string]testutil.Array
	spec    Spec
	params  *Params
	x       [][]float64
	present [][]bool
	counts  []int
	start   [][]float64
	h0      []float64
}

// loadGolden returns the cases whose start has E = 0; a free E is an n×d array, which the engine never holds.
func loadGolden(t *testing.T, visit func(t *testing.T, c *goldenCase)) {
	t.Helper()
	paths, err := filepath.Glob("../../testdata/golden/model_*.npz")
	if err != nil || len(paths) != 34 {
		t.Fatalf("%d golden models, %v; want 34", len(paths), err)
	}
	visited := 0
	for _, path := range paths {
		f := testutil.LoadNPZ(t, path)
		c := &goldenCase{file: f}
		views := f["V"].Ints()[0]
		free := false
		c.spec = Spec{Samples: f["n"].Ints()[0], Anchors: f["m"].Ints()[0], Layers: f["L"].Ints()[0], Noise: true, Anchored: true}
		for v := range views {
			c.spec.Dims = append(c.spec.Dims, f["dims"].Ints()[v])
			c.x = append(c.x, f[fmt.Sprintf("X_%d", v)].Float64s())
			c.start = append(c.start, f[fmt.Sprintf("P0_%d", v)].Float64s())
			for _, e := range f[fmt.Sprintf("E0_%d", v)].Float64s() {
				free = free || e != 0
			}
		}
		if free {
			continue
		}
		c.h0 = f["H0"].Float64s()
		if strings.Contains(path, "selu") {
			c.spec.Represent, c.spec.Shrink = SELU, SELU
		}
		c.params = NewParams(&c.spec)
		copy(c.params.Theta, f["theta"].Float64s())
		copy(c.params.R, f["R"].Float64s())
		copy(c.params.U, f["U"].Float64s())
		for l := range c.params.Rho {
			copy(c.params.Rho[l], f["rho"].Float64s()[l*views:])
		}
		c.readMask(views)
		visited++
		t.Run(strings.TrimSuffix(filepath.Base(path), ".npz"), func(t *testing.T) { visit(t, c) })
	}
	if visited < 14 {
		t.Fatalf("only %d golden models start from E = 0", visited)
	}
}

func (c *goldenCase) readMask(views int) {
	c.counts = make([]int, views)
	for v := range c.counts {
		c.counts[v] = c.spec.Samples
	}
	mask, ok := c.file["mask"]
	if !ok {
		return
	}
	c.present = make([][]bool, views)
	for v := range views {
		c.present[v] = make([]bool, c.spec.Samples)
		c.counts[v] = 0
		for i := range c.present[v] {
			if mask.Float64s()[i*views+v] != 0 {
				c.present[v][i] = true
				c.counts[v]++
			} else {
				clear(c.x[v][i*c.spec.Dims[v] : (i+1)*c.spec.Dims[v]])
			}
		}
	}
}

func buildNet[T kernel.Float](t testing.TB, c *goldenCase, spec Spec) *Net {
	t.Helper()
	var x []rows.Matrix[T]
	for v, d := range spec.Dims {
		data := make([]T, len(c.x[v]))
		for i, a := range c.x[v] {
			data[i] = T(a)
		}
		x = append(x, rows.NewDense(spec.Samples, d, d, data))
	}
	shard, err := NewMemory(&spec, 0, x, c.present, c.h0, true)
	if err != nil {
		t.Fatal(err)
	}
	net, err := NewNet(spec, []Shard{shard}, InOrder{}, c.start)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

func relative(got, want []float64) float64 {
	diff, scale := 0.0, 1e-12
	for i := range want {
		diff, scale = max(diff, math.Abs(got[i]-want[i])), max(scale, math.Abs(want[i]))
		if math.IsNaN(got[i]) {
			return math.NaN()
		}
	}
	return diff / scale
}

func within(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if e := relative(got, want); !(e <= tol) {
		t.Errorf("%s: relative difference %.2g, want at most %.0g", what, e, tol)
	}
}

func flat(x [][]float64) []float64 {
	var out []float64
	for _, r := range x {
		out = append(out, r...)
	}
	return out
}

func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

func TestGoldenModels(t *testing.T) {
	t.Run("float64", func(t *testing.T) { goldenModels[float64](t, 1e-12, 2e-11) })
	t.Run("float32", func(t *testing.T) { goldenModels[float32](t, 2e-4, 2e-3) })
}

func goldenModels[T kernel.Float](t *testing.T, tol, gradTol float64) {
	loadGolden(t, func(t *testing.T, c *goldenCase) {
		for _, variant := range []string{"full", "nonoise", "represent"} {
			for _, reduction := range []string{"mean", "sum"} {
				for _, detach := range []string{"", "detach_"} {
					spec := c.spec
					spec.Noise = variant == "full"
					spec.Anchored = variant != "represent"
					if reduction == "mean" {
						spec.LossWeights = meanWeights(&spec, c.counts)
					}
					spec.Detach = detach != ""
					compareGolden[T](t, c, spec, variant, reduction, detach, tol, gradTol)
				}
			}
		}
	})
}

func compareGolden[T kernel.Float](
	t *testing.T, c *goldenCase, spec Spec, variant, reduction, detach string, tol, gradTol float64,
) {
	t.Helper()
	ctx := context.Background()
	net := buildNet[T](t, c, spec)
	name := variant + "_" + reduction + "_"
	loss, err := net.Forward(ctx, c.params, true)
	if err != nil {
		t.Fatal(err)
	}
	within(t, name+"loss", []float64{sum(loss)}, c.file[name+"loss"].Float64s(), tol)
	for l := 1; l <= spec.Layers; l++ {
		h := make([]float64, spec.Samples*spec.Anchors)
		if err := net.Read(FieldH, l, 0, 0, spec.Samples, h); err != nil {
			t.Fatal(err)
		}
		within(t, fmt.Sprintf("%s H_%d", variant, l), h, c.file[fmt.Sprintf("%s_H_%d", variant, l)].Float64s(), tol)
		for v := range spec.Dims {
			if spec.Anchored {
				within(t, fmt.Sprintf("%s P_%d_%d", variant, l, v), net.p[l][v],
					c.file[fmt.Sprintf("%s_P_%d_%d", variant, l, v)].Float64s(), tol*10)
			}
			if spec.Noise && detach == "" {
				compareNoise(t, c, net, variant, l, v, tol)
			}
		}
	}
	g := NewParams(&spec)
	if err := net.Backward(ctx, 1, g); err != nil {
		t.Fatal(err)
	}
	name += detach
	within(t, name+"dtheta", g.Theta, c.file[name+"dtheta"].Float64s(), gradTol)
	within(t, name+"dR", g.R, c.file[name+"dR"].Float64s(), gradTol)
	within(t, name+"dU", g.U, c.file[name+"dU"].Float64s(), gradTol)
	if spec.Noise {
		within(t, name+"drho", flat(g.Rho), c.file[name+"drho"].Float64s(), gradTol)
	}
}

// compareNoise compares E on the samples that have the view.
func compareNoise(t *testing.T, c *goldenCase, net *Net, variant string, l, v int, tol float64) {
	t.Helper()
	n, d := net.Spec().Samples, net.Spec().Dims[v]
	got := make([]float64, n*d)
	if err := net.Read(FieldE, l, v, 0, n, got); err != nil {
		t.Fatal(err)
	}
	want := append([]float64(nil), c.file[fmt.Sprintf("%s_E_%d_%d", variant, l, v)].Float64s()...)
	if c.present != nil {
		for i, ok := range c.present[v] {
			if !ok {
				clear(got[i*d : (i+1)*d])
				clear(want[i*d : (i+1)*d])
			}
		}
	}
	within(t, fmt.Sprintf("E_%d_%d", l, v), got, want, tol*10)
}
