package device

import (
	"math"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/adam"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/neighbor"
	"github.com/largemvc/largemvc/optim"
)

// entries are values that the optimiser moves.
type entries []float64

func (e entries) Len() int             { return len(e) }
func (e entries) At(j int) float64     { return e[j] }
func (e entries) Set(j int, x float64) { e[j] = x }

func entriesOf(p *engine.Params) []adam.Entries {
	out := []adam.Entries{entries(p.Theta), entries(p.R), entries(p.U)}
	for _, rho := range p.Rho {
		out = append(out, entries(rho))
	}
	return out
}

// fit trains a network with both terms from k-means labels and clusters its H, as the default preset does: mutual nearest
// neighbours, the first anchors, epochs of Adam, k-means. With a driver k-means and the network are on its device.
func fit(t *testing.T, p problem, drv Driver, epochs int) (start, labels []int, losses []float64) {
	t.Helper()
	n, m, x := p.spec.Samples, p.spec.Anchors, views[float32](&p)
	cluster := func(on []rows.Matrix[float32]) []int {
		var list []kmeans.View[float32]
		for _, v := range on {
			list = append(list, kmeans.View[float32]{Rows: v, Weight: 1})
		}
		src, err := kmeans.NewSource(nil, list...)
		if err != nil {
			t.Fatal(err)
		}
		cfg := kmeans.Config{Clusters: m, Starts: 4, Seed: 1}
		if drv != nil {
			cfg.Device = NewSession(drv, true)
		}
		res, err := kmeans.Run(t.Context(), src, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return res.Labels
	}
	start = cluster(x)
	p.start = nil
	for v, d := range p.spec.Dims {
		sums, anchors := make([]float64, m*d), make([]float64, m*d)
		for i, l := range start {
			kernel.AddTo(sums[l*d:(l+1)*d], p.x[v][i*d:(i+1)*d])
		}
		var polar linalg.Polar
		if err := polar.Factor(m, d, sums, anchors); err != nil {
			t.Fatal(err)
		}
		p.start = append(p.start, anchors)
	}
	o := information.TermsOptions[float32]{Graph: mutualGraph(t, &p, x), Neighbors: 1, HeldOut: 1}
	var err error
	if o.Held, err = information.NewLeaveOneOut(t.Context(), x, information.Regression{Directions: 8}); err != nil {
		t.Fatal(err)
	}
	var net *engine.Net
	if drv != nil {
		net = allOnDevice[float32](t, &p, drv)
		err = SetTerm(net, o)
	} else {
		net = inMemory[float32](t, &p)
		err = engine.SetTerm(net, func(lo, hi int) (engine.Term[float32], error) { return information.NewTerms(hi-lo, m, o) })
	}
	if err != nil {
		t.Fatal(err)
	}
	q, g := p.params, engine.NewParams(&p.spec)
	var state adam.State
	for range epochs {
		loss, err := net.Forward(t.Context(), q, true)
		if err != nil {
			t.Fatal(err)
		}
		losses = append(losses, kernel.Sum(loss)+net.TermValue())
		if err := net.Backward(t.Context(), 1, g); err != nil {
			t.Fatal(err)
		}
		if err := state.Step(optim.Options{}.WithDefaults(), entriesOf(q), entriesOf(g)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := net.Forward(t.Context(), q, false); err != nil {
		t.Fatal(err)
	}
	h := make([]float32, n*m)
	if err := engine.CopyH(net, p.spec.Layers, h, m); err != nil {
		t.Fatal(err)
	}
	if err := net.Close(); err != nil {
		t.Fatal(err)
	}
	return start, cluster([]rows.Matrix[float32]{rows.NewDense(n, m, m, h)}), losses
}

func mutualGraph(t *testing.T, p *problem, x []rows.Matrix[float32]) neighbor.Operator {
	t.Helper()
	var list []neighbor.View[float32]
	for v, d := range p.spec.Dims {
		view, err := neighbor.Dense(p.spec.Samples, d, d, kernel.Convert[float32](p.x[v]), nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, view)
	}
	near, err := neighbor.Nearest(t.Context(), list, []neighbor.Space{{Views: []int{0, 1}}}, 8, 0)
	if err != nil {
		t.Fatal(err)
	}
	g, err := neighbor.Mutual(near[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A small fit on the simulator has the labels of the fit in memory, and its losses.
func TestFit(t *testing.T) {
	problemOf := func() problem {
		p := makeProblem(t, shape(120, 4, 2, 10, 6), 0, 21)
		for l := range p.params.Theta {
			p.params.Theta[l] = 0.05
		}
		return *p
	}
	epochs := testutil.Few(6, 20)
	start, want, losses := fit(t, problemOf(), nil, epochs)
	drv := &simdevice.Sim{}
	deviceStart, got, deviceLosses := fit(t, problemOf(), drv, epochs)
	if got, want = numbered(got), numbered(want); !slices.Equal(deviceStart, start) || !slices.Equal(got, want) {
		t.Errorf("labels of the start %v and the end %v, in memory %v and %v", deviceStart, got, start, want)
	}
	for e, x := range losses {
		if math.Abs(deviceLosses[e]-x) > 1e-4*math.Abs(x) {
			t.Errorf("epoch %d: the loss is %v, in memory %v", e, deviceLosses[e], x)
		}
	}
	if !(losses[epochs-1] < losses[0]) {
		t.Errorf("losses %v do not fall", losses)
	}
	sizes := map[int]int{}
	for _, l := range want {
		sizes[l]++
	}
	if len(sizes) != 4 {
		t.Errorf("clusters of sizes %v, want 4", sizes)
	}
	if free, total, err := drv.Memory(); err != nil || free != total {
		t.Errorf("%d bytes are left on the device after Close, %v", total-free, err)
	}
}

// numbered numbers clusters by their first samples: which of them k-means finds first depends on the last bits of H.
func numbered(labels []int) []int {
	number, out := map[int]int{}, make([]int, len(labels))
	for i, l := range labels {
		if _, ok := number[l]; !ok {
			number[l] = len(number)
		}
		out[i] = number[l]
	}
	return out
}
