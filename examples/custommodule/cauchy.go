package main

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc"
)

// cauchy trusts a sample with the residual norm r by t = w²/(w² + r²), with a learnable width w for each view. It is smooth,
// where the paper's min(1, ρ/r) has a kink.
type cauchy struct {
	First float64 // width
	width gorgonia.Nodes
}

// Init makes the learnable nodes, one for each view, with names by which they are saved.
func (c *cauchy) Init(e largemvc.Env) error {
	c.width = nil
	var first any = c.First
	if e.Of == tensor.Float32 {
		first = float32(c.First)
	}
	for v := range e.Views {
		name := gorgonia.WithName(e.Name("width_%d", v))
		c.width = append(c.width, gorgonia.NewScalar(e.G, e.Of, name, gorgonia.WithValue(first)))
	}
	return nil
}

// Learnables returns them.
func (c *cauchy) Learnables() gorgonia.Nodes { return c.width }

// Project has nothing to do: the width enters by its square.
func (c *cauchy) Project() error { return nil }

// Trust returns the n weights t from the n norms of X − HP. X − E = diag(t)X + diag(1−t)HP follows from them.
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
