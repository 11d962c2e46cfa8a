package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

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
			if strings.HasPrefix(test.name, "landmarks") {
				testutil.Long(t, "6,000 samples of 190 columns")
			}
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
			result, err := fitAlone(context.Background(), views, c)
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
		{1 << 60, []int{1 << 30}, Config{Clusters: 2}, "not fit in memory"},
		{10, []int{math.MaxInt, 2}, Config{Clusters: 2}, "not fit in memory"},
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
		_, err := fitAlone(t.Context(), sized(2, 2), c)
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

// stored is the memory of a configuration in each of so many ways to keep rows and state, each too little for the one before.
func stored(t *testing.T, c Config, views []View, count int) []int64 {
	t.Helper()
	c.Machine.MaxMemory = 1 << 40
	most, ways := c.Machine.MaxMemory, make([]int64, count)
	for k := range ways {
		c.Machine.MaxMemory = most
		m, err := c.EstimateMemory(views)
		if err != nil {
			t.Fatal(k, err)
		}
		ways[k] = m.Total
		most = m.Total - 1
	}
	c.Machine.MaxMemory = most
	if m, err := c.EstimateMemory(views); err == nil {
		t.Errorf("there is room for %v in %d bytes", m, most)
	}
	return ways
}

// A fit has the same bits wherever its rows and their state are kept, says where, and refuses what has no room.
func TestFitInLittleMemory(t *testing.T) {
	const n = 20_000
	_, read, _ := outside(n, 300, 250)
	complete := slices.Clone(read)
	present := make([]bool, n)
	for i := range present {
		present[i] = i%9 != 4
	}
	read[1] = read[1].WithPresent(present)
	ctx := context.Background()
	c := paper(Config{Clusters: 3, Epochs: 3, Machine: machine.Options{Workers: 1, Device: machine.CPU}})
	memory := stored(t, c, read, 3)
	if memory[0] < 4*n*(300+250) || memory[1] > memory[0]-20<<20 || memory[2] > memory[1]-5<<20 {
		t.Errorf("memory %v", memory)
	}
	// Whatever may look at the state has it kept.
	looks := c
	looks.ExtraLoss = func(Network) (*gorgonia.Node, error) { return nil, nil }
	least := stored(t, looks, read, 2)[1]
	var want *Clustering
	for k, says := range []string{
		"rows and state have room in memory", "rows are read whenever they are needed, their state has room",
		"rows are read whenever they are needed, the state of the samples is computed again in every pass",
	} {
		c.Machine.MaxMemory = memory[k]
		got := mustFit(t, read, c)
		if want == nil {
			want = got
		}
		if !strings.HasPrefix(got.Ran.Storage, says) {
			t.Errorf("%q, want %q", got.Ran.Storage, says)
		}
		if !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Loss, want.Loss) || !mat.Equal(got.H, want.H) ||
			!slices.Equal(got.Trust[1], want.Trust[1]) || !slices.Equal(got.r, want.r) {
			t.Errorf("%s: another result, loss %v, want %v", got.Ran.Storage, got.Loss, want.Loss)
		}
	}
	const again, some = "; with state that is computed again in every pass it takes ", "; Config.FitSamples trains on some of"
	const processes = "; several processes, joined by Config.Machine.Comm, hold a part of the samples each"
	for _, refused := range []struct {
		c     Config
		views []View
		most  int64
		ways  [3]bool // that are named: again, some, processes
	}{
		{c, complete, memory[2] / 2, [3]bool{true, true, true}},
		{c, read, memory[2] - 1, [3]bool{true, true, false}}, // several processes have no start for rows that are absent
		{looks, complete, least / 2, [3]bool{false, true, false}},
	} {
		refused.c.Machine.MaxMemory = refused.most
		_, err := fitAlone(ctx, refused.views, refused.c)
		if err == nil || !strings.Contains(err.Error(), "the fit takes ") {
			t.Error(err)
			continue
		}
		for k, way := range []string{again, some, processes} {
			if strings.Contains(err.Error(), way) != refused.ways[k] {
				t.Errorf("%v: names %q is %v", err, way, !refused.ways[k])
			}
		}
	}
	c.Machine.MaxMemory = -1
	if _, err := fitAlone(ctx, read, c); err == nil || !strings.Contains(err.Error(), "Machine.MaxMemory is -1") {
		t.Error(err)
	}
}

// A fit reads its rows no more often than its algebra asks for: one check, their norms, the k-means of the start, five passes an
// epoch, and the loss at the end. What is read ahead in vain, and for a few single samples, is a tenth of that at most.
func TestPassesOfAFit(t *testing.T) {
	const n, epochs = 20_000, 2
	_, read, sources := outside(n, 300, 250)
	for workers := testutil.Few(2, 1); workers <= 2; workers++ {
		for _, s := range sources {
			s.values.Store(0)
		}
		c := paper(Config{Clusters: 3, Epochs: epochs})
		c.Machine = machine.Options{Workers: workers, Device: machine.CPU}
		mustFit(t, read, c)
		const start = 4 + 1 + 1 + 1 // iterations, labels, sums of clusters, products with the first anchors
		const passes = 1 + 1 + start + 5*epochs + 3
		got := 0.0
		for _, s := range sources {
			got += float64(s.values.Load()) / n / (300 + 250)
		}
		if got > 1.1*passes+0.5 || got < passes-4 { // k-means may converge early
			t.Errorf("%d goroutines read the rows %.2f times, want %d", workers, got, passes)
		}
		t.Logf("%d goroutines: %.2f passes", workers, got)
	}
}

// With neighbours too the rows of a RowsView are held where there is room: they are read once, to the bits of rows in memory and
// of rows that are read whenever they are needed. A fit of few rows needs no more memory than that.
func TestNeighborsOfRowsInMemory(t *testing.T) {
	ctx := context.Background()
	for name, x := range map[string]struct {
		n    int
		dims []int
		c    Config
	}{
		"exact":                  {150, []int{12, 30}, Config{}},
		"more features than 150": {150, []int{12, 400}, Config{Neighborhood: Neighborhood{Directions: 20}}},
		"landmarks":              {900, []int{12, 30}, Config{Neighborhood: landmarksFor(byDefault)}},
		"float64, in place":      {150, []int{12, 30}, Config{Float64: true, Machine: machine.Options{Overwrite: true}}},
		"in place":               {150, []int{12, 30}, Config{Machine: machine.Options{Overwrite: true}}},
	} {
		memory, read, sources := outside(x.n, x.dims...)
		present := make([]bool, x.n)
		for i := range present {
			present[i] = i%9 != 4
		}
		memory[1], read[1] = memory[1].WithPresent(present), read[1].WithPresent(present)
		c := x.c
		c.Clusters, c.Epochs, c.Machine.Device, c.Machine.Workers = 3, 3, machine.CPU, 2
		want := mustFit(t, read, c) // which are read whenever they are needed
		same := func(how string, got *Clustering) {
			t.Helper()
			if !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Loss, want.Loss) ||
				!mat.Equal(got.H, want.H) ||
				!slices.Equal(got.Trust[1], want.Trust[1]) {
				t.Errorf("%s, %s: another result, loss %v, want %v", name, how, got.Loss, want.Loss)
			}
		}
		c.Machine.MaxMemory = 1 << 40
		m, err := c.EstimateMemory(read)
		if err != nil {
			t.Fatal(err)
		}
		own, err := c.EstimateMemory(memory)
		if values := int64(x.n * (x.dims[0] + x.dims[1])); err != nil || m.Total != own.Total+4*values {
			t.Errorf("%s: %v, want %d bytes more than %v, %v", name, m, 4*values, own, err)
		}
		for _, most := range []int64{1 << 40, m.Total} {
			c.Machine.MaxMemory = most
			for _, s := range sources {
				s.values.Store(0)
			}
			got := mustFit(t, read, c)
			for v, s := range sources {
				once, again := int64(x.n*x.dims[v]), int64(16*x.dims[v]) // some rows are read again, and compared
				if most := once + again; s.values.Load() < once || s.values.Load() > most {
					t.Errorf("%s: view %d is read %.2f times", name, v, float64(s.values.Load())/float64(once))
				}
			}
			if !strings.HasPrefix(got.Ran.Storage, "rows and state have room in memory") {
				t.Errorf("%s: %s", name, got.Ran.Storage)
			}
			same("held", got)
		}
		c.Machine.MaxMemory = m.Total - 1 // which is less than blocks of rows take
		if _, err := fitAlone(ctx, read, c); err == nil || !strings.Contains(err.Error(), "the fit takes "+m.String()) {
			t.Errorf("%s: %v, want %v", name, err, m)
		}
		c.Machine.MaxMemory = 1 << 40
		sources[1].bad = x.n - 7
		const reading = "largemvc: reading view 1, rows "
		if _, err := fitAlone(ctx, read, c); !errors.Is(err, errDisk) || !strings.Contains(err.Error(), reading) {
			t.Errorf("%s: %v", name, err)
		}
		sources[1].bad = 0
		sources[1].x[(x.n-3)*x.dims[1]+3] = nan32
		where := fmt.Sprintf("view 1 has NaN at row %d, column 3", x.n-3)
		if _, err := fitAlone(ctx, read, c); err == nil || !strings.Contains(err.Error(), where) {
			t.Errorf("%s: %v, want %q", name, err, where)
		}
	}
}

// A read that fails in the training leaves the last checkpoint, from which the fit goes on to the bits of one that was never
// interrupted.
func TestReadThatFailsInTraining(t *testing.T) {
	_, read, sources := outside(6000, 300, 250)
	path := t.TempDir() + "/state"
	c := paper(Config{Clusters: 3, Epochs: 6, Checkpoint: Checkpoint{Path: path, Every: 1}})
	want := mustFit(t, read, c)
	c.Progress = func(e Progress) error {
		if e.Epoch == 3 {
			sources[1].bad = 4000
		}
		return nil
	}
	ctx := context.Background()
	out, err := fitAlone(ctx, read, c)
	if !errors.Is(err, errDisk) || out != nil || !strings.Contains(err.Error(), "reading view 1, rows ") {
		t.Fatal(out, err)
	}
	sources[1].bad = 0
	got, err := Resume(ctx, read, path, nil)
	if err != nil || got.Epochs != 6 || !slices.Equal(got.Loss, want.Loss) || !mat.Equal(got.H, want.H) {
		t.Errorf("%v, loss %v, want %v", err, got.Loss, want.Loss)
	}
}

// What a fit of more than 2³² samples takes does not overflow.
func TestMemoryBeyond32Bits(t *testing.T) {
	const n = 5_000_000_000
	var views []View
	for _, d := range []int{784, 392, 160} {
		views = append(views, RowsView(&heldRows{n: n, d: d}))
	}
	c := paper(Config{Clusters: 10, Machine: machine.Options{Workers: 2, Device: machine.CPU}})
	m, err := c.EstimateMemory(views)
	if err != nil || m.State < 600*n || m.State > 800*n || m.Total < m.State || m.Total > 1000*n {
		t.Errorf("%v, %v", m, err)
	}
	c.FitSamples = 100_000
	m, err = c.EstimateMemory(views)
	if err != nil || m.Result < 72*n || m.Total > 150*n || m.State > 1<<30 {
		t.Errorf("a sample: %v, %v", m, err)
	}
}

// TestRefusalNamesWorkers wants a fit that is refused for its goroutines' memory to say so, and the one that it names to be let
// in.
func TestRefusalNamesWorkers(t *testing.T) {
	views := []View{DenseView(400, 300, make([]float32, 400*300)), DenseView(400, 200, make([]float32, 400*200))}
	c := paper(Config{Clusters: 3})
	c.Machine.Workers = 1
	alone, err := c.EstimateMemory(views)
	if err != nil {
		t.Fatal(err)
	}
	c.Machine.MaxMemory = alone.Total
	c.Machine.Workers = 16
	_, err = c.EstimateMemory(views)
	want := fmt.Sprintf("; with a single goroutine, Config.Machine.Workers 1, it takes %.1f MiB", float64(alone.Total)/(1<<20))
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("with 16: %v, want %q in it", err, want)
	}
	c.Machine.Workers = 1
	if _, err := c.EstimateMemory(views); err != nil {
		t.Errorf("alone: %v", err)
	}
	c.Machine.MaxMemory, c.Machine.Workers = 1<<10, 16
	if _, err := c.EstimateMemory(views); err == nil || strings.Contains(err.Error(), "a single goroutine") {
		t.Errorf("with room for nothing: %v", err)
	}
}
