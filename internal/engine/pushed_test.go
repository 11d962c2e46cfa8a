package engine

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Cotangents that are handed over in parts add up, and those of one backward pass are not seen by the next.
func TestPushedCotangentsAddUp(t *testing.T) {
	p := makeProblem(t, Spec{Samples: 24, Dims: []int{11, 7}, Anchors: 5, Layers: 2, Noise: true, Anchored: true}, 0.3, 5)
	net := netOf[float64](t, p)
	first, second := randomPushed(rand.New(rand.NewPCG(1, 1)), p), randomPushed(rand.New(rand.NewPCG(2, 1)), p)
	both := randomPushed(rand.New(rand.NewPCG(1, 1)), p)
	add := func(dst, x []float64) {
		for i := range dst {
			dst[i] += x[i]
		}
	}
	for l := range both.h {
		add(both.h[l], second.h[l])
		for v := range both.p[l] {
			add(both.p[l][v], second.p[l][v])
			add(both.trust[l][v], second.trust[l][v])
		}
	}
	gradient := func(parts ...*pushed) []float64 {
		t.Helper()
		if _, err := net.Forward(context.Background(), p.params, true); err != nil {
			t.Fatal(err)
		}
		for _, c := range parts {
			c.push(t, net)
		}
		g := NewParams(&p.spec)
		if err := net.Backward(context.Background(), 1, g); err != nil {
			t.Fatal(err)
		}
		return slices.Concat(append([][]float64{g.Theta, g.R, g.U}, g.Rho...)...)
	}
	plain, want := gradient(), gradient(both)
	if relative(want, plain) < 1e-4 {
		t.Fatal("what is pushed changes nothing")
	}
	if e := relative(gradient(first, second), want); e > 1e-12 {
		t.Errorf("cotangents in two parts give another gradient, by %.1e", e)
	}
	if !slices.Equal(gradient(), plain) {
		t.Error("cotangents of the last pass are left")
	}
}

// A parameter that is not finite is an error that names it, before a threshold of NaN is taken for no input.
func TestParametersThatAreNotFinite(t *testing.T) {
	spec := Spec{Samples: 24, Dims: []int{6, 7}, Anchors: 3, Layers: 2, Noise: true, Anchored: true}
	for name, at := range map[string]func(q *Params) *float64{
		"entry 1 of θ":            func(q *Params) *float64 { return &q.Theta[1] },
		"entry 4 of R":            func(q *Params) *float64 { return &q.R[4] },
		"entry 0 of U":            func(q *Params) *float64 { return &q.U[0] },
		"ρ of layer 2 and view 1": func(q *Params) *float64 { return &q.Rho[1][1] },
		"ρ of layer 1 and view 0": func(q *Params) *float64 { return &q.Rho[0][0] },
	} {
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			p := makeProblem(t, spec, 0, 1)
			*at(p.params) = x
			var diverged *DivergedError
			_, err := netOf[float64](t, p).Forward(context.Background(), p.params, true)
			if !errors.As(err, &diverged) || diverged.What != name {
				t.Errorf("%s is %v: %v", name, x, err)
			}
		}
	}
}

// What a network without noise says of its noise: none, and rows that are trusted.
func TestReadWithoutNoise(t *testing.T) {
	p := makeProblem(t, Spec{Samples: 10, Dims: []int{4, 3}, Anchors: 2, Layers: 2, Anchored: true}, 0, 1)
	net := netOf[float64](t, p)
	if _, err := net.Forward(context.Background(), p.params, true); err != nil {
		t.Fatal(err)
	}
	noise, trust := slices.Repeat([]float64{7}, 3*4), slices.Repeat([]float64{7}, 3)
	for field, dst := range map[Field][]float64{FieldE: noise, FieldTrust: trust} {
		if err := net.Read(field, 1, 0, 2, 5, dst); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(noise, make([]float64, 12)) || !slices.Equal(trust, []float64{1, 1, 1}) {
		t.Errorf("noise %v, trust %v", noise, trust)
	}
	if err := net.Read(FieldNorm, 1, 0, 2, 5, trust); err == nil {
		t.Error("residual norms of a network without noise")
	}
}

// A state that there is not is an error.
func TestReadRefuses(t *testing.T) {
	p := makeProblem(t, Spec{Samples: 10, Dims: []int{4, 3}, Anchors: 2, Layers: 2, Noise: true, Anchored: true}, 0, 1)
	net := netOf[float64](t, p)
	if _, err := net.Forward(context.Background(), p.params, true); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		field               Field
		layer, view, lo, hi int
	}{
		"layer before the first": {FieldH, -1, 0, 0, 2}, "layer after the last": {FieldH, 3, 0, 0, 2},
		"noise of the start": {FieldE, 0, 0, 0, 2}, "trust of the start": {FieldTrust, 0, 0, 0, 2},
		"view before the first": {FieldTrust, 1, -1, 0, 2}, "view after the last": {FieldNorm, 1, 2, 0, 2},
		"field": {99, 1, 0, 0, 2},
	} {
		if err := net.Read(c.field, c.layer, c.view, c.lo, c.hi, make([]float64, 40)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
