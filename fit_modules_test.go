package largemvc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
)

// The stock modules under other types, which Fit takes for a user's own.
type (
	ownSoft       struct{ SoftThreshold }
	ownShrink     struct{ RowShrink }
	ownProcrustes struct{ Procrustes }
)

// cauchy trusts a sample with the residual norm r by w²/(w² + r²), with a learnable w for each view.
type cauchy struct {
	First float64
	width gorgonia.Nodes
	names []string // of the nodes, if not the usual ones
}

func (c *cauchy) Init(e Env) error {
	c.width = nil
	for v := range e.Views {
		var first any = c.First
		if e.Of == tensor.Float32 {
			first = float32(c.First)
		}
		name := e.Name("width_%d", v)
		if c.names != nil {
			name = c.names[v]
		}
		c.width = append(c.width, gorgonia.NewScalar(e.G, e.Of, gorgonia.WithName(name), gorgonia.WithValue(first)))
	}
	return nil
}
func (c *cauchy) Learnables() gorgonia.Nodes { return c.width }
func (c *cauchy) Project() error             { return nil }
func (c *cauchy) Trust(_, v int, norm *gorgonia.Node) (*gorgonia.Node, error) {
	square, err := gorgonia.Square(norm)
	if err != nil {
		return nil, err
	}
	w, err := gorgonia.Square(c.width[v])
	if err != nil {
		return nil, err
	}
	sum, err := gorgonia.Add(square, w)
	if err != nil {
		return nil, err
	}
	return gorgonia.HadamardDiv(w, sum)
}

// Modules of other types that do the same as the stock ones give the same fit, to rounding, whatever the preset, and label the
// training samples as Fit does.
func TestOwnModulesLikeStock(t *testing.T) {
	t.Parallel()
	plain, _ := blobViews(60, 3, 0.7, 301, 9, 6)
	masked, err := testutil.Masked(plain, absent(60, 2, 0.2, 302))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		views  []View
		config Config
	}{
		"default":         {plain, Config{}},
		"default, masked": {masked, Config{Neighborhood: Neighborhood{Directions: 4}}},
		"landmarks":       {plain, Config{Neighborhood: Neighborhood{Exact: None, Weight: 1}}},
		"paper":           {plain, paper(Config{})},
		"paper, masked":   {masked, paper(Config{Layers: 3, Anchors: 5})},
		"few samples":     {lowRankViews(7), paper(Config{})},
		"mean":            {plain, Config{Neighborhood: Neighborhood{Neighbors: None}, Reduction: ReductionMean}},
		"untrained":       {plain, Config{Epochs: None}},
	} {
		for _, double := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, float64 %v", name, double), func(t *testing.T) {
				c := test.config
				c.Clusters, c.Float64 = 3, double
				if c.Epochs == 0 {
					c.Epochs = 12
				}
				want := mustFit(t, test.views, c)
				free := strings.HasPrefix(name, "paper") || name == "few samples"
				c.Represent, c.Noise = &ownSoft{SoftThreshold{Unconstrained: free}}, &ownShrink{RowShrink{Unconstrained: free}}
				c.Anchor = &ownProcrustes{}
				tolerance := 1e-9
				if !double {
					tolerance = 2e-4
				}
				for _, which := range []string{"all", "Represent", "Noise", "Anchor"} {
					if !testutil.Slow && which != "all" && (!double || name != "default" && name != "paper, masked") {
						continue
					}
					own := c
					if which != "all" {
						own = test.config
						own.Clusters, own.Float64, own.Epochs = 3, double, c.Epochs
						reflect.ValueOf(&own).Elem().FieldByName(which).Set(reflect.ValueOf(c).FieldByName(which))
					}
					got := mustFit(t, test.views, own)
					if len(got.Loss) != len(want.Loss) {
						t.Fatalf("%s: %d losses, want %d", which, len(got.Loss), len(want.Loss))
					}
					for i, x := range got.Loss {
						if math.Abs(x-want.Loss[i]) > tolerance*math.Max(1, math.Abs(want.Loss[i])) {
							t.Fatalf("%s: loss %d is %v, want %v", which, i, x, want.Loss[i])
						}
						for v, part := range got.ViewLoss[i] {
							if math.Abs(part-want.ViewLoss[i][v]) > tolerance*math.Max(1, math.Abs(part)) {
								t.Fatalf("%s: loss %d of view %d is %v, want %v", which, i, v, part, want.ViewLoss[i][v])
							}
						}
					}
					if !slices.Equal(got.Labels, want.Labels) {
						t.Errorf("%s: labels %v, want %v", which, got.Labels, want.Labels)
					}
					checkPredict(t, test.views, got)
					for v := range got.Trust {
						for i, x := range got.Trust[v] {
							if test.views[got.Inputs()[v].View].Has(i) && math.Abs(x-want.Trust[v][i]) > 100*tolerance {
								t.Fatalf("%s: trust %d of view %d is %v, want %v", which, i, v, x, want.Trust[v][i])
							}
						}
					}
					for _, name := range want.Parameters() {
						a, _, err := want.Parameter(name)
						if err != nil {
							t.Fatal(err)
						}
						b, _, err := got.Parameter(name)
						if err != nil {
							t.Fatal(err)
						}
						for j := range a {
							if math.Abs(a[j]-b[j]) > 1e4*tolerance {
								t.Fatalf("%s: %s[%d] is %v, want %v", which, name, j, b[j], a[j])
							}
						}
					}
				}
			})
		}
	}
}

// A model with a user's module is saved and loaded: it predicts the same bits, and the module that is given has the values.
func TestOwnModulesInFiles(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(50, 3, 0.7, 303, 9, 6)
	given := &cauchy{First: 5}
	c := Config{Clusters: 3, Epochs: 6, Noise: given, Float64: true}
	for name, c := range map[string]Config{
		"noise": c, "all": paper(Config{
			Clusters: 3, Epochs: 6, Represent: &ownSoft{SoftThreshold{Activation: SELU}},
			Noise: &cauchy{First: 2}, Anchor: &ownProcrustes{Procrustes{Detach: true}}, Layers: 3,
		}),
	} {
		fit := mustFit(t, views, c)
		var empty []Module
		for i, m := range c.modules() {
			if !stock(m) && m != nil {
				empty = append(empty, reflect.New(reflect.TypeOf(m).Elem()).Interface().(Module))
				if s, ok := empty[len(empty)-1].(*ownSoft); ok {
					s.Activation = SELU
				}
				if p, ok := empty[len(empty)-1].(*ownProcrustes); ok {
					p.Detach = true
				}
				_ = i
			}
		}
		path := filepath.Join(t.TempDir(), "model")
		if err := fit.Save(path); err != nil {
			t.Fatal(name, err)
		}
		p, err := Load(path, empty...)
		if err != nil {
			t.Fatal(name, err)
		}
		a, err := p.Assign(context.Background(), views)
		if err != nil {
			t.Fatal(name, err)
		}
		b, err := fit.Assign(context.Background(), views)
		if err != nil {
			t.Fatal(name, err)
		}
		if !reflect.DeepEqual(a, b) || !slices.Equal(a.Labels, fit.Labels) {
			t.Errorf("%s: the loaded model predicts otherwise", name)
		}
		if !bytes.Equal(encode(t, p), encode(t, fit.Predictor)) {
			t.Errorf("%s: the loaded model is saved otherwise", name)
		}
		for _, m := range empty {
			if own, ok := m.(*cauchy); ok {
				width, _, err := fit.Parameter("width_0")
				if err != nil || len(own.width) == 0 || float64s(own.width[0])[0] != width[0] || width[0] == 5 || width[0] == 2 {
					t.Errorf("%s: the module that was given has %v, want %v, %v", name, own.width, width, err)
				}
			}
		}
	}
	if given.width != nil {
		t.Error("Fit changed the caller's module")
	}
	// What is wrong with the modules that are given is said by their types and names.
	fit := mustFit(t, views, c)
	file := encode(t, fit.Predictor)
	for want, modules := range map[string][]Module{
		"its module Noise is a *github.com/largemvc/largemvc.cauchy": nil,
		"*largemvc.ownProcrustes is given":                           {&cauchy{}, &ownProcrustes{}},
		"*largemvc.cauchy is given":                                  {&cauchy{}, &cauchy{}},
		"is a *github.com/largemvc/largemvc.cauchy:":                 {&ownShrink{}},
		`makes a learnable node "other"`:                             {&cauchy{names: []string{"other", "b", "c", "d"}}},
		"makes 1 learnable nodes, the trained one has 4":             {&shrinking{}},
		"the shape [2], in the trained one it has []":                {&shrinking{shapes: true}},
	} {
		if len(modules) == 1 {
			if s, ok := modules[0].(*shrinking); ok {
				own := mustFit(t, views, Config{Clusters: 3, Epochs: 1, Noise: &shrinking{nodes: 4}})
				if s.shapes {
					s.nodes = 4
				} else {
					s.nodes = 1
				}
				if _, err := ReadPredictor(bytes.NewReader(encode(t, own.Predictor)), s); err == nil ||
					!strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
				continue
			}
		}
		if _, err := ReadPredictor(bytes.NewReader(file), modules...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	plain := mustFit(t, views, Config{Clusters: 3, Epochs: 1})
	if _, err := ReadPredictor(bytes.NewReader(encode(t, plain.Predictor)), &cauchy{}); err == nil {
		t.Error("a module is given to a model without modules of a user's own")
	}
}

// shrinking is a noise module without effect, with some learnable nodes.
type shrinking struct {
	nodes  int
	shapes bool // of two entries
	learn  gorgonia.Nodes
}

func (s *shrinking) Init(e Env) error {
	s.learn = nil
	for k := range s.nodes {
		if s.shapes {
			s.learn = append(s.learn, gorgonia.NewVector(e.G, e.Of, gorgonia.WithName(e.Name("n%d", k)),
				gorgonia.WithShape(2), gorgonia.WithInit(gorgonia.Zeroes())))
			continue
		}
		s.learn = append(s.learn, gorgonia.NewScalar(e.G, e.Of, gorgonia.WithName(e.Name("n%d", k)),
			gorgonia.WithValue(float32(k))))
	}
	return nil
}
func (s *shrinking) Learnables() gorgonia.Nodes                             { return s.learn }
func (s *shrinking) Project() error                                         { return nil }
func (s *shrinking) Trust(int, int, *gorgonia.Node) (*gorgonia.Node, error) { return nil, nil }

// A training with a user's module goes on from a checkpoint to the same bits, with restarts too; another module is refused.
func TestOwnModulesResume(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(40, 3, 0.7, 304, 7, 5)
	c := Config{
		Clusters: 3, Epochs: 8, Restarts: 2, Noise: &cauchy{First: 3}, Anchor: &ownProcrustes{}, Checkpoint: Checkpoint{Every: 2},
	}
	want := mustFit(t, views, c)
	for _, at := range [][2]int{{0, 5}, {1, 5}} {
		path := killed(t, views, c, at[0], at[1])
		got := mustResume(t, views, path, func(c *Config) { c.Noise, c.Anchor = &cauchy{First: 3}, &ownProcrustes{} })
		sameResult(t, got, want)
	}
	path := killed(t, views, c, 1, 5)
	for want, change := range map[string]func(*Config){
		"Noise is a *github.com/largemvc/largemvc.cauchy":    nil,
		"Anchor is a *github.com/largemvc/largemvc.ownProcr": func(c *Config) { c.Noise = &cauchy{} },
		"Noise was *github.com/largemvc/largemvc.cauchy and": func(c *Config) {
			c.Noise, c.Anchor = &RowShrink{}, &ownProcrustes{}
		},
		"Represent was SoftThreshold and is *github": func(c *Config) {
			c.Noise, c.Anchor, c.Represent = &cauchy{}, &ownProcrustes{}, &ownSoft{}
		},
		`make the learnable nodes ["theta_1" "theta_2" "R" "U" "a"`: func(c *Config) {
			c.Noise, c.Anchor = &cauchy{names: []string{"a", "b", "c", "d"}}, &ownProcrustes{}
		},
	} {
		if _, err := Resume(context.Background(), views, path, change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// trainedAlone is a RowShrink that can be initialised for a number of samples alone.
type trainedAlone struct {
	RowShrink
	samples int // 0: any
}

func (s *trainedAlone) Init(e Env) error {
	if s.samples != 0 && e.Samples != s.samples {
		return fmt.Errorf("not for %d samples", e.Samples)
	}
	return s.RowShrink.Init(e)
}

// Modules that take no new samples give the same fit, whose H and trust are those of the last layer in training, and what needs
// them says so.
func TestModulesThatTakeNoNewSamples(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(60, 3, 0.7, 301, 9, 6)
	c := paper(Config{Clusters: 3, Anchors: 5, Epochs: 4, Float64: true, Noise: &trainedAlone{}})
	want := mustFit(t, views, c)
	c.Noise = &trainedAlone{samples: 60}
	got := mustFit(t, views, c)
	if !mat.EqualApprox(got.H, want.H, 1e-9) || !slices.Equal(got.Labels, want.Labels) {
		t.Error("another representation, or other labels")
	}
	if len(got.Trust) != 2 {
		t.Fatalf("the trust of %d inputs", len(got.Trust))
	}
	for v, trust := range got.Trust {
		for i, x := range trust {
			if math.Abs(x-want.Trust[v][i]) > 1e-9 {
				t.Fatalf("view %d of sample %d has the trust %v, want %v", v, i, x, want.Trust[v][i])
			}
		}
	}
	_, predicting := got.Predict(context.Background(), views)
	_, saving := got.WriteTo(new(bytes.Buffer))
	for _, err := range []error{predicting, saving} {
		if err == nil || !strings.Contains(err.Error(), "the modules take no new samples: not for 1 samples") {
			t.Error(err)
		}
	}
}

// witness is a SoftThreshold that notes the goroutines that it is initialised for.
type witness struct {
	SoftThreshold
	seen *[]int // which all copies have in common
}

func (w *witness) Init(e Env) error {
	*w.seen = append(*w.seen, e.Workers)
	return w.SoftThreshold.Init(e)
}

// The graphs that take new samples through modules of a user's own have the goroutines of the predictor that is asked, whichever
// was asked before it.
func TestWorkersOfOwnModules(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(60, 3, 0.7, 301, 9, 6)
	var seen []int
	got := mustFit(t, views, Config{
		Clusters: 3, Epochs: 1, Represent: &witness{seen: &seen}, Machine: machine.Options{Workers: 7},
	})
	want, err := got.Assign(t.Context(), views)
	if err != nil {
		t.Fatal(err)
	}
	p := got.Predictor
	for _, workers := range []int{1, 3, 0} {
		p, seen = p.WithMachine(machine.Options{Workers: workers, Device: machine.CPU}), nil
		a, err := p.Assign(t.Context(), views)
		if err != nil || !slices.Equal(a.Near, want.Near) || !slices.Equal(a.Labels, want.Labels) {
			t.Errorf("%d workers: other labels or distances, or %v", workers, err)
		}
		if len(seen) == 0 || slices.ContainsFunc(seen, func(w int) bool { return w != workers }) {
			t.Errorf("the modules are initialised for %d goroutines, want %d", seen, workers)
		}
	}
	seen = nil
	if _, err := got.Assign(t.Context(), views); err != nil || slices.ContainsFunc(seen, func(w int) bool { return w != 7 }) {
		t.Errorf("the modules of the fit are initialised for %d goroutines, want 7, %v", seen, err)
	}
}

// squares is a loss of squares of H and P, which Gorgonia may compute in their place.
func squares(net Network) (*Node, error) {
	h := must(net.H(net.Env().Layers))
	p := must(net.P(net.Env().Layers, 0))
	return gorgonia.Add(must(gorgonia.Mean(must(gorgonia.Square(h)))), must(gorgonia.Mean(must(gorgonia.Square(p)))))
}

// An ExtraLoss that overwrites the nodes that it was given spoils nothing of the result: not without gradients, as of a training
// that was over and is resumed.
func TestExtraLossOverwritesNodes(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(60, 3, 0.7, 301, 9, 6)
	for _, samples := range []int{0, 60} {
		noise := &trainedAlone{samples: samples}
		path := filepath.Join(t.TempDir(), "state")
		c := paper(Config{
			Clusters: 3, Epochs: 3, Noise: noise, ExtraLoss: squares, Checkpoint: Checkpoint{Path: path},
		})
		want := mustFit(t, views, c)
		got, err := Resume(context.Background(), views, path, func(c *Config) { c.Noise, c.ExtraLoss = noise, squares })
		if err != nil {
			t.Fatal(err)
		}
		sameMatrix(t, "H", got.H, want.H)
		for v := range want.P {
			if !mat.Equal(got.P[v], want.P[v]) {
				t.Errorf("other anchors of input %d", v)
			}
		}
	}
}

// bad is a noise module that does something wrong.
type bad struct {
	cauchy
	init, update, project, learnables func(e Env) error
	env                               Env
	nodes                             func(e Env, n gorgonia.Nodes) gorgonia.Nodes
}

func call(f func(Env) error, e Env) error {
	if f == nil {
		return nil
	}
	return f(e)
}

func (b *bad) Init(e Env) error { b.env = e; return errors.Join(b.cauchy.Init(e), call(b.init, e)) }
func (b *bad) Project() error   { return call(b.project, b.env) }
func (b *bad) Learnables() gorgonia.Nodes {
	if err := call(b.learnables, b.env); err != nil {
		return nil
	}
	if b.nodes != nil {
		return b.nodes(b.env, b.width)
	}
	return b.width
}
func (b *bad) Trust(l, v int, norm *gorgonia.Node) (*gorgonia.Node, error) {
	if err := call(b.update, b.env); err != nil {
		return nil, err
	}
	return b.cauchy.Trust(l, v, norm)
}

// Whatever is wrong with a user's module is an error that says what.
func TestOwnModuleErrors(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(30, 3, 0.7, 305, 6, 4)
	no := func(Env) error { return errors.New("no idea") }
	panics := func(Env) error { panic("no such thing") }
	var nothing *cauchy
	other := gorgonia.NewGraph()
	for name, test := range map[string]struct {
		noise Noise
		want  string
	}{
		"nil pointer":    {nothing, "Noise is a nil *largemvc.cauchy"},
		"nil stock":      {(*RowShrink)(nil), "Noise is a nil *largemvc.RowShrink"},
		"Init":           {&bad{init: no}, "no idea"},
		"Init panics":    {&bad{init: panics}, "no such thing"},
		"Trust":          {&bad{update: no}, "no idea"},
		"Trust panics":   {&bad{update: panics}, "no such thing"},
		"Project":        {&bad{project: no}, "no idea"},
		"Project panics": {&bad{project: panics}, "no such thing"},
		"nodes panic":    {&bad{learnables: panics}, "no such thing"},
		"nil node":       {&bad{nodes: func(Env, gorgonia.Nodes) gorgonia.Nodes { return gorgonia.Nodes{nil} }}, "is nil"},
		"twice": {
			&bad{nodes: func(_ Env, n gorgonia.Nodes) gorgonia.Nodes { return append(n, n[0]) }},
			"has the name of another",
		},
		"name of another": {&cauchy{names: []string{"largemvc.R", "b", "c", "d"}}, "R"},
		"another graph": {&bad{nodes: func(e Env, _ gorgonia.Nodes) gorgonia.Nodes {
			return gorgonia.Nodes{gorgonia.NewScalar(other, e.Of, gorgonia.WithName("x"), gorgonia.WithValue(float32(1)))}
		}}, "not in the network's graph"},
		"another type": {&bad{nodes: func(e Env, _ gorgonia.Nodes) gorgonia.Nodes {
			return gorgonia.Nodes{gorgonia.NewScalar(e.G, gorgonia.Float64, gorgonia.WithName("x"), gorgonia.WithValue(1.0))}
		}}, "float64, want float32"},
		"no value": {&bad{nodes: func(e Env, _ gorgonia.Nodes) gorgonia.Nodes {
			return gorgonia.Nodes{gorgonia.NewScalar(e.G, e.Of, gorgonia.WithName("x"))}
		}}, "no value"},
	} {
		c, err := fitAlone(context.Background(), views, Config{Clusters: 3, Epochs: 2, Noise: test.noise})
		if c != nil || err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "largemvc: ") {
			t.Errorf("%s: %v, %v, want %q", name, c, err, test.want)
		}
	}
}

// A fit with a user's module ends as one without: early, by the callback, by the context, and by divergence.
func TestOwnModulesEnd(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(40, 3, 0.7, 306, 7, 5)
	c := Config{Clusters: 3, Epochs: 30, Noise: &cauchy{First: 3}}
	early := c
	early.Tolerance, early.Patience = 0.5, 3
	if got := mustFit(t, views, early); got.Status != Converged || got.Epochs >= 30 || len(got.Loss) != got.Epochs+1 {
		t.Errorf("%v after %d epochs, %d losses", got.Status, got.Epochs, len(got.Loss))
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := c
	stopped.Progress = func(e Progress) error {
		if e.Epoch == 4 {
			cancel()
		}
		return nil
	}
	got, err := fitAlone(ctx, views, stopped)
	if !errors.Is(err, context.Canceled) || got == nil || got.Status != Cancelled || got.Epochs != 4 {
		t.Errorf("cancelled: %v, %v", got, err)
	} else {
		checkPredict(t, views, got)
	}
	stopped.Progress = func(e Progress) error {
		if !e.Training() {
			return nil
		}
		return ErrStop
	}
	if got := mustFit(t, views, stopped); got.Status != Stopped || got.Epochs != 1 {
		t.Errorf("%v after %d epochs", got.Status, got.Epochs)
	}
	wild := c
	wild.Optimizer.LearningRate = 1e30
	var diverged *DivergedError
	got, err = fitAlone(context.Background(), views, wild)
	if !errors.As(err, &diverged) || got == nil || got.Status != Diverged {
		t.Errorf("diverged: %v, %v", got, err)
	} else {
		checkPredict(t, views, got)
	}
	extra := c
	extra.Epochs = 3
	extra.ExtraLoss = func(net Network) (*gorgonia.Node, error) {
		_, noise, _ := net.Modules()
		own, ok := noise.(*cauchy)
		if !ok {
			return nil, fmt.Errorf("the noise is a %T", noise)
		}
		return gorgonia.Square(own.width[0])
	}
	with := mustFit(t, views, extra)
	extra.ExtraLoss = nil
	without := mustFit(t, views, extra)
	if d := with.Loss[0] - without.Loss[0]; math.Abs(d-9) > 1e-4 {
		t.Errorf("the extra loss adds %v, want 9", d)
	}
}
