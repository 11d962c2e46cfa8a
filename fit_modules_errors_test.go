package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
)

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
		c, err := Fit(context.Background(), views, Config{Clusters: 3, Epochs: 2, Noise: test.noise})
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
	got, err := Fit(ctx, views, stopped)
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
	wild.LearningRate = 1e30
	var diverged *DivergedError
	if got, err := Fit(context.Background(), views, wild); !errors.As(err, &diverged) || got == nil || got.Status != Diverged {
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
