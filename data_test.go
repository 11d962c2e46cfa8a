package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testrig/optest"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
)

func TestNewDataErrors(t *testing.T) {
	fine := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})
	with := func(x float64) mat.Matrix {
		m := mat.DenseCopyOf(fine)
		m.Set(2, 1, x)
		return m
	}
	all := [][]bool{{true, true}, {true, true}, {true, true}}
	for _, c := range []struct {
		name    string
		of      tensor.Dtype
		views   []mat.Matrix
		present [][]bool
		want    string // in the message
	}{
		{"no views", tensor.Float64, nil, nil, "no views"},
		{"nil view", tensor.Float64, []mat.Matrix{fine, nil}, nil, "view 1 is nil"},
		{"empty view", tensor.Float64, []mat.Matrix{new(mat.Dense)}, nil, "view 0 is 0×0"},
		{"different n", tensor.Float64, []mat.Matrix{fine, mat.NewDense(2, 2, nil)}, nil, "view 1 has 2 samples, view 0 has 3"},
		{"NaN", tensor.Float64, []mat.Matrix{fine, with(math.NaN())}, nil, "view 1, row 2, column 1 is NaN"},
		{"infinity", tensor.Float32, []mat.Matrix{with(math.Inf(-1))}, nil, "view 0, row 2, column 1 is -Inf"},
		{"overflow in float32", tensor.Float32, []mat.Matrix{with(1e300)}, nil, "view 0, row 2, column 1 is 1e+300"},
		{"type", tensor.Int, []mat.Matrix{fine}, nil, "int"},
		{"presence of too few samples", tensor.Float64, []mat.Matrix{fine, fine}, all[:2], "present has 2 rows for 3 samples"},
		{
			"presence of too few views", tensor.Float64, []mat.Matrix{fine, fine},
			[][]bool{{true, true}, {true}, {true, true}}, "present[1] has 1 value for 2 views",
		},
		{
			"sample without view", tensor.Float64, []mat.Matrix{fine, fine},
			[][]bool{{true, true}, {true, true}, {false, false}}, "sample 2 has no view",
		},
		{
			"view without sample", tensor.Float64, []mat.Matrix{fine, fine},
			[][]bool{{true, false}, {true, false}, {true, false}}, "no sample has view 1",
		},
	} {
		_, err := NewData(c.of, c.views, c.present)
		if err == nil || !strings.HasPrefix(err.Error(), "largemvc: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// TestNewData: absent rows may hold anything; the caller's matrices are not kept.
func TestNewData(t *testing.T) {
	x := mat.NewDense(3, 2, []float64{1, 2, math.NaN(), math.Inf(1), 5, 6})
	y := mat.NewDense(3, 1, []float64{7, 8, 9})
	present := [][]bool{{true, true}, {false, true}, {true, true}}
	data, err := NewData(tensor.Float64, []mat.Matrix{x, y}, present)
	if err != nil {
		t.Fatal(err)
	}
	x.Set(0, 0, 100)
	present[1][0] = true
	row := make([]float64, 2)
	for i, want := range [][]float64{{1, 2}, {0, 0}, {5, 6}} {
		if data.double[0].X.Row(i, row); row[0] != want[0] || row[1] != want[1] {
			t.Errorf("row %d is %v, want %v", i, row, want)
		}
	}
	if data.Samples() != 3 || data.Views() != 2 || data.Dtype() != tensor.Float64 || data.Complete() {
		t.Errorf("%d samples, %d views, %v, complete: %t", data.Samples(), data.Views(), data.Dtype(), data.Complete())
	}
	if d := data.Dims(); d[0] != 2 || d[1] != 1 {
		t.Errorf("dimensions %v", d)
	}
	if data.Present(1, 0) || !data.Present(1, 1) {
		t.Error("presence of sample 1")
	}
}

// TestEnvErrors: what Build refuses, and that it builds nothing then.
func TestEnvErrors(t *testing.T) {
	x, p := mat.NewDense(4, 3, nil), mat.NewDense(2, 3, nil)
	data, err := NewData(tensor.Float64, []mat.Matrix{x, x}, nil)
	if err != nil {
		t.Fatal(err)
	}
	nan := mat.NewDense(2, 3, nil)
	nan.Set(1, 2, math.NaN())
	used := gorgonia.NewGraph()
	gorgonia.NewScalar(used, tensor.Float64, gorgonia.WithName("a.R"))
	fine := StartPoint{Anchors: []mat.Matrix{p, p}}
	for _, c := range []struct {
		name  string
		env   Env
		data  *Data
		start StartPoint
		want  string
	}{
		{"no graph", Env{}, data, fine, "Env.G is nil"},
		{"no data", Env{G: gorgonia.NewGraph()}, nil, fine, "data are nil"},
		{"empty data", Env{G: gorgonia.NewGraph()}, new(Data), StartPoint{}, "data have no views"},
		{
			"anchors are a nil pointer", Env{G: gorgonia.NewGraph()}, data,
			StartPoint{Anchors: []mat.Matrix{(*mat.Dense)(nil), p}}, "StartPoint.Anchors[0] is nil",
		},
		{
			"H is a nil pointer", Env{G: gorgonia.NewGraph()}, data,
			StartPoint{Anchors: fine.Anchors, H: (*mat.Dense)(nil)}, "StartPoint.H is nil",
		},
		{"layers", Env{G: gorgonia.NewGraph(), Layers: -1}, data, fine, "Layers is -1"},
		{"presence", Env{G: gorgonia.NewGraph(), Present: new(Node)}, data, fine, "Present"},
		{
			"anchors of one view", Env{G: gorgonia.NewGraph()}, data, StartPoint{Anchors: []mat.Matrix{p}},
			"StartPoint.Anchors has 1 matrices, want one (m×d_v) for each of the 2 views",
		},
		{
			"nil anchors", Env{G: gorgonia.NewGraph()}, data, StartPoint{Anchors: []mat.Matrix{p, nil}},
			"StartPoint.Anchors[1] is nil",
		},
		{
			"anchors of another size", Env{G: gorgonia.NewGraph()}, data,
			StartPoint{Anchors: []mat.Matrix{p, mat.NewDense(3, 3, nil)}}, "Anchors[1] is 3×3, want 2×3",
		},
		{
			"no anchors", Env{G: gorgonia.NewGraph()}, data,
			StartPoint{Anchors: []mat.Matrix{new(mat.Dense), new(mat.Dense)}}, "StartPoint.Anchors have 0 rows",
		},
		{
			"anchors with NaN", Env{G: gorgonia.NewGraph()}, data, StartPoint{Anchors: []mat.Matrix{p, nan}},
			"row 1, column 2 of StartPoint.Anchors[1] is NaN",
		},
		{
			"H of another size", Env{G: gorgonia.NewGraph()}, data,
			StartPoint{Anchors: fine.Anchors, H: mat.NewDense(4, 3, nil)}, "StartPoint.H is 4×3, want 4×2",
		},
		{"samples", Env{G: gorgonia.NewGraph(), Samples: 5}, data, fine, "Env.Samples is 5"},
		{"views", Env{G: gorgonia.NewGraph(), Views: 1}, data, fine, "Env.Views is 1"},
		{"anchors", Env{G: gorgonia.NewGraph(), Anchors: 3}, data, fine, "Env.Anchors is 3"},
		{"dims", Env{G: gorgonia.NewGraph(), Dims: []int{3}}, data, fine, "1 entries for 2 views"},
		{"dim", Env{G: gorgonia.NewGraph(), Dims: []int{3, 4}}, data, fine, "Env.Dims[1] is 4"},
		{"type", Env{G: gorgonia.NewGraph(), Of: tensor.Float32}, data, fine, "float32"},
		{"prefix", Env{G: used, Prefix: "a"}, data, fine, `"a.R"`},
	} {
		var net LargeMvCNet
		err := net.Build(c.env, c.data, c.start)
		if err == nil || !strings.HasPrefix(err.Error(), "largemvc: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
		if net.Loss() != nil {
			t.Errorf("%s: a loss after an error", c.name)
		}
	}
	if n := len(used.AllNodes()); n != 1 {
		t.Errorf("a refused Build left %d nodes", n-1)
	}
}

// TestModelRanges: layers and views outside the network are errors, before and after Build.
func TestModelRanges(t *testing.T) {
	c := randomNetwork(31, 9, 2, 2, []int{3, 4}, ReLU, false)
	for _, perModule := range []bool{true, false} {
		net := c.buildRandom(t, "full", perModule)
		e := make([]float64, 9*4)
		for name, err := range map[string]error{
			"H layer −1":      second(net.H(-1)),
			"H layer 3":       second(net.H(3)),
			"P view 2":        second(net.P(1, 2)),
			"P view −1":       second(net.P(1, -1)),
			"T layer 0":       second(net.T(0, 0)),
			"E layer 3":       net.ERows(3, 1, 0, 9, e),
			"E rows":          net.ERows(1, 1, 0, 10, e),
			"E rows reversed": net.ERows(1, 1, 5, 4, e),
			"E room":          net.ERows(1, 1, 0, 8, e),
			"E before a run":  net.ERows(1, 1, 0, 9, e),
		} {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		for l := range 3 {
			if err := second(net.H(l)); err != nil {
				t.Error(err)
			}
			if err := second(net.P(l, 1)); err != nil {
				t.Error(err)
			}
		}
		h0, err := net.H(0)
		if err != nil {
			t.Fatal(err)
		}
		runGraph(t, net.Loss().Graph())
		if got := optest.NodeValues(t, h0.Value()); optest.Worst(got, mat.DenseCopyOf(c.start.H).RawMatrix().Data) > 0 {
			t.Errorf("H(0) is %v", got)
		}
		e[0] = 5
		if err := net.ERows(0, 1, 0, 9, e); err != nil || e[0] != 0 {
			t.Errorf("E of layer 0 is %g (%v)", e[0], err)
		}
	}
	var net AMvCNet
	if _, err := net.H(1); err == nil {
		t.Error("no error before Build")
	}
	if err := net.ERows(1, 0, 0, 0, nil); err == nil {
		t.Error("no error before Build")
	}
	if n := c.buildRandom(t, "full", true); n.ERows(1, 0, 0, 9, make([]float64, 27)) == nil {
		t.Error("no error for E before a run")
	}
}

func second(_ *Node, err error) error { return err }

// heldRows are rows in memory behind the interface of rows that are not. Reads of rows from bad on fail, if bad is positive.
type heldRows struct {
	n, d, bad int
	x         []float32
	values    atomic.Int64 // that were read
}

var errDisk = errors.New("the disk does not answer")

func (r *heldRows) Dims() (n, d int) { return r.n, r.d }

func (r *heldRows) ReadRows(_ context.Context, first int, dst []float32) error {
	if r.bad > 0 && first*r.d+len(dst) > r.bad*r.d {
		return errDisk
	}
	copy(dst, r.x[first*r.d:first*r.d+len(dst)])
	r.values.Add(int64(len(dst)))
	return nil
}

// outside returns views of three groups in memory, and the same views as rows outside it.
func outside(n int, dims ...int) (held []View, read []View, sources []*heldRows) {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	for _, d := range dims {
		x := make([]float32, n*d)
		for i := range n {
			for j := range d {
				x[i*d+j] = float32(rng.NormFloat64()) + 3*float32((i%3+j)%3)
			}
		}
		source := &heldRows{n: n, d: d, x: x}
		held, read = append(held, DenseView(n, d, x)), append(read, RowsView(source))
		sources = append(sources, source)
	}
	return held, read, sources
}

// Samples that are read get what they get from memory, in one call or block by block, with absent views too.
func TestAssignRows(t *testing.T) {
	const n = 20_000
	held, read, _ := outside(n, 7, 12)
	present := make([]bool, n)
	for i := range present {
		present[i] = i%5 != 2
	}
	held[1], read[1] = held[1].WithPresent(present), read[1].WithPresent(present)
	ctx := context.Background()
	for _, preset := range []defaults{byDefault, asPaper} {
		some := upTo(400)
		c := mustFit(t, []View{held[0].Take(some), held[1].Take(some)}, preset.of(Config{
			Clusters: 3, Epochs: 3, Neighborhood: landmarksFor(preset),
		}))
		want, err := c.Assign(ctx, held)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Assign(ctx, read)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Near, want.Near) || !slices.Equal(got.Next, want.Next) {
			t.Errorf("%v: rows that are read get other labels or distances", preset)
		}
		blocks, at := 0, 0
		err = c.AssignRows(ctx, read, func(first int, a *Assignments) error {
			if first != at || !slices.Equal(a.Labels, want.Labels[at:at+len(a.Labels)]) ||
				!slices.Equal(a.Near, want.Near[at:at+len(a.Labels)]) {
				return fmt.Errorf("the block from sample %d differs", first)
			}
			at += len(a.Labels)
			blocks++
			return nil
		})
		if err != nil || at != n || blocks < 2 {
			t.Errorf("%v: %d samples in %d blocks, %v", preset, at, blocks, err)
		}
		h, err := c.Transform(ctx, held)
		if err != nil {
			t.Fatal(err)
		}
		other, err := c.Transform(ctx, read)
		if err != nil || !mat.Equal(h, other) {
			t.Errorf("%v: another representation of rows that are read: %v, %v", preset, other, err)
		}
		far, err := c.Novelty(ctx, held)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := c.Novelty(ctx, read); err != nil || !slices.Equal(far, other) {
			t.Errorf("%v: another novelty of rows that are read, %v", preset, err)
		}
	}
}

// landmarksFor is the neighbourhood of a preset, with landmarks.
func landmarksFor(d defaults) Neighborhood {
	if d == asPaper {
		return Neighborhood{}
	}
	return Neighborhood{Exact: None}
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// What cannot be read, or has no number, is an error that says where; so is a source that is none.
func TestRowsThatCannotBeRead(t *testing.T) {
	const n = 20_000
	ctx := context.Background()
	held, read, sources := outside(n, 5, 6)
	c := mustFit(t, []View{held[0].Take(upTo(200)), held[1].Take(upTo(200))}, paper(Config{Clusters: 3, Epochs: 2}))
	sources[1].bad = 18_000
	_, err := c.Predict(ctx, []View{read[0], read[1].Named("spectra")})
	if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "reading view 1 (spectra), rows 16384 to 19999") {
		t.Error(err)
	}
	sources[1].bad = 0
	sources[0].x[17_123*5+3] = nan32
	if _, err = c.Predict(ctx, read); err == nil || !strings.Contains(err.Error(), "view 0 has NaN at row 17123, column 3") {
		t.Error(err)
	}
	sources[0].x[17_123*5+3] = 0
	stop := errors.New("enough")
	if err := c.AssignRows(ctx, read, func(int, *Assignments) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	var none *heldRows
	for want, source := range map[string]RowSource{"the source of the rows is nil": nil, "cannot be read": none} {
		if _, err := c.Predict(ctx, []View{RowsView(source), read[1]}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

var nan32 = func() float32 { zero := float32(0); return zero / zero }()

// A fit of rows outside memory has the bits of one of the same rows in memory.
func TestFitOfRowsView(t *testing.T) {
	held, read, sources := outside(3000, 40, 25)
	ctx := context.Background()
	for _, preset := range []defaults{byDefault, asPaper} {
		c := preset.of(Config{Clusters: 3, Epochs: 3, Neighborhood: landmarksFor(preset)})
		want, got := mustFit(t, held, c), mustFit(t, read, c)
		if !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Loss, want.Loss) || !mat.Equal(got.H, want.H) {
			t.Errorf("%v: another result of rows that are read: loss %v, want %v", preset, got.Loss, want.Loss)
		}
		sources[1].bad = 2000
		if out, err := fitAlone(ctx, read, c); !errors.Is(err, errDisk) || out != nil ||
			!strings.Contains(err.Error(), "largemvc: reading view 1, rows ") {
			t.Errorf("%v: %v, %v", preset, out, err)
		}
		sources[1].bad = 0
	}
}

// A fit of some samples labels all, as its predictor does, from memory and from outside it, with absent views and given labels,
// and goes on from a checkpoint to the same bits.
func TestFitSamples(t *testing.T) {
	const n, k = 20_000, 500
	held, read, sources := outside(n, 14, 9)
	present, labels := make([]bool, n), make([]int, n)
	for i := range present {
		present[i], labels[i] = i%4 != 1, i%3
	}
	held[0], read[0] = held[0].WithPresent(present), read[0].WithPresent(present)
	ctx := context.Background()
	for _, preset := range []defaults{byDefault, asPaper} {
		c := preset.of(Config{Clusters: 3, Epochs: 6, FitSamples: k, Seed: 3})
		c.Checkpoint = Checkpoint{Path: t.TempDir() + "/state", Every: 2}
		if preset == asPaper {
			c.StartLabels = labels
		}
		want := mustFit(t, held, c)
		if want.Samples() != k || len(want.Labels) != n || want.StartLabels != nil || len(want.Trust[1]) != n ||
			want.Config().FitSamples != k || preset == byDefault && want.Config().Neighborhood.Exact != None {
			t.Fatalf("%v: %v, %d labels", preset, want, len(want.Labels))
		}
		a, err := want.Assign(ctx, held)
		if err != nil || !slices.Equal(a.Labels, want.Labels) {
			t.Errorf("%v: Assign labels otherwise, %v", preset, err)
		}
		if h, err := want.Transform(ctx, held); err != nil || !mat.Equal(h, want.H) {
			t.Errorf("%v: Transform represents otherwise, %v", preset, err)
		}
		if acc, err := accuracyOf(labels, want.Labels); err != nil || acc < 0.9 {
			t.Errorf("%v: ACC %v, %v", preset, acc, err)
		}
		const begin = 17_000 // in the second block of a pass
		last := *want
		last.Trust = slices.Clone(want.Trust)
		if err := last.relabel(ctx, inner(windows(held, begin, n))); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(last.Trust[1], want.Trust[1][begin:]) {
			t.Errorf("%v: the last samples have another trust without those before them", preset)
		}
		c.Checkpoint.Path = ""
		if got := mustFit(t, read, c); !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Loss, want.Loss) ||
			!slices.Equal(got.Trust[1], want.Trust[1]) || !mat.Equal(got.H, want.H) {
			t.Errorf("%v: another result of rows that are read", preset)
		}
		c.Checkpoint.Path = t.TempDir() + "/state"
		c.Progress = func(e Progress) error {
			if e.Epoch == 3 {
				return ErrStop
			}
			return nil
		}
		mustFit(t, held, c)
		got, err := Resume(ctx, read, c.Checkpoint.Path, nil)
		if err != nil || !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Loss, want.Loss) {
			t.Errorf("%v: another result of a fit that went on, %v", preset, err)
		}
	}
	c := paper(Config{Clusters: 3, Epochs: 2, FitSamples: k, Seed: 3})
	refused := func(want string) {
		t.Helper()
		for _, views := range [][]View{held, read} {
			if _, err := fitAlone(ctx, views, c); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
	sources[1].x[12_345*9+4] = nan32 // of a sample that is not drawn
	refused("view 1 has NaN at row 12345, column 4")
	for i := 7; i < n; i += 2 {
		sources[1].x[i*9+4] = nan32
	}
	drawn := rows.Sample(rand.New(rand.NewPCG(c.Seed, streamSamples)), n, k)
	first := drawn[slices.IndexFunc(drawn, func(i int) bool { return i >= 7 && i%2 == 1 })]
	where := fmt.Sprintf("NaN at row %d, column 4", first)
	if _, err := fitAlone(ctx, read, c); err == nil || !strings.Contains(err.Error(), where) {
		t.Errorf("%v, want row %d", err, first)
	}
	c.FitSamples = -1
	if _, err := fitAlone(ctx, held, c); err == nil || !strings.Contains(err.Error(), "FitSamples is -1") {
		t.Error(err)
	}
	c.FitSamples = 2
	const want = "Clusters is 3, want 1 to the number of samples that are trained on, 2"
	if _, err := fitAlone(ctx, held, c); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	if err := c.Check(held); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

// What a fit of some samples takes grows with those, but for labels, representation and trust of all.
func TestFitSamplesMemory(t *testing.T) {
	dims := []int{400, 300}
	for _, preset := range []defaults{byDefault, asPaper} {
		c := preset.of(Config{Clusters: 10, Neighborhood: landmarksFor(preset)})
		few, err := c.EstimateMemory(sized(10_000, dims...))
		if err != nil {
			t.Fatal(err)
		}
		c.FitSamples = 10_000
		some, err := c.EstimateMemory(sized(10_000_000, dims...))
		if err != nil {
			t.Fatal(err)
		}
		perRow := int64(8 + 16*4 + 2*8)
		if preset == byDefault {
			perRow += 2 * 8
		}
		if want := few.Total + 10_000*700*4 + 10_000_000*perRow; some.Total != want {
			t.Errorf("%v: %v, want %d", preset, some.Total, want)
		}
	}
}

// stuckRows does not return from its read number at and later ones: until its context ends, or, deaf, until the test does.
type stuckRows struct {
	heldRows
	at    int64
	deaf  bool
	reads atomic.Int64
	stuck chan struct{} // gets a value for each read that does not return
	ended chan struct{}
}

func (r *stuckRows) ReadRows(ctx context.Context, first int, dst []float32) error {
	if r.reads.Add(1) < r.at {
		return r.heldRows.ReadRows(ctx, first, dst)
	}
	select {
	case r.stuck <- struct{}{}:
	default:
	}
	if r.deaf {
		ctx = context.Background()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.ended:
		return errDisk
	}
}

// A source that does not answer, in whatever phase and whether or not it looks at its context, does not keep Fit, nor what asks
// a model, from returning when their context ends.
func TestStuckSource(t *testing.T) {
	t.Parallel()
	const n = 3000
	held, _, sources := outside(n, 90, 60)
	model := mustFit(t, held, paper(Config{Clusters: 3, Epochs: 2}))
	configs := map[string]Config{
		"default": {Clusters: 3, Epochs: 3}, "paper": paper(Config{Clusters: 3, Epochs: 3}),
		"some": {Clusters: 3, Epochs: 2, FitSamples: 500},
		"recomputed": paper(Config{Clusters: 3, Epochs: 3, Machine: machine.Options{
			MaxMemory: 64 << 20, Workers: 2, Device: machine.CPU,
		}}),
	}
	calls := map[string]func(context.Context, []View) error{
		"Predict": func(ctx context.Context, x []View) error { _, err := model.Predict(ctx, x); return err },
		"Novelty": func(ctx context.Context, x []View) error { _, err := model.Novelty(ctx, x); return err },
	}
	for name, c := range configs {
		calls[name] = func(ctx context.Context, x []View) error { _, err := fitAlone(ctx, x, c); return err }
	}
	for name, call := range calls {
		views := func(at int64, deaf bool) (*stuckRows, []View) {
			r := &stuckRows{at: at, deaf: deaf, stuck: make(chan struct{}, 1), ended: make(chan struct{})}
			r.n, r.d, r.x = n, 90, sources[0].x
			return r, []View{RowsView(r), held[1]}
		}
		whole, x := views(math.MaxInt64, false)
		if err := call(t.Context(), x); err != nil {
			t.Fatal(name, err)
		}
		all := whole.reads.Load()
		for k := range int64(4) {
			for _, deaf := range []bool{true, false}[:testutil.Few(1, 2)] {
				t.Run(fmt.Sprintf("%s, read %d of %d, deaf %v", name, 1+k*(all-1)/3, all, deaf), func(t *testing.T) {
					t.Parallel()
					r, x := views(1+k*(all-1)/3, deaf)
					defer close(r.ended)
					why := errors.New("the time is up")
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					done := make(chan error, 1)
					go func() { done <- call(ctx, x) }()
					select {
					case <-r.stuck:
					case err := <-done: // fewer reads than before
						t.Skip(err)
					}
					cancel(why)
					select {
					case err := <-done:
						if !errors.Is(err, why) {
							t.Errorf("%v, want %v", err, why)
						}
					case <-time.After(time.Minute):
						t.Fatal("it has not returned")
					}
				})
			}
		}
	}
}
