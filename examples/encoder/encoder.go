package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc"
)

// encoder is the paper's Represent module with an encoder before it: X_v becomes tanh(X_v·W_v), n×Columns.
type encoder struct {
	largemvc.SoftThreshold
	Columns int // of the codes

	in, out gorgonia.Nodes // W_v, d_v×Columns, and the decoder's, Columns×d_v
	x, code gorgonia.Nodes // the views and their codes, for the decoder's loss
}

// Init makes the weights, from the seed of the fit, beside what the stock module learns.
func (m *encoder) Init(e largemvc.Env) error {
	if err := m.SoftThreshold.Init(e); err != nil {
		return err
	}
	if e.Of != tensor.Float32 {
		return errors.New("this encoder is written for float32")
	}
	rng := rand.New(rand.NewPCG(e.Seed, 7))
	weights := func(name string, rows, columns int) *gorgonia.Node {
		x := make([]float32, rows*columns)
		for i := range x {
			x[i] = float32(rng.NormFloat64() / math.Sqrt(float64(rows)))
		}
		return gorgonia.NewMatrix(e.G, e.Of, gorgonia.WithName(name), gorgonia.WithShape(rows, columns),
			gorgonia.WithValue(tensor.New(tensor.WithShape(rows, columns), tensor.WithBacking(x))))
	}
	m.in, m.out = nil, nil
	m.x, m.code = make(gorgonia.Nodes, e.Views), make(gorgonia.Nodes, e.Views)
	for v, d := range e.Dims {
		m.in = append(m.in, weights(e.Name("in_%d", v), d, m.Columns))
		m.out = append(m.out, weights(e.Name("out_%d", v), m.Columns, d))
	}
	return nil
}

// Learnables returns all of them.
func (m *encoder) Learnables() gorgonia.Nodes {
	return append(append(m.SoftThreshold.Learnables(), m.in...), m.out...)
}

// Encode makes the codes of view v.
func (m *encoder) Encode(v int, x *gorgonia.Node) (*gorgonia.Node, error) {
	product, err := gorgonia.Mul(x, m.in[v])
	if err != nil {
		return nil, err
	}
	m.x[v] = x
	m.code[v], err = gorgonia.Tanh(product)
	return m.code[v], err
}

// decoded is the mean square error of the views made of their codes: without it all codes could become alike.
func decoded(net largemvc.Network) (*gorgonia.Node, error) {
	represent, _, _ := net.Modules()
	m, ok := represent.(*encoder)
	if !ok {
		return nil, fmt.Errorf("a module of type %T", represent)
	}
	var parts gorgonia.Nodes
	for v, code := range m.code {
		back, err := gorgonia.Mul(code, m.out[v])
		if err != nil {
			return nil, err
		}
		rest, err := gorgonia.Sub(m.x[v], back)
		if err != nil {
			return nil, err
		}
		square, err := gorgonia.Square(rest)
		if err != nil {
			return nil, err
		}
		mean, err := gorgonia.Sum(square) // the views of the default preset have rows of norm 1
		if err != nil {
			return nil, err
		}
		if mean, err = gorgonia.Div(mean, gorgonia.NewConstant(float32(net.Env().Samples*len(m.code)))); err != nil {
			return nil, err
		}
		parts = append(parts, mean)
	}
	return gorgonia.ReduceAdd(parts)
}
