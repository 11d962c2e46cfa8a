package main

import (
	"cmp"

	"github.com/largemvc/largemvc"
)

// asPaper puts the modules of the paper and its settings where no flag has put another.
func asPaper(c *largemvc.Config) {
	paper := largemvc.PaperConfig(c.Clusters)
	c.Represent, c.Noise = paper.Represent, paper.Noise
	c.Preprocess, c.Reduction = cmp.Or(c.Preprocess, paper.Preprocess), cmp.Or(c.Reduction, paper.Reduction)
	c.Neighborhood.Neighbors = cmp.Or(c.Neighborhood.Neighbors, paper.Neighborhood.Neighbors)
	c.PlainReadOut = true
}

// networkNames are the names of the paper for the variants of the network, by their names in JSON.
var networkNames = map[string]string{"large": "LargeMvC-Net", "amvc": "AMvC-Net (without noise)",
	"rmvc": "RMvC-Net (without noise, fixed anchors)", "fixed": "LargeMvC-Net with fixed anchors"}

// networkOf returns the variant of the network that the modules make, a key of networkNames, and its activation.
func networkOf(c *largemvc.Config) (variant string, activation largemvc.Activation) {
	_, noNoise := c.Noise.(*largemvc.NoNoise)
	_, fixed := c.Anchor.(*largemvc.FixedAnchors)
	switch {
	case noNoise && fixed:
		variant = "rmvc"
	case noNoise:
		variant = "amvc"
	case fixed:
		variant = "fixed"
	default:
		variant = "large"
	}
	if soft, ok := c.Represent.(*largemvc.SoftThreshold); ok {
		activation = soft.Activation
	}
	return variant, activation
}
