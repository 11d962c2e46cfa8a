package main

import (
	"cmp"

	"github.com/largemvc/largemvc"
)

// network is what the flags say of the modules.
type network struct {
	variant, signs, preset  word
	activation              largemvc.Activation
	theta0, rho0, lipschitz float64
	oneSided, detach        bool
}

// put puts the modules into a configuration.
func (n *network) put(c *largemvc.Config) {
	free := n.signs == "free"
	if n.preset == "paper" {
		asPaper(c)
		free = n.signs != "nonnegative"
	}
	soft, shrink, procrustes := &largemvc.SoftThreshold{Unconstrained: free}, &largemvc.RowShrink{Unconstrained: free},
		&largemvc.Procrustes{}
	soft.Theta0, soft.Lipschitz, soft.OneSided = n.theta0, n.lipschitz, n.oneSided
	soft.Activation, shrink.Activation = n.activation, n.activation
	shrink.Rho0 = n.rho0
	procrustes.Detach = n.detach
	c.Represent, c.Noise, c.Anchor = soft, shrink, procrustes
	if n.variant != "large" {
		c.Noise = &largemvc.NoNoise{}
	}
	if n.variant == "rmvc" {
		c.Anchor = &largemvc.FixedAnchors{}
	}
}

// asPaper puts the modules of the paper and its settings where no flag has put another.
func asPaper(c *largemvc.Config) {
	paper := largemvc.PaperConfig(c.Clusters)
	c.Represent, c.Noise = paper.Represent, paper.Noise
	c.Preprocess, c.Reduction = cmp.Or(c.Preprocess, paper.Preprocess), cmp.Or(c.Reduction, paper.Reduction)
	c.Neighborhood.Neighbors = cmp.Or(c.Neighborhood.Neighbors, paper.Neighborhood.Neighbors)
	c.PlainReadOut = true
}

// networkOf says the same of the modules of a fit.
func networkOf(c *largemvc.Config) (variant string, activation largemvc.Activation) {
	variant = "large"
	if _, ok := c.Noise.(*largemvc.NoNoise); ok {
		variant = "amvc"
	}
	if _, ok := c.Anchor.(*largemvc.FixedAnchors); ok {
		variant = "rmvc"
	}
	if soft, ok := c.Represent.(*largemvc.SoftThreshold); ok {
		activation = soft.Activation
	}
	return variant, activation
}
