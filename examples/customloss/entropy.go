package main

import (
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc"
)

// entropy returns the node −(weight/n) Σ_ij s_ij log s_ij, s = softmax(H) by rows, between 0 and weight·log m. It is made of
// nodes of Gorgonia, whose sums are naive: that is why this program uses Float64.
func entropy(net largemvc.Network, weight float64) (*gorgonia.Node, error) {
	h, err := net.H(net.Env().Layers) // of the last layer (n×m); it has a gradient
	if err != nil {
		return nil, err
	}
	soft, err := gorgonia.SoftMax(h, 1)
	if err != nil {
		return nil, err
	}
	// Gorgonia turns the SoftMax node itself into its logarithm here. So soft is not to be used again; its values come back
	// by Exp.
	log, err := gorgonia.Log(soft)
	if err != nil {
		return nil, err
	}
	share, err := gorgonia.Exp(log)
	if err != nil {
		return nil, err
	}
	product, err := gorgonia.HadamardProd(share, log)
	if err != nil {
		return nil, err
	}
	sum, err := gorgonia.Sum(product)
	if err != nil {
		return nil, err
	}
	return gorgonia.Mul(sum, gorgonia.NewConstant(-weight/float64(net.Env().Samples)))
}
