package largemvc

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
)

// liveBytes is the memory in use after a collection.
func liveBytes() int64 {
	runtime.GC()
	runtime.GC() // what lies in a sync.Pool survives one
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// sized returns dense views that have sizes alone.
func sized(n int, dims ...int) []View {
	out := make([]View, len(dims))
	for v, d := range dims {
		out[v] = DenseView[float32](n, d, nil)
	}
	return out
}

func TestEstimateMemoryOfTraining(t *testing.T) {
	for _, test := range []struct {
		name    string
		n       int
		dims    []int
		config  Config
		ownData bool
	}{
		{"default", 3000, []int{80, 40}, Config{Clusters: 10}, true},
		{
			"landmarks, overwritten", 6000, []int{150, 40},
			Config{
				Clusters: 10, Neighborhood: Neighborhood{Exact: None, Directions: 60}, Machine: machine.Options{Overwrite: true},
			}, false,
		},
		{"no neighbours", 6000, []int{80, 40}, Config{Clusters: 10, Neighborhood: Neighborhood{Neighbors: None}}, true},
		{
			"float64, SELU, three layers", 3000, []int{60, 30, 8},
			Config{
				Clusters: 5, Anchors: 12, Layers: 3, Float64: true,
				Represent: &SoftThreshold{Activation: SELU}, Noise: &RowShrink{Activation: SELU},
				Neighborhood: Neighborhood{Neighbors: None},
			},
			true,
		},
		{
			"rmvc, overwritten", 6000, []int{90},
			Config{
				Clusters: 10, Noise: &NoNoise{}, Anchor: &FixedAnchors{}, Machine: machine.Options{Overwrite: true},
				Neighborhood: Neighborhood{Neighbors: None},
			},
			false,
		},
		{
			"wide and few", 300, []int{1500, 900},
			Config{Clusters: 20, Anchors: 40, ExtraLoss: nothing, Neighborhood: Neighborhood{Neighbors: None}}, true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			views := make([]View, len(test.dims))
			for v, d := range test.dims {
				if test.config.Float64 || !test.ownData {
					x := make([]float32, test.n*d)
					for i := range x {
						x[i] = float32(rng.NormFloat64())
					}
					views[v] = DenseView(test.n, d, x)
					continue
				}
				x := make([]float64, test.n*d)
				for i := range x {
					x[i] = rng.NormFloat64()
				}
				views[v] = DenseView(test.n, d, x)
			}
			c := test.config
			c.Epochs, c.KMeansStarts, c.Machine.Workers = 2, 1, 2
			before, held := liveBytes(), int64(0)
			c.Progress = func(e Progress) error {
				if e.Training() {
					held = max(held, liveBytes()-before)
				}
				return nil
			}
			result, err := Fit(context.Background(), views, c)
			if err != nil {
				t.Fatal(err)
			}
			m, err := c.EstimateMemory(sized(test.n, test.dims...))
			if err != nil {
				t.Fatal(err)
			}
			want := m.Views + m.Neighbors + m.State + m.Network
			if !test.ownData {
				want -= m.Views // the caller had them before
			}
			if ratio := float64(want) / float64(held); ratio < 0.75 || ratio > 1.25 {
				t.Errorf("training holds %d bytes, estimated %d (%.2f of it)", held, want, ratio)
			}
			if m.Total < want || m.Total < m.Start {
				t.Errorf("the total %d is below its parts", m.Total)
			}
			runtime.KeepAlive(result)
			runtime.KeepAlive(views)
		})
	}
}

// What the last comparison of clusters takes beside the network is counted: the scores of labels by neighbours and held out.
func TestEstimateMemoryOfComparison(t *testing.T) {
	const n, m = 3000, 20
	c := Config{Clusters: m}
	with, err := c.EstimateMemory(sized(n, 80, 40))
	if err != nil {
		t.Fatal(err)
	}
	c.StartLabels = make([]int, n) // which are not compared
	without, err := c.EstimateMemory(sized(n, 80, 40))
	if err != nil {
		t.Fatal(err)
	}
	views, classes := blobViews(n, m, 0.5, 21, 80, 40)
	s, err := prepareInputs[float32](context.Background(), &run{config: completed(Config{Clusters: m}, n), views: inner(views)})
	if err != nil {
		t.Fatal(err)
	}
	// A collection empties the pools of memory for products, which a fit has filled by then; the race detector empties them too.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	took := uint64(math.MaxUint64)
	for range 5 {
		took = min(took, testutil.Allocated(func() {
			near := information.NewNeighbors[float32](nil, 1, m, s.Graph, 0).LabelScore()
			told := information.NewHeldOut(1, m, s.HeldOut, 0).LabelScore()
			_, err := near(context.Background(), classes)
			if _, other := told(context.Background(), classes); err != nil || other != nil {
				t.Fatal(err, other)
			}
		}))
	}
	counted := with.State - without.State
	if ratio := float64(counted) / float64(took); ratio < 0.8 || ratio > 1.05 { // what is given back at once is not counted
		t.Errorf("the comparison takes %d bytes, %d are counted", took, counted)
	}
	if with.Total-without.Total > counted {
		t.Errorf("the total grows by %d bytes, the state by %d", with.Total-without.Total, counted)
	}
}

func TestEstimateMemoryGrows(t *testing.T) {
	base, err := Config{Clusters: 10}.EstimateMemory(sized(10000, 100, 50))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		n    int
		dims []int
		c    Config
	}{
		{"samples", 20000, []int{100, 50}, Config{Clusters: 10}},
		{"features", 10000, []int{200, 50}, Config{Clusters: 10}},
		{"views", 10000, []int{100, 50, 10}, Config{Clusters: 10}},
		{"layers", 10000, []int{100, 50}, Config{Clusters: 10, Layers: 4}},
		{"anchors", 10000, []int{100, 50}, Config{Clusters: 10, Anchors: 60}},
		{"float64", 10000, []int{100, 50}, Config{Clusters: 10, Float64: true}},
	} {
		m, err := test.c.EstimateMemory(sized(test.n, test.dims...))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if m.Total <= base.Total {
			t.Errorf("%s: %d bytes, no more than %d", test.name, m.Total, base.Total)
		}
	}
	if s := base.String(); !strings.Contains(s, "MiB") {
		t.Errorf("String is %q", s)
	}
}

func TestEstimateMemoryRefuses(t *testing.T) {
	for _, test := range []struct {
		n    int
		dims []int
		c    Config
		want string
	}{
		{10, nil, Config{Clusters: 2}, "no views"},
		{0, []int{3}, Config{Clusters: 2}, "no samples"},
		{10, []int{3, 0}, Config{Clusters: 2}, "view 1 has no features"},
		{10, []int{3}, Config{}, "Clusters is 0"},
		{10, []int{3}, Config{Clusters: 11}, "Clusters is 11"},
		{1 << 60, []int{1 << 30}, Config{Clusters: 2}, "fit no memory"},
		{10, []int{math.MaxInt, 2}, Config{Clusters: 2}, "fit no memory"},
		{1, []int{math.MaxInt, 2}, Config{Clusters: 2}, "the views have more than"},
	} {
		if _, err := test.c.EstimateMemory(sized(test.n, test.dims...)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%d samples, dims %v: error %v, want %q", test.n, test.dims, err, test.want)
		}
	}
}

// A sparse view counts by its entries, a dense one as by its size.
func TestEstimateMemoryOfViews(t *testing.T) {
	const n, d, entries = 2000, 5000, 10
	ptr, cols, values := []int{0}, []int32(nil), []float32(nil)
	for i := range n {
		for k := range entries {
			cols, values = append(cols, int32((i+k*400)%400+k*400)), append(values, 1)
		}
		ptr = append(ptr, len(cols))
	}
	sparse := SparseView(n, d, ptr, cols, values)
	for _, c := range []Config{{Clusters: 5, Neighborhood: Neighborhood{Neighbors: None}}, {Clusters: 5}} {
		dense, err := c.EstimateMemory(sized(n, d))
		if err != nil {
			t.Fatal(err)
		}
		same, err := c.EstimateMemory([]View{DenseView(n, d, make([]float32, n*d))})
		if err != nil || same != dense {
			t.Errorf("a dense view: %v, by its size %v, %v", same, dense, err)
		}
		m, err := c.EstimateMemory([]View{sparse})
		if err != nil {
			t.Fatal(err)
		}
		if c.Neighborhood.Neighbors == None && m.Views != n*(entries+1)*4 {
			t.Errorf("the sparse view takes %d bytes, want %d", m.Views, n*(entries+1)*4)
		}
		if m.Total > dense.Total {
			t.Errorf("the sparse view takes %v, dense %v", m, dense)
		}
	}
	for what, c := range map[string]Config{"Fit": {Clusters: 1}, "Check": {Clusters: 1}} {
		_, err := Fit(t.Context(), sized(2, 2), c)
		if what == "Check" {
			err = c.Check(sized(2, 2))
		}
		if err == nil || !strings.Contains(err.Error(), "view 0 has no values") {
			t.Errorf("%s of a view that has sizes alone: %v", what, err)
		}
	}
}

// A module of a user's own, and an encoder, take memory that the estimate knows.
func TestMemoryOfOwnModules(t *testing.T) {
	of := func(c Config) int64 {
		c.Clusters = 10
		m, err := c.EstimateMemory(sized(5000, 60, 40))
		if err != nil {
			t.Fatal(err)
		}
		return m.Total
	}
	paper := paper(Config{})
	own, encoded := paper, paper
	own.Noise, encoded.Represent = &cauchy{First: 1}, &linear{}
	if a, b, c := of(paper), of(own), of(encoded); b-a < 5000*10*4*2*2*10 || c-b < 5000*100*4 {
		t.Errorf("%d bytes for stock modules, %d for one of a user's own, %d for an encoder", a, b, c)
	}
}
