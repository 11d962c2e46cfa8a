package main

import "github.com/largemvc/largemvc"

// network is what the flags say of the modules.
type network struct {
	variant, signs          word
	activation              largemvc.Activation
	theta0, rho0, lipschitz float64
	oneSided, detach        bool
}

// put puts the modules into a configuration.
func (n *network) put(c *largemvc.Config) {
	soft, shrink, procrustes := c.Preset.Modules()
	soft.Theta0, soft.Lipschitz, soft.OneSided = n.theta0, n.lipschitz, n.oneSided
	soft.Activation, shrink.Activation = n.activation, n.activation
	shrink.Rho0 = n.rho0
	if n.signs != "auto" {
		soft.Unconstrained, shrink.Unconstrained = n.signs == "free", n.signs == "free"
	}
	procrustes.Detach = n.detach
	c.Represent, c.Noise, c.Anchor = soft, shrink, procrustes
	if n.variant != "large" {
		c.Noise = &largemvc.NoNoise{}
	}
	if n.variant == "rmvc" {
		c.Anchor = &largemvc.FixedAnchors{}
	}
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
