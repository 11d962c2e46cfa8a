package largemvc

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/internal/testrig/optest"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// goldenModel is one case of testdata/golden/model_*.npz; see the README there.
type goldenModel struct {
	name    string
	arrays  map[string]testutil.Array
	views   []mat.Matrix
	present [][]bool
	start   StartPoint
	noise   []*mat.Dense // E_v of the start, nil where it is zero
	layers  int
	act     Activation
}

// goldenModels returns some cases, all with the build tag slow.
func goldenModels(t *testing.T) []goldenModel {
	t.Helper()
	files, err := filepath.Glob("testdata/golden/model_*.npz")
	if err != nil || len(files) != 34 {
		t.Fatalf("%d golden models, want 34 (%v)", len(files), err)
	}
	var cases []goldenModel
	for i, file := range files {
		if !testutil.Slow && i%5 != 0 {
			continue
		}
		z := testutil.LoadNPZ(t, file)
		c := goldenModel{name: strings.TrimSuffix(filepath.Base(file), ".npz"), arrays: z, layers: z["L"].Ints()[0]}
		if strings.Contains(c.name, "selu") {
			c.act = SELU
		}
		c.start.H = c.matrix("H0")
		for v := range z["V"].Ints()[0] {
			c.views = append(c.views, c.matrix(fmt.Sprintf("X_%d", v)))
			c.start.Anchors = append(c.start.Anchors, c.matrix(fmt.Sprintf("P0_%d", v)))
			if e := c.matrix(fmt.Sprintf("E0_%d", v)); mat.Norm(e, 2) != 0 {
				c.noise = append(c.noise, e)
			}
		}
		if mask, ok := z["mask"]; ok {
			values := mask.Float64s()
			c.present = make([][]bool, mask.Shape[0])
			for i := range c.present {
				c.present[i] = make([]bool, mask.Shape[1])
				for v := range c.present[i] {
					c.present[i][v] = values[i*mask.Shape[1]+v] != 0
				}
			}
		}
		cases = append(cases, c)
	}
	return cases
}

func (c *goldenModel) matrix(name string) *mat.Dense {
	a, ok := c.arrays[name]
	if !ok {
		panic("no array " + name)
	}
	return mat.NewDense(a.Shape[0], a.Shape[1], a.Float64s())
}

// variants of the golden files.
var goldenVariants = []string{"full", "nonoise", "represent"}

// build makes a network of the case in a new graph, with the parameters of the case.
func (c *goldenModel) build(t *testing.T, variant string, of tensor.Dtype, r Reduction, detach, perModule bool) Network {
	t.Helper()
	data, err := NewData(of, c.views, c.present)
	if err != nil {
		t.Fatal(err)
	}
	start := c.start
	for _, e := range c.noise {
		if variant == "full" { // in the others E is 0 throughout
			start.E = append(start.E, e)
		}
	}
	soft, noise := &SoftThreshold{Activation: c.act, Unconstrained: true}, &RowShrink{Activation: c.act, Unconstrained: true}
	net := variantOf(variant, soft, noise, &Procrustes{Detach: detach}, r, perModule)
	if err := net.Build(Env{G: gorgonia.NewGraph(), Layers: c.layers}, data, start); err != nil {
		t.Fatal(err)
	}
	for _, n := range net.Learnables() {
		optest.LetNode(t, n, c.parameter(strings.TrimPrefix(n.Name(), "largemvc.")))
	}
	return net
}

// variantOf returns the model of a golden variant made of these modules.
func variantOf(
	variant string, soft *SoftThreshold, noise *RowShrink, anchor *Procrustes, r Reduction, perModule bool,
) builtModel {
	switch variant {
	case "full":
		return &LargeMvCNet{Represent: soft, Noise: noise, Anchor: anchor, Reduction: r, PerModule: perModule}
	case "nonoise":
		return &AMvCNet{Represent: soft, Anchor: anchor, Reduction: r, PerModule: perModule}
	}
	return &RMvCNet{Represent: soft, Reduction: r, PerModule: perModule}
}

// parameter returns the values of the learnable node of that name.
func (c *goldenModel) parameter(name string) []float64 {
	array, at := c.place(name)
	values := c.arrays[array].Float64s()
	if at < 0 {
		return values
	}
	return values[at : at+1]
}

// place returns the golden array of a learnable node, and the element of it or −1 for all.
func (c *goldenModel) place(node string) (array string, at int) {
	var l, v int
	switch {
	case scan(node, "theta_%d", &l):
		return "theta", l - 1
	case scan(node, "rho_%d_%d", &l, &v):
		return "rho", (l-1)*len(c.views) + v
	}
	return node, -1
}

func scan(s, format string, to ...any) bool {
	n, err := fmt.Sscanf(s, format, to...)
	return err == nil && n == len(to)
}

// gradients runs the graph of cost once and returns the derivatives of cost by the nodes, read from the symbolic gradient
// nodes: those of BindDualValues add up over runs.
func gradients(t testing.TB, cost *Node, by gorgonia.Nodes) [][]float64 {
	t.Helper()
	grads, err := gorgonia.Grad(cost, by...)
	if err != nil {
		t.Fatal(err)
	}
	read := make([]gorgonia.Value, len(grads))
	for i, g := range grads {
		gorgonia.Read(g, &read[i])
	}
	runGraph(t, cost.Graph())
	out := make([][]float64, len(grads))
	for i, v := range read {
		out[i] = optest.NodeValues(t, v)
	}
	return out
}

// runGraph runs a graph once.
func runGraph(t testing.TB, g *gorgonia.ExprGraph) {
	t.Helper()
	machine := optest.NewMachine(g)
	defer machine.Close()
	if err := machine.RunAll(); err != nil {
		t.Fatal(err)
	}
}

// compare checks an array against the golden one.
func (c *goldenModel) compare(t *testing.T, what string, got []float64, tolerance float64) {
	t.Helper()
	a, ok := c.arrays[what]
	if !ok {
		t.Fatalf("no golden array %s", what)
	}
	if e := optest.Worst(got, a.Float64s()); !(e <= tolerance) {
		t.Errorf("%s differs by %.1e", what, e)
	}
}

// compareGradients checks the gradients of the network's loss against the golden ones of that prefix.
func (c *goldenModel) compareGradients(
	t *testing.T, prefix string, nodes gorgonia.Nodes, got [][]float64, tolerance float64,
) {
	t.Helper()
	whole := map[string][]float64{}
	for i, n := range nodes {
		array, at := c.place(strings.TrimPrefix(n.Name(), "largemvc."))
		if at < 0 {
			whole[array] = got[i]
			continue
		}
		if whole[array] == nil {
			whole[array] = make([]float64, c.arrays[array].Len())
		}
		whole[array][at] = got[i][0]
	}
	for array, g := range whole {
		c.compare(t, prefix+"_d"+array, g, tolerance)
	}
}

// eachPath runs f for the per-module ops and for the fused passes.
func eachPath(t *testing.T, f func(t *testing.T, perModule bool)) {
	for name, perModule := range map[string]bool{"modules": true, "fused": false} {
		t.Run(name, func(t *testing.T) { f(t, perModule) })
	}
}

// goldenTolerance is relative to the largest entry of an array.
const goldenTolerance = 1e-10

// TestGoldenModels compares values, loss and gradients of every case in float64.
func TestGoldenModels(t *testing.T) {
	for _, c := range goldenModels(t) {
		for _, variant := range goldenVariants {
			t.Run(c.name+"/"+variant, func(t *testing.T) {
				eachPath(t, func(t *testing.T, perModule bool) { c.check(t, variant, perModule) })
			})
		}
	}
}

func (c *goldenModel) check(t *testing.T, variant string, perModule bool) {
	for _, detach := range []bool{false, true} {
		if variant == "represent" && detach { // nothing to detach
			continue
		}
		net := c.build(t, variant, tensor.Float64, ReductionMean, detach, perModule)
		read := c.readOuts(t, net, variant)
		got := gradients(t, net.Loss(), net.Learnables())
		prefix := variant + "_mean"
		c.compare(t, prefix+"_loss", optest.NodeValues(t, net.Loss().Value()), goldenTolerance)
		if detach {
			prefix += "_detach"
		}
		c.compareGradients(t, prefix, net.Learnables(), got, goldenTolerance)
		for _, n := range read {
			c.compare(t, n.golden, optest.NodeValues(t, n.node.Value()), goldenTolerance)
		}
		c.checkNoise(t, net, variant)
	}
}

// readOut is a node and the name of its golden array.
type readOut struct {
	golden string
	node   *Node
}

// readOuts asks for H and P of every layer.
func (c *goldenModel) readOuts(t *testing.T, net Network, variant string) (nodes []readOut) {
	t.Helper()
	for l := 1; l <= c.layers; l++ {
		h, err := net.H(l)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, readOut{fmt.Sprintf("%s_H_%d", variant, l), h})
		for v := range c.views {
			p, err := net.P(l, v)
			if err != nil {
				t.Fatal(err)
			}
			golden := fmt.Sprintf("%s_P_%d_%d", variant, l, v)
			if variant == "represent" { // the anchors of the start
				golden = fmt.Sprintf("P0_%d", v)
			}
			nodes = append(nodes, readOut{golden, p})
		}
	}
	return nodes
}

// checkNoise compares the rows of E that are present; the golden files have no meaning in the others.
func (c *goldenModel) checkNoise(t *testing.T, net Network, variant string) {
	t.Helper()
	for l := 1; l <= c.layers; l++ {
		for v, x := range c.views {
			n, d := x.Dims()
			e := make([]float64, n*d)
			if err := net.ERows(l, v, 0, n, e); err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("%s_E_%d_%d", variant, l, v)
			want := make([]float64, n*d)
			if a, ok := c.arrays[name]; ok {
				want = a.Float64s()
			} else if variant == "full" {
				t.Fatalf("no golden array %s", name)
			}
			for i := range n {
				if c.present != nil && !c.present[i][v] {
					clear(want[i*d : (i+1)*d])
				}
			}
			if diff := optest.Worst(e, want); diff > goldenTolerance {
				t.Errorf("%s differs by %.1e", name, diff)
			}
			part := make([]float64, d)
			if err := net.ERows(l, v, n/2, n/2+1, part); err != nil || optest.Worst(part, e[n/2*d:(n/2+1)*d]) > 0 {
				t.Errorf("row %d of %s alone differs (%v)", n/2, name, err)
			}
		}
	}
}

// TestTwoNetworks: two networks in one graph, of different prefixes, do not get into each other's way; a third of a used
// prefix is refused.
func TestTwoNetworks(t *testing.T) {
	c := randomNetwork(41, 20, 3, 2, []int{5, 4}, ReLU, false)
	data, err := NewData(tensor.Float64, c.views, nil)
	if err != nil {
		t.Fatal(err)
	}
	eachPath(t, func(t *testing.T, perModule bool) {
		alone := &LargeMvCNet{PerModule: perModule}
		if err := alone.Build(Env{G: gorgonia.NewGraph()}, data, c.start); err != nil {
			t.Fatal(err)
		}
		want := gradients(t, alone.Loss(), alone.Learnables())
		g := gorgonia.NewGraph()
		a, b := &LargeMvCNet{PerModule: perModule}, &LargeMvCNet{PerModule: !perModule}
		for prefix, net := range map[string]*LargeMvCNet{"a": a, "b": b} {
			if err := net.Build(Env{G: g, Prefix: prefix}, data, c.start); err != nil {
				t.Fatal(err)
			}
		}
		both := gradients(t, plus(a.Loss(), b.Loss()), append(a.Learnables(), b.Learnables()...))
		for i, w := range want {
			for j, got := range [][]float64{both[i], both[i+len(want)]} {
				if e := optest.Worst(got, w); e > 1e-9 {
					t.Errorf("gradient by %s of network %d differs by %.1e", a.Learnables()[i].Name(), j, e)
				}
			}
		}
		if err := new(AMvCNet).Build(Env{G: g, Prefix: "a"}, data, c.start); err == nil {
			t.Error("no error for a used prefix")
		}
	})
}

// TestWorkers: the bits of loss and gradients do not depend on the number of goroutines.
func TestWorkers(t *testing.T) {
	c := randomNetwork(42, 1500, 4, 2, []int{9, 3}, ReLU, true)
	for _, of := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		data, err := NewData(of, c.views, c.present)
		if err != nil {
			t.Fatal(err)
		}
		eachPath(t, func(t *testing.T, perModule bool) {
			var want []float64
			for _, workers := range []int{1, 2, 7} {
				net := &LargeMvCNet{PerModule: perModule}
				if err := net.Build(Env{G: gorgonia.NewGraph(), Workers: workers}, data, c.start); err != nil {
					t.Fatal(err)
				}
				got := slices.Concat(gradients(t, net.Loss(), net.Learnables())...)
				got = append(got, optest.NodeValues(t, net.Loss().Value())...)
				if want == nil {
					want = got
				}
				if !slices.Equal(got, want) {
					t.Errorf("%v: other bits with %d workers", of, workers)
				}
			}
		})
	}
}

// TestFloat32 compares loss, H and gradients with those in float64 on well-conditioned networks of every variant.
func TestFloat32(t *testing.T) {
	for _, variant := range goldenVariants {
		c := randomNetwork(43, 300, 4, 2, []int{30, 8, 3}, ReLU, true)
		eachPath(t, func(t *testing.T, perModule bool) {
			var loss [2]float64
			var h, grads [2][]float64
			for i, of := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
				data, err := NewData(of, c.views, c.present)
				if err != nil {
					t.Fatal(err)
				}
				net := variantOf(variant, nil, &RowShrink{Rho0: 2}, nil, ReductionMean, perModule)
				if err := net.Build(Env{G: gorgonia.NewGraph()}, data, c.start); err != nil {
					t.Fatal(err)
				}
				node, err := net.H(2)
				if err != nil {
					t.Fatal(err)
				}
				grads[i] = slices.Concat(gradients(t, net.Loss(), net.Learnables())...)
				loss[i], h[i] = optest.NodeValues(t, net.Loss().Value())[0], optest.NodeValues(t, node.Value())
			}
			if e := math.Abs(loss[1]-loss[0]) / loss[0]; e > 1e-5 {
				t.Errorf("%s: loss differs by %.1e", variant, e)
			}
			if e := optest.Worst(h[1], h[0]); e > 1e-4 {
				t.Errorf("%s: H differs by %.1e", variant, e)
			}
			if e := optest.Worst(grads[1], grads[0]); e > 1e-3 {
				t.Errorf("%s: gradients differ by %.1e", variant, e)
			}
		})
	}
}

// TestRunAgain: a graph that runs twice gives the same, and its inputs are as they were.
func TestRunAgain(t *testing.T) {
	c := randomNetwork(44, 30, 3, 2, []int{6, 2}, SELU, true)
	eachPath(t, func(t *testing.T, perModule bool) {
		net := c.buildRandom(t, "full", perModule)
		before := make([][]float64, len(net.Learnables()))
		for i, n := range net.Learnables() {
			before[i] = optest.NodeValues(t, n.Value())
		}
		grads, err := gorgonia.Grad(net.Loss(), net.Learnables()...)
		if err != nil {
			t.Fatal(err)
		}
		machine := optest.NewMachine(net.Loss().Graph())
		defer machine.Close()
		var first []float64
		for range 3 {
			if err := machine.RunAll(); err != nil {
				t.Fatal(err)
			}
			got := optest.NodeValues(t, net.Loss().Value())
			for _, g := range grads {
				got = append(got, optest.NodeValues(t, g.Value())...)
			}
			if first == nil {
				first = got
			}
			if !slices.Equal(got, first) {
				t.Error("another run has other results")
			}
			machine.Reset()
		}
		for i, n := range net.Learnables() {
			if !slices.Equal(optest.NodeValues(t, n.Value()), before[i]) {
				t.Errorf("%s changed", n.Name())
			}
		}
	})
}

// Machine.PerModule trains the stock modules as ops of their own, with the losses and labels of the one op for all.
func TestPerModule(t *testing.T) {
	views, _ := blobViews(60, 3, 0.8, 307, 7, 5, 4)
	masked, err := testutil.Masked(views, absent(60, 3, 0.3, 30))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Config{
		"default": {}, "paper": paper(Config{}), "SELU": {Represent: &SoftThreshold{Activation: SELU}, Reduction: ReductionMean},
		"AMvC": paper(Config{Noise: &NoNoise{}}), "RMvC": paper(Config{Noise: &NoNoise{}, Anchor: &FixedAnchors{}}),
	} {
		for i, x := range [][]View{views, masked} {
			if leftOut(i, 2) && name != "default" {
				continue
			}
			c.Clusters, c.Epochs, c.Float64, c.Machine.PerModule = 3, 12, true, false
			want := mustFit(t, x, c)
			drawn := ""
			c.Machine.PerModule, c.Progress = true, nil
			got := mustFit(t, x, c)
			if worst := optest.Worst(got.Loss, want.Loss); worst > 1e-12 || !slices.Equal(got.Labels, want.Labels) {
				t.Errorf("%s: losses %v, want %v; labels %v, want %v", name, got.Loss, want.Loss, got.Labels, want.Labels)
			}
			if worst := optest.Worst(got.R().RawMatrix().Data, want.R().RawMatrix().Data); worst > 1e-12 {
				t.Errorf("%s: R differs by %g", name, worst)
			}
			read, err := decodePredictor(bytes.NewReader(encode(t, got.Predictor)), nil)
			if err != nil {
				t.Fatal(err)
			}
			samePredictor(t, got.Predictor, read)
			checkPredict(t, x, got)
			c.ExtraLoss = func(net Network) (*gorgonia.Node, error) {
				drawn = net.(*Model[Represent, Noise, Anchor]).Dot()
				return gorgonia.Square(net.Learnables()[0])
			}
			mustFit(t, x, c)
			if c.ExtraLoss = nil; strings.Contains(drawn, "Procrustes") != (name != "RMvC") || strings.Contains(drawn, "fused") {
				t.Errorf("%s: trained %s", name, drawn)
			}
		}
	}
}

// A fit from a given start has the same losses and H with the modules' ops and, but for rounding, in float32; on ranks, and with
// rows that are read, to the bit. It goes on from a checkpoint if it gets the same start.
func TestFitFromStartAllWays(t *testing.T) {
	const n = 2500
	g, views, c := freeStart(n, 6, 4)
	want := mustFit(t, views, c)
	if change := want.Loss[0] - last(want.Loss); change < 1e-6 {
		t.Fatalf("the loss fell by %v", change)
	}
	modules, single := c, c
	modules.Machine.PerModule, single.Float64 = true, false
	for name, x := range map[string]struct {
		c         Config
		tolerance float64
	}{"modules": {modules, 1e-12}, "float32": {single, 1e-4}} {
		got := mustFit(t, views, x.c)
		if e := optest.Worst(got.Loss, want.Loss); e > x.tolerance || !mat.EqualApprox(got.H, want.H, 10*x.tolerance) {
			var d mat.Dense
			d.Sub(got.H, want.H)
			t.Errorf("%s: losses differ by %.1e, H by %.1e", name, e, mat.Max(&d)-mat.Min(&d))
		}
	}
	read := slices.Clone(views)
	for v, x := range views {
		values := toFloat32(mat.DenseCopyOf(g.views[v]).RawMatrix().Data)
		read[v] = RowsView(&heldRows{n: n, d: x.in.Cols, x: values}).WithPresent(x.in.Present)
	}
	if got := mustFit(t, read, c); !slices.Equal(got.Loss, want.Loss) || !mat.Equal(got.H, want.H) {
		t.Error("other losses or H of rows that are read")
	}
	parts := make([]*Clustering, 2)
	var ranks sync.WaitGroup
	for r, world := range comm.Local(2) {
		lo, hi, own := 1024*r, []int{1024, n}[r], c
		own.Machine.Comm, own.Start.H, own.Start.E = world, rowsOf(c.Start.H, lo, hi), nil
		var rows []View
		for v, x := range views {
			rows = append(rows, MatrixView(rowsOf(g.views[v], lo, hi)).WithPresent(x.in.Present[lo:hi]))
			own.Start.E = append(own.Start.E, rowsOf(c.Start.E[v], lo, hi))
		}
		ranks.Go(func() {
			var err error
			if parts[r], err = fitAlone(context.Background(), rows, own); err != nil {
				t.Error(err)
			}
		})
	}
	if ranks.Wait(); !t.Failed() {
		for r, part := range parts {
			h := rowsOf(want.H, 1024*r, []int{1024, n}[r])
			if !slices.Equal(part.Loss, want.Loss) || !mat.Equal(part.H, h) {
				t.Errorf("rank %d: other losses or H", r)
			}
		}
	}
	path := killed(t, views, c, 0, 2)
	sameResult(t, want, mustResume(t, views, path, func(r *Config) { r.Start.H, r.Start.E = c.Start.H, c.Start.E }))
	for name, change := range map[string]func(*Config){
		"nothing": nil, "H alone": func(r *Config) { r.Start.H = c.Start.H },
		"another H": func(r *Config) { r.Start.H, r.Start.E = mat.NewDense(n, 3, nil), c.Start.E },
	} {
		if _, err := Resume(context.Background(), views, path, change); err == nil ||
			!strings.Contains(err.Error(), "the training had another Start.H or Start.E") {
			t.Errorf("resumed with %s: %v", name, err)
		}
	}
}

// rowsOf are the rows [lo, hi) of a matrix.
func rowsOf(x mat.Matrix, lo, hi int) mat.Matrix {
	_, d := x.Dims()
	return mat.DenseCopyOf(x).Slice(lo, hi, 0, d)
}
