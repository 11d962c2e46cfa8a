package largemvc

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/optest"

	"github.com/largemvc/largemvc/internal/op"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// The three modules once more, from stock Gorgonia operations, as a user might write them. Their elementwise ops overwrite
// operands where Gorgonia lets them.

type userRepresent struct {
	env   Env
	theta gorgonia.Nodes
	r, u  *Node
}

func (s *userRepresent) Init(e Env) error {
	s.env, s.theta = e, nil
	for l := range e.Layers {
		s.theta = append(s.theta, op.NewScalar(e.G, e.Of, e.Name("theta_%d", l+1), 0.01))
	}
	s.r = op.NewMatrix(e.G, e.Of, e.Name("R"), scaledIdentity(e.Anchors, 0))
	s.u = op.NewMatrix(e.G, e.Of, e.Name("U"), scaledIdentity(e.Anchors, 1))
	return nil
}

func (s *userRepresent) Learnables() gorgonia.Nodes { return append(slices.Clone(s.theta), s.r, s.u) }
func (s *userRepresent) Project() error             { return nil }

func (s *userRepresent) Update(l int, h *Node, z []*Node) (*Node, error) {
	for v := range z {
		a := plus(mul(h, s.r), mul(z[v], s.u))
		z[v] = minus(positive(minus(a, s.theta[l-1])), positive(minus(negative(a), s.theta[l-1])))
	}
	return s.env.MeanViews(z...)
}

type userNoise struct{ rho map[[2]int]*Node }

func (n *userNoise) Init(e Env) error {
	n.rho = map[[2]int]*Node{}
	for l := range e.Layers {
		for v := range e.Views {
			n.rho[[2]int{l + 1, v}] = op.NewScalar(e.G, e.Of, e.Name("rho_%d_%d", l+1, v), 0.01)
		}
	}
	return nil
}

func (n *userNoise) Learnables() (nodes gorgonia.Nodes) {
	for l := 1; ; l++ {
		for v := 0; ; v++ {
			node, ok := n.rho[[2]int{l, v}]
			if !ok && v == 0 {
				return nodes
			}
			if !ok {
				break
			}
			nodes = append(nodes, node)
		}
	}
}

func (n *userNoise) Project() error { return nil }

func (n *userNoise) Trust(l, v int, norm *Node) (*Node, error) {
	s := must(gorgonia.HadamardDiv(positive(minus(norm, n.rho[[2]int{l, v}])), norm))
	return minus(constant(1), s), nil
}

type userAnchor struct{ Procrustes }

// Update doubles Hᵀ(X − E), which has the same polar factor, and adds nothing of the old anchors.
func (a *userAnchor) Update(l, v int, corr, prev *Node) (*Node, error) {
	corr = times(corr, constant(2))
	return a.Procrustes.Update(l, v, plus(corr, times(prev, constant(0))), prev)
}

// TestUserModules: a network of user modules has the values and gradients of the stock one, where all three are replaced
// and where one is.
func TestUserModules(t *testing.T) {
	for _, masked := range []bool{false, true} {
		c := randomNetwork(11, 25, 3, 2, []int{7, 2, 5}, ReLU, masked)
		want := c.buildRandom(t, "full", true)
		setRandom(t, 1, want.Learnables())
		grads := gradients(t, want.Loss(), want.Learnables())
		for name, net := range map[string]builtNetwork{
			"all": &Model[*userRepresent, *userNoise, *userAnchor]{
				Represent: new(userRepresent), Noise: new(userNoise), Anchor: new(userAnchor),
			},
			"represent": &Model[*userRepresent, *RowShrink, *Procrustes]{Represent: new(userRepresent)},
			"noise":     &Model[*SoftThreshold, *userNoise, *Procrustes]{Noise: new(userNoise)},
			"anchor":    &Model[*SoftThreshold, *RowShrink, *userAnchor]{Anchor: new(userAnchor)},
			"interface": &Model[Represent, Noise, Anchor]{
				Represent: new(userRepresent), Noise: new(RowShrink), Anchor: new(Procrustes),
			},
		} {
			data, err := NewData(tensor.Float64, c.views, c.present)
			if err != nil {
				t.Fatal(err)
			}
			if err := net.Build(Env{G: gorgonia.NewGraph(), Layers: c.layers}, data, c.start); err != nil {
				t.Fatal(err)
			}
			setRandom(t, 1, net.Learnables())
			got := gradients(t, net.Loss(), net.Learnables())
			if e := optest.Worst(optest.NodeValues(t, net.Loss().Value()), optest.NodeValues(t, want.Loss().Value())); e > 1e-12 {
				t.Errorf("%s, masked %t: loss differs by %.1e", name, masked, e)
			}
			if e := optest.Worst(slices.Concat(got...), slices.Concat(grads...)); e > 1e-9 {
				t.Errorf("%s, masked %t: gradients differ by %.1e", name, masked, e)
			}
			e, other := make([]float64, 25*7), make([]float64, 25*7)
			if err := errors.Join(net.ERows(2, 0, 0, 25, e), want.ERows(2, 0, 0, 25, other)); err != nil ||
				optest.Worst(e, other) > 1e-10 {
				t.Errorf("%s, masked %t: E differs by %.1e (%v)", name, masked, optest.Worst(e, other), err)
			}
		}
	}
}

// builtNetwork is a model before and after Build.
type builtNetwork interface {
	Network
	Build(Env, *Data, StartPoint) error
}

// userLoss is the loss with terms on H, P and t of all layers, from ops that overwrite their operands.
func userLoss(t *testing.T, net Network) *Node {
	t.Helper()
	cost := times(net.Loss(), constant(0.5))
	add := func(weight float64, n *Node, err error) {
		if err != nil {
			t.Fatal(err)
		}
		cost = plus(cost, times(constant(weight), must(gorgonia.Sum(square(square(n))))))
	}
	for l := 1; l <= net.Env().Layers; l++ {
		h, err := net.H(l)
		add(0.1*float64(l), h, err)
		for v := range net.Env().Views {
			p, err := net.P(l, v)
			add(0.3, p, err)
			trust, err := net.T(l, v)
			add(0.02, trust, err)
		}
	}
	return cost
}

// TestUserLoss: the gradients of a user's loss by both paths against central differences. A read-out that a user's op
// overwrites must not change the network.
func TestUserLoss(t *testing.T) {
	c := randomNetwork(12, 25, 3, 2, []int{7, 4}, ReLU, false)
	eachPath(t, func(t *testing.T, perModule bool) {
		net := c.buildRandom(t, "full", perModule)
		setRandom(t, 2, net.Learnables())
		var flat []float64
		for _, n := range net.Learnables() {
			flat = append(flat, optest.NodeValues(t, n.Value())...)
		}
		got := slices.Concat(gradients(t, userLoss(t, net), net.Learnables())...)

		other := c.buildRandom(t, "full", perModule)
		cost := userLoss(t, other)
		machine := optest.NewMachine(cost.Graph())
		defer machine.Close()
		want := fd.Gradient(nil, func(x []float64) float64 {
			for _, n := range other.Learnables() {
				optest.LetNode(t, n, x[:n.Shape().TotalSize()])
				x = x[n.Shape().TotalSize():]
			}
			machine.Reset()
			if err := machine.RunAll(); err != nil {
				t.Fatal(err)
			}
			return optest.NodeValues(t, cost.Value())[0]
		}, flat, &fd.Settings{Formula: fd.Central, Step: 1e-6})
		if e := optest.Worst(got, want); e > 1e-7 {
			t.Errorf("gradients differ from central differences by %.1e", e)
		}
	})
}

// TestSolver: Gorgonia's Adam on the tape machine lowers the loss on both paths alike, in both element types; after the
// steps the anchors are orthonormal and the thresholds in range.
func TestSolver(t *testing.T) {
	c := randomNetwork(13, 40, 3, 2, []int{8, 2}, ReLU, true)
	losses := map[string][]float64{}
	for _, of := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		eachPath(t, func(t *testing.T, perModule bool) {
			data, err := NewData(of, c.views, c.present)
			if err != nil {
				t.Fatal(err)
			}
			net := &LargeMvCNet{PerModule: perModule}
			if err := net.Build(Env{G: gorgonia.NewGraph()}, data, c.start); err != nil {
				t.Fatal(err)
			}
			losses[fmt.Sprintf("%v per module %t", of, perModule)] = trained(t, net, 30)
			for v, d := range net.Env().Dims {
				p, err := net.P(2, v)
				if err != nil {
					t.Fatal(err)
				}
				checkOrthonormal(t, mat.NewDense(3, d, optest.NodeValues(t, p.Value())))
			}
			for _, n := range append(slices.Clone(net.Represent.theta), net.Noise.Learnables()...) {
				if x := optest.NodeValues(t, n.Value())[0]; !(x >= 0) {
					t.Errorf("%s is %g after Project", n.Name(), x)
				}
			}
		})
	}
	want := losses["float64 per module true"]
	if first, last := want[0], want[len(want)-1]; !(last < 0.95*first) {
		t.Errorf("the loss goes from %g to %g", first, last)
	}
	for name, got := range losses {
		tolerance := 1e-8
		if strings.HasPrefix(name, "float32") {
			tolerance = 1e-2
		}
		if e := optest.Worst(got, want); e > tolerance {
			t.Errorf("losses of %s differ by %.1e", name, e)
		}
	}
}

// trained takes steps of Adam and returns the loss before each.
func trained(t *testing.T, net *LargeMvCNet, steps int) (losses []float64) {
	t.Helper()
	for l := 1; l <= 2; l++ {
		for v := range net.Env().Views {
			if _, err := net.P(l, v); err != nil { // asked for before the machine is made
				t.Fatal(err)
			}
		}
	}
	nodes := net.Learnables()
	if _, err := gorgonia.Grad(net.Loss(), nodes...); err != nil {
		t.Fatal(err)
	}
	machine := optest.NewMachine(net.Loss().Graph(), gorgonia.BindDualValues(nodes...))
	defer machine.Close()
	solver := gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.05))
	for range steps {
		if err := machine.RunAll(); err != nil {
			t.Fatal(err)
		}
		losses = append(losses, optest.NodeValues(t, net.Loss().Value())[0])
		if err := solver.Step(gorgonia.NodesToValueGrads(nodes)); err != nil {
			t.Fatal(err)
		}
		if err := net.Project(); err != nil {
			t.Fatal(err)
		}
		machine.Reset()
	}
	return losses
}

func checkOrthonormal(t *testing.T, p *mat.Dense) {
	t.Helper()
	m, d := p.Dims()
	var g mat.Dense
	if m <= d {
		g.Mul(p, p.T())
	} else {
		g.Mul(p.T(), p)
	}
	for i := range min(m, d) {
		g.Set(i, i, g.At(i, i)-1)
	}
	if e := floats.Norm(g.RawMatrix().Data, math.Inf(1)); e > 1e-5 {
		t.Errorf("anchors of %d×%d are orthonormal to %.1e only", m, d, e)
	}
}

// TestProject: negative thresholds become 0, unless Unconstrained; others stay.
func TestProject(t *testing.T) {
	c := randomNetwork(14, 10, 2, 1, []int{3}, ReLU, false)
	for _, free := range []bool{false, true} {
		for _, of := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			data, err := NewData(of, c.views, nil)
			if err != nil {
				t.Fatal(err)
			}
			net := &LargeMvCNet{Represent: &SoftThreshold{Unconstrained: free}, Noise: &RowShrink{Unconstrained: free}}
			if err := net.Project(); err == nil {
				t.Error("no error before Build")
			}
			if err := net.Build(Env{G: gorgonia.NewGraph()}, data, c.start); err != nil {
				t.Fatal(err)
			}
			theta, rho := net.Represent.Theta, net.Noise.Rho
			optest.LetNode(t, theta(1), []float64{-1})
			optest.LetNode(t, theta(2), []float64{0.5})
			optest.LetNode(t, rho(1, 0), []float64{0.25})
			optest.LetNode(t, rho(2, 0), []float64{-2})
			if err := net.Project(); err != nil {
				t.Fatal(err)
			}
			want := []float64{0, 0.5, 0.25, 0}
			if free {
				want = []float64{-1, 0.5, 0.25, -2}
			}
			for i, n := range []*Node{theta(1), theta(2), rho(1, 0), rho(2, 0)} {
				if got := optest.NodeValues(t, n.Value())[0]; got != want[i] {
					t.Errorf("%s is %g after Project (unconstrained %t), want %g", n.Name(), got, free, want[i])
				}
			}
			if theta(0) != nil || theta(3) != nil || rho(3, 0) != nil || rho(1, 1) != nil {
				t.Error("nodes outside the layers and views")
			}
		}
	}
}

// TestModuleDefaults: the zero modules are those of the paper, and their options reach the nodes.
func TestModuleDefaults(t *testing.T) {
	e := Env{G: gorgonia.NewGraph(), Prefix: "x", Layers: 2, Views: 2, Anchors: 2, Of: tensor.Float64}
	soft, shrink := new(SoftThreshold), new(RowShrink)
	if err := errors.Join(soft.Init(e), shrink.Init(e)); err != nil {
		t.Fatal(err)
	}
	value := func(n *Node) string { return fmt.Sprint(optest.NodeValues(t, n.Value())) }
	got := value(soft.Theta(2)) + value(soft.R()) + value(soft.U()) + value(shrink.Rho(2, 1))
	if got != "[0.01][0 0 0 0][1 0 0 1][0.01]" {
		t.Errorf("θ, R, U, ρ start at %s", got)
	}
	if len(soft.Learnables()) != 4 || len(shrink.Learnables()) != 4 {
		t.Errorf("%d and %d learnable nodes", len(soft.Learnables()), len(shrink.Learnables()))
	}
	e.G, soft.Theta0, soft.Lipschitz, shrink.Rho0 = gorgonia.NewGraph(), 0.5, 4, 2
	if err := errors.Join(soft.Init(e), shrink.Init(e)); err != nil {
		t.Fatal(err)
	}
	got = value(soft.Theta(1)) + value(soft.R()) + value(soft.U()) + value(shrink.Rho(1, 0))
	if got != "[0.5][0.75 0 0 0.75][0.25 0 0 0.25][2]" {
		t.Errorf("θ, R, U, ρ start at %s", got)
	}
}

// TestRhoScale: ρ = scale·ρ̃, in the values and in the gradient.
func TestRhoScale(t *testing.T) {
	c := randomNetwork(15, 20, 3, 2, []int{6, 4}, ReLU, false)
	data, err := NewData(tensor.Float64, c.views, nil)
	if err != nil {
		t.Fatal(err)
	}
	eachPath(t, func(t *testing.T, perModule bool) {
		var loss [2]float64
		var grad [2][]float64
		for i, noise := range []*RowShrink{{Rho0: 0.8}, {Rho0: 0.2, Scale: []float64{4, 4}}} {
			net := &LargeMvCNet{Noise: noise, PerModule: perModule}
			if err := net.Build(Env{G: gorgonia.NewGraph()}, data, c.start); err != nil {
				t.Fatal(err)
			}
			grad[i] = slices.Concat(gradients(t, net.Loss(), noise.Learnables())...)
			loss[i] = optest.NodeValues(t, net.Loss().Value())[0]
		}
		floats.Scale(4, grad[0])
		if e := optest.Worst(grad[1], grad[0]); loss[0] != loss[1] || e > 1e-12 {
			t.Errorf("loss %g and %g; gradients differ by %.1e", loss[0], loss[1], e)
		}
	})
}

func TestModuleErrors(t *testing.T) {
	e := Env{G: gorgonia.NewGraph(), Prefix: "x", Layers: 2, Views: 2, Anchors: 2, Of: tensor.Float64}
	for name, m := range map[string]Module{
		"Lipschitz below 1":  &SoftThreshold{Lipschitz: 0.5},
		"Lipschitz NaN":      &SoftThreshold{Lipschitz: math.NaN()},
		"theta NaN":          &SoftThreshold{Theta0: math.NaN()},
		"activation":         &SoftThreshold{Activation: 9},
		"rho infinite":       &RowShrink{Rho0: math.Inf(1)},
		"scales of one view": &RowShrink{Scale: []float64{1}},
		"scale zero":         &RowShrink{Scale: []float64{1, 0}},
		"shrink activation":  &RowShrink{Activation: -1},
	} {
		if err := m.Init(e); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// What float32 cannot hold is refused in that type alone.
	e.Dims, e.Samples = []int{3, 3}, 4
	large := StartPoint{Anchors: []mat.Matrix{mat.NewDense(2, 3, nil), mat.NewDense(2, 3, []float64{0, 0, 0, 0, -1e300, 0})}}
	for want, check := range map[string]func(e Env) error{
		"Represent.Theta0 is 1e+300, want at most 3.4e+38": func(e Env) error { return (&SoftThreshold{Theta0: 1e300}).Init(e) },
		"Noise.Rho0 is 1e+300, want at most 3.4e+38":       func(e Env) error { return (&RowShrink{Rho0: 1e300}).Init(e) },
		"row 1, column 1 of StartPoint.Anchors[1] is -1e+300, which float32 cannot hold": func(e Env) error {
			return large.check(e, false)
		},
	} {
		for _, of := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			e.Of, e.G = of, gorgonia.NewGraph()
			if err := check(e); of == tensor.Float64 && err != nil ||
				of == tensor.Float32 && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%v: %v, want %q", of, err, want)
			}
		}
	}
}

// TestUpdateErrors: the stock modules check what they are given, in a user's hands too.
func TestUpdateErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	e := Env{G: g, Prefix: "x", Layers: 2, Views: 1, Anchors: 2, Samples: 5, Of: tensor.Float64}
	h := optest.InputNode(g, tensor.Float64, "h", tensor.Shape{5, 2})
	wrong := optest.InputNode(g, tensor.Float64, "wrong", tensor.Shape{5})
	soft, shrink := new(SoftThreshold), new(RowShrink)
	if _, err := soft.Update(1, h, []*Node{h}); err == nil {
		t.Error("no error before Init")
	}
	if _, err := shrink.Trust(1, 0, wrong); err == nil {
		t.Error("no error before Init")
	}
	if err := errors.Join(soft.Init(e), shrink.Init(e)); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() (*Node, error){
		"layer 3":      func() (*Node, error) { return soft.Update(3, h, []*Node{h}) },
		"wrong H":      func() (*Node, error) { return soft.Update(1, wrong, []*Node{h}) },
		"nil Z":        func() (*Node, error) { return soft.Update(1, h, []*Node{nil}) },
		"two views":    func() (*Node, error) { return soft.Update(1, h, []*Node{h, h}) },
		"no view":      func() (*Node, error) { return soft.Update(1, h, nil) },
		"view 1":       func() (*Node, error) { return shrink.Trust(1, 1, wrong) },
		"wrong norms":  func() (*Node, error) { return shrink.Trust(1, 0, h) },
		"mean of nils": func() (*Node, error) { return e.MeanViews(nil) },
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestOneSided: both paths agree on the one-sided threshold, also where θ is negative; with θ ≥ 0 it makes H ≥ 0.
func TestOneSided(t *testing.T) {
	c := randomNetwork(17, 20, 3, 2, []int{6, 4}, ReLU, true)
	data, err := NewData(tensor.Float64, c.views, c.present)
	if err != nil {
		t.Fatal(err)
	}
	for _, act := range []Activation{ReLU, SELU} {
		for _, theta := range []float64{-0.4, 0.1} {
			var values [2][]float64
			for i, perModule := range []bool{true, false} {
				net := &LargeMvCNet{
					Represent: &SoftThreshold{Theta0: theta, OneSided: true, Activation: act},
					PerModule: perModule,
				}
				if err := net.Build(Env{G: gorgonia.NewGraph()}, data, c.start); err != nil {
					t.Fatal(err)
				}
				h, err := net.H(2)
				if err != nil {
					t.Fatal(err)
				}
				values[i] = slices.Concat(gradients(t, net.Loss(), net.Learnables())...)
				values[i] = append(values[i], optest.NodeValues(t, net.Loss().Value())...)
				hs := optest.NodeValues(t, h.Value())
				if theta >= 0 && act == ReLU && slices.Min(hs) < 0 {
					t.Errorf("H has the entry %g", slices.Min(hs))
				}
			}
			if e := optest.Worst(values[1], values[0]); e > 1e-9 {
				t.Errorf("%v, θ = %g: the paths differ by %.1e", act, theta, e)
			}
		}
	}
}

// brokenModule returns what its fields say.
type brokenModule struct {
	NoNoise
	h, t, p *Node
	err     error
}

func (b *brokenModule) Update(int, *Node, []*Node) (*Node, error) { return b.h, b.err }
func (b *brokenModule) Trust(int, int, *Node) (*Node, error)      { return b.t, b.err }

type brokenAnchor struct{ brokenModule }

func (b *brokenAnchor) Update(int, int, *Node, *Node) (*Node, error) { return b.p, b.err }

// TestBrokenUserModules: what a user's module returns is checked when the network is built.
func TestBrokenUserModules(t *testing.T) {
	c := randomNetwork(16, 10, 2, 1, []int{3}, ReLU, false)
	data, err := NewData(tensor.Float64, c.views, nil)
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	for name, broken := range map[string]func(wrong *Node) builtNetwork{
		"nil H": func(*Node) builtNetwork {
			return &Model[*brokenModule, *NoNoise, *Procrustes]{Represent: &brokenModule{}}
		},
		"wrong H": func(w *Node) builtNetwork {
			return &Model[*brokenModule, *NoNoise, *Procrustes]{Represent: &brokenModule{h: w}}
		},
		"wrong trust": func(w *Node) builtNetwork {
			return &Model[*SoftThreshold, *brokenModule, *Procrustes]{Noise: &brokenModule{t: w}}
		},
		"nil P": func(*Node) builtNetwork {
			return &Model[*SoftThreshold, *NoNoise, *brokenAnchor]{Anchor: &brokenAnchor{}}
		},
		"error in H": func(*Node) builtNetwork {
			return &Model[*brokenModule, *NoNoise, *Procrustes]{Represent: &brokenModule{err: boom}}
		},
		"error in trust": func(*Node) builtNetwork {
			return &Model[*SoftThreshold, *brokenModule, *Procrustes]{Noise: &brokenModule{err: boom}}
		},
		"error in P": func(*Node) builtNetwork {
			return &Model[*SoftThreshold, *NoNoise, *brokenAnchor]{Anchor: &brokenAnchor{brokenModule{err: boom}}}
		},
		"nil module":    func(*Node) builtNetwork { return &Model[*brokenModule, *NoNoise, *Procrustes]{} },
		"nil interface": func(*Node) builtNetwork { return &Model[Represent, *NoNoise, *Procrustes]{} },
	} {
		g := gorgonia.NewGraph()
		net := broken(optest.InputNode(g, tensor.Float64, "wrong", tensor.Shape{3, 7}))
		err := net.Build(Env{G: g}, data, c.start)
		if err == nil || !strings.HasPrefix(err.Error(), "largemvc: ") {
			t.Errorf("%s: error %v", name, err)
		}
		if strings.HasPrefix(name, "error") && !errors.Is(err, boom) {
			t.Errorf("%s: the module's error is lost: %v", name, err)
		}
		if net.Loss() != nil || net.Learnables() != nil {
			t.Errorf("%s: a network after an error", name)
		}
	}
	// A nil trust is E = 0.
	net := &Model[*SoftThreshold, *brokenModule, *Procrustes]{Noise: &brokenModule{}}
	if err := net.Build(Env{G: gorgonia.NewGraph(), Layers: c.layers}, data, c.start); err != nil {
		t.Fatal(err)
	}
	want := c.buildRandom(t, "nonoise", true)
	runGraph(t, net.Loss().Graph())
	runGraph(t, want.Loss().Graph())
	if got, want := optest.NodeValues(t, net.Loss().Value())[0], optest.NodeValues(t, want.Loss().Value())[0]; got != want {
		t.Errorf("loss %g with a nil trust, %g without noise", got, want)
	}
	if _, err := net.T(1, 0); err == nil {
		t.Error("a trust without noise")
	}
}
