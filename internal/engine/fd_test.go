package engine

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// pushed are cotangents of the states of a network, as a loss term of your own would give them.
type pushed struct {
	h     [][]float64   // per layer from 0
	trust [][][]float64 // per layer from 1, per view
	p     [][][]float64
}

func randomPushed(rng *rand.Rand, p *problem) *pushed {
	s := p.spec
	normal := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = 0.01 * rng.NormFloat64()
		}
		return x
	}
	c := &pushed{}
	for range s.Layers + 1 {
		c.h = append(c.h, normal(s.Samples*s.Anchors))
		var t, anchors [][]float64
		for v, d := range s.Dims {
			t = append(t, normal(s.Samples))
			for i := range t[v] {
				if p.present != nil && !p.present[v][i] {
					t[v][i] = 0 // the trust of an absent row means nothing
				}
			}
			anchors = append(anchors, normal(s.Anchors*d))
		}
		c.trust, c.p = append(c.trust, t), append(c.p, anchors)
	}
	return c
}

// value is scale·loss plus the inner products of states and pushed cotangents, at the parameters q.
func (c *pushed) value(t *testing.T, net *Net, q *Params, scale float64) float64 {
	t.Helper()
	loss, err := net.Forward(context.Background(), q, true)
	if err != nil {
		t.Fatal(err)
	}
	total := scale * sum(loss)
	if c == nil {
		return total
	}
	s := net.Spec()
	read := func(f Field, l, v, size int) []float64 {
		x := make([]float64, size)
		if err := net.Read(f, l, v, 0, s.Samples, x); err != nil {
			t.Fatal(err)
		}
		return x
	}
	for l := 1; l <= s.Layers; l++ {
		total += inner(c.h[l], read(FieldH, l, 0, s.Samples*s.Anchors))
		for v := range s.Dims {
			if s.Noise {
				total += inner(c.trust[l][v], read(FieldTrust, l, v, s.Samples))
			}
			if s.Anchored {
				total += inner(c.p[l][v], net.p[l][v])
			}
		}
	}
	return total
}

func inner(a, b []float64) float64 {
	total := 0.0
	for i, x := range a {
		total += x * b[i]
	}
	return total
}

// push hands the cotangents to the network.
func (c *pushed) push(t *testing.T, net *Net) {
	t.Helper()
	s := net.Spec()
	for l := 1; l <= s.Layers; l++ {
		if err := net.AddH(l, c.h[l]); err != nil {
			t.Fatal(err)
		}
		for v := range s.Dims {
			if s.Noise {
				if err := net.AddTrust(l, v, c.trust[l][v]); err != nil {
					t.Fatal(err)
				}
			}
			net.AddAnchors(l, v, c.p[l][v])
		}
	}
}

// groups returns the parameters, or gradients, by kind.
func groups(q *Params) map[string][]*float64 {
	out := map[string][]*float64{}
	add := func(name string, x []float64) {
		for i := range x {
			out[name] = append(out[name], &x[i])
		}
	}
	add("θ", q.Theta)
	add("R", q.R)
	add("U", q.U)
	for _, rho := range q.Rho {
		add("ρ", rho)
	}
	return out
}

// Every gradient against central differences: all variants, both activations, a view of fewer columns than anchors, with
// and without a mask, for the loss alone and with cotangents pushed to H, t and P of every layer.
func TestGradientsAreFiniteDifferences(t *testing.T) {
	for _, variant := range []struct {
		name            string
		noise, anchored bool
	}{{"large", true, true}, {"amvc", false, true}, {"rmvc", false, false}, {"noise alone", true, false}} {
		for _, activation := range []Activation{ReLU, SELU} {
			for _, missing := range []float64{0, 0.4} {
				for _, withPushed := range []bool{false, true} {
					spec := Spec{Samples: 24, Dims: []int{11, 3, 7}, Anchors: 5, Layers: 3,
						Noise: variant.noise, Anchored: variant.anchored,
						Represent: activation, Shrink: activation, OneSided: withPushed && missing > 0}
					if withPushed && missing == 0 {
						spec.LossWeights = []float64{1, 1, 1}
					}
					name := fmt.Sprintf("%s/%d/missing %v/pushed %v", variant.name, activation, missing, withPushed)
					t.Run(name, func(t *testing.T) { finiteDifferences(t, spec, missing, withPushed) })
				}
			}
		}
	}
}

func finiteDifferences(t *testing.T, spec Spec, missing float64, withPushed bool) {
	p := makeProblem(t, spec, missing, 31)
	net := netOf[float64](t, p)
	scale := 0.7
	var c *pushed
	if withPushed {
		c = randomPushed(rand.New(rand.NewPCG(32, 1)), p)
	}
	c.value(t, net, p.params, scale)
	if c != nil {
		c.push(t, net)
	}
	g := NewParams(&spec)
	if err := net.Backward(context.Background(), scale, g); err != nil {
		t.Fatal(err)
	}
	params, grads := groups(p.params), groups(g)
	const h = 1e-6
	for name, list := range params {
		var got, want []float64
		for i, x := range list {
			at := *x
			*x = at + h
			up := c.value(t, net, p.params, scale)
			*x = at - h
			down := c.value(t, net, p.params, scale)
			*x = at
			got, want = append(got, *grads[name][i]), append(want, (up-down)/(2*h))
		}
		largest := 0.0
		for _, x := range want {
			largest = max(largest, math.Abs(x))
		}
		if largest == 0 {
			t.Errorf("all differences by %s are zero", name)
		}
		// The error of the differences is about ε·|value|/h and h² times a third derivative; that of a kink between the
		// two points, which would be of another order, does not occur with these seeds.
		within(t, "gradient by "+name, got, want, 2e-6)
	}
}
