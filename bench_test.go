package largemvc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testrig/optest"
	"github.com/largemvc/largemvc/internal/unfold"
)

// The scalability curves: one training step (forward and backward through the graph, Adam, projection) as the samples n,
// the features D, the anchors m, the views V and the layers L grow, each alone.
//
//	go test -run '^$' -bench Epoch .

// stepper is a network that is ready for steps.
type stepper struct {
	net    *LargeMvCNet
	vm     gorgonia.VM
	solver *unfold.Adam
}

func newStepper(b *testing.B, n, m, layers int, dims ...int) *stepper {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	var x []rows.Matrix[float32]
	var anchors []mat.Matrix
	for _, d := range dims {
		data := make([]float32, n*d)
		for i := range data {
			data[i] = rng.Float32() - 0.5
		}
		x = append(x, rows.NewDense(n, d, d, data))
		p := make([]float64, m*d)
		for i := range p {
			p[i] = rng.NormFloat64()
		}
		var polar linalg.Polar
		if err := polar.Factor(m, d, p, p); err != nil {
			b.Fatal(err)
		}
		anchors = append(anchors, mat.NewDense(m, d, p))
	}
	data, err := newData(context.Background(), processes{}, x, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	s := &stepper{net: &LargeMvCNet{}, solver: &unfold.Adam{}}
	g := gorgonia.NewGraph()
	if err := s.net.Build(Env{G: g, Layers: layers}, data, StartPoint{Anchors: anchors}); err != nil {
		b.Fatal(err)
	}
	if _, err := gorgonia.Grad(s.net.Loss(), s.net.Learnables()...); err != nil {
		b.Fatal(err)
	}
	s.vm = optest.NewMachine(g, gorgonia.BindDualValues(s.net.Learnables()...))
	b.Cleanup(func() { s.vm.Close() })
	s.step(b)
	return s
}

func (s *stepper) step(b *testing.B) {
	if err := s.vm.RunAll(); err != nil {
		b.Fatal(err)
	}
	if err := s.solver.Step(gorgonia.NodesToValueGrads(s.net.Learnables())); err != nil {
		b.Fatal(err)
	}
	if err := s.net.Project(); err != nil {
		b.Fatal(err)
	}
	s.vm.Reset()
}

func benchmarkEpoch(b *testing.B, name string, n, m, layers int, dims ...int) {
	b.Run(name, func(b *testing.B) {
		s := newStepper(b, n, m, layers, dims...)
		b.ReportAllocs()
		b.ResetTimer()
		for b.Loop() {
			s.step(b)
		}
		state := s.net.fused().Engine().Bytes()
		b.ReportMetric(float64(state)/float64(n), "state-B/sample")
	})
}

func repeat(d, times int) []int {
	out := make([]int, times)
	for i := range out {
		out[i] = d
	}
	return out
}

func BenchmarkEpochSamples(b *testing.B) {
	for _, n := range []int{1000, 10000, 60000, 195537} {
		benchmarkEpoch(b, fmt.Sprintf("n=%d", n), n, 10, 2, 64, 32, 32)
	}
}

func BenchmarkEpochFeatures(b *testing.B) {
	for _, d := range []int{64, 256, 1024, 4096} {
		benchmarkEpoch(b, fmt.Sprintf("D=%d", 2*d), 4000, 10, 2, d, d)
	}
}

func BenchmarkEpochAnchors(b *testing.B) {
	for _, m := range []int{5, 10, 20, 50, 100, 200} {
		benchmarkEpoch(b, fmt.Sprintf("m=%d", m), 4000, m, 2, 512, 256)
	}
}

// BenchmarkEpochViews cuts the same number of features into 2, 4 and 8 views. Their epochs are alternated, for a
// machine may change speed between benchmarks, and their medians reported: use -benchtime 50x or so.
func BenchmarkEpochViews(b *testing.B) {
	for _, d := range []int{1024, 2672} {
		b.Run(fmt.Sprintf("D=%d", d), func(b *testing.B) {
			views := []int{2, 4, 8}
			steppers, seconds := make([]*stepper, len(views)), make([][]float64, len(views))
			for i, v := range views {
				steppers[i] = newStepper(b, 10000, 10, 2, repeat(d/v, v)...)
			}
			b.ResetTimer()
			for b.Loop() {
				for i, s := range steppers {
					began := time.Now()
					s.step(b)
					seconds[i] = append(seconds[i], time.Since(began).Seconds())
				}
			}
			for i, v := range views {
				slices.Sort(seconds[i])
				b.ReportMetric(1e3*seconds[i][len(seconds[i])/2], fmt.Sprintf("ms/V=%d", v))
			}
			b.ReportMetric(seconds[2][len(seconds[2])/2]/seconds[0][len(seconds[0])/2], "V=8/V=2")
		})
	}
}

func BenchmarkEpochLayers(b *testing.B) {
	for _, l := range []int{1, 2, 4, 8} {
		benchmarkEpoch(b, fmt.Sprintf("L=%d", l), 10000, 10, l, 256, 128)
	}
}

// shape is the size of a whole fit.
type shape struct{ n, features, views, clusters, anchors, layers int }

// BenchmarkFit measures whole fits of 20 epochs, and the labels of as many new samples, while one size grows. It reports the
// milliseconds at each size, and the exponent of the growth. go run -C studies ./bench/growth draws the curves:
//
//	go test -run '^$' -bench 'Fit$' -benchtime 3x . | go run -C studies ./bench/growth -out growth.svg
func BenchmarkFit(b *testing.B) {
	base := shape{n: 4000, features: 256, views: 2, clusters: 10, anchors: 10, layers: 2}
	axes := map[string]struct {
		sizes []int
		grow  func(s *shape, x int)
	}{
		"n": {[]int{1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000}, func(s *shape, x int) { s.n = x }},
		"D": {[]int{64, 128, 256, 512, 1024}, func(s *shape, x int) { s.features = x }},
		"V": {[]int{2, 4, 8, 16}, func(s *shape, x int) { s.features, s.views = 512, x }},
		"m": {[]int{10, 20, 40, 80}, func(s *shape, x int) { s.anchors = x }},
		"k": {[]int{10, 20, 40, 80}, func(s *shape, x int) { s.clusters, s.anchors = x, x }},
		"L": {[]int{1, 2, 4, 8}, func(s *shape, x int) { s.layers = x }},
	}
	for _, name := range []string{"default", "paper"} {
		for _, axis := range []string{"n", "D", "V", "m", "k", "L"} {
			sizes, grow := axes[axis].sizes, axes[axis].grow
			fits, predictions := make([][]float64, len(sizes)), make([][]float64, len(sizes))
			b.Run(name+"/"+axis, func(b *testing.B) {
				for b.Loop() {
					for i, x := range sizes {
						s := base
						grow(&s, x)
						fit, predict := s.time(b, name == "paper")
						fits[i], predictions[i] = append(fits[i], fit), append(predictions[i], predict)
					}
				}
				reportGrowth(b, axis, "", sizes, fits)
				reportGrowth(b, axis, "-predict", sizes, predictions)
			})
		}
	}
}

// time returns the seconds of a fit and of the labels of as many new samples.
func (s shape) time(b *testing.B, paper bool) (fit, predict float64) {
	b.Helper()
	views, _ := blobViews(2*s.n, s.clusters, 1, 1, repeat(s.features/s.views, s.views)...)
	c := Config{}
	if paper {
		c = PaperConfig(s.clusters)
	}
	c.Clusters, c.Anchors, c.Layers, c.Epochs = s.clusters, s.anchors, s.layers, 20
	began := time.Now()
	found, err := Fit(b.Context(), windows(views, 0, s.n), c)
	if err != nil {
		b.Fatal(err)
	}
	fit, began = time.Since(began).Seconds(), time.Now()
	if _, err := found.Predict(b.Context(), windows(views, s.n, 2*s.n)); err != nil {
		b.Fatal(err)
	}
	return fit, time.Since(began).Seconds()
}

// reportGrowth reports the median time at each size, and the exponent of the power law through these.
func reportGrowth(b *testing.B, axis, of string, sizes []int, seconds [][]float64) {
	var x, y []float64
	for i, s := range seconds {
		slices.Sort(s)
		median := s[len(s)/2]
		x, y = append(x, math.Log(float64(sizes[i]))), append(y, math.Log(median))
		b.ReportMetric(1e3*median, fmt.Sprintf("ms%s/%s=%d", of, axis, sizes[i]))
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	b.ReportMetric(slope, "exponent"+of)
}

func BenchmarkProcrustes(b *testing.B) {
	for _, size := range [][2]int{{10, 784}, {31, 784}, {100, 944}, {100, 2672}, {102, 48}} {
		m, d := size[0], size[1]
		rng := rand.New(rand.NewPCG(1, 1))
		x, g, p := make([]float64, m*d), make([]float64, m*d), make([]float64, m*d)
		for i := range x {
			x[i], g[i] = rng.NormFloat64(), rng.NormFloat64()
		}
		var polar linalg.Polar
		b.Run(fmt.Sprintf("forward/m=%d/d=%d", m, d), func(b *testing.B) {
			for b.Loop() {
				if err := polar.Factor(m, d, x, p); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("backward/m=%d/d=%d", m, d), func(b *testing.B) {
			for b.Loop() {
				polar.Grad(g, p)
			}
		})
	}
}

func BenchmarkKMeans(b *testing.B) {
	for _, n := range []int{1000, 10000, 60000} {
		b.Run(fmt.Sprintf("n=%d/d=10/c=10", n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			x := mat.NewDense(n, 10, nil)
			for i := range n {
				for j := range 10 {
					x.Set(i, j, rng.NormFloat64())
				}
				x.Set(i, i%10, x.At(i, i%10)+6)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := KMeans(context.Background(), x, KMeansConfig{Clusters: 10}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// One sample through a trained network.
func BenchmarkPredictOne(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	dims := []int{784, 392, 160}
	const n = 500
	var train, one []View
	for _, d := range dims {
		x := make([]float32, n*d)
		for i := range x {
			x[i] = rng.Float32() + float32(i/d%10*(i%d%10))
		}
		train, one = append(train, DenseView(n, d, x)), append(one, DenseView(1, d, x[:d]))
	}
	c, err := Fit(context.Background(), train, Config{Clusters: 10, Epochs: 2})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Predict(context.Background(), one); err != nil {
			b.Fatal(err)
		}
	}
}
