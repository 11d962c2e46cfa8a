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
